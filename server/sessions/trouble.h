/*
 * trouble - what a session says of a program that does not get on: it is stalled, threads wait for each other for ever, an event loop
 * is blocked by one callback, or its processes have too much memory.
 *
 * The session's sink (trouble_sink) keeps the samples of the last seconds; trouble_check reads those that came since the last
 * call.  A kind of trouble begins once, and again after it was over.  Sessions may follow one another: times go on, so that trouble
 * that goes on is not reported again.
 *
 *     stalled        no thread ran your code (own_code.h) for so long
 *     deadlock       a cycle of threads, as lock_graph.h finds it
 *     loop-blocked   a thread was in one callback of asyncio's event loop in all samples of so long.  A loop that runs the same short
 *                    callback again and again, and nothing else, is not distinguished from it.
 *     rss            the resident memory of all processes together
 *
 * Ownership: the caller's storage, which must not move while the session runs.
 * Threads: the sink is the sampling thread's; the other functions are for one other thread.
 * Units: nanoseconds, bytes.
 */
#ifndef SERVER_SESSIONS_TROUBLE_H
#define SERVER_SESSIONS_TROUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"

struct recent;
struct session;

/* X(name, text) */
#define TROUBLES(X)            \
    X(STALLED, "stalled")      \
    X(DEADLOCK, "deadlock")    \
    X(BLOCKED, "loop-blocked") \
    X(RSS, "rss")

enum trouble_kind {
#define X(name, text) TROUBLE_##name,
    TROUBLES(X)
#undef X
        TROUBLE_KINDS
};

enum { TROUBLE_TEXT_BYTES = 160, TROUBLE_MAX_LOOPS = 1 << 12 };

struct trouble_limits {
    uint64_t stalled_ns, loop_blocked_ns, rss_bytes; /* 0: not asked */
    bool deadlock;
};

/* A thread in a callback of its event loop. */
struct trouble_loop {
    function_id callback; /* 0: it is in none */
    uint64_t since_ns, until_ns;
};

struct trouble {
    struct trouble_limits limits;
    struct sink sink;
    struct recent *recent;
    struct trouble_loop *loops; /* by thread_id */
    size_t loop_count;
    uint64_t span_ns;
    uint64_t begin_ns;                /* of the session; those before it took so long */
    uint64_t seen_ns;                 /* windows until then were read */
    uint64_t progress_ns;             /* the last sample of your code that ran */
    uint64_t until_ns[TROUBLE_KINDS]; /* the last window in which it was there; 0: never */
};

struct trouble_event {
    enum trouble_kind kind;
    char text[TROUBLE_TEXT_BYTES]; /* "no thread has run your code for 60 s" */
};

/* span_ns: how long samples are kept. */
MUST_CHECK enum err_code trouble_init(struct trouble *trouble,
                                      const struct trouble_limits *limits, uint64_t span_ns,
                                      struct err *err);
/* Forgets the samples, whose session has ended, before the next one starts. */
MUST_CHECK enum err_code trouble_renew(struct trouble *trouble, struct err *err);
/* A zeroed one is fine.  Sampling must have ended. */
void trouble_deinit(struct trouble *trouble);

/* Fills in the events that began since the last call, at most one of each kind. */
MUST_CHECK enum err_code trouble_check(struct trouble *trouble, struct session *session,
                                       struct trouble_event out[TROUBLE_KINDS],
                                       size_t *count_out, struct err *err);

/* By value (base/enum_text.h). */
extern const char *const trouble_texts[];

#endif /* SERVER_SESSIONS_TROUBLE_H */
