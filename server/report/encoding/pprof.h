/*
 * pprof - profile.proto of cells: what a stack was sampled with, which labels samples have, how large it may be.
 *
 * A message holds only the rows of the snapshot that its samples refer to, with ids from 1 on.  If the cells
 * do not fit, it has as many as do; another message takes the others.
 *
 * Ownership: pprof_create makes, pprof_destroy frees; borrows the snapshot.
 * Threads: one.
 */
#ifndef SERVER_REPORT_ENCODING_PPROF_H
#define SERVER_REPORT_ENCODING_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"

struct buffer;
struct chain;
struct pprof;

/* The values of each sample. */
enum pprof_values {
    PPROF_ALL,      /* samples, wall time and CPU time; wall time is the default */
    PPROF_CPU,      /* CPU time, whose period is of CPU time too */
    PPROF_WALL,     /* wall time */
    PPROF_MEASURED, /* a measure that is not time */
};

enum {
    PPROF_THREAD = 1 << 0, /* thread, thread_id */
    PPROF_PROCESS = 1 << 1,
    PPROF_STATE = 1 << 2,
    PPROF_WAIT = 1 << 3, /* wait, peer; of stacks that end with a mark */
    /* Contexts that stacks with such a mark work for: trace_id and span_id, or a label with the
     * name of the variable. The mark is not written as a frame. */
    PPROF_CONTEXT = 1 << 4,
    PPROF_SPANS = 1 << 5, /* the same, of spans only */
    PPROF_PART =
        1 << 6, /* the part of time, which only stacks with their marks of waits tell */
    PPROF_EVERY_LABEL =
        PPROF_THREAD | PPROF_PROCESS | PPROF_STATE | PPROF_WAIT | PPROF_CONTEXT | PPROF_PART
};

/* Cells of another measure, whose sample type follows those of `values`. */
struct pprof_beside {
    enum measure measure;
    const struct view_cell *cells;
    size_t count;
};

struct pprof_settings {
    enum pprof_values values;
    enum measure measure;              /* of PPROF_MEASURED */
    const struct pprof_beside *beside; /* of a message without bounds */
    size_t beside_count;
    unsigned labels;         /* PPROF_ bits */
    uint64_t began_at_ns;    /* since 1970 */
    uint64_t duration_ns;    /* of the range that the cells are of */
    uint64_t part_ns;        /* of a message that does not have all of them */
    uint64_t period_ns;      /* that a sample stands for on average */
    const char *executable;  /* the mapping of Python code */
    const char *comments[2]; /* NULL: none */
    size_t max_samples;      /* 0: no bound, and so for the others */
    size_t max_bytes;        /* `out` must not drain then */
    size_t max_depth;        /* deeper stacks lose frames in the middle */
};

MUST_CHECK enum err_code pprof_create(const struct profile_snapshot *snapshot,
                                      struct pprof **out, struct err *err);
/* NULL is fine. */
void pprof_destroy(struct pprof *pprof);

/* Appends a message with the first cells.  used_out: how many of them; at least one if there are any. */
MUST_CHECK enum err_code pprof_write(struct pprof *pprof, const struct pprof_settings *settings,
                                     const struct view_cell *cells, size_t count,
                                     struct buffer *out, size_t *used_out, struct err *err);

/* The CPU time among the time that the samples of a cell stand for. */
uint64_t pprof_cpu_ns(const struct view_cell *cell, uint64_t wall_ns);

/* Cuts a stack to that depth: its innermost and outermost frames are left, half of each. */
void pprof_shorten(struct chain *chain, size_t max_depth);

#endif /* SERVER_REPORT_ENCODING_PPROF_H */
