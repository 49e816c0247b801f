#include "server/files/file_request.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"

enum { OWNER_ONLY = S_IRUSR | S_IWUSR };

int file_call_open(int folder_fd, const char *name, enum files_use use)
{
    static const int flags[FILES_USES] = { [FILES_READ] = O_RDONLY,
                                           [FILES_CREATE] = O_RDWR | O_CREAT | O_EXCL,
                                           [FILES_REPLACE] = O_WRONLY | O_CREAT | O_TRUNC };
    struct stat status;
    if (use == FILES_UNNAMED)
        return openat(folder_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, OWNER_ONLY);
    const int fd =
        openat(folder_fd, name, flags[use] | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
               OWNER_ONLY);
    if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

int file_call_link(int folder_fd, int fd, const char *name)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, folder_fd, name, AT_SYMLINK_FOLLOW);
}

int file_call_status(int folder_fd, const char *name, struct files_status *out)
{
    struct stat status;
    if (fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return -1;
    *out = (struct files_status){ .device = status.st_dev,
                                  .inode = status.st_ino,
                                  .bytes = (uint64_t)status.st_size,
                                  .changed_ns = (uint64_t)status.st_mtim.tv_sec * NS_PER_S +
                                                (uint64_t)status.st_mtim.tv_nsec,
                                  .mode = status.st_mode };
    return 0;
}

int file_call_list(int folder_fd, struct buffer *out)
{
    struct files_status status;
    const int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        const int sys = errno;
        if (fd >= 0)
            close(fd);
        errno = sys;
        return -1;
    }
    const struct dirent *entry;
    for (int i = 0; i < FILES_MAX_LISTED && (entry = readdir(folder)); i++)
        if (file_call_status(fd, entry->d_name, &status) == 0 && S_ISREG(status.mode)) {
            static const char padding[8];
            const size_t length = strlen(entry->d_name) + 1;
            const size_t bytes = (length + 7) / 8 * 8;
            const struct file_row row = { status, (uint32_t)bytes };
            buffer_append(out, &row, sizeof row);
            buffer_append(out, entry->d_name, length);
            buffer_append(out, padding, bytes - length);
        }
    closedir(folder);
    errno = ENOMEM;
    return out->failed ? -1 : 0;
}
