/*
 * sheet - the numbers of one picture: functions or lines with their samples, threads with what
 * they did, for what the user wants to look at.
 *
 * Ownership: the struct owns its arrays; model_deinit accepts a zeroed one.
 * Cost: that of a view, and of sorting the functions that have samples.
 * Depends on: profile, view, states, report/flat, report/names, look.
 */
#ifndef SERVER_TOP_MODEL_H
#define SERVER_TOP_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/states.h"
#include "server/report/flat.h"
#include "server/top/display.h"

struct named_frame;

struct model {
    const struct profile_snapshot *snapshot;
    struct flat flat;
    struct states states;    /* of all threads, and the kind of samples that are looked at */
    struct state_sums doing; /* of the chosen thread, or all; of all kinds of samples */
    thread_id *threads;      /* as the rows of states */
    bool by_line;
    double sample_s; /* what a sample stands for; 0: unknown */
    size_t seen;     /* rows that have samples */
    uint32_t *order; /* those that fit the filter, as they are to be shown */
    size_t count;
    uint64_t from_ns, to_ns;
};

/* Borrows the snapshot. */
MUST_CHECK enum err_code model_init(struct model *model,
                                    const struct profile_snapshot *snapshot,
                                    const struct display *display, struct err *err);
void model_deinit(struct model *model);

struct named_frame model_name(const struct model *model, uint32_t row);
/* Its place in the order; the number of rows: it is not in it. */
size_t model_place(const struct model *model, uint32_t row);

/* Those who call a row, or whom it calls, most first: up to `room` of the edges; returns how many. */
size_t model_around(const struct model *model, uint32_t row, bool callers,
                    const struct flat_edge **out, size_t room);

#endif /* SERVER_TOP_MODEL_H */
