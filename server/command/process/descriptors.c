#include "server/command/process/descriptors.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool descriptors_keep(const int *kept, size_t count)
{
    const unsigned end = DESCRIPTORS_FIRST + (unsigned)count;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    /* A container of one file may have no /dev: a folder can neither be read from nor written to.
     * */
    if (nothing < 0)
        nothing = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    /* The descriptors move by way of numbers that none of them has. */
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0)
        return false;
    int above[DESCRIPTORS_MAX];
    for (size_t i = 0; i < count; i++)
        above[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, DESCRIPTORS_FIRST + (int)count);
    for (size_t i = 0; i < count; i++)
        if (above[i] < 0 || dup3(above[i], DESCRIPTORS_FIRST + (int)i, O_CLOEXEC) < 0)
            return false;

    if (syscall(SYS_close_range, end, ~0u, 0) != 0)
        for (int fd = (int)end; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
            close(fd);
    return chdir("/") == 0;
}
