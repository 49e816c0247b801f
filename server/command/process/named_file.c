#include "server/command/process/named_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "server/command/process/signals.h"

/* Whatever the reason: ERR_PERM would be about a target. */
static enum err_code refuse(const char *what, const char *path, struct err *err)
{
    (void)err_sys(err, errno, "cannot read %s '%s'", what, path);
    return ERR_SYS;
}

/* false: a signal asks us to stop.  A pipe without a writer is not readable, and not at its end until
 * one has come and gone. */
static bool wait_readable(int fd)
{
    enum { WAIT_MS = 100 };
    struct pollfd wanted = { .fd = fd, .events = POLLIN };
    while (poll(&wanted, 1, WAIT_MS) == 0)
        if (signals_are_pending())
            return false;
    return true;
}

static enum err_code read_whole(int fd, const char *path, const char *what, char *out,
                                size_t bytes, size_t *length_out, struct err *err)
{
    *length_out = 0;
    while (*length_out < bytes) {
        if (!wait_readable(fd))
            return err_set(err, ERR_SYS, "stopped before anything was written to %s '%s'", what,
                           path);
        const ssize_t got = read(fd, out + *length_out, bytes - *length_out);
        if (got == 0)
            break;
        if (got > 0)
            *length_out += (size_t)got;
        else if (errno != EAGAIN && errno != EINTR)
            return refuse(what, path, err);
    }
    return ERR_OK;
}

enum err_code named_file_read(const char *path, const char *what, char *out, size_t bytes,
                              size_t *length_out, mode_t *mode_out, struct err *err)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
        return err_set(err, ERR_SYS, "cannot read %s '%s': it is neither a file nor a pipe",
                       what, path);
    SCOPED_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) != 0)
        return refuse(what, path, err);
    *mode_out = status.st_mode;
    return read_whole(fd, path, what, out, bytes, length_out, err);
}
