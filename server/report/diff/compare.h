/*
 * compare - whether two counts differ significantly.
 *
 * Samples are assumed to be independent, so a count among all of them is a proportion.  Two
 * proportions are compared by the two-sided z test with pooled variance.  Of many comparisons some
 * are significant by chance alone: q values bound the expected share of these among the significant
 * ones (Benjamini and Hochberg 1995).
 *
 * Depends on: libm.
 */
#ifndef SERVER_REPORT_DIFF_COMPARE_H
#define SERVER_REPORT_DIFF_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

/* With fewer hits on both sides together nothing can be said.  The usual rule for the z test is at
 * least five expected hits on each side. */
enum { COMPARE_MIN_HITS = 10 };

/* A difference with a q value up to this is significant. */
#define COMPARE_MAX_Q 0.05

/* Hits, and all samples or the time, of the baseline and of what is compared with it. */
struct compare_counts {
    uint64_t baseline_hits, now_hits;
    double baseline_all, now_all;
};

/* The p value of the difference between the shares hits / all: the chance of one at least as large if
 * the shares are equal.  1 if nothing can be said: too few hits, or nothing on one side. */
double compare_shares(const struct compare_counts *counts);
/* The same for rates, which are hits in a time and may exceed 1. */
double compare_rates(const struct compare_counts *counts);
bool compare_is_enough(const struct compare_counts *counts);

/* Replaces p values by q values.  A negative value stays and does not count as a comparison. */
MUST_CHECK enum err_code compare_adjust(double *chances, size_t count, struct err *err);

#endif /* SERVER_REPORT_DIFF_COMPARE_H */
