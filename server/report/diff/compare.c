#include "server/report/diff/compare.h"

#include <math.h>
#include <stdlib.h>

#include "server/report/diff/student.h"

#define TAILS_95 0.05

void compare_add_unit(struct compare_units *units, double all)
{
    units->count++;
    units->all += all;
    units->squares += all * all;
}

void compare_add_hits(struct compare_hits *sums, double hits, double all)
{
    sums->hits += hits;
    sums->squares += hits * hits;
    sums->products += hits * all;
}

/* The sum over units of (hits - share * all)^2. */
static double sum_residuals(const struct compare_units *units, const struct compare_hits *sums,
                            double share)
{
    const double sum =
        sums->squares - 2 * share * sums->products + share * share * units->squares;
    return fmax(sum, 0);
}

void compare_add_run(struct compare_side *side, const struct compare_units *blocks)
{
    compare_add_unit(&side->runs, blocks->all);
    side->blocks += blocks->count;
}

void compare_add_run_hits(struct compare_row *row, const struct compare_units *blocks,
                          const struct compare_hits *hits)
{
    const double count = blocks->count;
    compare_add_hits(&row->runs, hits->hits, blocks->all);
    if (blocks->count > 1 && blocks->all > 0)
        row->residuals +=
            count / (count - 1) * sum_residuals(blocks, hits, hits->hits / blocks->all);
}

static double share_of(const struct compare_side *side, const struct compare_row *row)
{
    return side->runs.all > 0 ? row->runs.hits / side->runs.all : 0;
}

/* The spread of a single sample, if samples are independent: binomial, or Poisson's. */
static double spread_of(double share, bool is_rate)
{
    return is_rate ? share : fmax(share * (1 - share), 0);
}

static bool has_blocks(const struct compare_side *side)
{
    return side->runs.all > 0 && side->blocks >= side->runs.count + COMPARE_MIN_BLOCKS - 1;
}

struct estimate {
    double share, variance, degrees;
};

/* expected: the share by which the variance of independent samples is judged. */
static struct estimate estimate_of(const struct compare_side *side,
                                   const struct compare_row *row, double expected, bool is_rate)
{
    const double all = side->runs.all;
    const double independent = spread_of(expected, is_rate) / all;
    return (struct estimate){ share_of(side, row),
                              fmax(row->residuals / (all * all), independent),
                              side->blocks - side->runs.count };
}

struct compare_interval compare_share_interval(const struct compare_side *side,
                                               const struct compare_row *row, bool is_rate)
{
    if (!has_blocks(side))
        return (struct compare_interval){ (double)NAN, (double)NAN };
    const struct estimate of = estimate_of(side, row, share_of(side, row), is_rate);
    const double t = student_quantile(TAILS_95, of.degrees);
    const double spread = spread_of(of.share, is_rate);
    const double size = of.variance > 0 && spread > 0 ? spread / of.variance : side->runs.all;
    const double part = t * t / size;
    const double middle = of.share + part / 2;
    const double half = t * sqrt(spread / size + part / (4 * size));
    const double scale = is_rate ? 1 : 1 + part;
    return (struct compare_interval){ fmax(0, (middle - half) / scale),
                                      (middle + half) / scale };
}

/* The variance of one run's share beside what its blocks explain: a component of variance. */
struct component {
    double variance; /* of one run */
    double total;    /* with what the blocks explain */
    double degrees;  /* INFINITY: it is assumed */
};

static double of_runs(const struct compare_side *side, const struct compare_row *row)
{
    const double size = side->runs.all / side->runs.count;
    return sum_residuals(&side->runs, &row->runs, share_of(side, row)) / (size * size);
}

static struct component component_of(const struct compare_pair *pair, double pooled,
                                     const struct estimate *a, const struct estimate *b)
{
    const double a_runs = pair->baseline_side->runs.count, b_runs = pair->now_side->runs.count;
    const double degrees = a_runs + b_runs - 2;
    const double assumed = pair->run_variation * pooled;
    if (degrees < 1)
        return (struct component){ assumed * assumed, assumed * assumed, HUGE_VAL };
    const double total =
        (of_runs(pair->baseline_side, pair->baseline) + of_runs(pair->now_side, pair->now)) /
        degrees;
    const double within = (a->variance * a_runs + b->variance * b_runs) / 2;
    return (struct component){ fmax(total - within, 0), total, degrees };
}

double compare_pooled_share(const struct compare_pair *pair)
{
    const double all = pair->baseline_side->runs.all + pair->now_side->runs.all;
    return all > 0 ? (pair->baseline->runs.hits + pair->now->runs.hits) / all : 0;
}

double compare_blocks_variance(const struct compare_pair *pair)
{
    const double pooled = compare_pooled_share(pair);
    return estimate_of(pair->baseline_side, pair->baseline, pooled, pair->is_rate).variance +
           estimate_of(pair->now_side, pair->now, pooled, pair->is_rate).variance;
}

struct difference {
    double change, error, degrees;
};

static struct difference difference_of(const struct compare_pair *pair)
{
    const struct compare_side *const before = pair->baseline_side, *const after =
                                                                       pair->now_side;
    const double pooled = compare_pooled_share(pair);
    const struct estimate a = estimate_of(before, pair->baseline, pooled, pair->is_rate);
    const struct estimate b = estimate_of(after, pair->now, pooled, pair->is_rate);
    const struct component runs = component_of(pair, pooled, &a, &b);
    const double parts = 1.0 / before->runs.count + 1.0 / after->runs.count;
    const double variance = a.variance + b.variance + runs.variance * parts;
    const double of_component = runs.variance > 0 ? runs.total * parts : 0;
    const double squares = a.variance * a.variance / a.degrees +
                           b.variance * b.variance / b.degrees +
                           of_component * of_component / runs.degrees;
    return (struct difference){ b.share - a.share, sqrt(variance),
                                squares > 0 ? variance * variance / squares : HUGE_VAL };
}

bool compare_is_enough(const struct compare_pair *pair)
{
    return has_blocks(pair->baseline_side) && has_blocks(pair->now_side) &&
           pair->baseline->runs.hits + pair->now->runs.hits >= COMPARE_MIN_HITS;
}

/* The shares of a candidate add up to the least change that counts, or more. */
bool compare_is_candidate(const struct compare_pair *pair)
{
    return compare_is_enough(pair) && share_of(pair->baseline_side, pair->baseline) +
                                              share_of(pair->now_side, pair->now) >=
                                          COMPARE_LEAST_CHANGE;
}

double compare_change(const struct compare_pair *pair)
{
    return share_of(pair->now_side, pair->now) - share_of(pair->baseline_side, pair->baseline);
}

bool compare_is_large(const struct compare_pair *pair)
{
    const double before = share_of(pair->baseline_side, pair->baseline);
    const double after = share_of(pair->now_side, pair->now);
    const double change = fabs(compare_change(pair));
    return change >= COMPARE_LEAST_CHANGE &&
           change >= COMPARE_LEAST_RELATIVE * fmax(before, after);
}

struct compare_interval compare_change_interval(const struct compare_pair *pair)
{
    if (!has_blocks(pair->baseline_side) || !has_blocks(pair->now_side))
        return (struct compare_interval){ (double)NAN, (double)NAN };
    const struct difference of = difference_of(pair);
    const double half = of.error * student_quantile(TAILS_95, of.degrees);
    return (struct compare_interval){ of.change - half, of.change + half };
}

double compare_p(const struct compare_pair *pair)
{
    if (!compare_is_enough(pair))
        return 1;
    const struct difference of = difference_of(pair);
    return of.error > 0 ? student_tails(of.change / of.error, of.degrees) : 1;
}

struct ranked {
    double chance; /* divided by its weight */
    size_t at;
};

static int by_chance(const void *left, const void *right)
{
    const struct ranked *const a = left, *const b = right;
    if (a->chance < b->chance)
        return -1;
    return a->chance > b->chance ? 1 : (a->at > b->at) - (a->at < b->at);
}

enum err_code compare_adjust(double *chances, const double *weights, size_t count,
                             struct err *err)
{
    struct ranked *const ranks = malloc((count + 1) * sizeof *ranks);
    size_t family = 0;
    double least = 1, all = 0;
    if (!ranks)
        return err_nomem(err);
    for (size_t i = 0; i < count; i++)
        if (chances[i] >= 0) {
            ranks[family++] = (struct ranked){ chances[i] / weights[i], i };
            all += weights[i];
        }
    qsort(ranks, family, sizeof *ranks, by_chance);
    /* A later one is never more certain than an earlier one. */
    for (size_t rank = family; rank > 0; rank--) {
        const double q = ranks[rank - 1].chance * all / (double)rank;
        least = q < least ? q : least;
        chances[ranks[rank - 1].at] = least;
    }
    free(ranks);
    return ERR_OK;
}
