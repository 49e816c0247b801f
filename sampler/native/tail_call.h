/*
 * tail_call - does a function end in a jump to another one?
 *
 * Then the other one's frame is where that of the function would be: unicode_join is PyUnicode_Join.  A jump may
 * lead through a stub of the procedure linkage table.
 *
 * Ownership: the caller's storage; holds nothing.
 * Threads: one at a time.
 * Limits: jumps in the first TAIL_CALL_CODE_BYTES of the function; TAIL_CALL_BUDGET for reading.
 */
#ifndef SAMPLER_NATIVE_TAIL_CALL_H
#define SAMPLER_NATIVE_TAIL_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/native/blocks.h"
#include "sampler/native/images.h"

enum { TAIL_CALL_CODE_BYTES = 1 << 9, TAIL_CALL_BUDGET = 1 << 13, TAIL_CALLS_MAX = 1 << 6 };

/* Answers that are remembered; zeroed: none. */
struct tail_calls {
    struct tail_call {
        remote_addr from, to;
        uint32_t image; /* of `from`; 0: no answer */
        bool answer;
    } items[TAIL_CALLS_MAX];
};

/* from, to: where the functions start.  Sets blocks->budget. */
bool tail_call_leads_to(struct tail_calls *known, const struct images *images,
                        struct blocks *blocks, remote_addr from, remote_addr to);

#endif /* SAMPLER_NATIVE_TAIL_CALL_H */
