/*
 * batch - the samples of a range of a session, by process: what is pushed at a time.
 *
 * Samples are those between two snapshots, never since the start.  The frame filters of the session apply,
 * and where the settings ask for it names are replaced by hashes.
 *
 * Each process has its CPU time, its wall time and what else was counted (measure.h): cells sorted by stack.  Processes with equal labels become
 * one.  Cells that differ in nothing that labels of samples show are added up, so that each stack is there once.
 *
 * Ownership: the caller's storage, which must not move; push_batch_deinit accepts a zeroed one.
 * Threads: any, on a snapshot of one's own.
 * Cost: a copy of the samples, and a pass over the tables of the session.
 */
#ifndef SERVER_PUSH_BATCH_H
#define SERVER_PUSH_BATCH_H

#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/push/labels.h"
#include "server/report/anonymize.h"
#include "server/report/encoding/pprof.h"
#include "server/wire/reshaped.h"

struct session_info;

/* From PUSH_WALL on, those of each measure; wall time is the first one. */
enum push_values { PUSH_CPU, PUSH_WALL, PUSH_VALUES = PUSH_WALL + MEASURE_COUNT };

struct push_cells {
    const struct view_cell *cells;
    size_t count;
};

struct push_process {
    struct push_labels labels;
    process_id first; /* of those that have these labels */
    const char *executable;
    struct push_cells values[PUSH_VALUES];
};

struct push_batch {
    struct reshaped reshaped;
    struct anonymized anonymized;
    const struct profile_snapshot *snapshot; /* of the samples alone */
    uint64_t began_at_ns, duration_ns;
    uint64_t periods[PUSH_VALUES]; /* what a sample stands for on average */
    unsigned sample_labels;        /* PPROF_ bits */
    uint64_t samples;
    struct view_cell *cells[PUSH_VALUES];
    struct push_process *processes;
    size_t process_count;
};

/* from_ns to to_ns: since the start of the session; host: NULL: it is not to be named. */
MUST_CHECK enum err_code push_batch_init(struct push_batch *batch,
                                         const struct session_info *info, uint64_t from_ns,
                                         uint64_t to_ns, const char *host,
                                         const struct push_settings *settings, struct err *err);
void push_batch_deinit(struct push_batch *batch);

static inline enum measure push_measure(enum push_values values)
{
    return values == PUSH_CPU ? MEASURE_TIME : (enum measure)(values - PUSH_WALL);
}
/* The labels of their samples, PPROF_ bits: parts are of time alone. */
static inline unsigned push_labels_of_samples(const struct push_batch *batch,
                                              enum push_values values)
{
    return values > PUSH_WALL ? batch->sample_labels & ~(unsigned)PPROF_PART
                              : batch->sample_labels;
}
/* The type and the unit of values, in pprof's words. */
const char *push_type(const struct push_batch *batch, enum push_values values);
const char *push_unit(const struct push_batch *batch, enum push_values values);

/* The time of a part of a profile that is sent in several, but of the last one: the parts follow each other, because
 * receivers drop a second profile of the same labels and time.  left_ns: the time that the parts before have left. */
uint64_t push_part_ns(uint64_t left_ns);

#endif /* SERVER_PUSH_BATCH_H */
