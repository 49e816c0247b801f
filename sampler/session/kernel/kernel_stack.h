/*
 * kernel_stack - the stack that the kernel engine has sent last of a thread.
 *
 * A record of a running thread is counted at once.  That of one that leaves its processor is kept until it is
 * known how often it counts.  A record whose same_ns is set has only windows: the stack is the one of the
 * record of that time, which has been counted (then `struct thread` holds it) or is still kept.
 *
 * Ownership: the caller's storage; kernel_stack_deinit accepts a zeroed one.
 * Threads: the profile's writer.
 * Limits: those of a record.
 */
#ifndef SAMPLER_SESSION_KERNEL_KERNEL_STACK_H
#define SAMPLER_SESSION_KERNEL_KERNEL_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/kernel/copy_memory.h"
#include "sampler/kernel/record.h"
#include "sampler/session/kernel/outer_parts.h"

struct target;
struct kernel_instants;
struct thread;

struct kernel_stack {
    uint64_t known_ns;         /* the time of its record; 0: there is none */
    bool is_counted;           /* the thread holds it: of the copy, only the windows matter */
    struct kernel_record kept; /* the record of the copy */
    size_t room;
    unsigned char *copy; /* its spans and its native part */
    struct outer_part outer;
    /* The tail that was sent last (record.h). */
    struct stack_tail {
        uint64_t ns; /* the time of its record; 0: there is none */
        remote_addr from;
        size_t count, room;
        unsigned char *bytes;
    } tail;
};

/* The part that all threads share. */
struct kernel_stacks {
    struct copy_memory copy;
    uint64_t damaged; /* samples whose copy makes no sense */
    struct outer_parts outer_parts;
};

void kernel_stack_deinit(struct kernel_stack *stack);

/* Keeps the stack of a record, to be counted later.  ERR_GONE: it is the one of a record that we do not
 * have. */
MUST_CHECK enum err_code kernel_stack_keep(struct kernel_stacks *stacks,
                                           struct kernel_stack *stack,
                                           const struct thread *thread,
                                           const struct kernel_record *record,
                                           const void *spans);
/* Counts the stack that was kept, once or several times.  ERR_NOMEM, ERR_LIMIT: the profile takes no more. */
MUST_CHECK enum err_code kernel_stack_count(struct kernel_stacks *stacks,
                                            struct kernel_stack *stack, struct target *target,
                                            struct thread *thread,
                                            const struct kernel_instants *instants);
/* The same for a record that needs not be kept.  ERR_GONE as above. */
MUST_CHECK enum err_code kernel_stack_count_record(struct kernel_stacks *stacks,
                                                   struct kernel_stack *stack,
                                                   struct target *target, struct thread *thread,
                                                   const struct kernel_record *record,
                                                   const void *spans,
                                                   const struct kernel_instants *instants);

#endif /* SAMPLER_SESSION_KERNEL_KERNEL_STACK_H */
