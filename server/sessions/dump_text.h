/*
 * dump_text - a dump as text, alone or among those of other processes.
 */
#ifndef SERVER_SESSIONS_DUMP_TEXT_H
#define SERVER_SESSIONS_DUMP_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process_tree.h"
#include "server/sessions/dump.h"
#include "server/sessions/dump_motion.h"

struct buffer;
struct dump_merge;

/* The parts to show beside the stacks of all threads. */
struct dump_view {
    bool shows_idle; /* the stacks of several idle workers of one pool */
    bool
        shows_tasks; /* all asyncio tasks; else those that a lock keeps waiting, or who hold it */
    bool shows_kernel;                /* what blocked threads do in the kernel */
    const struct dump_motion *motion; /* NULL: there is one dump */
    uint32_t dumps;
    uint64_t apart_ns; /* the first and the last of them */
};

void dump_text_write(struct buffer *out, const struct dump *dump, const struct dump_view *view,
                     const struct process_facts *facts);
/* Adds the process to those that share locks, too. */
MUST_CHECK enum err_code dump_text_merge(struct dump_merge *merge, struct dump *dump,
                                         const struct dump_view *view,
                                         const struct process_facts *facts, struct err *err);
/* Writes what a process does that is no Python process: "sh, waits in do_wait". */
void dump_text_facts(struct buffer *out, const struct process_facts *facts);

#endif /* SERVER_SESSIONS_DUMP_TEXT_H */
