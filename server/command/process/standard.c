#include "server/command/process/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void standard_fill(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        /* Lower ones are open, so it gets this number.  A container may have no /dev. */
        if (open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC) < 0)
            (void)open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
}

bool standard_is_written(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}
