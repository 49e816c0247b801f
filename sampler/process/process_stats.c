#include "sampler/process/process_stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/process/procfs.h"

enum { ID_LEAST_DIGITS = 32 };

enum err_code process_stats_parse(const char *stat, struct process_stats *out)
{
    /* The process's name may hold spaces and parentheses. */
    const char *const end = strrchr(stat, ')');
    uint64_t user = 0, system = 0;
    struct process_stats stats = { .state = '?' };
    if (!end || sscanf(end + 1,
                       " %c %d %*d %*d %*d %*d %*u %" SCNu64 " %*u %*u %*u %" SCNu64 " %" SCNu64
                       " %*d %*d %*d %*d %" SCNu32 " %*d %" SCNu64 " %*u %" SCNu64
                       " %*u %" SCNu64 " %*u %" SCNu64,
                       &stats.state, &stats.parent, &stats.minor_faults, &user, &system,
                       &stats.threads, &stats.start_ticks, &stats.rss_bytes, &stats.code_start,
                       &stats.stack_start) != 10)
        return ERR_CORRUPT;
    stats.cpu_ticks = user + system;
    stats.rss_bytes *= (uint64_t)sysconf(_SC_PAGESIZE);
    *out = stats;
    return ERR_OK;
}

enum err_code process_stats_read(int pid, struct process_stats *out, struct err *err)
{
    SCOPED_FREE char *stat = NULL;
    size_t bytes;
    const enum err_code rc = procfs_read(pid, "stat", &stat, &bytes, err);
    if (rc)
        return rc;
    return process_stats_parse(stat, out)
               ? err_set(err, ERR_CORRUPT, "/proc/%d/stat is too short", pid)
               : ERR_OK;
}

enum err_code process_stats_user(int pid, unsigned *uid_out, struct err *err)
{
    SCOPED_FREE char *status = NULL;
    size_t bytes;
    const enum err_code rc = procfs_read(pid, "status", &status, &bytes, err);
    if (rc)
        return rc;
    const char *const line = strstr(status, "\nUid:");
    if (!line || sscanf(line + 5, "%u", uid_out) != 1)
        return err_set(err, ERR_CORRUPT, "/proc/%d/status names no user", pid);
    return ERR_OK;
}

/* The first run of hex digits that is long enough for an id; NULL: none. */
static const char *find_id(const char *text, size_t bytes, size_t *length_out)
{
    const char *const end = text + bytes;
    while (text < end) {
        const size_t run = strspn(text, "0123456789abcdef");
        const size_t length = run < (size_t)(end - text) ? run : (size_t)(end - text);
        if (length >= ID_LEAST_DIGITS) {
            *length_out = length;
            return text;
        }
        text += length + 1;
    }
    *length_out = 0;
    return NULL;
}

/* The runtime's name is before the id: "docker-ID.scope", ".../docker/ID". */
static void name_runtime(const char *path, const char *id, char out[CONTAINER_NAME_BYTES])
{
    const char *end = id, *start = NULL;
    if (end > path && (end[-1] == '-' || end[-1] == '/' || end[-1] == ':'))
        end--;
    for (start = end; start > path && start[-1] != '/' && start[-1] != ':'; start--) {
    }
    const size_t length = (size_t)(end - start);
    if (length == 0 || length >= CONTAINER_NAME_BYTES || strncmp(start, "pod", 3) == 0)
        return;
    memcpy(out, start, length);
    out[length] = '\0';
}

static void parse_line(const char *line, size_t bytes, struct container *out)
{
    size_t length = 0;
    const char *id = NULL, *at = line;
    /* A container may be inside another: the innermost counts. */
    for (size_t found = 0;; at = id + length) {
        const char *const next = find_id(at, (size_t)(line + bytes - at), &found);
        if (!next)
            break;
        id = next;
        length = found;
    }
    if (!id || length >= CONTAINER_ID_BYTES)
        return;
    memcpy(out->id, id, length);
    out->id[length] = '\0';
    name_runtime(line, id, out->name);
}

void container_parse(const char *cgroup, struct container *out)
{
    memset(out, 0, sizeof *out);
    for (const char *line = cgroup; *line && !*out->id;) {
        const size_t bytes = strcspn(line, "\n");
        parse_line(line, bytes, out);
        line += bytes + (line[bytes] == '\n');
    }
}

void container_of(int pid, struct container *out)
{
    SCOPED_FREE char *text = NULL;
    size_t bytes;
    memset(out, 0, sizeof *out);
    if (!procfs_read(pid, "cgroup", &text, &bytes, NULL))
        container_parse(text, out);
}
