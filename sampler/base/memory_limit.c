#include "sampler/base/memory_limit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/base/memory_group.h"

/* The files of a group. */
static const struct version {
    const char *usage;
    const char *reclaimed[3]; /* in memory.stat: what the kernel takes before it kills */
} versions[MEMORY_GROUP_VERSIONS] = {
    [MEMORY_GROUP_2] = { "memory.current",
                         { "\nactive_file ", "\ninactive_file ", "\nslab_reclaimable " } },
    [MEMORY_GROUP_1] = { "memory.usage_in_bytes",
                         { "\ntotal_active_file ", "\ntotal_inactive_file ",
                           "\ntotal_slab_reclaimable " } },
};

static struct {
    struct memory_group of;
    bool has_begun;
    int usage_fd, stat_fd;
} group;

/* Returns the length; 0: the file cannot be read. */
static size_t read_fd(int fd, char *out, size_t room)
{
    const ssize_t bytes = pread(fd, out, room - 1, 0);
    out[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0 ? (size_t)bytes : 0;
}

static int open_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

void memory_limit_find(const char *folder, const char *own)
{
    memory_group_find(folder, own, &group.of);
}

void memory_limit_begin(void)
{
    if (group.of.limit == 0 || group.has_begun)
        return;
    group.usage_fd = open_in(group.of.folder, versions[group.of.version].usage);
    group.stat_fd = open_in(group.of.folder, "memory.stat");
    group.has_begun = group.usage_fd >= 0 && group.stat_fd >= 0;
    memory_limit_renew(true);
}

size_t memory_limit_scale(size_t usual)
{
    if (group.of.limit == 0 || group.of.limit >= MEMORY_LIMIT_USUAL_BYTES)
        return usual;
    const size_t scaled =
        (size_t)((double)usual * (double)group.of.limit / (double)MEMORY_LIMIT_USUAL_BYTES);
    return scaled > 0 ? scaled : 1;
}

uint64_t memory_limit_left(void)
{
    char usage[64], stat[8192];
    if (!group.has_begun || read_fd(group.usage_fd, usage, sizeof usage) == 0)
        return UINT64_MAX;
    read_fd(group.stat_fd, stat, sizeof stat);
    uint64_t used = strtoull(usage, NULL, 10);
    for (size_t i = 0; i < sizeof versions[group.of.version].reclaimed /
                               sizeof *versions[group.of.version].reclaimed;
         i++) {
        const char *const mark = versions[group.of.version].reclaimed[i];
        const char *const at = strstr(stat, mark);
        const uint64_t bytes = at ? strtoull(at + strlen(mark), NULL, 10) : 0;
        used -= bytes < used ? bytes : used;
    }
    const uint64_t most = group.of.limit - group.of.limit / MEMORY_LIMIT_RESERVE;
    return most > used ? most - used : 0;
}

/* The memory that RLIMIT_DATA counts; 0: it cannot be read. */
static uint64_t data_bytes(void)
{
    char text[128];
    uint64_t pages = 0;
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (read_fd(fd, text, sizeof text) == 0 ||
        sscanf(text, "%*u %*u %*u %*u %*u %" SCNu64, &pages) != 1)
        pages = 0;
    close(fd);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void allow(uint64_t bytes, bool may_raise)
{
    struct rlimit data;
    if (getrlimit(RLIMIT_DATA, &data) != 0 || (!may_raise && bytes > data.rlim_cur))
        return;
    data.rlim_cur = bytes < data.rlim_max ? (rlim_t)bytes : data.rlim_max;
    (void)setrlimit(RLIMIT_DATA, &data);
}

void memory_limit_renew(bool may_raise)
{
    const uint64_t left = memory_limit_left(), bytes = left == UINT64_MAX ? 0 : data_bytes();
    if (bytes > 0)
        allow(bytes + left, may_raise);
}

void memory_limit_add(size_t bytes)
{
    struct rlimit data;
    if (group.has_begun && getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY)
        allow(data.rlim_cur + bytes, true);
}
