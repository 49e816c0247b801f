/*
 * c_stacks - whose C stack an address is on.
 *
 * glibc and musl put what a pthread_t points to at the top of the thread's stack, in the same mapping.  The
 * kernel names the stack of the first thread.  So a thread of which only the pthread_t is known has the addresses below
 * that, down to those of the next thread in the mapping or to its start.  A stack of a fiber is no thread's.
 *
 * Ownership: the caller's storage; c_stacks_deinit accepts a zeroed one.
 * Threads: none.
 */
#ifndef SAMPLER_CPYTHON_THREADS_C_STACKS_H
#define SAMPLER_CPYTHON_THREADS_C_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/maps.h"

struct c_stack {
    remote_addr from, to; /* `to`: the pthread_t, or the end of the first thread's stack */
    int32_t host_tid;
};

struct c_stacks {
    struct c_stack *items; /* by `to` */
    size_t count, room;
};

void c_stacks_deinit(struct c_stacks *stacks);
void c_stacks_clear(struct c_stacks *stacks);
/* Adds a thread other than the first one. */
MUST_CHECK enum err_code c_stacks_add(struct c_stacks *stacks, uint64_t pthread,
                                      int32_t host_tid);
/* Places those that have been added, and that of the first thread, in the mappings of their process; once after c_stacks_clear.
 * first_tid 0: the first thread may be on another stack, as after a fork in a thread. */
MUST_CHECK enum err_code c_stacks_place(struct c_stacks *stacks, const struct maps *maps,
                                        int32_t first_tid);
/* NULL: it is on none of them. */
const struct c_stack *c_stacks_find(const struct c_stacks *stacks, remote_addr addr);

#endif /* SAMPLER_CPYTHON_THREADS_C_STACKS_H */
