/*
 * state - what a thread was doing when it was sampled: one bit for each flag.
 *
 * Each flag has a second bit, which says that the flag is unknown.  Unknown is never shown as idle or
 * 0 %.  The bits are stored with every sample; views filter by them.
 *
 * A thread is on a CPU, or runnable (ready to run, but without a processor), or waits.  Only the kernel
 * engine distinguishes the first two.  Where it is unknown whether a thread is runnable, ON_CPU means
 * on a CPU or runnable.
 *
 * Depends on: libc.
 */
#ifndef SAMPLER_PROFILE_STATE_H
#define SAMPLER_PROFILE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define STATE_FLAGS(X)                   \
    X(ON_CPU, 0, "on_cpu")               \
    X(HAS_GIL, 1, "has_gil")             \
    X(WAITS_GIL, 2, "waits_gil")         \
    X(IN_GC, 3, "in_gc")                 \
    X(IN_NATIVE, 4, "in_native")         \
    X(HAS_EXCEPTION, 5, "has_exception") \
    X(RUNNABLE, 6, "runnable")           \
    X(IN_JIT, 7, "in_jit")

enum state_bits {
#define X(name, bit, text) STATE_##name = 1 << bit, STATE_UNKNOWN_##name = 1 << (bit + 8),
    STATE_FLAGS(X)
#undef X
};

typedef uint16_t state_bits;

#define STATE_ALL_UNKNOWN ((state_bits)0xff00)

/* A sample with one of these was active, or may have been; any other was waiting. */
#define STATE_ACTIVE                                                                \
    ((state_bits)(STATE_ON_CPU | STATE_HAS_GIL | STATE_WAITS_GIL | STATE_RUNNABLE | \
                  STATE_UNKNOWN_ON_CPU))

/* What a view asks of states.  Zeroed: nothing. */
struct state_condition {
    state_bits require; /* all of these bits */
    state_bits exclude; /* none of these */
    state_bits any;     /* at least one of these, unless it is 0 */
};

static inline bool state_passes(const struct state_condition *condition, state_bits state)
{
    return (state & condition->require) == condition->require &&
           !(state & condition->exclude) && (!condition->any || (state & condition->any));
}

static inline bool state_condition_is_set(const struct state_condition *condition)
{
    return condition->require || condition->exclude || condition->any;
}

enum state_flag {
#define X(name, bit, text) STATE_FLAG_##name,
    STATE_FLAGS(X)
#undef X
        STATE_FLAG_COUNT
};

/* What a thread was doing: the first of these that is known to hold. */
#define STATE_DOINGS(X)                                                    \
    X(HOLDS_GIL, "holds_gil", "held the GIL")                              \
    X(WAITS_GIL, "waits_gil", "waited for the GIL")                        \
    X(ON_CPU, "on_cpu", "was on a CPU without being seen to hold the GIL") \
    X(RUNNABLE, "runnable", "was ready to run, but had no processor")      \
    X(WAITS, "waits", "was off the CPU, for another reason than the GIL")  \
    X(UNKNOWN, "unknown", "not known")

enum state_doing {
#define X(name, text, meaning) STATE_DOING_##name,
    STATE_DOINGS(X)
#undef X
        STATE_DOING_COUNT
};

const char *state_doing_text(enum state_doing doing);
enum state_doing state_doing_of(state_bits state);

/* As in JSON: "on_cpu". */
const char *state_flag_text(enum state_flag flag);
/* The bit that says yes, and the one that says unknown. */
state_bits state_flag_yes(enum state_flag flag);
state_bits state_flag_unknown(enum state_flag flag);

#endif /* SAMPLER_PROFILE_STATE_H */
