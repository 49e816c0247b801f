#include "server/sessions/recent.h"
#include "tests/support/test.h"

static const uint64_t WINDOW_NS = 250000000;

static void seal(struct recent *recent, uint64_t number, size_t runs)
{
    const struct quality quality = { .ticks = number };
    const struct run run = { .thread = 1, .count = 2, .first_ns = number * WINDOW_NS };
    for (size_t i = 0; i < runs; i++)
        recent_add(recent, &run);
    recent_seal(recent, (number + 1) * WINDOW_NS, 1000000, &quality);
}

static void windows_of_the_span_are_kept_in_their_order(void **state)
{
    struct recent_window *windows[RECENT_MAX_WINDOWS];
    struct recent *recent = NULL;
    struct err err = { 0 };
    (void)state;
    assert_ok(recent_create(4 * WINDOW_NS, &recent, &err), &err);
    for (uint64_t i = 0; i < 10; i++)
        seal(recent, i, (size_t)i);
    assert_int_equal(recent_take(recent, 0, windows), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(windows[i]->start_ns, (i + 5) * WINDOW_NS);
        assert_int_equal(windows[i]->end_ns, (i + 6) * WINDOW_NS);
        assert_int_equal(windows[i]->count, i + 5);
        assert_int_equal(windows[i]->quality.ticks, i + 5);
        recent_release(windows[i]);
    }
    assert_int_equal(recent_take(recent, 9 * WINDOW_NS, windows), 1);
    /* It is shared, and outlives the others. */
    recent_destroy(recent);
    assert_int_equal(windows[0]->runs[8].first_ns, 9 * WINDOW_NS);
    recent_release(windows[0]);
}

static void windows_without_samples_are_bounded_too(void **state)
{
    struct recent_window *windows[RECENT_MAX_WINDOWS];
    struct recent *recent = NULL;
    struct err err = { 0 };
    (void)state;
    assert_ok(recent_create(UINT64_MAX / 2, &recent, &err), &err);
    for (uint64_t i = 0; i < 2 * RECENT_MAX_WINDOWS; i++)
        seal(recent, i, 0);
    assert_int_equal(recent_take(recent, 0, windows), RECENT_MAX_WINDOWS);
    for (size_t i = 0; i < RECENT_MAX_WINDOWS; i++)
        recent_release(windows[i]);
    recent_destroy(recent);
}

static void the_oldest_samples_give_way_and_those_without_room_are_counted(void **state)
{
    struct recent_window *windows[RECENT_MAX_WINDOWS];
    struct recent *recent = NULL;
    struct err err = { 0 };
    (void)state;
    assert_ok(recent_create(UINT64_MAX / 2, &recent, &err), &err);
    seal(recent, 0, 10);
    seal(recent, 1, RECENT_MAX_RUNS - 5);
    assert_int_equal(recent_take(recent, 0, windows), 1);
    assert_int_equal(windows[0]->count, RECENT_MAX_RUNS - 5);
    recent_release(windows[0]);
    seal(recent, 2, RECENT_MAX_RUNS + 3);
    assert_int_equal(recent_take(recent, 0, windows), 1);
    assert_int_equal(windows[0]->count, RECENT_MAX_RUNS);
    assert_int_equal(windows[0]->lost, 3 * 2);
    recent_release(windows[0]);
    recent_destroy(recent);
}

TEST_GROUP(cmocka_unit_test(windows_of_the_span_are_kept_in_their_order),
           cmocka_unit_test(windows_without_samples_are_bounded_too),
           cmocka_unit_test(the_oldest_samples_give_way_and_those_without_room_are_counted))
