/*
 * sample - one sample of a thread that has its node in the call tree, on its way into the profile.
 *
 * Ownership: borrows everything.
 */
#ifndef SAMPLER_SESSION_FOLD_SAMPLE_H
#define SAMPLER_SESSION_FOLD_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/three_valued.h"
#include "sampler/process/system_call.h"
#include "sampler/profile/profile.h"

struct code_table;
struct leaf;
struct stack;
struct thread_list;

/* Counters of the profile's quality for a native stack. */
struct native_outcome {
    uint64_t *counter; /* of stacks like this one; NULL: none were asked for */
    uint64_t *gap;     /* of gaps, or of missing stacks, of this cause; NULL: there is none */
    uint32_t entries, placed; /* calls of Python by C code, and those whose place is known */
    enum three_valued
        in_jit;  /* does code of CPython's JIT execute the innermost Python frame? */
    bool at_gpu; /* it waits for the GPU, and may do so in a loop */
};

/* One thread at one tick. */
struct sample {
    thread_id thread;
    int pid;     /* of its process */
    int32_t tid; /* on this host; 0: unknown */
    node_id node;
    node_id spot_node;   /* of the frame the spot is in */
    spot_id spot;        /* PROFILE_NO_SPOT: not asked for, or unknown */
    state_bits state;    /* without the CPU */
    uint64_t *certainty; /* the counter of the profile's quality for stacks like this one */
    uint64_t *motion;    /* the counter for readings like this one; NULL: none */
    struct native_outcome native;
    bool is_overflowed; /* the node is a caller: the tables had no room for the node itself */
    bool is_still;      /* its stack is that of the last sample */
    bool in_request;    /* the thread works for a request, or what else its context names */
    bool is_asked;      /* `runs` is known already; if we stopped it, nothing else shows it */
    enum three_valued runs;            /* then: did it run, or was it ready to? */
    enum three_valued runnable;        /* then: if so, was it without a processor? */
    struct system_call call;           /* then: if not, where it waits */
    const struct thread_list *threads; /* of the process; NULL: unknown */
    /* The place where Python code waits; codes NULL: unknown. */
    const struct code_table *codes;
    const struct stack *stack;
    const struct leaf *leaf;
    uint32_t times;    /* samples that this one counts as, 1 or more */
    uint64_t since_ns; /* of the first of them, if there are several */
    uint64_t now_ns;
};

#endif /* SAMPLER_SESSION_FOLD_SAMPLE_H */
