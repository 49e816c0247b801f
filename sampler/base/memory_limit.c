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

/* A limit that nobody reaches is none: version 1 has a number where version 2 has "max". */
#define NO_LIMIT (UINT64_MAX / 4)

/* The two versions of control groups. */
static const struct version {
    const char *mark, *folder; /* in the file of the process; below the folder of all */
    const char *limit, *usage;
    const char *reclaimed[3]; /* in memory.stat: what the kernel takes before it kills */
} versions[] = {
    { "0::",
      "",
      "memory.max",
      "memory.current",
      { "\nactive_file ", "\ninactive_file ", "\nslab_reclaimable " } },
    { ":memory:",
      "/memory",
      "memory.limit_in_bytes",
      "memory.usage_in_bytes",
      { "\ntotal_active_file ", "\ntotal_inactive_file ", "\ntotal_slab_reclaimable " } },
};

static struct {
    uint64_t limit; /* 0: there is none */
    char folder[PATH_MAX];
    const struct version *version;
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

/* 0: none. */
static uint64_t limit_in(const char *folder, const struct version *version)
{
    char text[64];
    const int fd = open_in(folder, version->limit);
    const size_t length = fd >= 0 ? read_fd(fd, text, sizeof text) : 0;
    if (fd >= 0)
        close(fd);
    const uint64_t limit =
        length > 0 && *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : 0;
    return limit < NO_LIMIT ? limit : 0;
}

/* The group and those around it: the smallest limit counts.  In a container the folder may show only the
 * group itself, whatever its path is. */
static void find_limit(const char *folder, const struct version *version, char *path)
{
    char whole[PATH_MAX];
    for (;;) {
        const int length =
            snprintf(whole, sizeof whole, "%s%s%s", folder, version->folder, path);
        const uint64_t limit =
            length > 0 && (size_t)length < sizeof whole ? limit_in(whole, version) : 0;
        if (limit > 0 && (group.limit == 0 || limit < group.limit)) {
            group.limit = limit;
            group.version = version;
            memcpy(group.folder, whole, sizeof whole);
        }
        char *const end = strrchr(path, '/');
        if (!end)
            return;
        *end = '\0';
    }
}

void memory_limit_find(const char *folder, const char *own)
{
    char line[PATH_MAX];
    FILE *const file = fopen(own, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
            char *const mark = strstr(line, versions[i].mark);
            if (mark)
                find_limit(folder, &versions[i], mark + strlen(versions[i].mark));
        }
    }
    if (file)
        fclose(file);
}

void memory_limit_begin(void)
{
    if (group.limit == 0 || group.has_begun)
        return;
    group.usage_fd = open_in(group.folder, group.version->usage);
    group.stat_fd = open_in(group.folder, "memory.stat");
    group.has_begun = group.usage_fd >= 0 && group.stat_fd >= 0;
    memory_limit_renew(true);
}

size_t memory_limit_scale(size_t usual)
{
    if (group.limit == 0 || group.limit >= MEMORY_LIMIT_USUAL_BYTES)
        return usual;
    const size_t scaled =
        (size_t)((double)usual * (double)group.limit / (double)MEMORY_LIMIT_USUAL_BYTES);
    return scaled > 0 ? scaled : 1;
}

uint64_t memory_limit_left(void)
{
    char usage[64], stat[8192];
    if (!group.has_begun || read_fd(group.usage_fd, usage, sizeof usage) == 0)
        return UINT64_MAX;
    read_fd(group.stat_fd, stat, sizeof stat);
    uint64_t used = strtoull(usage, NULL, 10);
    for (size_t i = 0; i < sizeof group.version->reclaimed / sizeof *group.version->reclaimed;
         i++) {
        const char *const mark = group.version->reclaimed[i];
        const char *const at = strstr(stat, mark);
        const uint64_t bytes = at ? strtoull(at + strlen(mark), NULL, 10) : 0;
        used -= bytes < used ? bytes : used;
    }
    const uint64_t most = group.limit - group.limit / MEMORY_LIMIT_RESERVE;
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
