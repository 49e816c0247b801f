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
#include "server/files/files.h"
#include "server/files/folders.h"

static enum err_code cannot_write(int sys, const char *path, struct err *err)
{
    err_sys(err, sys, "cannot write '%s'", path);
    return ERR_SYS;
}

static enum err_code open_in_place(struct output *output, struct err *err)
{
    output->fd = open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return output->fd < 0 ? cannot_write(errno, output->path, err) : ERR_OK;
}

/* In the same folder, as rename requires, and hidden, because a power failure may leave it there. */
static enum err_code open_temporary(struct output *output, struct err *err)
{
    const char *const slash = strrchr(output->path, '/');
    const int folder_length = slash ? (int)(slash + 1 - output->path) : 0;
    const char *name;
    snprintf(output->temporary, sizeof output->temporary, "%.*s.%.200s.XXXXXX", folder_length,
             output->path, output->path + folder_length);
    const struct files_folder folder = files_of(output->temporary, &name);
    output->fd = files_create(&folder, output->temporary + (name - output->temporary));
    if (output->fd >= 0)
        return ERR_OK;
    output->temporary[0] = '\0';
    return cannot_write(errno, output->path, err);
}

/* Writes to the target of a link instead of replacing the link. */
static enum err_code resolve(struct output *output, const char *path, struct err *err)
{
    char *const real = realpath(path, NULL);
    const char *const chosen = real ? real : path;
    const bool fits = strlen(chosen) < sizeof output->path;
    if (fits)
        memcpy(output->path, chosen, strlen(chosen) + 1);
    free(real);
    return fits ? ERR_OK : cannot_write(ENAMETOOLONG, path, err);
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
        (void)mkdir(path, S_IRWXU | S_IRWXG | S_IRWXO);
}

/* Its type, as in struct stat; 0: there is none.  A link that leads nowhere is replaced. */
static mode_t type_of(const struct output *output)
{
    struct files_status served;
    struct stat status;
    const char *name;
    const struct files_folder folder = files_of(output->path, &name);
    if (folder.number < 0)
        return stat(output->path, &status) == 0 ? status.st_mode & S_IFMT : 0;
    const bool is_there = files_status(&folder, name, &served) == 0;
    return is_there && !S_ISLNK(served.mode) ? served.mode & S_IFMT : 0;
}

/* Whoever else writes it replaces it. */
static bool may_write(const struct output *output)
{
    const char *name;
    return files_of(output->path, &name).number >= 0 || access(output->path, W_OK) == 0;
}

enum err_code output_init(struct output *output, const char *path, struct err *err)
{
    memset(output, 0, sizeof *output);
    output->fd = -1;
    if (strcmp(path, "-") == 0) {
        output->fd = dup(STDOUT_FILENO);
        return output->fd < 0 ? cannot_write(errno, "standard output", err) : ERR_OK;
    }
    const enum err_code rc = resolve(output, path, err);
    if (rc != ERR_OK)
        return rc;
    const mode_t type = type_of(output);
    if (type == 0)
        return open_temporary(output, err);
    if (S_ISDIR(type))
        return cannot_write(EISDIR, path, err);
    if (!may_write(output))
        return cannot_write(errno, path, err);
    return S_ISREG(type) ? open_temporary(output, err) : open_in_place(output, err);
}

void output_deinit(struct output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    output->fd = -1;
    if (output->temporary[0]) {
        const char *name;
        const struct files_folder folder = files_of(output->temporary, &name);
        (void)files_remove(&folder, name);
    }
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

/* A new file can be read by its owner only.  Applies the umask instead, unless the file may
 * contain data that other users must not see. */
static void apply_mask(int fd)
{
    if (privilege_is_held())
        return;
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH) & ~mask);
}

enum err_code output_finish(struct output *output, const void *data, size_t bytes,
                            struct err *err)
{
    if (!output_write(output, data, bytes))
        return cannot_write(output->sys, output->path[0] ? output->path : "standard output",
                            err);
    if (!output->temporary[0])
        return ERR_OK;
    apply_mask(output->fd);
    const char *name, *temporary;
    const struct files_folder folder = files_of(output->path, &name);
    (void)files_of(output->temporary, &temporary);
    if (files_rename(&folder, temporary, name) != 0)
        return cannot_write(errno, output->path, err);
    output->temporary[0] = '\0';
    return ERR_OK;
}
