/*
 * lock_state - what the reading of locks goes by, and keeps.
 *
 * Private to the folder and its user.
 */
#ifndef SAMPLER_CPYTHON_LOCKS_LOCK_STATE_H
#define SAMPLER_CPYTHON_LOCKS_LOCK_STATE_H

#include "sampler/base/lock_use.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/objects/code_bytecode.h"
#include "sampler/cpython/stack/leaf.h"
#include "sampler/cpython/threads/threads.h"

struct task;
struct tasks;

enum {
    LOCKS_MAX_FRAMES = 256,
    LOCKS_MAX_MOVING_FRAMES = 64,
    LOCKS_MAX_BLOCKS = 20,
    LOCKS_PLACES = 1024
};

/* A `with` block of a frame. */
struct locks_block {
    remote_addr value; /* where its exit function lies */
    uint64_t handler;  /* the unit that an exception in it leads to */
};

/* The `with` blocks that are active at an instruction. */
struct locks_place {
    code_id code;
    uint32_t unit;
    bool is_known;
    struct with_block blocks[LOCKS_MAX_BLOCKS]; /* the innermost one first */
    size_t count;
};

struct locks {
    struct code_table *codes;
    struct strtab *strings;
    const struct thread_list *threads;
    const struct tasks *tasks;
    const struct leaves *leaves;
    struct code_bytecode room;
    size_t budget;              /* bytes of code that may still be read for this thread */
    struct locks_place *places; /* LOCKS_PLACES of them, by a hash; NULL: not needed yet */
    uint64_t clears;            /* of the code table, when they were found */
};

#endif /* SAMPLER_CPYTHON_LOCKS_LOCK_STATE_H */
