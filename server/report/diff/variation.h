/*
 * variation - how much shares vary between runs of one program, estimated from a comparison itself.
 *
 * Addresses, hash seeds, frequency and neighbours of a processor differ from run to run.  One capture on
 * each side has no repeats, but many rows, most of which did not change: how much these moved, beyond
 * what their blocks explain, is the variation between runs, as genomic control (Devlin and Roeder 1999)
 * has it of the many places of a genome.  Self samples are of one row each, so that no change is seen
 * twice.  What is asked of a row is answered by the others: its own change is no part of it.  The
 * estimate is that of moments, each row with the weight of what its own noise leaves to say of the
 * variance (DerSimonian and Laird 1986); a row far beyond the others has changed, and is cut.
 */
#ifndef SERVER_REPORT_DIFF_VARIATION_H
#define SERVER_REPORT_DIFF_VARIATION_H

#include <stddef.h>

#include "server/report/diff/compare.h"

/* The standard deviation between runs of one program, as a part of each share: the least that there
 * is, and the most that is put down to it. */
#define VARIATION_LEAST 0.005
#define VARIATION_MOST  0.02

/* How far the self samples of a row moved, and the variance of that which its blocks explain, both as parts
 * of its share. */
struct variation_move {
    size_t row;
    double by, variance;
};

struct variation_move variation_move_of(const struct compare_pair *pair, size_t row);

/* The variation between runs for each of `rows` rows; moves: one for each row that says something, which are
 * sorted. */
void variation_by_row(struct variation_move *moves, size_t count, double *of, size_t rows);

#endif /* SERVER_REPORT_DIFF_VARIATION_H */
