/*
 * compare - whether two counts differ significantly.
 *
 * Samples are taken as independent, so a count among all of them is a proportion, and two
 * proportions are compared by the two-sided z test with pooled variance.  Where many are
 * compared at once some differ by chance alone: q values bound the expected share of false ones
 * among those called different (Benjamini and Hochberg 1995).
 *
 * Depends on: libm.
 */
#ifndef SERVER_REPORT_DIFF_COMPARE_H
#define SERVER_REPORT_DIFF_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

/* Fewer hits than this in both together say nothing, by the usual rule for the z test: at least
 * five expected in each. */
enum { COMPARE_MIN_HITS = 10 };

/* Differences with a q value up to this are called so. */
#define COMPARE_MAX_Q 0.05

/* Hits among all samples, or in a time, of the baseline and of what is compared with it. */
struct compare_counts {
    uint64_t baseline_hits, now_hits;
    double baseline_all, now_all;
};

/* The chance to see a difference as large or larger if there is none: that of the shares
 * hits / all.  1 where nothing can be said: too few hits, or nothing on one side. */
double compare_shares(const struct compare_counts *counts);
/* The same for rates, hits in a time: more hits than time units are fine. */
double compare_rates(const struct compare_counts *counts);
bool compare_is_enough(const struct compare_counts *counts);

/* Replaces chances by q values.  A negative one is not part of the family and stays. */
MUST_CHECK enum err_code compare_adjust(double *chances, size_t count, struct err *err);

#endif /* SERVER_REPORT_DIFF_COMPARE_H */
