#include "server/files/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/channel.h"
#include "sampler/base/clock.h"
#include "sampler/base/scoped.h"
#include "server/files/file_request.h"
#include "server/files/folders.h"

static int server = -1;

void files_use(int socket)
{
    server = socket;
}

bool files_is_used(void)
{
    return server >= 0;
}

struct files_folder files_in(int folder_fd)
{
    return (struct files_folder){ folder_fd, server >= 0 ? folders_find_open(folder_fd) : -1 };
}

struct files_folder files_of(const char *path, const char **name_out)
{
    const char *const slash = strrchr(path, '/');
    const size_t length = slash == path ? 1 : slash ? (size_t)(slash - path) : 1;
    const int number = server >= 0 ? folders_find(slash ? path : ".", length) : -1;
    *name_out = number >= 0 && slash ? slash + 1 : path;
    return (struct files_folder){ AT_FDCWD, number };
}

static int send_request(const struct file_request *request, const int *fds, size_t fd_count)
{
    if (channel_send(server, request, sizeof *request, fds, fd_count, FILES_WAIT_MS))
        return 0;
    errno = errno == EAGAIN ? ETIMEDOUT : EIO;
    return -1;
}

/* Waits for an answer, which is EIO later if the file process has ended.  ETIMEDOUT: none has come. */
static int wait_readable(int fd)
{
    const uint64_t end_ns = clock_now_ns() + FILES_WAIT_MS * NS_PER_MS;
    struct pollfd wanted = { .fd = fd, .events = POLLIN };
    for (uint64_t now_ns; (now_ns = clock_now_ns()) < end_ns;) {
        const int ready = poll(&wanted, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return ready > 0 ? 0 : -1;
    }
    errno = ETIMEDOUT;
    return -1;
}

/* status_out, file_out: NULL: none is expected. */
static int receive_answer(int from, struct files_status *status_out, int *file_out)
{
    struct file_answer answer;
    int taken = -1;
    size_t got, count;
    if (wait_readable(from) != 0)
        return -1;
    (void)channel_receive(from, &answer, sizeof answer, &got, &taken, 1, &count);
    SCOPED_FD int fd = taken;
    /* The kernel leaves a file out that this process has no descriptor for. */
    errno = got != sizeof answer ? EIO : answer.sys ? answer.sys : EMFILE;
    if (got != sizeof answer || answer.sys != 0 || (file_out && fd < 0))
        return -1;
    if (status_out)
        *status_out = answer.status;
    if (file_out)
        *file_out = scoped_take_fd(&fd);
    return 0;
}

/* file: -1: none goes with it. */
static int ask_server(const struct files_folder *folder, struct file_request *request, int file,
                      struct files_status *status_out, int *file_out)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    SCOPED_FD int from = ends[0];
    SCOPED_FD int to = ends[1];
    const int fds[] = { to, file };
    request->folder = (uint32_t)folder->number;
    if (send_request(request, fds, file >= 0 ? 2 : 1) != 0)
        return -1;
    close(scoped_take_fd(&to));
    return receive_answer(from, status_out, file_out);
}

/* A file that the answer brings. */
static int ask_for_file(const struct files_folder *folder, struct file_request *request)
{
    int fd;
    return ask_server(folder, request, -1, NULL, &fd) == 0 ? fd : -1;
}

/* false: the name is too long. */
static bool put_name(const char *name, char out[NAME_MAX + 1])
{
    const size_t length = strlen(name);
    errno = ENAMETOOLONG;
    if (length > NAME_MAX)
        return false;
    memcpy(out, name, length + 1);
    return true;
}

int files_open(const struct files_folder *folder, const char *name, enum files_use use)
{
    struct file_request request = { .kind = FILE_OPEN, .use = use };
    if (folder->number < 0)
        return file_call_open(folder->fd, name, use);
    return !name || put_name(name, request.name) ? ask_for_file(folder, &request) : -1;
}

int files_create(const struct files_folder *folder, char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    enum { TRIES = 16, LETTERS = 6 };
    unsigned char random[LETTERS];
    char *const end = name + strlen(name) - LETTERS;
    int fd = -1;
    for (int i = 0; i < TRIES && fd < 0; i++) {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        for (size_t k = 0; k < LETTERS; k++)
            end[k] = letters[random[k] % (sizeof letters - 1)];
        fd = files_open(folder, name, FILES_CREATE);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

int files_link(const struct files_folder *folder, int fd, const char *name)
{
    struct file_request request = { .kind = FILE_LINK };
    if (folder->number < 0)
        return file_call_link(folder->fd, fd, name);
    return put_name(name, request.name) ? ask_server(folder, &request, fd, NULL, NULL) : -1;
}

int files_rename(const struct files_folder *folder, const char *from, const char *to)
{
    struct file_request request = { .kind = FILE_RENAME };
    if (folder->number < 0)
        return renameat(folder->fd, from, folder->fd, to);
    return put_name(from, request.name) && put_name(to, request.to)
               ? ask_server(folder, &request, -1, NULL, NULL)
               : -1;
}

int files_remove(const struct files_folder *folder, const char *name)
{
    struct file_request request = { .kind = FILE_REMOVE };
    if (folder->number < 0)
        return unlinkat(folder->fd, name, 0);
    return put_name(name, request.name) ? ask_server(folder, &request, -1, NULL, NULL) : -1;
}

int files_status(const struct files_folder *folder, const char *name, struct files_status *out)
{
    struct file_request request = { .kind = FILE_STATUS };
    if (folder->number < 0)
        return file_call_status(folder->fd, name, out);
    return put_name(name, request.name) ? ask_server(folder, &request, -1, out, NULL) : -1;
}

/* The rows that the file process has written. */
static int read_rows(int fd, struct buffer *out)
{
    const off_t bytes = lseek(fd, 0, SEEK_END);
    char *const room = bytes > 0 ? buffer_reserve(out, (size_t)bytes) : NULL;
    if (bytes <= 0 || !room) {
        errno = bytes < 0 ? errno : ENOMEM;
        return bytes == 0 ? 0 : -1;
    }
    const ssize_t got = pread(fd, room, (size_t)bytes, 0);
    buffer_grow(out, got > 0 ? (size_t)got : 0);
    return got < 0 ? -1 : 0;
}

int files_list(const struct files_folder *folder, files_visitor *visit, void *context)
{
    struct file_request request = { .kind = FILE_LIST };
    struct buffer rows = { 0 };
    int rc = -1;
    if (folder->number < 0) {
        rc = file_call_list(folder->fd, &rows);
    } else {
        SCOPED_FD int fd = ask_for_file(folder, &request);
        rc = fd < 0 ? -1 : read_rows(fd, &rows);
    }
    if (rc == 0) {
        struct file_row row;
        size_t at = 0;
        while (rows.length - at >= sizeof row) {
            memcpy(&row, rows.data + at, sizeof row);
            at += sizeof row;
            if (row.name_bytes == 0 || row.name_bytes > rows.length - at ||
                rows.data[at + row.name_bytes - 1] != '\0' ||
                !visit(context, rows.data + at, &row.status))
                break;
            at += row.name_bytes;
        }
    }
    const int sys = errno;
    buffer_deinit(&rows);
    errno = sys;
    return rc;
}
