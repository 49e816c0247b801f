#include "server/report/diff/compare.h"

#include <math.h>
#include <stdlib.h>

/* Both tails of the normal distribution. */
static double two_sided(double z)
{
    return erfc(fabs(z) / sqrt(2.0));
}

/* Of the hits of both, the part that each side should have if nothing differs is at least five. */
bool compare_is_enough(const struct compare_counts *counts)
{
    const double hits = (double)counts->baseline_hits + (double)counts->now_hits;
    const double all = counts->baseline_all + counts->now_all;
    if (!(counts->baseline_all > 0) || !(counts->now_all > 0) || hits < COMPARE_MIN_HITS)
        return false;
    return hits * fmin(counts->baseline_all, counts->now_all) / all >= COMPARE_MIN_HITS / 2.0;
}

double compare_shares(const struct compare_counts *counts)
{
    if (!compare_is_enough(counts))
        return 1;
    const double a = (double)counts->baseline_hits / counts->baseline_all;
    const double b = (double)counts->now_hits / counts->now_all;
    const double pooled = ((double)counts->baseline_hits + (double)counts->now_hits) /
                          (counts->baseline_all + counts->now_all);
    const double variance =
        pooled * (1 - pooled) * (1 / counts->baseline_all + 1 / counts->now_all);
    return variance > 0 ? two_sided((b - a) / sqrt(variance)) : 1;
}

/* If nothing differs, the hits of both fall on the two sides as the time does. */
double compare_rates(const struct compare_counts *counts)
{
    if (!compare_is_enough(counts))
        return 1;
    const double hits = (double)counts->baseline_hits + (double)counts->now_hits;
    const double part = counts->now_all / (counts->baseline_all + counts->now_all);
    const double variance = hits * part * (1 - part);
    return two_sided(((double)counts->now_hits - hits * part) / sqrt(variance));
}

struct ranked {
    double chance;
    size_t at;
};

static int by_chance(const void *left, const void *right)
{
    const struct ranked *const a = left, *const b = right;
    if (a->chance < b->chance)
        return -1;
    return a->chance > b->chance ? 1 : (a->at > b->at) - (a->at < b->at);
}

enum err_code compare_adjust(double *chances, size_t count, struct err *err)
{
    struct ranked *const ranks = malloc((count + 1) * sizeof *ranks);
    size_t family = 0;
    double least = 1;
    if (!ranks)
        return err_nomem(err);
    for (size_t i = 0; i < count; i++)
        if (chances[i] >= 0)
            ranks[family++] = (struct ranked){ chances[i], i };
    qsort(ranks, family, sizeof *ranks, by_chance);
    /* A later one is never more certain than an earlier one. */
    for (size_t rank = family; rank > 0; rank--) {
        const double q = ranks[rank - 1].chance * (double)family / (double)rank;
        least = q < least ? q : least;
        chances[ranks[rank - 1].at] = least;
    }
    free(ranks);
    return ERR_OK;
}
