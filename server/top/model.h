/*
 * model - the numbers on the screen: functions or lines with their samples, and threads with
 * their states, for the samples that the user has chosen.
 *
 * Ownership: the struct owns its arrays; model_deinit accepts a zeroed one.
 * Cost: that of a view, and of sorting the functions that have samples.
 */
#ifndef SERVER_TOP_MODEL_H
#define SERVER_TOP_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/views/thread_waits.h"
#include "server/report/flat.h"
#include "server/top/display.h"

struct named_frame;

struct model {
    const struct profile_snapshot *snapshot, *recorded;
    struct flat flat;
    struct states states;      /* of all threads, in every mode */
    struct state_sums sums;    /* of the chosen thread, or of all; in every mode */
    struct thread_waits waits; /* of all threads; its ids are those of `recorded` */
    thread_id *threads;        /* in the order of the rows of states */
    bool by_line;
    double sample_s; /* time that one sample stands for; 0: unknown */
    size_t seen;     /* rows that have samples */
    uint32_t *order; /* rows that match the filter, sorted */
    size_t count;
    uint64_t from_ns, to_ns;
};

/* Borrows the snapshots.  recorded: the samples as they were recorded, with the marks of waits; it may be the same. */
MUST_CHECK enum err_code model_init(struct model *model,
                                    const struct profile_snapshot *snapshot,
                                    const struct profile_snapshot *recorded,
                                    const struct display *display, struct err *err);
void model_deinit(struct model *model);

struct named_frame model_name(const struct model *model, uint32_t row);
/* The index of a row in the order; model->count: the row is not in it. */
size_t model_place(const struct model *model, uint32_t row);

/* For what a thread, or all with DISPLAY_NO_THREAD, waited most; NULL: it did not wait. */
const struct thread_wait *model_wait(const struct model *model, thread_id thread);

/* The callers or the callees of a row, those with most samples first.  Returns how many there are,
 * at most `room`. */
size_t model_around(const struct model *model, uint32_t row, bool callers,
                    const struct flat_edge **out, size_t room);

#endif /* SERVER_TOP_MODEL_H */
