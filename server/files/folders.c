#include "server/files/folders.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUFFIX = 7 }; /* of a temporary file: ".XXXXXX" */

struct named_file {
    const struct folder *folder;
    char *name;
};

static struct {
    struct folder items[FOLDERS_MAX];
    size_t count;
    struct named_file files[FOLDERS_MAX_FILES];
    size_t file_count;
} folders;

/* Without those at its end; "/" stays. */
static size_t without_slashes(const char *path, size_t length)
{
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

void folders_add(const char *path, enum folder_use use)
{
    struct stat status;
    const size_t length = without_slashes(path, strlen(path));
    const int known = folders_find(path, length);
    if (known >= 0 && folders.items[known].use < use)
        folders.items[known].use = use;
    if (known >= 0 || folders.count == FOLDERS_MAX)
        return;
    const int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *const copy = fd < 0 ? NULL : strndup(path, length);
    if (copy && fstat(fd, &status) == 0) {
        folders.items[folders.count++] = (struct folder){ .path = copy,
                                                          .use = use,
                                                          .fd = fd,
                                                          .device = status.st_dev,
                                                          .inode = status.st_ino,
                                                          .uid = status.st_uid,
                                                          .gid = status.st_gid };
        return;
    }
    free(copy);
    if (fd >= 0)
        close(fd);
}

void folders_add_file(const char *path, const char *name)
{
    folders_add(path, FOLDER_NAMED);
    const int number = folders_find(path, strlen(path));
    char *const copy =
        number >= 0 && folders.file_count < FOLDERS_MAX_FILES ? strdup(name) : NULL;
    if (copy)
        folders.files[folders.file_count++] =
            (struct named_file){ &folders.items[number], copy };
}

/* "NAME", "NAME.XXXXXX" or ".NAME.XXXXXX"; of a long name the start. */
static bool is_of_file(const char *name, const char *file)
{
    enum { START = 200 };
    const size_t length = strnlen(file, START);
    if (strcmp(name, file) == 0 || fnmatch(file, name, FNM_PERIOD) == 0)
        return true;
    const char *const start = *name == '.' && *file != '.' ? name + 1 : name;
    return strncmp(start, file, length) == 0 && start[length] == '.' &&
           strlen(start + length) == SUFFIX;
}

bool folders_permit(const struct folder *folder, const char *name)
{
    bool is_permitted = folder->use == FOLDER_REPORTS;
    for (size_t i = 0; i < folders.file_count && !is_permitted; i++)
        is_permitted =
            folders.files[i].folder == folder && is_of_file(name, folders.files[i].name);
    return is_permitted;
}

size_t folders_count(void)
{
    return folders.count;
}

const struct folder *folders_at(size_t index)
{
    return &folders.items[index];
}

void folders_move(size_t index, int fd)
{
    folders.items[index].fd = fd;
}

int folders_find(const char *path, size_t length)
{
    length = without_slashes(path, length);
    for (size_t i = 0; i < folders.count; i++)
        if (strlen(folders.items[i].path) == length &&
            memcmp(folders.items[i].path, path, length) == 0)
            return (int)i;
    return -1;
}

int folders_find_open(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return -1;
    for (size_t i = 0; i < folders.count; i++)
        if (folders.items[i].device == status.st_dev && folders.items[i].inode == status.st_ino)
            return (int)i;
    return -1;
}
