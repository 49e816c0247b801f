#include "sampler/base/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* getrusage knows only the peak. */
static uint64_t resident_bytes(void)
{
    uint64_t pages = 0;
    FILE *const file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%*u %" SCNu64, &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void process_usage_read(struct process_usage *out)
{
    struct rusage usage = { 0 };
    const uint64_t resident = resident_bytes();
    getrusage(RUSAGE_SELF, &usage);
    /* The kernel updates its peak now and then. */
    const uint64_t peak = (uint64_t)usage.ru_maxrss * 1024;
    *out = (struct process_usage){ .cpu_user_s = seconds_of(usage.ru_utime),
                                   .cpu_sys_s = seconds_of(usage.ru_stime),
                                   .rss_bytes = resident,
                                   .rss_peak_bytes = peak > resident ? peak : resident };
}
