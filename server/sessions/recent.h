/*
 * recent - the samples of the last seconds of a session, by window.
 *
 * The sampling thread adds runs and closes windows; others take the closed ones, and share them with it.
 *
 * Ownership: recent_create makes, recent_destroy frees (NULL is fine) once sampling has ended; windows that were taken outlive it.
 * Threads: recent_add and recent_seal are for the sampling thread, recent_take for any.
 * Limits: RECENT_MAX_RUNS of a span: the oldest windows go first, and samples of a window beyond them are lost and counted.
 * Units: nanoseconds since the profile was created.
 */
#ifndef SERVER_SESSIONS_RECENT_H
#define SERVER_SESSIONS_RECENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/quality.h"
#include "sampler/profile/run.h"

enum { RECENT_MAX_RUNS = 1 << 17, RECENT_MAX_WINDOWS = 512 };

struct recent;

struct recent_window {
    atomic_uint users;
    uint64_t start_ns, end_ns, period_ns;
    struct quality quality; /* at its end, of the session so far */
    uint64_t lost;          /* samples of it without room */
    size_t count, room;
    struct run *runs;
};

/* Windows that ended within span_ns before the last one are kept. */
MUST_CHECK enum err_code recent_create(uint64_t span_ns, struct recent **out, struct err *err);
void recent_destroy(struct recent *recent);

void recent_add(struct recent *recent, const struct run *run);
void recent_seal(struct recent *recent, uint64_t end_ns, uint64_t period_ns,
                 const struct quality *quality);

/* Fills in the windows that ended after from_ns, in the order of time, and returns how many; the caller releases each. */
size_t recent_take(struct recent *recent, uint64_t from_ns,
                   struct recent_window *out[RECENT_MAX_WINDOWS]);
/* NULL is fine. */
void recent_release(struct recent_window *window);

#endif /* SERVER_SESSIONS_RECENT_H */
