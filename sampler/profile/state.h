/*
 * state - what a thread was doing when it was sampled: one bit for each flag.
 *
 * Each flag has a second bit, which says that the flag is unknown.  Unknown is never shown as idle or
 * 0 %.  The bits are stored with every sample; views filter by them.
 *
 * A thread is on a CPU, or runnable (ready to run, but without a processor), or waits.  Only the kernel
 * engine distinguishes the first two.  Where it is unknown whether a thread is runnable, ON_CPU means
 * on a CPU or runnable.  Which part of time a sample is in, part.h says.
 */
#ifndef SAMPLER_PROFILE_STATE_H
#define SAMPLER_PROFILE_STATE_H

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

enum state_flag {
#define X(name, bit, text) STATE_FLAG_##name,
    STATE_FLAGS(X)
#undef X
        STATE_FLAG_COUNT
};

/* As in JSON: "on_cpu". */
const char *state_flag_text(enum state_flag flag);
/* The bit that says yes, and the one that says unknown. */
state_bits state_flag_yes(enum state_flag flag);
state_bits state_flag_unknown(enum state_flag flag);

#endif /* SAMPLER_PROFILE_STATE_H */
