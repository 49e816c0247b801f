#include "server/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sampler/base/scoped.h"

enum { BACKLOG = 64, MAX_PORT = 65535 };

static bool read_port(const char *text, unsigned *out)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    *out = (unsigned)strtoul(text, NULL, 10);
    return *out <= MAX_PORT;
}

/* Where the host ends: at the colon of the port, or at the end.  NULL: not an address. */
static const char *end_of_host(const char *text)
{
    if (*text != '[')
        return text + strcspn(text, ":");
    return strchr(text, ']');
}

enum err_code listen_parse(const char *text, struct listen_address *out, struct err *err)
{
    const bool is_bracketed = *text == '[';
    const char *const end = end_of_host(text);
    const char *const host = text + is_bracketed;
    const char *const rest = end ? end + is_bracketed : "?";
    struct listen_address address = { .host = "127.0.0.1", .port = LISTEN_DEFAULT_PORT };
    const size_t length = end ? (size_t)(end - host) : 0;
    if (length >= sizeof address.host || (*rest != ':' && *rest != '\0') ||
        (*rest == ':' && !read_port(rest + 1, &address.port)) || (is_bracketed && length == 0))
        return err_set(err, ERR_INVALID, "'%s' is not HOST:PORT", text);
    if (length > 0)
        snprintf(address.host, sizeof address.host, "%.*s", (int)length, host);
    *out = address;
    return ERR_OK;
}

static enum err_code resolve(const struct listen_address *address, struct addrinfo **out,
                             struct err *err)
{
    const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM };
    char port[8];
    snprintf(port, sizeof port, "%u", address->port);
    const int rc = getaddrinfo(address->host, port, &hints, out);
    if (rc != 0)
        return err_set(err, ERR_SYS, "cannot listen on '%s': %s", address->host,
                       gai_strerror(rc));
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

/* A name may stand for addresses of a family this machine does not have. */
static enum err_code bind_to_first(const struct addrinfo *found,
                                   const struct listen_address *address, int *fd_out,
                                   struct err *err)
{
    struct err why = { 0 };
    enum err_code rc = ERR_SYS;
    for (const struct addrinfo *info = found; info; info = info->ai_next) {
        rc = bind_to(info, address, fd_out, &why);
        if (rc == ERR_OK || (why.sys != EADDRNOTAVAIL && why.sys != EAFNOSUPPORT))
            break;
    }
    if (rc != ERR_OK && err)
        *err = why;
    return rc;
}

static bool is_loopback(const struct sockaddr_storage *at)
{
    if (at->ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)at)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool is_any(const struct sockaddr_storage *at)
{
    if (at->ss_family == AF_INET6)
        return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)at)->sin6_addr);
    return ((const struct sockaddr_in *)at)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* Port and names of what was bound. */
static enum err_code describe(const struct listen_address *address, struct listener *out,
                              struct err *err)
{
    struct sockaddr_storage at;
    socklen_t length = sizeof at;
    if (getsockname(out->fd, (struct sockaddr *)&at, &length) != 0)
        return err_sys(err, errno, "cannot read the address of a socket");
    out->port = ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                               : ((struct sockaddr_in *)&at)->sin_port);
    out->is_loopback = is_loopback(&at);
    if (is_any(&at) && gethostname(out->host, sizeof out->host - 1) == 0)
        return ERR_OK;
    snprintf(out->host, sizeof out->host, strchr(address->host, ':') ? "[%s]" : "%s",
             address->host);
    return ERR_OK;
}

enum err_code listen_open(const struct listen_address *address, struct listener *out,
                          struct err *err)
{
    struct addrinfo *found = NULL;
    memset(out, 0, sizeof *out);
    out->fd = -1;
    enum err_code rc = resolve(address, &found, err);
    if (rc != ERR_OK)
        return rc;
    rc = bind_to_first(found, address, &out->fd, err);
    freeaddrinfo(found);
    if (rc == ERR_OK)
        rc = describe(address, out, err);
    if (rc != ERR_OK && out->fd >= 0) {
        close(out->fd);
        out->fd = -1;
    }
    return rc;
}
