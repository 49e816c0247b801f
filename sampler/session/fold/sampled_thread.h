/*
 * sampled_thread - what a session keeps of a thread between its samples.
 *
 * It lies with the thread (python_keep_with_threads), so it ends with it.
 *
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_FOLD_SAMPLED_THREAD_H
#define SAMPLER_SESSION_FOLD_SAMPLED_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/cpython/stack/leaf.h"
#include "sampler/cpython/threads/threads.h"
#include "sampler/process/memory.h"
#include "sampler/session/engine.h"
#include "sampler/session/fold/sample.h"

struct sampled_thread {
    struct thread_reading reading; /* the one that is being made, or was made last */
    struct leaf leaf;
    bool has_leaf;     /* it is that of the reading */
    uint64_t moved_ns; /* of the remote engine: when it was last seen to have moved */
    /* The native tag of its stack: what its native stack was made from, what came out, and
     * where the thread slept. */
    uint64_t native_key;
    struct native_outcome native;
    remote_addr asleep_sp, asleep_ip;
    /* The frame of the call that serves a request in its last reading (guessed_requests.h); 0: none. */
    remote_addr request_entry;
    /* The frame of a thread that works for coroutines; 0: it is none.  And the number of the request that it was last found to work for. */
    remote_addr worker_frame;
    uint64_t worker_number, worker_seen_ns;
    uint32_t locals_tries; /* in vain */
    uint32_t locals_row;   /* of the locals board; 0: its variables have not been read */
    bool lacks_locals_node;
};

static inline struct sampled_thread *sampled_thread_of(const struct thread *thread)
{
    return thread->kept;
}

/* The reading that is being made of a thread, or was made last. */
static inline struct thread_reading *reading_of(const struct thread *thread)
{
    return &sampled_thread_of(thread)->reading;
}

#endif /* SAMPLER_SESSION_FOLD_SAMPLED_THREAD_H */
