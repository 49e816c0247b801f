#include "server/files/file_server.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/channel.h"
#include "sampler/base/scoped.h"
#include "server/files/file_request.h"
#include "server/files/folders.h"

enum { MAX_FDS = 2 };

/* Checks a new link by its inode.  false: the kernel refuses. */
static bool become_user(uid_t uid, gid_t gid)
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
static int serve_request(const struct file_request *request, const struct folder *folder,
                         int file, struct files_status *status)
{
    const bool is_store = folder->use == FOLDER_STORE;
    errno = EPERM;
    if (request->kind == FILE_OPEN)
        return open_file(request, folder);
    if (request->kind == FILE_LIST) {
        if (!is_store)
            return -1;

        /* The list as a file, because it may be longer than a message. */
        struct buffer rows = { 0 };
        SCOPED_FD int fd = memfd_create("list", MFD_CLOEXEC);
        const bool is_written = fd >= 0 && file_call_list(folder->fd, &rows) == 0 &&
                                channel_write(fd, rows.data, rows.length);
        const int sys = errno;
        buffer_deinit(&rows);
        errno = sys;
        return is_written ? scoped_take_fd(&fd) : -1;
    }
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
    const bool is_owner = become_user(folder->uid, folder->gid);
    errno = EPERM;
    const int rc = is_owner ? serve_request(request, folder, file, status) : -1;
    const int sys = errno;
    if (!become_user(uid, gid))
        _exit(1);
    errno = sys;
    return rc;
}

bool file_server_answer(int socket)
{
    struct file_request request;
    struct file_answer answer = { .sys = 0 };
    int fds[MAX_FDS];
    size_t got, count;
    if (!channel_receive(socket, &request, sizeof request, &got, fds, MAX_FDS, &count))
        return false;
    if (got == sizeof request && count > 0) {
        const int rc = serve_as_owner(&request, count > 1 ? fds[1] : -1, &answer.status);
        answer.sys = rc < 0 ? errno : 0;
        /* A client that no longer waits gets no answer. */
        (void)channel_send(fds[0], &answer, sizeof answer, &rc, rc > 0, 0);
        if (rc > 0)
            close(rc);
    }
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return true;
}
