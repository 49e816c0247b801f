#define _GNU_SOURCE
#include "sampler/process/file_status.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool file_status(int fd, struct statx *out)
{
    return syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                   STATX_TYPE | STATX_INO, out) == 0;
}
