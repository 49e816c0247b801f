#include "server/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/trusted_path.h"
#include "server/files/files.h"

#define UNIX_PREFIX "unix:"

/* Who finds the queue full asks again after a second only. */
enum { BACKLOG = 1024, MAX_PORT = 65535 };

static bool read_port(const char *text, unsigned *out)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    *out = (unsigned)strtoul(text, NULL, 10);
    return *out <= MAX_PORT;
}

enum err_code listen_parse(const char *text, struct listen_address *out, struct err *err)
{
    if (strncmp(text, UNIX_PREFIX, sizeof UNIX_PREFIX - 1) == 0) {
        const char *const path = text + sizeof UNIX_PREFIX - 1;
        const size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
        if (*path != '/' || strlen(path) > most)
            return err_set(err, ERR_INVALID,
                           "want an absolute path of up to %zu bytes after unix:", most);
        memset(out, 0, sizeof *out);
        out->is_unix = true;
        snprintf(out->host, sizeof out->host, "%s", path);
        return ERR_OK;
    }
    const bool is_bracketed = *text == '[';
    /* The end of the host: at the colon of the port, or at the end; NULL: not an address. */
    const char *const end = is_bracketed ? strchr(text, ']') : text + strcspn(text, ":");
    const char *const host = text + is_bracketed;
    const char *const rest = end ? end + is_bracketed : "?";
    struct listen_address address = { .host = "127.0.0.1", .port = LISTEN_DEFAULT_PORT };
    const size_t length = end ? (size_t)(end - host) : 0;
    if (length >= sizeof address.host || (*rest != ':' && *rest != '\0') ||
        (*rest == ':' && !read_port(rest + 1, &address.port)) || (is_bracketed && length == 0))
        return err_set(err, ERR_INVALID, "want HOST:PORT or unix:PATH");
    if (length > 0)
        snprintf(address.host, sizeof address.host, "%.*s", (int)length, host);
    *out = address;
    return ERR_OK;
}

static enum err_code bind_to(const struct addrinfo *info, const struct listen_address *address,
                             int *fd_out, struct err *err)
{
    const int on = 1;
    SCOPED_FD int fd =
        socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(err, errno, "cannot open a socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        return err_sys(err, errno, "cannot listen on %s port %u", address->host, address->port);
    *fd_out = scoped_take_fd(&fd);
    return ERR_OK;
}

/* Port and names of what was bound; name NULL: that of its address. */
static enum err_code describe_listener(const char *name, struct listener *out, struct err *err)
{
    struct sockaddr_storage at = { 0 };
    char number[INET6_ADDRSTRLEN];
    socklen_t length = sizeof at;
    if (getsockname(out->fd, (struct sockaddr *)&at, &length) != 0)
        return err_sys(err, errno, "cannot read the address of a socket");
    if (at.ss_family == AF_UNIX) {
        out->is_unix = out->is_loopback = true;

        /* A path is one part of a URL. */
        static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "0123456789-._~";
        size_t used = 0;
        for (const char *c = ((const struct sockaddr_un *)(const void *)&at)->sun_path;
             *c && used + 4 < sizeof out->host; c++)
            used += (size_t)snprintf(out->host + used, sizeof out->host - used,
                                     strchr(safe, *c) ? "%c" : "%%%02X", (unsigned char)*c);
        return ERR_OK;
    }
    if (at.ss_family != AF_INET && at.ss_family != AF_INET6)
        return err_set(err, ERR_INVALID, "the socket is neither TCP nor Unix");
    bool is_any;
    if (at.ss_family == AF_INET6) {
        const struct sockaddr_in6 *const v6 = (const struct sockaddr_in6 *)&at;
        out->port = ntohs(v6->sin6_port);
        out->is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
        is_any = IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
    } else {
        const struct sockaddr_in *const v4 = (const struct sockaddr_in *)&at;
        out->port = ntohs(v4->sin_port);
        out->is_loopback = ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
        is_any = v4->sin_addr.s_addr == htonl(INADDR_ANY);
    }
    if (is_any && gethostname(out->host, LISTEN_HOST_BYTES - 1) == 0)
        return ERR_OK;
    if (!name && getnameinfo((struct sockaddr *)&at, length, number, sizeof number, NULL, 0,
                             NI_NUMERICHOST) == 0)
        name = number;
    snprintf(out->host, sizeof out->host, name && strchr(name, ':') ? "[%s]" : "%s",
             name ? name : "localhost");
    return ERR_OK;
}

static struct sockaddr_un unix_address(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    return at;
}

/* Does anybody answer there? */
static bool is_deserted(const char *path)
{
    const struct sockaddr_un at = unix_address(path);
    SCOPED_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 &&
           errno == ECONNREFUSED;
}

static enum err_code clear_place(const char *path, struct err *err)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return ERR_OK; /* bind says what is wrong */
    if (!S_ISSOCK(status.st_mode))
        return err_set(err, ERR_INVALID, "'%s' exists and is not a socket", path);
    if (status.st_uid != geteuid())
        return err_set(err, ERR_PERM, "'%s' belongs to another user", path);
    if (!is_deserted(path))
        return err_set(err, ERR_SYS, "another program listens on '%s'", path);
    unlink(path);
    return ERR_OK;
}

static enum err_code bind_unix(const char *path, struct listener *out, struct err *err)
{
    const struct sockaddr_un at = unix_address(path);
    struct stat status;

    /* The folder must be where the name says. */
    char folder[PATH_MAX];
    struct trusted_path trusted;
    const char *const slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s.", slash ? (int)(slash + 1 - path) : 0, path);
    if (trusted_path_find(folder, &trusted, err))
        return err_wrap(err, ERR_SYS, "cannot listen on '%s'", path);
    close(trusted.folder_fd);

    const enum err_code rc = clear_place(path, err);
    if (rc)
        return rc;
    SCOPED_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode of the descriptor becomes that of the file, so that it is never wider. */
    if (fd < 0 || fchmod(fd, S_IRUSR | S_IWUSR) != 0)
        return err_sys(err, errno, "cannot open a socket");
    if (bind(fd, (const struct sockaddr *)&at, sizeof at) != 0 || listen(fd, BACKLOG) != 0 ||
        lstat(path, &status) != 0) {
        err_sys(err, errno, "cannot listen on '%s'", path);
        return ERR_SYS;
    }
    snprintf(out->path, sizeof out->path, "%s", path);
    out->device = status.st_dev;
    out->inode = status.st_ino;
    out->fd = scoped_take_fd(&fd);
    return ERR_OK;
}

static enum err_code bind_tcp(const struct listen_address *address, struct listener *out,
                              struct err *err)
{
    struct addrinfo *found = NULL;

    const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM };
    char port[8];
    snprintf(port, sizeof port, "%u", address->port);
    const int status = getaddrinfo(address->host, port, &hints, &found);
    if (status != 0)
        return err_set(err, ERR_SYS, "cannot listen on '%s': %s", address->host,
                       gai_strerror(status));

    /* A name may stand for addresses of a family this machine does not have. */
    struct err why = { 0 };
    enum err_code rc = ERR_SYS;
    for (const struct addrinfo *info = found; info; info = info->ai_next) {
        rc = bind_to(info, address, &out->fd, &why);
        if (!rc || (why.sys != EADDRNOTAVAIL && why.sys != EAFNOSUPPORT))
            break;
    }
    if (rc && err)
        *err = why;

    freeaddrinfo(found);
    return rc;
}

static void init_listener(struct listener *out)
{
    memset(out, 0, sizeof *out);
    out->fd = -1;
}

enum err_code listen_open(const struct listen_address *address, struct listener *out,
                          struct err *err)
{
    init_listener(out);
    enum err_code rc =
        address->is_unix ? bind_unix(address->host, out, err) : bind_tcp(address, out, err);
    if (!rc)
        rc = describe_listener(address->host, out, err);
    if (rc && out->fd >= 0) {
        close(out->fd);
        out->fd = -1;
    }
    return rc;
}

enum err_code listen_adopt(int fd, struct listener *out, struct err *err)
{
    int listens = 0;
    socklen_t length = sizeof listens;
    init_listener(out);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || !listens)
        return err_set(err, ERR_INVALID, "descriptor %d is not a listening socket", fd);
    out->fd = fd;
    const enum err_code rc = describe_listener(NULL, out, err);
    if (rc)
        out->fd = -1;
    return rc;
}

void listen_forget(struct listener *listener)
{
    struct files_status status;
    const char *name;
    const struct files_folder folder = files_of(listener->path, &name);
    if (*listener->path && files_status(&folder, name, &status) == 0 &&
        status.device == listener->device && status.inode == listener->inode)
        (void)files_remove(&folder, name);
    listener->path[0] = '\0';
}

void listen_format(const struct listener *listener, bool is_tls, char *out, size_t bytes)
{
    const char *const scheme = is_tls ? "https" : "http";
    if (listener->is_unix)
        snprintf(out, bytes, "%s+unix://%s", scheme, listener->host);
    else
        snprintf(out, bytes, "%s://%s:%u", scheme, listener->host, listener->port);
}
