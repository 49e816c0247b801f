#include "sampler/profile/series.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static int begin(void **state)
{
    *state = made_profile();
    return 0;
}

static int end(void **state)
{
    profile_destroy(*state);
    return 0;
}

static struct series copied(struct profile *profile)
{
    struct series series;
    struct err err = { 0 };
    assert_ok(profile_copy_series(profile, 0, UINT64_MAX, &series, &err), &err);
    return series;
}

static uint64_t fine_total(const struct series *series)
{
    uint64_t total = 0;
    for (size_t i = 0; i < series->fine_room; i++)
        for (size_t bin = 0; bin < SERIES_BINS_PER_SECOND && series->fine[i].generation; bin++)
            for (size_t part = 0; part < PART_COUNT; part++)
                total += series->fine[i].bins[bin].parts[part];
    return total;
}

static uint64_t coarse_total(const struct series *series)
{
    uint64_t total = 0;
    for (size_t i = 0; i < series->step_count; i++)
        for (size_t part = 0; part < PART_COUNT; part++)
            total += series->steps[i].parts[part];
    return total;
}

static void a_tick_is_seen_once_it_is_sealed(void **state)
{
    profile_tick(*state, 1030 * NS_PER_MS, 1030 * NS_PER_MS, PART_RUNNING, 3);
    profile_tick(*state, 1039 * NS_PER_MS, 1039 * NS_PER_MS, PART_IDLE, 2);
    struct series series = copied(*state);
    assert_null(series_second_at(&series, 1));
    series_deinit(&series);
    made_seal(*state, 2);
    series = copied(*state);
    const struct series_second *const second = series_second_at(&series, 1);
    assert_non_null(second);
    assert_int_equal(second->bins[1].parts[PART_RUNNING], 3);
    assert_int_equal(second->bins[1].parts[PART_IDLE], 2);
    assert_int_equal(fine_total(&series), 5);
    assert_null(series_second_at(&series, 0));
    series_deinit(&series);
}

static void samples_that_waited_are_spread_over_their_time(void **state)
{
    profile_tick(*state, 0, 79 * NS_PER_MS, PART_BLOCKED, 10);
    made_seal(*state, 1);
    struct series series = copied(*state);
    const struct series_second *const second = series_second_at(&series, 0);
    static const uint32_t expected[] = { 2, 3, 2, 3, 0 };
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(second->bins[i].parts[PART_BLOCKED], expected[i]);
    series_deinit(&series);
}

static void ticks_far_apart_are_all_kept(void **state)
{
    for (uint64_t s = 0; s < 100; s++)
        profile_tick(*state, (99 - s) * NS_PER_S, (99 - s) * NS_PER_S, PART_RUNNING, 1);
    made_seal(*state, 100);
    struct series series;
    struct err err = { 0 };
    assert_ok(profile_copy_series(*state, 0, 100, &series, &err), &err);
    assert_int_equal(fine_total(&series), 100);
    for (uint64_t s = 0; s < 100; s++)
        assert_int_equal(series_second_at(&series, s)->bins[0].parts[PART_RUNNING], 1);
    series_deinit(&series);
}

static void an_hour_stays_fine_and_all_of_it_stays_in_steps(void **state)
{
    const uint64_t seconds = 3 * SERIES_FINE_SECONDS;
    for (uint64_t s = 0; s < seconds; s++) {
        profile_tick(*state, s * NS_PER_S, s * NS_PER_S, PART_NEEDS_GIL, 2);
        made_seal(*state, s + 1);
    }
    struct series series;
    struct err err = { 0 };
    assert_ok(profile_copy_series(*state, seconds - 10, seconds - 5, &series, &err), &err);
    assert_int_equal(fine_total(&series), 10);
    assert_null(series_second_at(&series, seconds - 5));
    assert_int_equal(series.step_count, 0);
    series_deinit(&series);
    series = copied(*state);
    assert_int_equal(fine_total(&series), 2 * SERIES_FINE_SECONDS);
    assert_int_equal(coarse_total(&series), 2 * seconds);
    assert_null(series_second_at(&series, seconds - SERIES_FINE_SECONDS - 1));
    assert_non_null(series_second_at(&series, seconds - SERIES_FINE_SECONDS));
    assert_int_equal(series.lost, 0);
    series_deinit(&series);
}

static struct series_bin one(void)
{
    return (struct series_bin){ { [PART_RUNNING] = 1 } };
}

static void steps_double_and_never_outgrow_their_room(void **state)
{
    struct series series;
    const struct series_bin bin = one();
    (void)state;
    series_init(&series);
    for (uint64_t s = 0; s < 3ull * SERIES_MAX_STEPS; s++)
        series_add(&series, s * SERIES_BINS_PER_SECOND, &bin, 1);
    assert_int_equal(series.step_seconds, 4);
    assert_int_equal(coarse_total(&series), 3ull * SERIES_MAX_STEPS);
    assert_int_equal(series.steps[5].parts[PART_RUNNING], 4);
    series_add(&series, UINT64_MAX, &bin, 1);
    assert_true(series.step_count <= SERIES_MAX_STEPS);
    assert_true(series_bytes(&series) <= 8u << 20);
    series_deinit(&series);
}

static void what_comes_too_late_for_the_fine_part_is_counted_as_lost(void **state)
{
    struct series series;
    const struct series_bin bin = one();
    (void)state;
    series_init(&series);
    series_add(&series, 10000 * SERIES_BINS_PER_SECOND, &bin, 1);
    series_add(&series, 0, &bin, 2);
    assert_int_equal(series.lost, 1);
    assert_null(series_second_at(&series, 0));
    assert_int_equal(coarse_total(&series), 2);
    series_deinit(&series);
}

static void a_full_bin_stays_full(void **state)
{
    struct series series;
    const struct series_bin bin = { { UINT32_MAX - 1 } };
    (void)state;
    series_init(&series);
    series_add(&series, 7, &bin, 1);
    series_add(&series, 7, &bin, 2);
    assert_int_equal(series_second_at(&series, 0)->bins[7].parts[0], UINT32_MAX);
    assert_int_equal(series_second_at(&series, 0)->generation, 2);
    series_deinit(&series);
}

static void without_memory_samples_are_counted_as_lost(void **state)
{
    struct series series;
    const struct series_bin bin = one();
    struct err err = { 0 };
    (void)state;
    series_init(&series);
    failing_alloc_at(0);
    series_add(&series, 0, &bin, 1);
    failing_alloc_never();
    assert_int_equal(series.lost, 1);
    struct series copy;
    failing_alloc_at(0);
    assert_int_equal(series_copy(&series, 0, 10, &copy, &err), ERR_NOMEM);
    failing_alloc_never();
    series_deinit(&series);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_GROUP(TEST(a_tick_is_seen_once_it_is_sealed),
           TEST(samples_that_waited_are_spread_over_their_time),
           TEST(ticks_far_apart_are_all_kept),
           TEST(an_hour_stays_fine_and_all_of_it_stays_in_steps),
           cmocka_unit_test(steps_double_and_never_outgrow_their_room),
           cmocka_unit_test(what_comes_too_late_for_the_fine_part_is_counted_as_lost),
           cmocka_unit_test(a_full_bin_stays_full),
           cmocka_unit_test(without_memory_samples_are_counted_as_lost))
