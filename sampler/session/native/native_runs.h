/*
 * native_runs - which Python frames of a stack one call of the interpreter's evaluation function executes, and
 * where on the C stack the entry of that call lies.
 *
 *     3.12 and later  an entry frame is a local variable of the function; the frame after it names it.
 *                     3.15 has a further one in each thread state, which is not on the C stack
 *     3.11            a cframe is; they are linked, and each names the innermost frame of its run
 *     until 3.10      each call executes one frame, and has nothing that leads to it
 *
 * Ownership: the caller's storage; native_runs_deinit accepts a zeroed one.
 * Threads: none.
 * Limits: NATIVE_RUNS_MAX_CFRAMES.
 */
#ifndef SAMPLER_SESSION_NATIVE_NATIVE_RUNS_H
#define SAMPLER_SESSION_NATIVE_NATIVE_RUNS_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/stack/stack.h"
#include "sampler/session/native/native_merge.h"

enum { NATIVE_RUNS_MAX_CFRAMES = 1 << 13 };

struct native_run_list {
    struct native_run *items; /* outermost first */
    size_t count, room;
    bool has_entries;
    remote_addr *entries; /* on the C stack, ascending */
    size_t entry_count, entry_room;
};

/* For a stack that is whole.  c_stack: the copy of the same instant.  ERR_NOMEM. */
MUST_CHECK enum err_code native_runs_find(struct native_run_list *list,
                                          const struct stack *stack,
                                          const struct native_stack *c_stack);
void native_runs_deinit(struct native_run_list *list);

#endif /* SAMPLER_SESSION_NATIVE_NATIVE_RUNS_H */
