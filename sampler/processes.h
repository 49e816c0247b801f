/*
 * processes - the Python processes of this host: those that can be attached to, and those that
 * cannot, with the reason.
 *
 * A process is Python when a file mapped into it holds an interpreter.  Which file does is found
 * out once a file and owner, what a process is once a program it runs; from then on a look costs one small
 * read a process.  Where we may not see what is mapped, the command line must do.  An interpreter
 * that no file tells of (static and stripped) is not listed; it can be attached to all the same.
 *
 * A separate thread examines the files and memory of processes, so that nobody waits for a process
 * that was made to be slow.  The list holds what is known by then; the rest is counted as
 * `examining`.  Owners take turns, and one whose processes take long gets a fifth of the time.  There is
 * at most one look in PROCESSES_REST_NS, whoever asks.
 *
 * Ownership: processes_create makes, processes_destroy ends it without waiting; what an examiner that
 * hangs in the kernel still uses is freed when it comes back.
 * Threads: any.
 * Limits: PROCESSES_MAX of all kinds, more are not looked at.
 * Units: nanoseconds, bytes; CPU as percent of one core.
 * Depends on: target, finding.
 */
#ifndef SAMPLER_PROCESSES_H
#define SAMPLER_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"

enum { PROCESSES_MAX = 1 << 16 };
#define PROCESSES_REST_NS 900000000ull
/* Longer than examining a process may take by itself. */
#define PROCESSES_STUCK_NS 8000000000ull

struct processes;

struct process_info {
    pid_t pid, parent;
    size_t argc;
    const char *const *argv;
    const char *executable; /* NULL: unknown */
    const char *python;     /* "3.11.2"; NULL: unknown */
    unsigned uid;
    const char *user;           /* its number where it has no name */
    const char *container;      /* id; NULL: in none */
    const char *container_name; /* "": unknown */
    uint32_t threads;
    double cpu_percent; /* below 0: not known yet */
    uint64_t rss_bytes;
    uint64_t started_at_ns; /* since 1970 */
    uint64_t uptime_ns;
    const char *reason; /* why it cannot be attached to; NULL: it can */
};

struct processes_summary {
    uint64_t at_ns;           /* of the look, since 1970 */
    uint64_t number;          /* of the look, from 1 on */
    size_t count;             /* Python processes */
    size_t examining;         /* processes that have not been looked into yet */
    uint64_t examined_cpu_ns; /* that examining has taken so far */
};

MUST_CHECK enum err_code processes_create(struct processes **out, struct err *err);
/* NULL is fine. */
void processes_destroy(struct processes *processes);

/* Of command lines only the first word is kept from now on; before the first look. */
void processes_hide_arguments(struct processes *processes);

/* Scans /proc if it is time to, which opens no file of the processes, and calls `tell` for each Python
 * process by pid.  The info is borrowed until `tell` returns; `tell` must not call this function.  tell NULL: only the summary. */
typedef void (*processes_tell)(void *context, const struct process_info *facts);
MUST_CHECK enum err_code processes_visit(struct processes *processes, processes_tell tell,
                                         void *context, struct processes_summary *out,
                                         struct err *err);

#endif /* SAMPLER_PROCESSES_H */
