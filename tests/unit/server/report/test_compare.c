#include <math.h>

#include "server/report/diff/compare.h"
#include "server/report/diff/student.h"
#include "server/report/diff/variation.h"
#include "tests/support/test.h"

static void assert_close(double given, double wanted, double within)
{
    if (fabs(given - wanted) > within)
        fail_msg("%.9g, not %.9g", given, wanted);
}

/* Tables of Student's distribution. */
static void quantiles_are_those_of_the_tables(void **state)
{
    (void)state;
    assert_close(student_quantile(0.05, 1), 12.706205, 1e-5);
    assert_close(student_quantile(0.05, 9), 2.262157, 1e-6);
    assert_close(student_quantile(0.01, 23), 2.807336, 1e-6);
    assert_close(student_quantile(0.05, 1e9), 1.959964, 1e-6);
    assert_close(student_tails(0, 5), 1, 1e-12);
    assert_close(student_tails(-2.262157, 9), 0.05, 1e-7);
    assert_close(student_tails(1, 1), 0.5, 1e-12);
    assert_true(student_tails(50, 23) > 0 && student_tails(50, 23) < 1e-20);
    assert_true(student_tails(1e200, 3) == 0);
}

/* Runs of blocks of one row. */
struct made_side {
    struct compare_side side;
    struct compare_row row;
};

static void add_run(struct made_side *to, const double *hits, size_t count, double all)
{
    struct compare_units blocks = { 0 };
    struct compare_hits sums = { 0 };
    for (size_t i = 0; i < count; i++) {
        compare_add_unit(&blocks, all);
        compare_add_hits(&sums, hits[i], all);
    }
    compare_add_run(&to->side, &blocks);
    compare_add_run_hits(&to->row, &blocks, &sums);
}

static struct compare_pair pair_of(const struct made_side *a, const struct made_side *b)
{
    return (
        struct compare_pair){ &a->side, &b->side, &a->row, &b->row, false, VARIATION_LEAST };
}

/* 10 blocks of 100, hits 15 and 35 in turn: a share of 0.25, and a variance of 10 / 9 * 10 * 100 / 1000^2. */
static void a_share_is_as_certain_as_its_blocks_agree(void **state)
{
    static const double uneven[] = { 15, 35, 15, 35, 15, 35, 15, 35, 15, 35 };
    static const double even[] = { 25, 25, 25, 25, 25, 25, 25, 25, 25, 25 };
    static const double none[10];
    struct made_side a = { 0 }, b = { 0 }, empty = { 0 };
    (void)state;
    add_run(&a, uneven, 10, 100);
    add_run(&b, even, 10, 100);
    add_run(&empty, none, 10, 100);
    /* Effective size 0.1875 / 0.00111111 = 168.75, t 2.262157. */
    const struct compare_interval wide = compare_share_interval(&a.side, &a.row, false);
    assert_close(wide.low, 0.182707, 1e-6);
    assert_close(wide.high, 0.332009, 1e-6);
    /* No wider than independent samples are, however well blocks agree: size 1000. */
    const struct compare_interval narrow = compare_share_interval(&b.side, &b.row, false);
    assert_close(narrow.low, 0.220350, 1e-6);
    assert_close(narrow.high, 0.282196, 1e-6);
    const struct compare_interval zero = compare_share_interval(&empty.side, &empty.row, false);
    assert_close(zero.low, 0, 1e-12);
    assert_close(zero.high, 0.005091, 1e-6);
    assert_true(isnan(compare_share_interval(&(struct compare_side){ 0 },
                                             &(struct compare_row){ { 0 }, 0 }, false)
                          .low));
}

/* 3000 samples of 20 % and 3300 of 22 % of 15000 are z = 4.2 for single samples. */
static void samples_of_one_moment_are_alike(void **state)
{
    double together[24] = { 0 }, more[24] = { 0 }, spread[24], spread_more[24];
    struct made_side a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
    (void)state;
    for (size_t i = 0; i < 24; i++) {
        together[i] = i % 5 == 0 ? 600 : 0;
        more[i] = i % 5 == 2 ? 660 : 0;
        spread[i] = 125;
        spread_more[i] = 137.5;
    }
    add_run(&a, together, 24, 625);
    add_run(&b, more, 24, 625);
    add_run(&c, spread, 24, 625);
    add_run(&d, spread_more, 24, 625);
    const struct compare_pair alike = pair_of(&a, &b), independent = pair_of(&c, &d);
    assert_true(compare_p(&alike) > 0.5);
    assert_true(compare_p(&independent) < 0.001);
    assert_true(compare_is_large(&independent));
}

/* Random numbers that are the same with every library: Knuth's, and the sum of twelve as a normal one. */
static double normal(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) / 9007199254740992.0;
    }
    return sum;
}

/* 24 blocks of 5 windows each of 250 samples, whose shares follow an AR(1) process. */
static void make_series(struct made_side *to, double share, double spread, double memory,
                        uint64_t *random)
{
    double hits[24] = { 0 }, deviation = 0;
    for (int i = -20; i < 24 * 5; i++) {
        deviation = memory * deviation + normal(random);
        if (i >= 0)
            hits[i / 5] += 250 * (share + spread * deviation);
    }
    *to = (struct made_side){ 0 };
    add_run(to, hits, 24, 1250);
}

static int significant(double baseline, double now, double spread, double memory, int pairs)
{
    uint64_t random = 7;
    int found = 0;
    for (int i = 0; i < pairs; i++) {
        struct made_side a, b;
        make_series(&a, baseline, spread, memory, &random);
        make_series(&b, now, spread, memory, &random);
        const struct compare_pair pair = pair_of(&a, &b);
        found += compare_p(&pair) <= 0.05;
    }
    return found;
}

/* 0.0253 is the spread of 250 independent samples of 20 %, 0.0005 a fiftieth of it.  A memory of 0.6 for a
 * window reaches a little beyond a block. */
static void noise_with_a_memory_is_no_change(void **state)
{
    (void)state;
    assert_in_range(significant(0.2, 0.2, 0.0253, 0, 1000), 1, 60);
    assert_in_range(significant(0.2, 0.2, 0.05, 0.6, 1000), 1, 110);
    assert_in_range(significant(0.2, 0.2, 0.0005, 0, 1000), 0, 0);
}

/* The function has 20 %, later 22 of 102. */
static void a_tenth_more_is_found_in_half_a_minute(void **state)
{
    (void)state;
    assert_in_range(significant(0.2, 0.22 / 1.02, 0.0253, 0, 1000), 950, 1000);
}

static void a_phase_that_comes_once_says_nothing(void **state)
{
    double first[24] = { 0 }, last[24] = { 0 };
    struct made_side a = { 0 }, b = { 0 };
    (void)state;
    for (size_t i = 0; i < 24; i++) {
        first[i] = i < 3 ? 1000 : 0;
        last[i] = i >= 22 ? 1000 : 0;
    }
    add_run(&a, first, 24, 1250);
    add_run(&b, last, 24, 1250);
    const struct compare_pair pair = pair_of(&a, &b);
    assert_true(compare_p(&pair) > 0.05);
}

static void make_runs(struct made_side *to, const double *shares, size_t count)
{
    *to = (struct made_side){ 0 };
    for (size_t run = 0; run < count; run++) {
        double hits[24];
        for (size_t i = 0; i < 24; i++)
            hits[i] = 1250 * shares[run];
        add_run(to, hits, 24, 1250);
    }
}

static void repeats_show_what_is_chance(void **state)
{
    static const double steady[] = { 0.200, 0.201, 0.199, 0.2 },
                        more[] = { 0.215, 0.216, 0.217, 0.216 },
                        unsteady[] = { 0.18, 0.22, 0.21, 0.19 },
                        unsteady_more[] = { 0.236, 0.196, 0.226, 0.206 };
    struct made_side a, b, c, d;
    (void)state;
    make_runs(&a, steady, 4);
    make_runs(&b, more, 4);
    make_runs(&c, unsteady, 4);
    make_runs(&d, unsteady_more, 4);
    const struct compare_pair sure = pair_of(&a, &b), unsure = pair_of(&c, &d);
    assert_true(compare_p(&sure) < 1e-4);
    assert_true(compare_p(&unsure) > 0.1);
    assert_close(compare_change(&sure), 0.016, 1e-9);
    const struct compare_interval small = compare_change_interval(&sure);
    const struct compare_interval large = compare_change_interval(&unsure);
    assert_true(small.low > 0.01 && small.high < 0.022);
    assert_true(large.low < 0 && large.high > 0.03);
}

static void rare_and_small_changes_do_not_count(void **state)
{
    double hits[24], more[24], rare[24], few[24] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    struct made_side a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 }, none = { 0 }, brief = { 0 };
    (void)state;
    for (size_t i = 0; i < 24; i++) {
        hits[i] = 50000;
        more[i] = 51400;
        rare[i] = 200;
    }
    add_run(&a, hits, 24, 100000);
    add_run(&b, more, 24, 100000);
    add_run(&c, rare, 24, 100000);
    add_run(&d, few, 24, 100000);
    add_run(&none, (double[24]){ 0 }, 24, 100000);
    add_run(&brief, hits, 5, 100000);
    const struct compare_pair small = pair_of(&a, &b), seldom = pair_of(&c, &none),
                              too_few = pair_of(&d, &none), too_short = pair_of(&a, &brief);
    assert_true(compare_p(&small) < 0.001 && compare_is_candidate(&small));
    assert_false(compare_is_large(&small));
    assert_true(compare_is_enough(&seldom) && !compare_is_candidate(&seldom));
    assert_false(compare_is_enough(&too_few));
    assert_false(compare_is_enough(&too_short));
    assert_true(compare_p(&too_short) == 1);
    assert_true(isnan(compare_change_interval(&too_short).low));
}

/* The example of Benjamini and Hochberg 1995, table 1: of 15 chances four are kept at 0.05. */
static void false_discoveries_are_held(void **state)
{
    double chances[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                         0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000 };
    double alike[15];
    size_t kept = 0;
    (void)state;
    for (size_t i = 0; i < 15; i++)
        alike[i] = 0.2;
    assert_int_equal(compare_adjust(chances, alike, 15, NULL), ERR_OK);
    for (size_t i = 0; i < 15; i++)
        kept += chances[i] <= 0.05;
    assert_int_equal(kept, 4);
    assert_close(chances[0], 0.0015, 1e-12);
    assert_close(chances[3], 0.035625, 1e-12);
    assert_close(chances[4], 0.0603, 1e-12);
    assert_close(chances[14], 1, 1e-12);
}

static void order_does_not_matter_and_outsiders_stay(void **state)
{
    double chances[] = { 0.01, -1, 0.04, 0.03, -1, 0.005 };
    static const double wanted[] = { 0.02, -1, 0.04, 0.04, -1, 0.02 };
    static const double alike[] = { 1, 7, 1, 1, 7, 1 };
    (void)state;
    assert_int_equal(compare_adjust(chances, alike, 6, NULL), ERR_OK);
    for (size_t i = 0; i < 6; i++)
        assert_close(chances[i], wanted[i], 1e-12);
    assert_int_equal(compare_adjust(chances, alike, 0, NULL), ERR_OK);
}

/* 0.02 / 3 * 4 and 0.02 / 1 * 4 / 2. */
static void what_takes_more_time_weighs_more(void **state)
{
    double chances[] = { 0.02, 0.02, -1 };
    static const double weights[] = { 0.1, 0.3, 5 };
    (void)state;
    assert_int_equal(compare_adjust(chances, weights, 3, NULL), ERR_OK);
    assert_close(chances[0], 0.04, 1e-12);
    assert_close(chances[1], 0.08 / 3, 1e-12);
}

enum { ROWS = 20 };

/* Variations of rows of 50 % each: runs differ by `variation` of a share, and the first row by
 * `change` too. */
static void variations_of(double *of, double variation, double change, size_t rows)
{
    uint64_t random = 11;
    struct variation_move moves[ROWS];
    for (size_t i = 0; i < rows; i++) {
        struct made_side a, b;
        const double factor = 1 + variation * normal(&random) + (i == 0 ? change : 0);
        make_series(&a, 0.5 * (1 + variation * normal(&random)), 0.02, 0, &random);
        make_series(&b, 0.5 * factor, 0.02, 0, &random);
        const struct compare_pair pair = pair_of(&a, &b);
        moves[i] = variation_move_of(&pair, i);
    }
    variation_by_row(moves, rows, of, ROWS + 1);
}

static void what_all_rows_move_is_the_variation_between_runs(void **state)
{
    double of[ROWS + 1], changed[ROWS + 1];
    (void)state;
    variations_of(of, 0, 0, ROWS);
    assert_close(of[ROWS], VARIATION_LEAST, 0.003);
    variations_of(of, 0.015, 0, ROWS);
    assert_close(of[ROWS], 0.015, 0.005);
    assert_close(of[3], 0.015, 0.005);
    variations_of(of, 0.3, 0, ROWS);
    assert_true(of[ROWS] == VARIATION_MOST);
    variations_of(of, 0.3, 0, 7);
    assert_true(of[ROWS] == VARIATION_MOST);
    assert_true(of[0] == VARIATION_LEAST); /* six others */
    variations_of(of, 0.006, 0, ROWS);
    variations_of(changed, 0.006, 0.5, ROWS);
    assert_close(changed[0], of[0], 1e-4);
    assert_true(changed[1] >= of[1] && changed[1] < of[1] + 0.009);
}

TEST_GROUP(cmocka_unit_test(quantiles_are_those_of_the_tables),
           cmocka_unit_test(a_share_is_as_certain_as_its_blocks_agree),
           cmocka_unit_test(samples_of_one_moment_are_alike),
           cmocka_unit_test(noise_with_a_memory_is_no_change),
           cmocka_unit_test(a_tenth_more_is_found_in_half_a_minute),
           cmocka_unit_test(a_phase_that_comes_once_says_nothing),
           cmocka_unit_test(repeats_show_what_is_chance),
           cmocka_unit_test(rare_and_small_changes_do_not_count),
           cmocka_unit_test(false_discoveries_are_held),
           cmocka_unit_test(order_does_not_matter_and_outsiders_stay),
           cmocka_unit_test(what_takes_more_time_weighs_more),
           cmocka_unit_test(what_all_rows_move_is_the_variation_between_runs))
