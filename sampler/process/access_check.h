/*
 * access_check - one condition that must hold before a process can be read: what was found, and the
 * remedy.
 *
 * Checks are in the order in which the kernel makes them, so remedy the first blocked one first.
 *
 * Ownership: the caller's storage, nothing is allocated.
 * Limits: ACCESS_CHECKS_MAX checks; ACCESS_CHECK_TEXT_BYTES of each text.
 */
#ifndef SAMPLER_PROCESS_ACCESS_CHECK_H
#define SAMPLER_PROCESS_ACCESS_CHECK_H

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
    ACCESS_CHECK_STATES(X) /* BYPASSED: blocked, but a capability bypasses it */
#undef X
};

struct access_check {
    const char *name; /* a literal */
    enum access_check_state state;
    char found[ACCESS_CHECK_TEXT_BYTES];
    char remedy[ACCESS_CHECK_TEXT_BYTES]; /* "": none */
};

struct access_checks {
    struct access_check items[ACCESS_CHECKS_MAX];
    size_t count;
};

/* The format makes a sentence about what was found.  A check beyond ACCESS_CHECKS_MAX replaces the last. */
struct access_check *access_checks_add(struct access_checks *checks, const char *name,
                                       enum access_check_state state, const char *format, ...)
    PRINTF_LIKE(4, 5);
void access_check_remedy(struct access_check *check, const char *format, ...) PRINTF_LIKE(2, 3);
/* NULL: no check blocks. */
const struct access_check *access_checks_first_blocked(const struct access_checks *checks);
const char *access_check_state_text(enum access_check_state state);

#endif /* SAMPLER_PROCESS_ACCESS_CHECK_H */
