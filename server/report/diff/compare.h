/*
 * compare - how certain a share of samples is, and whether two shares differ significantly.
 *
 * Samples of one moment are alike: a thread that waits, or has no processor, is sampled at one place
 * again and again, and programs have phases.  So the sample is not the unit, but the block: a slice of
 * time, of which a run has up to BLOCKS_MAX (blocks.h).  This is the method of batch means (Schmeiser
 * 1982: 10 to 30 batches; Law, Simulation Modeling and Analysis, ch. 9).  A share is a ratio of two
 * sums over blocks, hits / all, and its variance that of a ratio estimate (Cochran, Sampling
 * Techniques, ch. 6), at least that of independent samples.
 *
 * Runs of one program differ as well: addresses, hash seeds, frequency and neighbours of a processor.
 * Where a side has several captures, the variance between them is estimated as a component of its own
 * (one-way random effects) and the degrees of freedom as Satterthwaite (1946) does.  One capture on each
 * side has no repeats: there the other rows say how much runs vary (variation.h).
 *
 * Two shares are compared by Welch's t test.  A change is significant only if it is also large
 * (compare_is_large).  Rows that are too rare for such a change are left out before
 * (compare_is_candidate), so they do not weaken the others.  Of many comparisons some are significant by
 * chance alone: q values bound the expected share of these among the significant ones (Benjamini and
 * Hochberg 1995), and a row weighs as much as its share, as what takes much time is what a change is
 * looked for in (Genovese, Roeder and Wasserman 2006).
 *
 * A share of blocks of time, hits / time, may exceed 1: a rate.
 */
#ifndef SERVER_REPORT_DIFF_COMPARE_H
#define SERVER_REPORT_DIFF_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

/* With fewer blocks on a side, or fewer hits on both together, nothing can be said. */
enum { COMPARE_MIN_BLOCKS = 6, COMPARE_MIN_HITS = 10 };

/* A difference with a q value up to this is significant. */
#define COMPARE_MAX_Q 0.05
/* The least significant change: of everything, and of the share itself. */
#define COMPARE_LEAST_CHANGE   0.005
#define COMPARE_LEAST_RELATIVE 0.03

/* Sums over units, which are the blocks of a run, or the runs of a side: of `all` (samples, or time in
 * samples)... */
struct compare_units {
    uint32_t count;
    double all, squares;
};

/* ... and of the hits among them, for each row. */
struct compare_hits {
    double hits, squares, products; /* hits * all */
};

/* One side, and one row of it.  Zeroed: without runs. */
struct compare_side {
    struct compare_units runs;
    uint32_t blocks; /* of all runs */
};

struct compare_row {
    struct compare_hits runs;
    double residuals; /* of the blocks, each against the share of its run */
};

void compare_add_unit(struct compare_units *units, double all);
void compare_add_hits(struct compare_hits *sums, double hits, double all);
/* Adds a run, given as the sums over its blocks, to a side and to each row of it. */
void compare_add_run(struct compare_side *side, const struct compare_units *blocks);
void compare_add_run_hits(struct compare_row *row, const struct compare_units *blocks,
                          const struct compare_hits *hits);

/* Both sides of one row. */
struct compare_pair {
    const struct compare_side *baseline_side, *now_side;
    const struct compare_row *baseline, *now;
    bool is_rate;
    double run_variation; /* of variation.h, where neither side has several captures */
};

struct compare_interval {
    double low, high;
};

/* The 95 % interval of a share: Wilson's, with the effective sample size and Student's t (Korn and
 * Graubard 1998).  NAN without blocks enough. */
struct compare_interval compare_share_interval(const struct compare_side *side,
                                               const struct compare_row *row, bool is_rate);
double compare_change(const struct compare_pair *pair);
/* The variance of the change that the blocks explain. */
double compare_blocks_variance(const struct compare_pair *pair);
/* The 95 % interval of the change. */
struct compare_interval compare_change_interval(const struct compare_pair *pair);

/* Are there blocks and hits enough to say anything? */
bool compare_is_enough(const struct compare_pair *pair);
/* Is the row frequent enough to change by the least effect? */
bool compare_is_candidate(const struct compare_pair *pair);
/* Is the change as large as the least effect? */
bool compare_is_large(const struct compare_pair *pair);

/* The p value of the change: the chance of one at least as large if the shares are equal.  1 if nothing can
 * be said. */
double compare_p(const struct compare_pair *pair);

/* The share of both sides together. */
double compare_pooled_share(const struct compare_pair *pair);
/* Replaces p values by q values.  A negative value stays and does not count as a comparison. */
MUST_CHECK enum err_code compare_adjust(double *chances, const double *weights, size_t count,
                                        struct err *err);

#endif /* SERVER_REPORT_DIFF_COMPARE_H */
