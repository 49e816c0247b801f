#include "server/report/diff/variation.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Fewer others say nothing of a row. */
#define OTHERS_LEAST 7
/* A move is cut at so many times the variance that it has without a change. */
#define SQUARES_MOST 16.0

struct variation_move variation_move_of(const struct compare_pair *pair, size_t row)
{
    const double pooled = compare_pooled_share(pair);
    return (struct variation_move){ row, compare_change(pair) / pooled,
                                    compare_blocks_variance(pair) / (pooled * pooled) };
}

static int by_move(const void *left, const void *right)
{
    const struct variation_move *const a = left, *const b = right;
    return (a->by > b->by) - (a->by < b->by);
}

/* Without a change, if runs differ by the least. */
static double expected_square(const struct variation_move *move)
{
    return move->variance + 2 * VARIATION_LEAST * VARIATION_LEAST;
}

/* The weighted median of the moves but one.  They are sorted. */
static double middle_of(const struct variation_move *moves, size_t count, size_t without)
{
    double all = 0, below = 0;
    for (size_t i = 0; i < count; i++)
        all += i == without ? 0 : 1 / expected_square(&moves[i]);
    for (size_t i = 0; i < count; i++) {
        below += i == without ? 0 : 1 / expected_square(&moves[i]);
        if (i != without && 2 * below >= all)
            return moves[i].by;
    }
    return 0;
}

static double variation_without(const struct variation_move *moves, size_t count,
                                size_t without)
{
    const double middle = middle_of(moves, count, without);
    double sum = 0, weights = 0;
    if (count - (without < count) < OTHERS_LEAST)
        return VARIATION_LEAST;
    for (size_t i = 0; i < count; i++) {
        if (i == without)
            continue;
        const double wanted = expected_square(&moves[i]);
        const double from_middle = moves[i].by - middle;
        const double square = fmin(from_middle * from_middle, SQUARES_MOST * wanted);
        const double weight = 1 / (wanted * wanted);
        sum += weight * (square - moves[i].variance) / 2;
        weights += weight;
    }
    return fmin(fmax(sqrt(fmax(sum / weights, 0)), VARIATION_LEAST), VARIATION_MOST);
}

void variation_by_row(struct variation_move *moves, size_t count, double *of, size_t rows)
{
    qsort(moves, count, sizeof *moves, by_move);
    const double of_all = variation_without(moves, count, SIZE_MAX);
    for (size_t row = 0; row < rows; row++)
        of[row] = of_all;
    for (size_t i = 0; i < count; i++)
        of[moves[i].row] = variation_without(moves, count, i);
}
