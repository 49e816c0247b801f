/*
 * state - what a thread was doing when it was seen, one bit a fact.
 *
 * Each fact has a second bit that says it could not be read: unknown is a value, never shown as
 * idle or 0 %.  The bits are stored with every sample and filtered when looked at.
 *
 * Depends on: libc.
 */
#ifndef SAMPLER_PROFILE_STATE_H
#define SAMPLER_PROFILE_STATE_H

#include <stdint.h>

#define STATE_FACTS(X)           \
    X(ON_CPU, 0, "on_cpu")       \
    X(HAS_GIL, 1, "has_gil")     \
    X(WAITS_GIL, 2, "waits_gil") \
    X(IN_GC, 3, "in_gc")         \
    X(IN_NATIVE, 4, "in_native") \
    X(HAS_EXCEPTION, 5, "has_exception")

enum state_bits {
#define X(name, bit, text) STATE_##name = 1 << bit, STATE_UNKNOWN_##name = 1 << (bit + 8),
    STATE_FACTS(X)
#undef X
};

typedef uint16_t state_bits;

#define STATE_ALL_UNKNOWN ((state_bits)0x3f00)

#endif /* SAMPLER_PROFILE_STATE_H */
