/*
 * wait_cause - why a thread waits, and the names of the marks that say so.
 *
 * A thread is idle when it waits for work or for time, and blocked when its work waits.
 *
 * Limits: WAIT_MAX_NAME bytes of a mark's name.
 */
#ifndef SAMPLER_PROFILE_WAIT_CAUSE_H
#define SAMPLER_PROFILE_WAIT_CAUSE_H

#include <stdbool.h>
#include <stddef.h>

/* X(name, as in JSON, title, is it idle?) */
#define WAIT_CAUSES(X)                                                                       \
    X(UNKNOWN, "unknown", "unknown", false)                                                  \
    X(SLEEP, "sleep", "sleep", true)  /* of a thread that does little else */                \
    X(PAUSE, "pause", "pause", false) /* a sleep of any other thread */                      \
    X(EVENT_LOOP, "event_loop", "event loop", true)                                          \
    X(WORKER, "worker", "idle worker", true)                                                 \
    X(THREADS, "threads", "threads", true) /* the main thread, for the end of its threads */ \
    X(TERMINAL, "terminal", "terminal", true)                                                \
    X(QUEUE, "queue", "queue or condition", false)                                           \
    X(LOCK, "lock", "lock", false)                                                           \
    X(GIL, "gil", "GIL", false)                                                              \
    X(PROCESSOR, "processor", "processor", false)                                            \
    X(NETWORK_READ, "network_read", "network read", false)                                   \
    X(NETWORK_WRITE, "network_write", "network write", false)                                \
    X(PIPE, "pipe", "pipe", false)                                                           \
    X(DISK, "disk", "disk", false)                                                           \
    X(CHILD, "child", "child process", false)                                                \
    X(GPU, "gpu", "GPU", false)

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

/* The parts of a mark's name. */
struct wait_text {
    enum wait_cause cause;
    const char *detail; /* a part of the name; without detail its length is 0 */
    size_t detail_length;
};

/* false: it is not the name of such a mark. */
bool wait_read_name(const char *name, struct wait_text *out);

#endif /* SAMPLER_PROFILE_WAIT_CAUSE_H */
