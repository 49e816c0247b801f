#include "server/files/file_server.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/scoped.h"
#include "server/files/file_request.h"
#include "server/files/folders.h"

enum { MAX_FDS = 2 };

/* Checks a new link by its inode.  false: the kernel refuses. */
static bool become(uid_t uid, gid_t gid)
{
    (void)setfsgid(gid);
    (void)setfsuid(uid);
    /* An invalid number changes nothing and returns the present one. */
    return (gid_t)setfsgid((gid_t)-1) == gid && (uid_t)setfsuid((uid_t)-1) == uid;
}

static bool is_name(const char name[NAME_MAX + 1])
{
    const size_t length = strnlen(name, NAME_MAX + 1);
    return length > 0 && length <= NAME_MAX && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

/* Another one may be that of a file which this process may link and the other may not. */
static bool is_unnamed(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0;
}

/* The list as a file, because it may be longer than a message. */
static int list(int folder_fd)
{
    struct buffer rows = { 0 };
    SCOPED_FD int fd = memfd_create("list", MFD_CLOEXEC);
    const bool is_whole = fd >= 0 && file_call_list(folder_fd, &rows) == 0;
    size_t done = 0;
    while (is_whole && done < rows.length) {
        const ssize_t written = write(fd, rows.data + done, rows.length - done);
        if (written < 0 && errno != EINTR)
            break;
        done += written > 0 ? (size_t)written : 0;
    }
    const int sys = errno;
    const bool is_written = is_whole && done == rows.length;
    buffer_deinit(&rows);
    errno = sys;
    return is_written ? scoped_take_fd(&fd) : -1;
}

static bool is_permitted(const struct folder *folder, const char name[NAME_MAX + 1])
{
    return is_name(name) && folders_permit(folder, name);
}

static int open_file(const struct file_request *request, const struct folder *folder)
{
    const bool is_store = folder->use == FOLDER_STORE;
    if (request->use >= FILES_USES || (!is_store && request->use != FILES_CREATE) ||
        (request->use != FILES_UNNAMED && !is_permitted(folder, request->name)))
        return -1;
    return file_call_open(folder->fd, request->name, (enum files_use)request->use);
}

/* Returns a file for the answer, 0 if there is none, -1 with errno if it failed.  file: -1: none came. */
static int serve(const struct file_request *request, const struct folder *folder, int file,
                 struct files_status *status)
{
    const bool is_store = folder->use == FOLDER_STORE;
    errno = EPERM;
    if (request->kind == FILE_OPEN)
        return open_file(request, folder);
    if (request->kind == FILE_LIST)
        return is_store ? list(folder->fd) : -1;
    if (!is_permitted(folder, request->name))
        return -1;
    switch (request->kind) {
    case FILE_LINK:
        return is_store && file >= 0 && is_unnamed(file)
                   ? file_call_link(folder->fd, file, request->name)
                   : -1;
    case FILE_RENAME:
        return is_permitted(folder, request->to)
                   ? renameat(folder->fd, request->name, folder->fd, request->to)
                   : -1;
    case FILE_REMOVE: return unlinkat(folder->fd, request->name, 0);
    case FILE_STATUS: return file_call_status(folder->fd, request->name, status);
    default: return -1;
    }
}

static int serve_as_owner(const struct file_request *request, int file,
                          struct files_status *status)
{
    const uid_t uid = geteuid();
    const gid_t gid = getegid();
    errno = EINVAL;
    if (request->folder >= folders_count())
        return -1;
    const struct folder *const folder = folders_at(request->folder);
    const bool is_owner = become(folder->uid, folder->gid);
    errno = EPERM;
    const int rc = is_owner ? serve(request, folder, file, status) : -1;
    const int sys = errno;
    if (!become(uid, gid))
        _exit(1);
    errno = sys;
    return rc;
}

/* Sends the answer; a client that no longer waits gets none. */
static void send_answer(int to, const struct file_answer *answer, int fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof fd)];
    } control = { .bytes = { 0 } };
    struct iovec part = { .iov_base = (void *)(uintptr_t)answer, .iov_len = sizeof *answer };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (fd > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *const head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(head), &fd, sizeof fd);
    }
    (void)!sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Descriptors that came with a message; how many. */
static size_t take_descriptors(struct msghdr *message, int fds[MAX_FDS])
{
    size_t count = 0;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(at), count * sizeof(int));
    }
    return count;
}

bool file_server_answer(int socket)
{
    struct file_request request;
    struct file_answer answer = { .sys = 0 };
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(MAX_FDS * sizeof(int))];
    } control;
    struct iovec part = { .iov_base = &request, .iov_len = sizeof request };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    int fds[MAX_FDS];
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got <= 0)
        return got < 0 && (errno == EAGAIN || errno == EINTR);
    const size_t count = take_descriptors(&message, fds);
    if (got == (ssize_t)sizeof request && count > 0) {
        const int rc = serve_as_owner(&request, count > 1 ? fds[1] : -1, &answer.status);
        answer.sys = rc < 0 ? errno : 0;
        send_answer(fds[0], &answer, rc);
        if (rc > 0)
            close(rc);
    }
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return true;
}
