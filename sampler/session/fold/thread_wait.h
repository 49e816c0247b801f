/*
 * thread_wait - why a thread waits, between its samples.
 *
 * The system call in which it waits says that, with what is on its stack (waits.h, wait_site.h).  It is found again only where the call
 * or the stack is another, or after a while.  Where the interpreter does not say whether a thread waits for the GIL, as
 * before 3.15, the call does.  A sleep is a pause unless the thread has slept nine tenths of the last
 * THREAD_WAIT_RECENT_NS or so, and never is it idle within a request.
 *
 * Ownership: the caller's storage, zeroed at first.
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_FOLD_THREAD_WAIT_H
#define SAMPLER_SESSION_FOLD_THREAD_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/three_valued.h"
#include "sampler/process/system_call.h"
#include "sampler/profile/profile.h"
#include "sampler/session/fold/waits.h"

struct sample;

/* For so long it counts how much a thread sleeps; after that, what was before counts half. */
#define THREAD_WAIT_RECENT_NS 5000000000ull

struct thread_wait {
    wait_id mark;             /* 0: unknown */
    enum three_valued at_gil; /* does it wait for the GIL? */
    struct system_call call;  /* by which that was found */
    uint64_t found_ns;        /* when */
    uint64_t recent_ns;       /* when the next two were halved */
    uint64_t recent, slept;   /* samples, and those of them in a sleep */
};

/* Finds why the thread waits in this call.  waits NULL, or not is_wanted: only whether for the GIL.  is_still: the stack has not
 * changed since that was found last; then a thread that runs right now waits for the same as before. */
void thread_wait_find(struct thread_wait *wait, struct waits *waits,
                      const struct sample *sample, const struct system_call *call,
                      bool is_still, bool is_wanted);

/* The mark below which samples of this state count that end at now_ns; 0: none.  waits NULL: none is wanted.  in_request: as in struct
 * sample. */
wait_id thread_wait_mark(struct thread_wait *wait, struct waits *waits, state_bits state,
                         bool in_request, uint32_t samples, uint64_t now_ns);

#endif /* SAMPLER_SESSION_FOLD_THREAD_WAIT_H */
