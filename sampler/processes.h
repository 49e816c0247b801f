/*
 * processes - the Python processes of this host: those that can be attached to, and those that
 * cannot, with the reason.
 *
 * A process is Python when a file mapped into it holds an interpreter.  A file is examined once for
 * each owner, a process once for each program that it executes; after that a scan costs one small read
 * for each process.  If the mappings of a process cannot be read, the command line decides.  A process
 * whose interpreter no file shows (static and stripped) is not listed; attaching to it works.
 *
 * A separate thread examines the files and memory of processes, so that no caller waits for a process
 * that is slow on purpose.  The list holds the processes examined so far; `examining` counts the
 * others.  Owners take turns; an owner whose processes take long gets a fifth of the time.  There is at
 * most one scan in PROCESSES_REST_NS, however many callers there are.
 *
 * Processes that permission.h refuses are counted, not listed.
 *
 * Ownership: processes_create makes, processes_destroy ends it without waiting; a thread that hangs in
 * the kernel frees what it still uses when it returns.
 * Threads: any.
 * Limits: PROCESSES_MAX processes, Python or not; the others are left out.
 * Units: nanoseconds, bytes; CPU as percent of one core.
 */
#ifndef SAMPLER_PROCESSES_H
#define SAMPLER_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"

enum { PROCESSES_MAX = 1 << 16, PROCESSES_MAX_GENERATIONS = 64 };
#define PROCESSES_REST_NS 900000000ull
/* Longer than examining a process may take by itself. */
#define PROCESSES_STUCK_NS 8000000000ull

struct processes;

struct process_info {
    pid_t pid, parent;
    size_t argc;
    const char *const *argv;
    const char *executable;     /* NULL: unknown */
    const char *python;         /* "3.11.2"; NULL: unknown */
    const char *user;           /* the number of a user without a name */
    const char *container;      /* id; NULL: not in a container */
    const char *container_name; /* "": unknown */
    const char *pod;            /* of Kubernetes, "NAMESPACE/NAME"; NULL: in none */
    unsigned uid;
    uint32_t threads;
    double cpu_percent; /* below 0: not known yet */
    uint64_t rss_bytes;
    uint64_t started_at_ns; /* since 1970 */
    uint64_t uptime_ns;
    const char *reason; /* why it cannot be attached to; NULL: it can */
};

struct processes_summary {
    uint64_t at_ns;           /* of the scan, since 1970 */
    uint64_t number;          /* of the scan, from 1 on */
    size_t count;             /* Python processes */
    size_t not_permitted;     /* Python processes that are not listed */
    size_t examining;         /* processes that have not been examined yet */
    uint64_t examined_cpu_ns; /* CPU time of examining so far */
};

MUST_CHECK enum err_code processes_create(struct processes **out, struct err *err);
/* NULL is fine. */
void processes_destroy(struct processes *processes);

/* Keeps only the first word of each command line.  Call before the first processes_visit. */
void processes_hide_arguments(struct processes *processes);

/* Scans /proc if the last scan is older than PROCESSES_REST_NS, without opening files of the
 * processes.  Then calls `visit` for each Python process, by pid.  `info` is borrowed until `visit`
 * returns; `visit` must not call this function.  NULL: only the summary. */
typedef void (*processes_visitor)(void *context, const struct process_info *info);
MUST_CHECK enum err_code processes_visit(struct processes *processes, processes_visitor visit,
                                         void *context, struct processes_summary *out,
                                         struct err *err);

/* ERR_PERM: the process is no descendant of that one, by at most PROCESSES_MAX_GENERATIONS. */
MUST_CHECK enum err_code processes_descends(pid_t pid, pid_t ancestor, struct err *err);

/* From now on processes_visit asks another process, which hides arguments itself.  Call it before any other
 * function of this header. */
typedef enum err_code processes_provider(processes_visitor visit, void *context,
                                         struct processes_summary *out, struct err *err);
void processes_provide(processes_provider *provider);

#endif /* SAMPLER_PROCESSES_H */
