#include "server/command/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/random.h"
#include "server/command/process/privilege.h"

static enum err_code cannot_write(int sys, const char *path, struct err *err)
{
    err_sys(err, sys, "cannot write '%s'", path);
    return ERR_SYS;
}

/* In the same folder, as rename requires, and hidden, because a power failure may leave it there. */
static int open_temporary(struct output *output, struct random *random)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    enum { RANDOM = 8 };
    char suffix[RANDOM + 1] = "";
    for (int i = 0; i < RANDOM; i++)
        suffix[i] = letters[random_below(random, sizeof letters - 1)];
    snprintf(output->temporary, sizeof output->temporary, ".%.200s.%s", output->at.name,
             suffix);
    return openat(output->at.folder_fd, output->temporary,
                  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

/* Tries names until one is free. */
static enum err_code begin_temporary(struct output *output, struct err *err)
{
    enum { TRIES = 100 };
    struct random random;
    random_init_any(&random);
    for (int tries = 0; output->fd < 0 && tries < TRIES; tries++) {
        output->fd = open_temporary(output, &random);
        if (output->fd < 0 && errno != EEXIST)
            break;
    }
    if (output->fd >= 0)
        return ERR_OK;
    output->temporary[0] = '\0';
    return cannot_write(errno, output->path, err);
}

bool output_is_folder(const char *path)
{
    struct stat status;
    const size_t length = strlen(path);
    return (length > 0 && path[length - 1] == '/') ||
           (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

void output_make_folder(const char *path)
{
    const size_t length = path ? strlen(path) : 0;
    if (length > 1 && path[length - 1] == '/')
        (void)trusted_path_make_folder(path, S_IRWXU | S_IRWXG | S_IRWXO, NULL);
}

/* A file that is there is replaced, anything else is written in place. */
static enum err_code begin(struct output *output, struct err *err)
{
    struct stat status;
    const int folder = output->at.folder_fd;
    const int no_follow = output->at.is_opened ? 0 : AT_SYMLINK_NOFOLLOW;
    if (fstatat(folder, output->at.name, &status, no_follow) != 0)
        return errno == ENOENT ? begin_temporary(output, err)
                               : cannot_write(errno, output->path, err);
    if (S_ISDIR(status.st_mode))
        return cannot_write(EISDIR, output->path, err);
    if (faccessat(folder, output->at.name, W_OK, 0) != 0)
        return cannot_write(errno, output->path, err);
    if (S_ISREG(status.st_mode) && !output->at.is_opened)
        return begin_temporary(output, err);
    const enum err_code rc =
        trusted_path_open_at(&output->at, O_WRONLY | O_NOCTTY, 0, &output->fd, err);
    return rc == ERR_OK ? rc : err_wrap(err, ERR_SYS, "cannot write '%s'", output->path);
}

enum err_code output_init(struct output *output, const char *path, struct err *err)
{
    memset(output, 0, sizeof *output);
    output->fd = -1;
    if (strcmp(path, "-") == 0) {
        output->fd = dup(STDOUT_FILENO);
        return output->fd < 0 ? cannot_write(errno, "standard output", err) : ERR_OK;
    }
    if (trusted_path_find(path, &output->at, err) != ERR_OK)
        return err_wrap(err, ERR_SYS, "cannot write '%s'", path);
    snprintf(output->path, sizeof output->path, "%s", path);
    const enum err_code rc = begin(output, err);
    if (rc != ERR_OK)
        output_deinit(output);
    return rc;
}

void output_deinit(struct output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    if (output->temporary[0])
        unlinkat(output->at.folder_fd, output->temporary, 0);
    if (output->path[0])
        close(output->at.folder_fd);
    output->fd = -1;
    output->path[0] = output->temporary[0] = '\0';
}

bool output_is_same(const struct output *a, const struct output *b)
{
    struct stat left, right;
    if (!a->path[0] || !b->path[0])
        return a->path[0] == b->path[0];
    return strcmp(a->at.name, b->at.name) == 0 && fstat(a->at.folder_fd, &left) == 0 &&
           fstat(b->at.folder_fd, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
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

/* The file was created so that only its owner can read it.  Applies the umask instead, unless the file
 * may contain data that other users must not see. */
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
    if (renameat(output->at.folder_fd, output->temporary, output->at.folder_fd,
                 output->at.name) != 0)
        return cannot_write(errno, output->path, err);
    output->temporary[0] = '\0';
    return ERR_OK;
}
