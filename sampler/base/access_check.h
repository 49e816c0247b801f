/*
 * gate - one of the things that must be so before a process can be looked into: what was found, and
 * what opens it.
 *
 * Gates stand in the order in which they are met; the first one that is shut is the one to open.
 *
 * Ownership: the caller's storage, nothing is allocated.
 * Limits: GATES_MAX gates; GATE_TEXT_BYTES of each text.
 * Depends on: err.
 */
#ifndef SAMPLER_BASE_ACCESS_CHECK_H
#define SAMPLER_BASE_ACCESS_CHECK_H

#include <stddef.h>

#include "sampler/base/err.h"

enum { GATES_MAX = 16, GATE_TEXT_BYTES = 280 };

#define GATE_STATES(X)    \
    X(OPEN, "ok")         \
    X(PASSED, "passed")   \
    X(UNKNOWN, "unknown") \
    X(SHUT, "SHUT")

enum gate_state {
#define X(name, text) GATE_##name,
    GATE_STATES(X) /* PASSED: shut, but there is a way past it */
#undef X
};

struct gate {
    const char *name; /* a literal */
    enum gate_state state;
    char found[GATE_TEXT_BYTES];
    char remedy[GATE_TEXT_BYTES]; /* what opens it; "": nothing is to be done */
};

struct gates {
    struct gate items[GATES_MAX];
    size_t count;
};

/* What was found, as a sentence.  Behind GATES_MAX the last one is written over. */
struct gate *gates_add(struct gates *gates, const char *name, enum gate_state state,
                       const char *format, ...) PRINTF_LIKE(4, 5);
void gate_remedy(struct gate *gate, const char *format, ...) PRINTF_LIKE(2, 3);
/* NULL: none is shut. */
const struct gate *gates_first_shut(const struct gates *gates);
const char *gate_state_text(enum gate_state state);

#endif /* SAMPLER_BASE_ACCESS_CHECK_H */
