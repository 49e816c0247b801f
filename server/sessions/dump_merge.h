/*
 * dump_merge - the stacks of many processes as one text: equal stacks are written once, with the processes that have them.
 *
 * Threads are equal if their role (their name without the number that a pool gives it), their state and all lines of their stacks
 * are.  Stacks that few processes have come first.  Variables differ from thread to thread, so those of the first one stand for all.
 *
 * A caller adds a process when it has read it and forgets it: lines are kept once, and of each thread a few bytes.
 *
 * Ownership: the caller's storage; dump_merge_deinit accepts a zeroed one.
 * Threads: one at a time.
 * Limits: DUMP_MERGE_MAX_THREADS, DUMP_MERGE_MAX_BYTES of names and lines; threads beyond them are counted.
 */
#ifndef SERVER_SESSIONS_DUMP_MERGE_H
#define SERVER_SESSIONS_DUMP_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/buffer.h"
#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/strtab.h"
#include "server/sessions/shared_locks.h"

enum { DUMP_MERGE_MAX_THREADS = 1 << 20, DUMP_MERGE_MAX_BYTES = 256 << 20 };

struct merged_process {
    pid_t pid;
    int32_t rank;  /* -1: none */
    str_id python; /* its version; 0: it is no Python process */
    str_id what;   /* of that: its name and what it does */
};

/* A line of a stack, and the next outer one. */
struct merged_line {
    uint32_t outer; /* 0: none */
    str_id text;
};

struct merged_thread {
    uint32_t stack, process;
    str_id name;
};

/* Equal threads. */
struct merged_stack {
    uint32_t innermost;
    uint32_t detailed; /* the lines of its first thread with variables; 0: it has none */
    uint32_t first;    /* that thread */
    str_id role, state;
    bool is_main, is_idle_worker;
    uint32_t processes, threads; /* how many */
    uint32_t last_process;       /* that was counted, plus 1 */
};

struct dump_merge {
    struct strtab strings;
    struct idmap by_line, by_stack;
    struct merged_process *processes;
    size_t process_count, process_room;
    struct merged_line *lines; /* [0]: none */
    size_t line_count, line_room;
    struct merged_stack *stacks;
    size_t stack_count, stack_room;
    struct merged_thread *threads;
    size_t thread_count, thread_room;
    struct buffer deadlocks;    /* a line each */
    struct shared_locks shared; /* of the processes: lines may have its gaps */
    size_t python_count, left_out;
};

/* A thread of a process; texts are plain (plain_text.h). */
struct dump_merge_thread {
    const char *name;
    const char *state;
    const char *lines; /* innermost first, each ended by '\n' */
    /* The lines with its variables, which are written in their place if it is the first of the threads that are equal; NULL: it has none. */
    const char *detailed;
    bool is_main, is_idle_worker;
};

MUST_CHECK enum err_code dump_merge_init(struct dump_merge *merge, struct err *err);
void dump_merge_deinit(struct dump_merge *merge);

/* Adds a process, whose threads follow.  python: NULL: it is none, and `what` says what it is and does. */
MUST_CHECK enum err_code dump_merge_process(struct dump_merge *merge, pid_t pid, int32_t rank,
                                            const char *python, const char *what,
                                            struct err *err);
/* Adds a thread of the process that was added last. */
MUST_CHECK enum err_code dump_merge_thread(struct dump_merge *merge,
                                           const struct dump_merge_thread *thread,
                                           struct err *err);
/* Adds deadlocks of the process that was added last: lines, each ended by '\n'. */
void dump_merge_deadlocks(struct dump_merge *merge, const char *lines);

/* shows_idle: the stacks of idle workers too. */
MUST_CHECK enum err_code dump_merge_write(struct dump_merge *merge, bool shows_idle,
                                          struct buffer *out, struct err *err);

/* The bytes of a thread's name that it shares with the other threads of its pool: "ThreadPoolExecutor" of "ThreadPoolExecutor-0_7".  A name
 * without a number is a pool of its own. */
size_t dump_pool_length(const char *name, size_t length);

#endif /* SERVER_SESSIONS_DUMP_MERGE_H */
