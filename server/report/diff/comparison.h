/*
 * comparison - compares two profiles by function and by path.
 *
 * A path is functions from the outermost on, distinguished by name and file.  Lines are ignored:
 * they move when a program changes.  Counts are compared as shares of all samples, or by time,
 * and every change has its interval and its q value (compare.h).  A side is one capture, or several
 * of the same program.  Marks that say how a stack was read, such as <truncated>, never differ
 * significantly, and neither do paths that end in them.
 *
 * Ownership: the struct owns all it holds and needs nothing of the sources afterwards;
 * comparison_deinit accepts a zeroed one.
 * Limits: those of a profile, for both together; COMPARISON_MAX_CAPTURES on a side.
 */
#ifndef SERVER_REPORT_DIFF_COMPARISON_H
#define SERVER_REPORT_DIFF_COMPARISON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "server/report/diff/sides.h"

struct joined;

#define COMPARISON_VERDICTS(X)                   \
    X(SAME, "same", "not significant")           \
    X(FEW, "few", "too few samples to say")      \
    X(MORE, "more", "more than in the baseline") \
    X(LESS, "less", "less than in the baseline") \
    X(NEW, "new", "not in the baseline")         \
    X(GONE, "gone", "no longer there")

enum comparison_verdict {
#define X(name, text, meaning) COMPARISON_##name,
    COMPARISON_VERDICTS(X)
#undef X
        COMPARISON_VERDICT_COUNT
};

const char *comparison_verdict_text(enum comparison_verdict verdict);
const char *comparison_verdict_meaning(enum comparison_verdict verdict);

/* A 95 % interval; NAN: nothing can be said. */
struct comparison_interval {
    float low, high;
};

/* One number of both sides. */
struct comparison_number {
    uint64_t baseline, now;
    double q; /* 1: nothing can be said */
    struct comparison_interval baseline_share, now_share, change;
    enum comparison_verdict verdict;
};

struct comparison_row {
    struct comparison_number self, total;
};

struct comparison {
    enum comparison_basis basis;
    uint64_t baseline_samples, now_samples;
    double baseline_all, now_all; /* what a share is of: samples or seconds */
    double baseline_sample_s,
        now_sample_s;      /* time that a sample of the first capture stands for */
    struct joined *joined; /* the functions and paths of both */
    const struct profile_snapshot *snapshot; /* of these */
    struct comparison_row *functions;        /* by function_id of the snapshot */
    struct comparison_row *nodes;            /* by node_id; 0 is all */
};

MUST_CHECK enum err_code comparison_init(struct comparison *comparison,
                                         const struct comparison_side *baseline,
                                         const struct comparison_side *now,
                                         enum comparison_basis basis, struct err *err);
void comparison_deinit(struct comparison *comparison);

/* The share of a count in its side; by time it may exceed 1. */
double comparison_baseline_share(const struct comparison *comparison, uint64_t count);
double comparison_now_share(const struct comparison *comparison, uint64_t count);

#endif /* SERVER_REPORT_DIFF_COMPARISON_H */
