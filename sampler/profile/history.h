/*
 * history - the list of windows, and how old ones become longer ones.
 *
 * Windows stay as sealed for six minutes.  Then there is one per second until they are an hour old,
 * one per ten seconds until three hours, one per minute until six hours, one per ten minutes until a
 * day, one per hour until fifteen days, and then one per day.  A longer window has more cells, so
 * there are fewer of the long ones: a week takes a few times the memory of an hour.  When memory is
 * short, all of these ages are halved, repeatedly; in the end everything older than two minutes
 * becomes as few windows as possible.
 *
 * Steps begin at whole multiples of their width, so that each lies within one of the next width.
 *
 * Private to profile.
 *
 * Ownership: the caller's storage holds the struct; the list holds a reference to each window.
 * Threads: none; profile.c guards it.
 * Limits: windows are not merged into one of more than HISTORY_MAX_CELLS cells or UINT32_MAX
 * samples.
 * Units: nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_HISTORY_H
#define SAMPLER_PROFILE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct window;

enum { HISTORY_FULL_AGES = 512, HISTORY_MAX_CELLS = 1 << 22, HISTORY_WIDTHS = 6 };

/* Younger windows stay as sealed, while memory is not short. */
#define HISTORY_SEALED_NS 360000000000ull
/* Younger windows are never merged. */
#define HISTORY_RECENT_NS 120000000000ull

struct history {
    struct window **windows; /* oldest first: generations and times ascend */
    size_t count, room;
    size_t bytes;
    size_t run_bytes;                 /* of these, those of runs */
    uint64_t runs_from_ns;            /* windows that start before have none */
    unsigned ages;                    /* the ages, in parts of HISTORY_FULL_AGES */
    uint64_t done_ns[HISTORY_WIDTHS]; /* steps of each width before this are merged already */
};

void history_init(struct history *history);
/* Drops all references. */
void history_deinit(struct history *history);

/* Takes the reference over, unless it fails. */
MUST_CHECK enum err_code history_append(struct history *history, struct window *window,
                                        struct err *err);

/* Windows that can be merged. */
struct history_run {
    size_t first, count;
    uint64_t width_ns;
};

/* false: there are none.  Cost: the logarithm of the number of windows, plus the windows that became
 * old enough since the last call. */
bool history_find_run(struct history *history, uint64_t now_ns, struct history_run *run);

/* Merges windows at half the age from now on. */
void history_halve_ages(struct history *history);

/* The oldest window with runs; false: there is none. */
bool history_find_runs(struct history *history, size_t *at);

/* Replaces a run by one window.  Takes over its reference, and gives the references of the run to
 * the caller in `old`, which has room for them. */
void history_replace(struct history *history, const struct history_run *run,
                     struct window *merged, struct window **old);

#endif /* SAMPLER_PROFILE_HISTORY_H */
