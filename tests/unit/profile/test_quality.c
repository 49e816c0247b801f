#include "sampler/profile/quality.h"
#include "tests/support/test.h"

static void intervals_are_counted_from_tick_to_tick(void **state)
{
    static const uint64_t ticks_ns[] = { 1000, 1100, 1350, 1360 };
    struct quality quality = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof ticks_ns / sizeof *ticks_ns; i++)
        quality_note_tick(&quality, ticks_ns[i]);
    assert_int_equal(quality.interval_count, 3);
    assert_int_equal(quality.interval_sum_ns, 360);
    assert_int_equal(quality.interval_least_ns, 10);
    assert_int_equal(quality.interval_most_ns, 250);
}

static void one_tick_makes_no_interval(void **state)
{
    struct quality quality = { 0 };
    (void)state;
    quality_note_tick(&quality, 5);
    assert_int_equal(quality.interval_count, 0);
}

static void a_pause_is_no_interval(void **state)
{
    struct quality quality = { 0 };
    (void)state;
    quality_note_tick(&quality, 100);
    quality_note_tick(&quality, 107);
    quality_note_pause(&quality);
    quality_note_tick(&quality, 1000000);
    quality_note_tick(&quality, 1000005);
    assert_int_equal(quality.interval_count, 2);
    assert_int_equal(quality.interval_least_ns, 5);
    assert_int_equal(quality.interval_most_ns, 7);
}

static void a_tick_that_comes_before_the_time_counted_is_not_the_shortest_interval(void **state)
{
    struct quality quality = { 0 };
    (void)state;
    quality_note_tick(&quality, 1000);
    quality_note_tick(&quality, 2000);
    quality_note_tick(&quality, 1900);
    quality_note_tick(&quality, 2700);
    assert_int_equal(quality.interval_count, 3);
    assert_int_equal(quality.interval_sum_ns, 1700);
    assert_int_equal(quality.interval_least_ns, 700);
}

TEST_GROUP(
    cmocka_unit_test(intervals_are_counted_from_tick_to_tick),
    cmocka_unit_test(one_tick_makes_no_interval), cmocka_unit_test(a_pause_is_no_interval),
    cmocka_unit_test(a_tick_that_comes_before_the_time_counted_is_not_the_shortest_interval))
