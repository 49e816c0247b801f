#define _GNU_SOURCE
#include "tests/support/counted_calls.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"

int __wrap_open(const char *path, int flags, unsigned mode);
int __wrap_openat(int folder, const char *path, int flags, unsigned mode);
int __wrap___open_2(const char *path, int flags);
int __wrap___openat_2(int folder, const char *path, int flags);
ssize_t __wrap_read(int fd, void *buffer, size_t bytes);
ssize_t __wrap___read_chk(int fd, void *buffer, size_t bytes, size_t room);
ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t offset);
ssize_t __wrap___pread_chk(int fd, void *buffer, size_t bytes, off_t offset, size_t room);
int __wrap_close(int fd);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

static uint64_t calls, clock_ns;

uint64_t counted_file_calls(void)
{
    return calls;
}

void counted_set_clock(uint64_t now_ns)
{
    clock_ns = now_ns;
}

int __wrap_openat(int folder, const char *path, int flags, unsigned mode)
{
    calls++;
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int __wrap_open(const char *path, int flags, unsigned mode)
{
    return __wrap_openat(AT_FDCWD, path, flags, mode);
}

int __wrap___open_2(const char *path, int flags)
{
    return __wrap_openat(AT_FDCWD, path, flags, 0);
}

int __wrap___openat_2(int folder, const char *path, int flags)
{
    return __wrap_openat(folder, path, flags, 0);
}

ssize_t __wrap_read(int fd, void *buffer, size_t bytes)
{
    calls++;
    return syscall(SYS_read, fd, buffer, bytes);
}

ssize_t __wrap___read_chk(int fd, void *buffer, size_t bytes, size_t room)
{
    return __wrap_read(fd, buffer, bytes < room ? bytes : room);
}

ssize_t __wrap_pread(int fd, void *buffer, size_t bytes, off_t offset)
{
    calls++;
    return syscall(SYS_pread64, fd, buffer, bytes, offset);
}

ssize_t __wrap___pread_chk(int fd, void *buffer, size_t bytes, off_t offset, size_t room)
{
    return __wrap_pread(fd, buffer, bytes < room ? bytes : room, offset);
}

int __wrap_close(int fd)
{
    calls++;
    return (int)syscall(SYS_close, fd);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    (void)clock;
    *out = clock_timespec(clock_ns);
    return 0;
}
