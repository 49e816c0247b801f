/* Series of the samples of a query: bins of their time, sums that stay what they are. */
#include <stdio.h>

#include "sampler/profile/series.h"
#include "sampler/profile/views/request_choice.h"
#include "sampler/profile/views/view_query.h"
#include "sampler/profile/views/view_series.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static struct series made_series(const struct profile_snapshot *snapshot,
                                 const struct view_query *query, uint64_t first, uint64_t end)
{
    struct series series;
    struct err err = { 0 };
    assert_ok(view_series_init(&series, snapshot, query, first, end, &err), &err);
    return series;
}

static uint32_t bin_of(const struct series *series, uint64_t second, size_t bin, enum part part)
{
    const struct series_second *const row = series_second_at(series, second);
    return row ? row->bins[bin].parts[part] : 0;
}

static uint64_t sum_of(const struct series *series)
{
    uint64_t sum = 0;
    for (uint64_t second = 0; second < SERIES_FINE_SECONDS; second++)
        for (size_t bin = 0; bin < SERIES_BINS_PER_SECOND; bin++)
            for (enum part part = 0; part < PART_COUNT; part++)
                sum += bin_of(series, second, bin, part);
    return sum;
}

static void samples_of_chosen_requests_are_in_the_bins_of_their_time(void **state)
{
    struct profile *const profile = made_profile();
    const thread_id one = made_thread(profile, 1, 1), two = made_thread(profile, 1, 2);
    (void)state;
    profile_set_period(profile, NS_PER_MS);
    made_add_at(profile, one, "main;<context id: slow>", 1010 * NS_PER_MS, NS_PER_MS, 100);
    made_add_at(profile, two, "main;<context id: quick>", 1000 * NS_PER_MS, NS_PER_MS, 5);
    made_add_at(profile, two, "main;<context id unset>", 1100 * NS_PER_MS, NS_PER_MS, 9);
    made_seal(profile, 3);
    struct profile_snapshot snapshot = made_snapshot(profile);
    const struct request_choice choice = { .slower_ns = 50 * NS_PER_MS };
    struct request_set set;
    assert_ok(request_set_init(&set, &snapshot, &choice, NULL), NULL);
    const struct view_query query = { .requests = &set };

    struct series series = made_series(&snapshot, &query, 0, 3);
    assert_int_equal(bin_of(&series, 1, 0, PART_RUNNING), 10);
    assert_int_equal(bin_of(&series, 1, 1, PART_RUNNING), 20);
    assert_int_equal(bin_of(&series, 1, 5, PART_RUNNING), 10);
    assert_int_equal(bin_of(&series, 1, 6, PART_RUNNING), 0);
    assert_int_equal(sum_of(&series), 100);
    assert_null(series_second_at(&series, 0));
    series_deinit(&series);

    series = made_series(&snapshot, &(struct view_query){ 0 }, 0, 3);
    assert_int_equal(sum_of(&series), 114);
    series_deinit(&series);
    /* The seconds are those that are asked for, whatever range the query has. */
    series = made_series(&snapshot, &(struct view_query){ .to_ns = 1, .since = 99 }, 2, 3);
    assert_int_equal(sum_of(&series), 0);
    series_deinit(&series);
    series = made_series(&snapshot, &query, 3, 3);
    assert_int_equal(sum_of(&series), 0);
    series_deinit(&series);
    request_set_deinit(&set);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void samples_without_order_are_spread_over_their_window(void **state)
{
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    (void)state;
    made_add(profile, thread, STATE_ON_CPU, "main", 61);
    for (int i = 0; i < 60; i++) {
        char stack[32];
        snprintf(stack, sizeof stack, "main;rare%d", i);
        made_add(profile, thread, STATE_ON_CPU, stack, 1);
    }
    made_seal(profile, 2);
    struct profile_snapshot snapshot = made_snapshot(profile);
    const struct view_query query = { 0 };
    struct series series = made_series(&snapshot, &query, 0, 4);
    assert_int_equal(sum_of(&series), 121);
    for (size_t bin = 0; bin < SERIES_BINS_PER_SECOND; bin++)
        assert_in_range(bin_of(&series, 1, bin, PART_RUNNING), 1, 2);
    series_deinit(&series);
    /* Only those that fall into what is asked for count. */
    series = made_series(&snapshot, &query, 1, 2);
    assert_in_range(sum_of(&series), 59, 62);
    series_deinit(&series);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void too_many_seconds_are_refused(void **state)
{
    struct profile *const profile = made_profile();
    struct series series;
    struct err err = { 0 };
    (void)state;
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    const struct view_query query = { 0 };
    assert_int_equal(
        view_series_init(&series, &snapshot, &query, 7, 8 + VIEW_SERIES_MAX_SECONDS, &err),
        ERR_LIMIT);
    series_deinit(&series);
    /* Long after the begin, too. */
    series = made_series(&snapshot, &query, 100000, 100000 + VIEW_SERIES_MAX_SECONDS);
    assert_int_equal(sum_of(&series), 0);
    series_deinit(&series);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

TEST_GROUP(cmocka_unit_test(samples_of_chosen_requests_are_in_the_bins_of_their_time),
           cmocka_unit_test(samples_without_order_are_spread_over_their_window),
           cmocka_unit_test(too_many_seconds_are_refused))
