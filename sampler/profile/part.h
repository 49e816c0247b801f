/*
 * part - the five parts of time.  Each sample of a thread is in exactly one of them.
 *
 * The first that fits counts: the thread needs the GIL; it is ready and needs a processor; it is on a processor, or not known
 * to wait; it waits for work or for time, and is idle; or it is blocked.  Holding the GIL, collecting garbage and the
 * like (state.h) are marks beside the part.
 *
 * The page has the same rule (web/model/profile/parts.js); tests/parts.json has cases for both.
 */
#ifndef SAMPLER_PROFILE_PART_H
#define SAMPLER_PROFILE_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/profile/state.h"
#include "sampler/profile/wait_cause.h"

/* X(name, as in JSON, title) */
#define PARTS(X)                                               \
    X(RUNNING, "running", "running")                           \
    X(NEEDS_GIL, "needs_gil", "needs the GIL")                 \
    X(NEEDS_PROCESSOR, "needs_processor", "needs a processor") \
    X(BLOCKED, "blocked", "blocked")                           \
    X(IDLE, "idle", "idle")

enum part {
#define X(name, text, title) PART_##name,
    PARTS(X)
#undef X
        PART_COUNT
};

/* A bit for each part: 1 << part. */
typedef uint16_t part_set;

#define PART_SET_ALL   ((part_set)((1U << PART_COUNT) - 1))
#define PART_SET_USUAL ((part_set)(PART_SET_ALL & ~(1U << PART_IDLE)))
/* How long threads wait for work or for a processor is a matter of the load and of the machine, not of the program. */
#define PART_SET_COMPARED \
    ((part_set)(1U << PART_RUNNING | 1U << PART_NEEDS_GIL | 1U << PART_BLOCKED))

/* "needs_gil"; "needs the GIL". */
const char *part_text(enum part part);
const char *part_title(enum part part);

/* cause: of the sample's mark; WAIT_UNKNOWN: it has none. */
static inline enum part part_of(state_bits state, enum wait_cause cause)
{
    if ((state & STATE_WAITS_GIL) || cause == WAIT_GIL)
        return PART_NEEDS_GIL;
    if (state & STATE_RUNNABLE)
        return PART_NEEDS_PROCESSOR;
    if (state & (STATE_ON_CPU | STATE_UNKNOWN_ON_CPU))
        return PART_RUNNING;
    return wait_cause_is_idle(cause) ? PART_IDLE : PART_BLOCKED;
}

static inline bool part_set_has(part_set set, enum part part)
{
    return (set >> part & 1) != 0;
}

/* The samples that a view asks for.  Zeroed: all. */
struct state_condition {
    state_bits require; /* all of these bits */
    state_bits exclude; /* none of these */
    part_set parts;     /* one of these; 0: any, and waiting tasks, which are in no part */
};

/* The part aside. */
static inline bool state_passes(const struct state_condition *condition, state_bits state)
{
    return (state & condition->require) == condition->require && !(state & condition->exclude);
}

static inline bool state_condition_is_set(const struct state_condition *condition)
{
    return condition->require || condition->exclude || condition->parts;
}

#endif /* SAMPLER_PROFILE_PART_H */
