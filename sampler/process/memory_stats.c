#include "sampler/process/memory_stats.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The end of a longer text is left out: a process may have 65,536 groups, which come before its swap. */
enum { MAX_TEXT_BYTES = 1 << 14 };

bool memory_stats_parse_rss(const char *statm, uint64_t *bytes_out)
{
    uint64_t size = 0, resident = 0;
    if (sscanf(statm, "%" SCNu64 " %" SCNu64, &size, &resident) != 2 || size == 0)
        return false;
    *bytes_out = resident * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

bool memory_stats_parse_faults(const char *stat, uint64_t *minor_out, uint64_t *major_out)
{
    /* The name of the process may hold spaces and parentheses. */
    const char *const end = strrchr(stat, ')');
    return end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %" SCNu64 " %*u %" SCNu64,
                         minor_out, major_out) == 2;
}

bool memory_stats_parse_swap(const char *status, uint64_t *bytes_out)
{
    static const char label[] = "VmSwap:";
    uint64_t kib;
    for (const char *line = status; line; line = strchr(line, '\n')) {
        line += line != status;
        if (strncmp(line, label, sizeof label - 1) == 0 &&
            sscanf(line + sizeof label - 1, "%" SCNu64, &kib) == 1) {
            *bytes_out = kib * 1024;
            return true;
        }
    }
    return false;
}

static bool read_text(int pid, const char *name, char text[MAX_TEXT_BYTES])
{
    char path[64];
    size_t used = 0;
    ssize_t bytes;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    do {
        bytes = read(fd, text + used, MAX_TEXT_BYTES - 1 - used);
        used += bytes > 0 ? (size_t)bytes : 0;
    } while (bytes > 0 && used < MAX_TEXT_BYTES - 1);
    close(fd);
    text[used] = '\0';
    return used > 0;
}

bool memory_stats_rss(int pid, uint64_t *bytes_out)
{
    char text[MAX_TEXT_BYTES];
    return read_text(pid, "statm", text) && memory_stats_parse_rss(text, bytes_out);
}

bool memory_stats_faults(int pid, uint64_t *minor_out, uint64_t *major_out)
{
    char text[MAX_TEXT_BYTES];
    return read_text(pid, "stat", text) &&
           memory_stats_parse_faults(text, minor_out, major_out);
}

bool memory_stats_swap(int pid, uint64_t *bytes_out)
{
    char text[MAX_TEXT_BYTES];
    return read_text(pid, "status", text) && memory_stats_parse_swap(text, bytes_out);
}
