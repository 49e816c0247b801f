/*
 * gate - one of the things that must be so before a process can be looked into: what was found, and
 * what opens it.
 *
 * Gates stand in the order in which they are met; the first one that is shut is the one to open.
 *
 * Ownership: the caller's storage, nothing is allocated.
 * Limits: ACCESS_CHECKS_MAX gates; ACCESS_CHECK_TEXT_BYTES of each text.
 * Depends on: err.
 */
#ifndef SAMPLER_BASE_ACCESS_CHECK_H
#define SAMPLER_BASE_ACCESS_CHECK_H

#include <stddef.h>

#include "sampler/base/err.h"

enum { ACCESS_CHECKS_MAX = 16, ACCESS_CHECK_TEXT_BYTES = 280 };

#define ACCESS_CHECK_STATES(X) \
    X(OK, "OK")                \
    X(BYPASSED, "BYPASSED")    \
    X(UNKNOWN, "UNKNOWN")      \
    X(BLOCKED, "BLOCKED")

enum access_check_state {
#define X(name, text) ACCESS_CHECK_##name,
    ACCESS_CHECK_STATES(X) /* BYPASSED: blocked, but a capability leads past it */
#undef X
};

struct access_check {
    const char *name; /* a literal */
    enum access_check_state state;
    char found[ACCESS_CHECK_TEXT_BYTES];
    char remedy[ACCESS_CHECK_TEXT_BYTES]; /* what opens it; "": nothing is to be done */
};

struct access_checks {
    struct access_check items[ACCESS_CHECKS_MAX];
    size_t count;
};

/* What was found, as a sentence.  Behind ACCESS_CHECKS_MAX the last one is written over. */
struct access_check *access_checks_add(struct access_checks *checks, const char *name,
                                       enum access_check_state state, const char *format, ...)
    PRINTF_LIKE(4, 5);
void access_check_remedy(struct access_check *check, const char *format, ...) PRINTF_LIKE(2, 3);
/* NULL: none is shut. */
const struct access_check *access_checks_first_blocked(const struct access_checks *checks);
const char *access_check_state_text(enum access_check_state state);

#endif /* SAMPLER_BASE_ACCESS_CHECK_H */
