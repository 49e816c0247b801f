#define _GNU_SOURCE
#include "sampler/process/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"

enum { FIRST_BYTES = 4096 };

/* /proc gives ENOENT for a process that is gone, and ESRCH for one that went during the read. */
static enum err_code fail_reading(int pid, const char *name, int sys, struct err *err)
{
    if (sys == ENOENT || sys == ESRCH)
        return err_set(err, ERR_GONE, "no process %d", pid);
    return err_sys(err, sys, "cannot read /proc/%d/%s", pid, name);
}

enum err_code procfs_read(int pid, const char *name, char **text_out, size_t *bytes_out,
                          struct err *err)
{
    char path[PATH_MAX];
    int sys = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    SCOPED_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_reading(pid, name, errno, err);

    size_t used = 0, room = 0;
    char *text = NULL;
    for (;;) {
        if (used + 1 >= room && (room >= PROCFS_MAX_FILE_BYTES ||
                                 !VEC_RESERVE(text, room, room ? room + 1 : FIRST_BYTES))) {
            free(text);
            sys = ENOMEM;
            return fail_reading(pid, name, sys, err);
        }
        const ssize_t n = read(fd, text + used, room - used - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            sys = errno;
            free(text);
            return fail_reading(pid, name, sys, err);
        }
        used += (size_t)n;
        if (n == 0)
            break;
    }
    text[used] = '\0';
    *text_out = text;
    *bytes_out = used;
    return ERR_OK;
}

/* The command name may hold spaces and parentheses, so fields count from the last parenthesis. */
static const char *stat_field(const char *stat, int number)
{
    const char *at = strrchr(stat, ')');
    for (int field = 2; at && field < number; field++)
        at = strchr(at + 1, ' ');
    return at ? at + 1 : NULL;
}

enum err_code procfs_start_time(int pid, uint64_t *out, struct err *err)
{
    SCOPED_FREE char *stat = NULL;
    size_t bytes;
    const enum err_code rc = procfs_read(pid, "stat", &stat, &bytes, err);
    if (rc)
        return rc;
    const char *const field = stat_field(stat, 22);
    if (!field)
        return err_set(err, ERR_CORRUPT, "/proc/%d/stat has no start time", pid);
    *out = strtoull(field, NULL, 10);
    return ERR_OK;
}

static enum err_code read_state(int pid, const char *file, char *out, struct err *err)
{
    SCOPED_FREE char *stat = NULL;
    size_t bytes;
    const enum err_code rc = procfs_read(pid, file, &stat, &bytes, err);
    if (rc)
        return rc;
    const char *const field = stat_field(stat, 3);
    if (!field || !*field)
        return err_set(err, ERR_CORRUPT, "/proc/%d/%s has no state", pid, file);
    *out = *field;
    return ERR_OK;
}

enum err_code procfs_state(int pid, char *out, struct err *err)
{
    return read_state(pid, "stat", out, err);
}

enum err_code procfs_thread_state(int pid, int tid, char *out, struct err *err)
{
    char file[48];
    snprintf(file, sizeof file, "task/%d/stat", tid);
    return read_state(pid, file, out, err);
}

enum err_code procfs_identify(int pid, struct procfs_identity *out, struct err *err)
{
    enum {
        STATE = 3,
        PARENT = 4,
        START_TIME = 22,
        CODE_START = 26,
        STACK_START = 28,
        ARGUMENTS_START = 48
    };
    SCOPED_FREE char *stat = NULL;
    size_t bytes;
    const enum err_code rc = procfs_read(pid, "stat", &stat, &bytes, err);
    if (rc)
        return rc;
    if (!stat_field(stat, ARGUMENTS_START))
        return err_set(err, ERR_CORRUPT, "/proc/%d/stat is too short", pid);
    *out = (struct procfs_identity){
        .state = *stat_field(stat, STATE),
        .parent = (int)strtol(stat_field(stat, PARENT), NULL, 10),
        .start_time = strtoull(stat_field(stat, START_TIME), NULL, 10),
        .code_start = strtoull(stat_field(stat, CODE_START), NULL, 10),
        .stack_start = strtoull(stat_field(stat, STACK_START), NULL, 10),
        .arguments_start = strtoull(stat_field(stat, ARGUMENTS_START), NULL, 10),
    };
    return ERR_OK;
}

enum err_code procfs_thread_name(int pid, int tid, char out[PROCFS_COMM_BYTES], struct err *err)
{
    char name[48];
    SCOPED_FREE char *comm = NULL;
    size_t bytes;
    snprintf(name, sizeof name, "task/%d/comm", tid);
    const enum err_code rc = procfs_read(pid, name, &comm, &bytes, err);
    if (rc)
        return rc;
    comm[strcspn(comm, "\n")] = '\0';
    snprintf(out, PROCFS_COMM_BYTES, "%s", comm);
    return ERR_OK;
}

enum err_code procfs_executable(int pid, char **out, struct err *err)
{
    char link[48], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0)
        return fail_reading(pid, "exe", errno, err);
    path[n] = '\0';
    char *const copy = strdup(path);
    if (!copy)
        return err_nomem(err);
    *out = copy;
    return ERR_OK;
}

bool procfs_has_random_addresses(int pid)
{
    SCOPED_FREE char *text = NULL;
    size_t bytes;
    int mode = 0;
    if (procfs_read(pid, "personality", &text, &bytes, NULL) ||
        strtoul(text, NULL, 16) & ADDR_NO_RANDOMIZE)
        return false;
    FILE *const f = fopen("/proc/sys/kernel/randomize_va_space", "re");
    if (!f)
        return false;
    if (fscanf(f, "%d", &mode) != 1)
        mode = 0;
    fclose(f);
    return mode > 0;
}
