/*
 * wait - why a thread waits, and where that is kept: in a mark below the innermost frame of its stack.
 *
 * A sample of a thread that waits for a known cause counts at a node of such a mark, which has no
 * children: "<waits: sleep>", "<waits: network read 10.0.0.5:5432>".  Samples that wait without one have
 * an unknown cause.  Views leave the mark out unless it is asked for (frame_filters.h); filters see it all
 * the same.
 *
 * A thread is idle when it waits for work, and blocked when its work waits.
 *
 * Limits: WAIT_MAX_NAME bytes of a mark's name.
 * Depends on: profile.
 */
#ifndef SAMPLER_PROFILE_WAIT_H
#define SAMPLER_PROFILE_WAIT_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/profile/profile.h"

/* X(name, as in JSON, title, is it idle?) */
#define WAIT_CAUSES(X)                                        \
    X(UNKNOWN, "unknown", "unknown", false)                   \
    X(SLEEP, "sleep", "sleep", true)                          \
    X(EVENT_LOOP, "event_loop", "event loop", true)           \
    X(WORKER, "worker", "idle worker", true)                  \
    X(TERMINAL, "terminal", "terminal", true)                 \
    X(QUEUE, "queue", "queue or condition", false)            \
    X(LOCK, "lock", "lock", false)                            \
    X(GIL, "gil", "GIL", false)                               \
    X(NETWORK_READ, "network_read", "network read", false)    \
    X(NETWORK_WRITE, "network_write", "network write", false) \
    X(PIPE, "pipe", "pipe", false)                            \
    X(DISK, "disk", "disk", false)                            \
    X(CHILD, "child", "child process", false)

enum wait_cause {
#define X(name, text, title, idle) WAIT_##name,
    WAIT_CAUSES(X)
#undef X
        WAIT_CAUSE_COUNT
};

enum { WAIT_MAX_NAME = 128 };

/* "network_read"; "network read". */
const char *wait_cause_text(enum wait_cause cause);
const char *wait_cause_title(enum wait_cause cause);
bool wait_cause_is_idle(enum wait_cause cause);

/* The name of a mark.  detail: "" for none; it must not hold control characters. */
void wait_name(enum wait_cause cause, const char *detail, char out[WAIT_MAX_NAME]);

/* Is it the name of a C function that does nothing but wait, "<native> time.sleep"?  A thread that is active
 * in one has waited, and is about to go on: it waits for the GIL or a processor. */
bool wait_is_call(const char *name);

/* What a mark's name says. */
struct wait_text {
    enum wait_cause cause;
    const char *detail; /* a part of the name; without detail its length is 0 */
    size_t detail_length;
};

/* false: it is not the name of such a mark. */
bool wait_read_name(const char *name, struct wait_text *out);

/* Is the function such a mark? */
bool wait_of_function(const struct profile_snapshot *snapshot, function_id function,
                      struct wait_text *out);
/* The node without the mark that it may be. */
node_id wait_unmarked(const struct profile_snapshot *snapshot, node_id node);
/* Has the profile any? */
bool wait_has_any(const struct profile_snapshot *snapshot);

#endif /* SAMPLER_PROFILE_WAIT_H */
