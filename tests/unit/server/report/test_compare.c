#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/report/diff/compare.h"
#include "server/report/diff/comparison.h"
#include "server/report/header.h"
#include "tests/support/made_profile.h"
#include "tests/support/sample_session.h"
#include "tests/support/test.h"

static void assert_close(double given, double wanted, double within)
{
    if (fabs(given - wanted) > within)
        fail_msg("%.9g, not %.9g", given, wanted);
}

static double shares(uint64_t baseline, double baseline_all, uint64_t now, double now_all)
{
    const struct compare_counts counts = { baseline, now, baseline_all, now_all };
    return compare_shares(&counts);
}

static double rates(uint64_t baseline, double baseline_all, uint64_t now, double now_all)
{
    const struct compare_counts counts = { baseline, now, baseline_all, now_all };
    return compare_rates(&counts);
}

/* z and both tails of the normal distribution, worked out by hand from tables. */
static void shares_follow_the_two_proportion_test(void **state)
{
    (void)state;
    assert_close(shares(120, 1000, 150, 1000), 0.04963, 5e-5); /* z = 1.9631 */
    assert_close(shares(50, 100, 50, 100), 1, 1e-12);
    assert_close(shares(60, 100, 40, 100), 0.004678, 5e-6);     /* z = 2.8284 */
    assert_close(shares(60, 100, 400, 1000), 0.00011065, 1e-8); /* z = 3.8659 */
    assert_close(shares(40, 100, 60, 100), shares(60, 100, 40, 100), 1e-15);
    assert_close(shares(100, 100, 100, 100), 1, 0);
}

static void rates_follow_the_division_of_hits_by_time(void **state)
{
    (void)state;
    assert_close(rates(100, 10, 100, 10), 1, 1e-12);
    assert_close(rates(100, 10, 140, 10), 0.009823, 5e-6);   /* z = 40 / sqrt(240) = 2.582 */
    assert_close(rates(300, 100, 300, 50), 1.97e-17, 1e-16); /* twice the rate, beyond doubt */
    assert_close(rates(300, 1, 300, 1), 1, 1e-12);           /* more hits than units of time */
}

static void too_few_samples_say_nothing(void **state)
{
    (void)state;
    assert_true(shares(0, 1000, 9, 1000) == 1);
    assert_true(shares(0, 1000, 10, 1000) < 0.01);
    assert_true(shares(0, 100000, 10, 10) == 1); /* a side that is expected to have none */
    assert_true(shares(0, 0, 100, 100) == 1);
    assert_true(rates(100, 0, 100, 1) == 1);
    assert_true(shares(0, 0, 0, 0) == 1);
}

/* The example of Benjamini and Hochberg 1995, table 1: of 15 chances four are kept at 0.05. */
static void false_discoveries_are_held(void **state)
{
    double chances[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                         0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000 };
    size_t kept = 0;
    (void)state;
    assert_int_equal(compare_adjust(chances, 15, NULL), ERR_OK);
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
    (void)state;
    assert_int_equal(compare_adjust(chances, 6, NULL), ERR_OK);
    for (size_t i = 0; i < 6; i++)
        assert_close(chances[i], wanted[i], 1e-12);
    assert_int_equal(compare_adjust(chances, 0, NULL), ERR_OK);
}

static function_id function_named(const struct comparison *comparison, const char *name)
{
    for (function_id id = 1; id < comparison->snapshot.sizes.functions; id++) {
        const struct profile_function row = profile_function_at(&comparison->snapshot, id);
        const struct strtab_string text = profile_string(&comparison->snapshot, row.name);
        if (text.length == strlen(name) && memcmp(text.text, name, text.length) == 0)
            return id;
    }
    fail_msg("no function %s", name);
    return 0;
}

static void expect(const struct comparison *comparison, const char *name, uint64_t baseline,
                   uint64_t now, enum comparison_verdict verdict)
{
    const struct comparison_number *const self =
        &comparison->functions[function_named(comparison, name)].self;
    assert_int_equal(self->baseline, baseline);
    assert_int_equal(self->now, now);
    assert_int_equal(self->verdict, verdict);
}

static void new_gone_grown_and_shrunk_functions_are_listed(void **state)
{
    struct sample_session *const baseline = sample_session_small();
    struct sample_session *const now = sample_session_changed();
    struct comparison comparison;
    struct err err = { 0 };
    (void)state;
    assert_ok(comparison_init(&comparison, &baseline->source, &now->source,
                              COMPARISON_BY_SAMPLES, &err),
              &err);
    assert_int_equal(comparison.baseline_samples, SAMPLE_TOTAL);
    assert_int_equal(comparison.now_samples, 1502);
    expect(&comparison, "parse", 300, 900, COMPARISON_MORE);
    expect(&comparison, "render", 120, 100, COMPARISON_LESS);
    expect(&comparison, "log", 60, 0, COMPARISON_GONE);
    expect(&comparison, "cache.<locals>.get", 0, 80, COMPARISON_NEW);
    expect(&comparison, "main", 0, 0, COMPARISON_FEW);
    /* Recursion counts once, here too. */
    const struct comparison_row *const walk =
        &comparison.functions[function_named(&comparison, "Tree.walk")];
    assert_int_equal(walk->total.baseline, 240);
    assert_int_equal(walk->total.now, 420);
    comparison_deinit(&comparison);
    sample_session_destroy(now);
    sample_session_destroy(baseline);
}

static void a_profile_does_not_differ_from_itself(void **state)
{
    struct sample_session *const session = sample_session_small();
    struct comparison comparison;
    struct err err = { 0 };
    (void)state;
    for (enum comparison_basis by = COMPARISON_BY_SAMPLES; by <= COMPARISON_BY_TIME; by++) {
        assert_ok(comparison_init(&comparison, &session->source, &session->source, by, &err),
                  &err);
        for (node_id id = 0; id < comparison.snapshot.sizes.nodes; id++) {
            assert_true(comparison.nodes[id].total.verdict <= COMPARISON_FEW);
            assert_true(comparison.nodes[id].self.q == 1);
        }
        comparison_deinit(&comparison);
    }
    sample_session_destroy(session);
}

static void by_time_what_only_ran_longer_is_the_same(void **state)
{
    struct profile *const short_run = made_profile(), *const long_run = made_profile();
    (void)state;
    made_add(short_run, made_thread(short_run, 1, 1), 0, "main;work", 500);
    made_add(long_run, made_thread(long_run, 1, 1), 0, "main;work", 1000);
    made_add(long_run, made_thread(long_run, 1, 2), 0, "main;other", 1000);
    profile_quality(short_run)->ticks = 500;
    profile_quality(long_run)->ticks = 1000;
    made_seal(short_run, 5);
    made_seal(long_run, 10);
    struct profile_snapshot a = made_snapshot(short_run), b = made_snapshot(long_run);
    const struct sampler_options options = { .rate_hz = 100 };
    const struct sampler_target target = { .pid = 1 };
    const struct session_info info = { .options = &options, .target = &target };
    const struct view_query all = { 0 };
    struct report_source baseline = { .snapshot = &a, .query = &all, .session = &info };
    struct report_source now = { .snapshot = &b, .query = &all, .session = &info };
    struct report_header baseline_header, now_header;
    struct comparison comparison;
    struct err err = { 0 };
    assert_ok(report_header_init(&baseline_header, &baseline, &err), &err);
    assert_ok(report_header_init(&now_header, &now, &err), &err);
    baseline.header = &baseline_header;
    now.header = &now_header;
    assert_ok(comparison_init(&comparison, &baseline, &now, COMPARISON_BY_TIME, &err), &err);
    expect(&comparison, "work", 500, 1000, COMPARISON_SAME);
    expect(&comparison, "other", 0, 1000, COMPARISON_NEW);
    assert_close(comparison_now_share(&comparison, 1000), 1, 1e-9);
    comparison_deinit(&comparison);
    assert_ok(comparison_init(&comparison, &baseline, &now, COMPARISON_BY_SAMPLES, &err), &err);
    expect(&comparison, "work", 500, 1000, COMPARISON_LESS);
    comparison_deinit(&comparison);
    report_header_deinit(&baseline_header);
    report_header_deinit(&now_header);
    profile_snapshot_release(&a);
    profile_snapshot_release(&b);
    profile_destroy(short_run);
    profile_destroy(long_run);
}

static void nothing_compares_with_anything(void **state)
{
    struct sample_session *const none = sample_session_empty();
    struct sample_session *const some = sample_session_small();
    struct comparison comparison;
    struct err err = { 0 };
    (void)state;
    assert_ok(
        comparison_init(&comparison, &none->source, &some->source, COMPARISON_BY_SAMPLES, &err),
        &err);
    assert_true(comparison_baseline_share(&comparison, 0) == 0);
    expect(&comparison, "parse", 0, 300, COMPARISON_FEW);
    comparison_deinit(&comparison);
    assert_ok(
        comparison_init(&comparison, &none->source, &none->source, COMPARISON_BY_TIME, &err),
        &err);
    comparison_deinit(&comparison);
    sample_session_destroy(some);
    sample_session_destroy(none);
}

TEST_MAIN(cmocka_unit_test(shares_follow_the_two_proportion_test),
          cmocka_unit_test(rates_follow_the_division_of_hits_by_time),
          cmocka_unit_test(too_few_samples_say_nothing),
          cmocka_unit_test(false_discoveries_are_held),
          cmocka_unit_test(order_does_not_matter_and_outsiders_stay),
          cmocka_unit_test(new_gone_grown_and_shrunk_functions_are_listed),
          cmocka_unit_test(a_profile_does_not_differ_from_itself),
          cmocka_unit_test(by_time_what_only_ran_longer_is_the_same),
          cmocka_unit_test(nothing_compares_with_anything))
