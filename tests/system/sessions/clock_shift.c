/*
 * clock_shift - to be preloaded: a wall clock that is off by what a file says, in seconds, so that a
 * test can set the clock of one program and of no other.
 *
 * The file is named by CLOCK_SHIFT and holds an int64_t; it is mapped, so that a change is seen at once.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *shift;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

int clock_gettime(clockid_t id, struct timespec *out);
time_t time(time_t *out);

static __attribute__((constructor)) void begin(void)
{
    void *const found = dlsym(RTLD_NEXT, "clock_gettime");
    const char *const path = getenv("CLOCK_SHIFT");
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    memcpy(&real_clock_gettime, &found, sizeof found);
    if (fd < 0)
        abort();
    shift = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *out)
{
    if (!real_clock_gettime)
        begin();
    const int rc = real_clock_gettime(id, out);
    if (rc == 0 && id == CLOCK_REALTIME)
        out->tv_sec += *shift;
    return rc;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
