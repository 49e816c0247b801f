#define _GNU_SOURCE
#include "sampler/process/process_stats.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/process/procfs.h"

enum { ID_LEAST_DIGITS = 32, UUID_LENGTH = 36, MAX_PODS = 4096 };

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

bool process_stats_same_program(const struct process_stats *a, const struct process_stats *b)
{
    return a->start_ticks == b->start_ticks && a->stack_start == b->stack_start &&
           a->code_start == b->code_start;
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

/* The length of a UID at `text`: a UUID, which systemd writes with '_', or the 32 digits of a static pod; 0: none. */
static size_t uid_length(const char *text, const char *end)
{
    size_t length = 0;
    bool has_dash = false;
    while (text + length < end && length < UUID_LENGTH) {
        const char c = text[length];
        const bool is_dash = c == '-' || c == '_';
        if (is_dash ? length != 8 && length != 13 && length != 18 && length != 23
                    : !isxdigit((unsigned char)c))
            break;
        has_dash |= is_dash;
        length++;
    }
    return length == (has_dash ? UUID_LENGTH : ID_LEAST_DIGITS) ? length : 0;
}

/* ".../podUID/ID", or "...-podUID.slice/RUNTIME-ID.scope".  Only the node makes the outermost part of a path: what is below a
 * user's slice, or below the first pod, any program there may have made. */
static void parse_pod(const char *line, size_t bytes, char out[POD_UID_BYTES])
{
    static const char of_users[] = "/user.slice/";
    const char *const users = memmem(line, bytes, of_users, sizeof of_users - 1);
    const char *const end = users ? users : line + bytes;
    for (const char *at = line; !*out && (at = strstr(at, "pod")) && at < end;) {
        at += 3;
        const size_t length = uid_length(at, end);
        for (size_t i = 0; i < length; i++)
            out[i] = at[i] == '_' ? '-' : at[i];
        if (length > 0)
            out[length] = '\0';
    }
}

/* "NAMESPACE_NAME_UID", as names of Kubernetes are: they have no '_'. */
static bool is_pod_folder(const char *entry, const char *uid, char out[POD_BYTES])
{
    const char *const first = strchr(entry, '_'), *const last = strrchr(entry, '_');
    const size_t length = last ? (size_t)(last - entry) : 0;
    if (!first || first == entry || last <= first + 1 || strcmp(last + 1, uid) != 0 ||
        length >= POD_BYTES ||
        strspn(entry, "abcdefghijklmnopqrstuvwxyz0123456789.-_") < length)
        return false;
    memcpy(out, entry, length);
    out[first - entry] = '/';
    out[length] = '\0';
    return true;
}

void container_name_pod(const char *folder, struct container *container)
{
    const char *const name = getenv(POD_NAME_VARIABLE);
    const char *const namespace = getenv(POD_NAMESPACE_VARIABLE);
    if (*container->pod_uid) {
        DIR *const pods = opendir(folder);
        const struct dirent *entry = NULL;
        bool is_found = false;
        for (size_t i = 0; pods && !is_found && i < MAX_PODS && (entry = readdir(pods)); i++)
            is_found = is_pod_folder(entry->d_name, container->pod_uid, container->pod);
        if (pods)
            closedir(pods);
        if (!is_found)
            snprintf(container->pod, sizeof container->pod, "%s", container->pod_uid);
    } else if (name && *name) {
        /* Within a pod its containers see no more of the control group than their own part. */
        snprintf(container->pod, sizeof container->pod, "%s%s%s", namespace ? namespace : "",
                 namespace && *namespace ? "/" : "", name);
    }
}

void container_parse(const char *cgroup, struct container *out)
{
    memset(out, 0, sizeof *out);
    for (const char *line = cgroup; *line && !*out->id;) {
        const size_t bytes = strcspn(line, "\n");

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
        if (id && length < CONTAINER_ID_BYTES) {
            memcpy(out->id, id, length);
            out->id[length] = '\0';
            name_runtime(line, id, out->name);
            parse_pod(line, bytes, out->pod_uid);
        }

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
    container_name_pod(POD_FOLDER, out);
}
