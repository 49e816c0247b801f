/*
 * stops - decides how a target's running threads are read at each tick: while they move, or while they
 * are stopped.
 *
 * A thread that moves while it is read is seen too often where it stays long.  What share of such
 * readings is uncertain shows by how much this can matter.  Where it matters, running threads are
 * stopped to be read, at as many ticks as a limit allows: a share of the time that a thread may stand
 * still for.  Each reading then counts for the ticks before it.  The decision is made for a window of
 * time, from the windows before it, so it does not depend on the readings that it is about.
 *
 * While threads are stopped, a few further readings of moving threads, which are not samples, show
 * whether stops are still needed.  While they are not, a few stopped readings are the control that the
 * others are compared with.
 *
 * Ownership: the caller's storage.
 * Units: shares of 1; nanoseconds.
 * Depends on: base/random, sampler.h.
 */
#ifndef SAMPLER_SESSION_PACE_STOPS_H
#define SAMPLER_SESSION_PACE_STOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/random.h"
#include "sampler/sampler.h"

enum stops_step {
    STOPS_SKIP,   /* a later reading stands for this tick */
    STOPS_PROBE,  /* the same, but read moving threads to see how many readings are uncertain */
    STOPS_MOVING, /* read moving threads */
    STOPS_STILL,  /* stop running threads and read them */
};

/* What to do at a tick, and how many ticks, with this one, the reading stands for. */
struct stops_turn {
    enum stops_step step;
    uint32_t ticks;
    uint64_t since_ns; /* the first of them */
};

struct stops {
    enum sampler_stop policy;
    double share;     /* that a thread may stand still for */
    bool is_still;    /* in this window */
    uint32_t pending; /* ticks that no reading stands for yet */
    uint64_t pending_since_ns;
    uint64_t window_ends_ns;
    double readings, uncertain; /* of moving threads; the older ones weigh less */
    double credit_ns; /* that threads may still stand still for; below 0: they have to wait */
    uint64_t credited_ns;
    uint64_t extra_ns; /* when the next probe, or reading of the control, is due */
    struct random random;
};

void stops_init(struct stops *stops, enum sampler_stop policy, double share);

/* Call once at each tick, or call stops_skip. */
struct stops_turn stops_next(struct stops *stops, uint64_t now_ns);
/* stops_next returns STOPS_SKIP until this instant; 0: it may not. */
uint64_t stops_idle_until(const struct stops *stops);
/* What stops_next does for a tick before that instant. */
void stops_skip(struct stops *stops, uint64_t now_ns);
/* A thread that moves was read. */
void stops_note_reading(struct stops *stops, bool is_uncertain);
/* Threads stood still for this long. */
void stops_note_stop(struct stops *stops, uint64_t stopped_ns);
/* The kernel does not let us stop the target: from now on threads are read while they move. */
void stops_refuse(struct stops *stops);

#endif /* SAMPLER_SESSION_PACE_STOPS_H */
