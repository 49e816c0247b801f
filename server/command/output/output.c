#include "server/command/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/command/process/privilege.h"
#include "server/command/process/standard.h"
#include "server/files/files.h"
#include "server/files/folders.h"

/* Finds a place in a folder that this process may no longer enter, and the file process serves. */
static bool find_served(struct output_place *place)
{
    const char *name;
    const int number = files_of(place->path, &name).number;
    if (number < 0 || strlen(name) >= sizeof place->at.name)
        return false;
    snprintf(place->at.name, sizeof place->at.name, "%s", name);
    place->at.folder_fd = fcntl(folders_at((size_t)number)->fd, F_DUPFD_CLOEXEC, 0);
    return place->at.folder_fd >= 0;
}

enum err_code output_place_find(struct output_place *place, const char *path, struct err *err)
{
    struct err why = { 0 };
    *place = (struct output_place){ .at.folder_fd = -1 };
    if (strcmp(path, "-") == 0)
        return standard_is_written(STDOUT_FILENO) ? ERR_OK
                                                  : output_cannot_write(place, EBADF, err);
    snprintf(place->path, sizeof place->path, "%s", path);
    if (!trusted_path_find(path, &place->at, &why) || (why.sys == EACCES && find_served(place)))
        return ERR_OK;
    return err_set(err, ERR_SYS, "cannot write '%.200s': %s", path, why.message);
}

void output_place_close(struct output_place *place)
{
    if (place->path[0] && place->at.folder_fd >= 0)
        close(place->at.folder_fd);
    *place = (struct output_place){ .at.folder_fd = -1 };
}

const char *output_place_name(const struct output_place *place)
{
    return place->path[0] ? place->path : "standard output";
}

bool output_place_is_same(const struct output_place *a, const struct output_place *b)
{
    struct stat left, right;
    if (!a->path[0] || !b->path[0])
        return a->path[0] == b->path[0];
    return strcmp(a->at.name, b->at.name) == 0 && fstat(a->at.folder_fd, &left) == 0 &&
           fstat(b->at.folder_fd, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
}

enum err_code output_check_places(const struct output_place *a, const struct output_place *b,
                                  struct err *err)
{
    struct stat status;
    if (!output_place_is_same(a, b))
        return ERR_OK;
    if (a->path[0] && fstatat(a->at.folder_fd, a->at.name, &status, 0) == 0 &&
        !S_ISREG(status.st_mode))
        return ERR_OK;
    return err_set(err, ERR_INVALID, "two outputs are %.200s: name a file for one of them",
                   output_place_name(a));
}

enum err_code output_cannot_write(const struct output_place *place, int sys, struct err *err)
{
    err_sys(err, sys, place->path[0] ? "cannot write '%.200s'" : "cannot write to %s",
            output_place_name(place));
    return ERR_SYS;
}

/* The temporary file is in the same folder, as rename requires, and hidden, because a power failure may leave it there. */
static enum err_code begin_temporary(struct output *output, struct err *err)
{
    const struct files_folder folder = files_in(output->place.at.folder_fd);
    snprintf(output->temporary, sizeof output->temporary, ".%.200s.XXXXXX",
             output->place.at.name);
    output->fd = files_create(&folder, output->temporary);
    if (output->fd >= 0)
        return ERR_OK;
    output->temporary[0] = '\0';
    return output_cannot_write(&output->place, errno, err);
}

bool output_is_folder(const char *path)
{
    struct stat status;
    const size_t length = strlen(path);
    return (length > 0 && path[length - 1] == '/') || folders_find(path, length) >= 0 ||
           (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

void output_make_folder(const char *path)
{
    const size_t length = path ? strlen(path) : 0;
    if (length > 1 && path[length - 1] == '/')
        (void)trusted_path_make_folder(path, S_IRWXU | S_IRWXG | S_IRWXO, NULL);
}

/* The mode as in struct stat.  This process may be unable to enter a folder that the file process serves. */
static bool find_mode(const struct output_place *place, mode_t *out)
{
    struct files_status served;
    struct stat status;
    const int no_follow = place->at.is_opened ? 0 : AT_SYMLINK_NOFOLLOW;
    const struct files_folder folder = files_in(place->at.folder_fd);
    if (fstatat(place->at.folder_fd, place->at.name, &status, no_follow) == 0) {
        *out = status.st_mode;
        return true;
    }
    if (errno != EACCES || folder.number < 0 ||
        files_status(&folder, place->at.name, &served) != 0)
        return false;
    *out = served.mode;
    return true;
}

/* A file that is there is replaced, anything else is written in place. */
static enum err_code begin_place(struct output *output, struct err *err)
{
    const struct trusted_path *const at = &output->place.at;
    const bool is_served = files_in(at->folder_fd).number >= 0;
    mode_t mode = 0;
    if (!find_mode(&output->place, &mode))
        return errno == ENOENT ? begin_temporary(output, err)
                               : output_cannot_write(&output->place, errno, err);
    if (S_ISDIR(mode))
        return output_cannot_write(&output->place, EISDIR, err);
    const bool is_replaced = S_ISREG(mode) && !at->is_opened;
    if (!(is_served && is_replaced) && faccessat(at->folder_fd, at->name, W_OK, 0) != 0)
        return output_cannot_write(&output->place, errno, err);
    if (is_replaced)
        return begin_temporary(output, err);
    const enum err_code rc = trusted_path_open_at(at, O_WRONLY | O_NOCTTY, 0, &output->fd, err);
    return !rc ? rc : err_wrap(err, ERR_SYS, "cannot write '%.200s'", output->place.path);
}

enum err_code output_init(struct output *output, const char *path, struct err *err)
{
    memset(output, 0, sizeof *output);
    output->fd = -1;
    enum err_code rc = output_place_find(&output->place, path, err);
    if (!rc && output->place.path[0])
        rc = begin_place(output, err);
    else if (!rc && (output->fd = dup(STDOUT_FILENO)) < 0)
        rc = output_cannot_write(&output->place, errno, err);
    if (rc)
        output_deinit(output);
    return rc;
}

void output_deinit(struct output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    if (output->temporary[0]) {
        const struct files_folder folder = files_in(output->place.at.folder_fd);
        (void)files_remove(&folder, output->temporary);
    }
    output_place_close(&output->place);
    output->fd = -1;
    output->temporary[0] = '\0';
}

bool output_wants_colours(const struct output *output)
{
    const char *const no_color = getenv("NO_COLOR");
    const char *const term = getenv("TERM");
    return isatty(output->fd) && !(no_color && *no_color) && !(term && !strcmp(term, "dumb"));
}

bool output_write(struct output *output, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0 && output->sys == 0) {
        const ssize_t written = write(output->fd, at, bytes);
        if (written < 0 && errno != EINTR)
            output->sys = errno;
        if (written > 0) {
            at += written;
            bytes -= (size_t)written;
            output->written += (size_t)written;
        }
    }
    return output->sys == 0;
}

enum err_code output_finish(struct output *output, const void *data, size_t bytes,
                            struct err *err)
{
    if (!output_write(output, data, bytes))
        return output_cannot_write(&output->place, output->sys, err);
    if (!output->temporary[0])
        return ERR_OK;

    /* A new file can be read by its owner only, and stays so if it may contain data that other
     * users must not see. */
    if (!privilege_is_held()) {
        const mode_t mask = umask(0);
        umask(mask);
        fchmod(output->fd, (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH) & ~mask);
    }

    const struct files_folder folder = files_in(output->place.at.folder_fd);
    if (files_rename(&folder, output->temporary, output->place.at.name) != 0)
        return output_cannot_write(&output->place, errno, err);
    output->temporary[0] = '\0';
    return ERR_OK;
}
