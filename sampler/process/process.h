/*
 * process - one target process, guarded against a reused pid.
 *
 * A pidfd says when the process exits.  The start time distinguishes it from a later process with the
 * same pid.  A descriptor of its memory says when it calls exec: the old address space then reads
 * as empty.
 *
 * Ownership: the caller's storage; process_close may be called twice, and after a failed process_open.
 */
#ifndef SAMPLER_PROCESS_PROCESS_H
#define SAMPLER_PROCESS_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/memory.h"
#include "sampler/process/service.h"

enum process_fate { PROCESS_RUNS, PROCESS_EXITED, PROCESS_REPLACED };

struct process {
    int pid;
    int pidfd;    /* -1: the kernel has none; only the start time guards the pid */
    int space_fd; /* the address space at the time of opening; -1: not permitted */
    uint64_t start_time;
    char *executable;
    char **
        argv; /* argc strings and a NULL; without empty ones at the end, which a title leaves */
    size_t argc;
    /* process_find_service fills these in. */
    struct service service;
    bool has_title; /* argv is not what it was started with, but what it wrote over that */
    struct process_memory memory;
    const atomic_bool *is_cancelled; /* true ends a search of the process; NULL: never */
};

/* ERR_GONE: no such process, or it is a zombie. */
MUST_CHECK enum err_code process_open(struct process *process, int pid, struct err *err);
void process_close(struct process *process);
/* Reads its environment, and whether it has a title. */
void process_find_service(struct process *process);
/* Keeps only the first word of its command line, instead of a title its executable, and no service. */
void process_hide_arguments(struct process *process);

/* Has it ended?  If not, its pid is still its own.  One system call. */
bool process_has_exited(const struct process *process);
/* Does it run, and the program in it that was opened?  One or two system calls; mapped_addr is any address that was
 * mapped then. */
bool process_runs(const struct process *process, remote_addr mapped_addr);
/* The state of the program; if it does not run, this may take a while. */
enum process_fate process_fate(const struct process *process, remote_addr mapped_addr);

#endif /* SAMPLER_PROCESS_PROCESS_H */
