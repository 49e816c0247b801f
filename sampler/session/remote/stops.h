/*
 * stops - decides how a target's running threads are read at each tick: while they move, or while they
 * are stopped.
 *
 * A thread that moves while it is read is seen too often where it stays long.  What share of such
 * readings is uncertain shows by how much this can matter.  Where it matters, running threads are
 * stopped to be read, for a limited share of the time.  The decision is made for a window of time, from the
 * windows before it, so it does not depend on the readings that it is about.
 *
 * In a window with stops time is divided into gaps of the same length, and one tick of each gap, chosen at
 * random, is a reading of all threads.  The other ticks are skipped: they read nothing, and the next reading
 * stands for them too.  The length of a gap is what a stop takes on average, but at least 22 us, divided by four
 * fifths of the share that stops may take: the rest is for stops that take long.  It does not depend on what the threads do, so waiting threads are seen as often as
 * running ones.
 * When a window of the profile ends, or the target, the last reading stands for the ticks skipped since.
 *
 * A stop that takes long leaves no hole: the gaps of the next windows are a little longer.  Where stops take
 * so long that a sample would stand for much time, or have used their share of a second, or what they may use in
 * a second and a half in advance, threads are read while they move.
 *
 * A thread that moves may be one that cannot be read at all.  Then threads are read only while they are stopped, however
 * long a sample stands.
 *
 * After some of the stops the threads are read once more, while they move: that is no sample, but shows whether
 * stops are still needed.  Where stops take too long, there are a few: they show whether that is still so.
 *
 * Ownership: the caller's storage.
 * Units: shares of 1; nanoseconds.
 */
#ifndef SAMPLER_SESSION_REMOTE_STOPS_H
#define SAMPLER_SESSION_REMOTE_STOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/random.h"
#include "sampler/session.h"

enum stops_step {
    STOPS_SKIP,   /* read nothing */
    STOPS_MOVING, /* read moving threads */
    STOPS_STILL,  /* stop running threads and read them */
};

/* Skipped ticks that no reading stands for yet. */
struct stops_skipped {
    uint32_t ticks;
    uint64_t first_ns, last_ns;
};

/* The step of a tick, and how many ticks, with this one, a reading stands for. */
struct stops_turn {
    enum stops_step step;
    uint32_t ticks;
    uint64_t since_ns; /* the first of them */
};

/* A second, in slices. */
enum { STOPS_SLICES = 21, STOPS_SLICE_NS = 50000000 };

struct stops {
    enum session_stop policy;
    double share;      /* that a thread may stand still for */
    bool is_uncertain; /* too often, when threads are read while they move */
    bool is_still;     /* so threads are stopped in this window */
    bool needs_stops;  /* moving threads cannot be read; set by the caller */
    struct stops_skipped skipped;
    uint64_t window_ends_ns;
    double readings, uncertain; /* of moving threads; the older ones weigh less */
    double stops, stopped_ns;   /* how often, and for how long in all; likewise */
    struct stops_slice {
        uint64_t number; /* since the clock began */
        double stopped_ns;
    } slices[STOPS_SLICES];
    double credit_ns; /* that threads may still stand still for; below 0: too much */
    uint64_t credited_ns;
    uint64_t gap_ns, gap_ends_ns; /* in this window */
    uint64_t due_ns;              /* the reading in this gap */
    uint64_t trial_ns;            /* when the next stop is due where they take too long */
    uint64_t refused_until_ns;    /* the kernel did not let us stop the target; 0: it did */
    struct random random;
};

void stops_init(struct stops *stops, enum session_stop policy, double share);

/* Call once at each tick, or call stops_skip. */
struct stops_turn stops_next(struct stops *stops, uint64_t now_ns);
/* stops_next returns STOPS_SKIP until this instant; 0: it may not. */
uint64_t stops_idle_until(const struct stops *stops);
/* Counts a tick before that instant as stops_next does. */
void stops_skip(struct stops *stops, uint64_t now_ns);
/* The turn of a tick that stops_next has skipped, and that is read after all, without stops, for itself alone. */
struct stops_turn stops_take_back(struct stops *stops, uint64_t now_ns);
/* A reading stands for all ticks up to now.  Without this call, what stops_next returned was not read. */
void stops_stood(struct stops *stops);
/* Are threads to be read while they move, after this stop? */
bool stops_wants_probe(struct stops *stops);
/* A thread that moves was read. */
void stops_note_reading(struct stops *stops, bool is_uncertain);
/* Threads stood still for this long, until now. */
void stops_note_stop(struct stops *stops, uint64_t stopped_ns, uint64_t now_ns);
/* The kernel did not let us stop the target, for another traces it: for a while threads are read while they move. */
void stops_refuse(struct stops *stops, uint64_t now_ns);

#endif /* SAMPLER_SESSION_REMOTE_STOPS_H */
