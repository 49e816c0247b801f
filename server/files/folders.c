#include "server/files/folders.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "sampler/base/scoped.h"
#include "sampler/base/trusted_path.h"

enum { SUFFIX = 7 }; /* of a temporary file: ".XXXXXX" */

struct folder_path {
    const struct folder *folder;
    char *path;
};

struct named_file {
    const struct folder *folder;
    char *name;
};

static struct {
    struct folder items[FOLDERS_MAX];
    struct folder_path paths[FOLDERS_MAX_PATHS];
    struct named_file files[FOLDERS_MAX_FILES];
    size_t count, path_count, file_count;
} folders;

/* The length of a path without the slashes at its end; "/" stays. */
static size_t without_slashes(const char *path, size_t length)
{
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

/* The folder to fill in; NULL: it is left out. */
static struct folder *add_open(int fd, enum folder_use use)
{
    struct stat status;
    int number = folders_find_open(fd);
    if (number < 0 && folders.count < FOLDERS_MAX && fstat(fd, &status) == 0) {
        const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (own < 0)
            return NULL;
        number = (int)folders.count++;
        folders.items[number] = (struct folder){ .use = use,
                                                 .fd = own,
                                                 .device = status.st_dev,
                                                 .inode = status.st_ino,
                                                 .uid = status.st_uid,
                                                 .gid = status.st_gid };
    }
    struct folder *const folder = number < 0 ? NULL : &folders.items[number];
    if (folder && folder->use < use)
        folder->use = use;
    return folder;
}

static struct folder *add_folder(const char *path, enum folder_use use)
{
    const size_t length = without_slashes(path, strlen(path));
    SCOPED_FD int fd = -1;
    if (trusted_path_open(path, O_PATH | O_DIRECTORY, 0, &fd, NULL))
        return NULL;
    struct folder *const folder = add_open(fd, use);
    char *const copy =
        folder && folders_find(path, length) < 0 && folders.path_count < FOLDERS_MAX_PATHS
            ? strndup(path, length)
            : NULL;
    if (copy)
        folders.paths[folders.path_count++] = (struct folder_path){ folder, copy };
    return folder;
}

static void add_name(const struct folder *folder, const char *name)
{
    char *const copy = folder && folders.file_count < FOLDERS_MAX_FILES ? strdup(name) : NULL;
    if (copy)
        folders.files[folders.file_count++] = (struct named_file){ folder, copy };
}

void folders_add(const char *path, enum folder_use use)
{
    (void)add_folder(path, use);
}

void folders_add_file(const char *path, const char *name)
{
    add_name(add_folder(path, FOLDER_NAMED), name);
}

void folders_add_open(int fd, enum folder_use use, const char *name)
{
    const struct folder *const folder = add_open(fd, use);
    if (name)
        add_name(folder, name);
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
    for (size_t i = 0; i < folders.path_count; i++)
        if (strlen(folders.paths[i].path) == length &&
            memcmp(folders.paths[i].path, path, length) == 0)
            return (int)(folders.paths[i].folder - folders.items);
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
