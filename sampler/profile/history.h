/*
 * history - the list of windows, and how old ones become longer ones.
 *
 * Windows stay as they were sealed for six minutes; then there is one a second until they are an
 * hour old, one each ten seconds until three, one a minute until six, one each ten minutes until
 * a day, one an hour until a fortnight, and one a day.  The longer a window is the more cells it
 * has, so the wider the fewer: a week costs a few times what an hour does.  When memory is short,
 * all of these ages are halved, again and again; at last everything but the last two minutes
 * becomes as few windows as can be.
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
 * Depends on: err, window.
 */
#ifndef SAMPLER_PROFILE_HISTORY_H
#define SAMPLER_PROFILE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct window;

enum { HISTORY_KEEP = 512, HISTORY_MAX_CELLS = 1 << 22, HISTORY_WIDTHS = 6 };

/* Windows of this age stay as they were sealed, where there is memory. */
#define HISTORY_SEALED_NS 360000000000ull
/* Younger windows are never merged. */
#define HISTORY_RECENT_NS 120000000000ull

struct history {
    struct window **windows; /* oldest first: generations and times ascend */
    size_t count, room;
    size_t bytes;
    unsigned keep;                    /* of the ages, so many of HISTORY_KEEP parts */
    uint64_t done_ns[HISTORY_WIDTHS]; /* of each width, the steps before it need no look */
};

void history_init(struct history *history);
/* Drops all references. */
void history_deinit(struct history *history);

/* Takes the reference over, unless it fails. */
MUST_CHECK enum err_code history_append(struct history *history, struct window *window,
                                        struct err *err);

/* Windows that may become one. */
struct history_run {
    size_t first, count;
    uint64_t width_ns;
};

/* false: there are none.  Cost: the logarithm of the windows, and those that became old enough
 * since the last time. */
bool history_find_run(struct history *history, uint64_t now_ns, struct history_run *run);

/* Halves keep. */
void history_keep_less(struct history *history);

/* Puts one window in the place of a run.  Takes over its reference, and gives those of the run
 * to the caller in old, which has room for them. */
void history_replace(struct history *history, const struct history_run *run,
                     struct window *merged, struct window **old);

#endif /* SAMPLER_PROFILE_HISTORY_H */
