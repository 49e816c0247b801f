/* GIL contention by thread. */
#include "sampler/profile/views/gil.h"
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

static struct gil gil_of(struct profile *profile, const struct view_query *query)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct gil gil;
    struct err err = { 0 };
    assert_ok(gil_init(&gil, &snapshot, query, &err), &err);
    profile_snapshot_release(&snapshot);
    return gil;
}

static void hold(struct profile *profile, thread_id thread, const char *stack, uint32_t count)
{
    made_add(profile, thread, STATE_HAS_GIL | STATE_ON_CPU, stack, count);
}

static void await_gil(struct profile *profile, thread_id thread, uint32_t count)
{
    made_add(profile, thread, STATE_WAITS_GIL, "waits", count);
}

static uint64_t pair(const struct gil *gil, size_t holder, size_t waiter)
{
    return gil->pairs[holder * gil->rows + waiter];
}

static void of_two_threads_each_waits_for_the_other(void **state)
{
    const thread_id a = made_thread(*state, 1, 1), b = made_thread(*state, 1, 2);
    hold(*state, a, "a;hot", 6);
    hold(*state, a, "a;cold", 2);
    await_gil(*state, b, 8);
    made_seal(*state, 1);
    hold(*state, b, "b", 4);
    await_gil(*state, a, 3);
    made_seal(*state, 2);
    struct gil gil = gil_of(*state, &(struct view_query){ 0 });
    assert_int_equal(gil.waited, 11000);
    assert_int_equal(gil.unattributed, 0);
    assert_int_equal(gil.thread_count, 2);
    assert_int_equal(gil.rows, 2);
    assert_int_equal(gil.threads[0], a);
    assert_int_equal(pair(&gil, 0, 1), 8000);
    assert_int_equal(pair(&gil, 1, 0), 3000);
    assert_int_equal(pair(&gil, 0, 0), 0);
    assert_int_equal(gil.count, 3);
    assert_int_equal(gil.waits_caused[0], 6000);
    assert_int_equal(gil.waits_caused[1], 2000);
    assert_int_equal(gil.waits_caused[2], 3000);
    gil_deinit(&gil);
    gil_deinit(&gil);
}

static void waiting_is_shared_out_by_who_held_in_the_same_window(void **state)
{
    const thread_id a = made_thread(*state, 1, 1), b = made_thread(*state, 1, 2);
    const thread_id c = made_thread(*state, 1, 3);
    hold(*state, a, "a", 30);
    hold(*state, b, "b", 10);
    await_gil(*state, b, 6);
    await_gil(*state, c, 20);
    made_seal(*state, 1);
    hold(*state, b, "b", 100);
    made_seal(*state, 2);
    struct gil gil = gil_of(*state, &(struct view_query){ 0 });
    assert_int_equal(pair(&gil, 0, 1), 6000);
    assert_int_equal(pair(&gil, 0, 2), 15000);
    assert_int_equal(pair(&gil, 1, 2), 5000);
    assert_int_equal(gil.waits_caused[0] + gil.waits_caused[1], gil.waited);
    gil_deinit(&gil);
    gil = gil_of(*state, &(struct view_query){ .threads = &c, .thread_count = 1 });
    assert_int_equal(gil.waited, 20000);
    assert_int_equal(gil.waits_caused[0], 15000);
    gil_deinit(&gil);
}

static void processes_have_their_own_and_what_nobody_held_is_left_over(void **state)
{
    const thread_id a = made_thread(*state, 1, 1), b = made_thread(*state, 2, 2);
    hold(*state, a, "a", 5);
    await_gil(*state, a, 1);
    await_gil(*state, b, 7);
    made_seal(*state, 1);
    struct gil gil = gil_of(*state, &(struct view_query){ 0 });
    assert_int_equal(gil.waited, 8000);
    assert_int_equal(gil.unattributed, 8000);
    assert_int_equal(pair(&gil, 0, 1), 0);
    assert_int_equal(gil.count, 0);
    gil_deinit(&gil);
}

static void of_many_threads_the_busiest_have_rows_and_the_rest_has_one(void **state)
{
    const uint32_t threads = 3 * GIL_MAX_THREADS;
    const thread_id holder = made_thread(*state, 1, 1);
    hold(*state, holder, "a", 50);
    for (uint32_t i = 1; i < threads; i++)
        await_gil(*state, made_thread(*state, 1, (int32_t)i + 1), i == threads - 1 ? 9 : 2);
    made_seal(*state, 1);
    struct gil gil = gil_of(*state, &(struct view_query){ 0 });
    uint64_t sum = 0;
    assert_in_range(gil.thread_count, 2, GIL_MAX_THREADS);
    assert_int_equal(gil.rows, gil.thread_count + 1);
    assert_int_equal(gil.threads[0], holder);
    assert_int_equal(gil.threads[gil.thread_count - 1], threads - 1);
    for (size_t i = 0; i < gil.rows; i++)
        sum += pair(&gil, 0, i);
    assert_int_equal(sum, gil.waited);
    assert_true(pair(&gil, 0, gil.thread_count) > 0);
    gil_deinit(&gil);
}

static void nothing_recorded_is_nothing(void **state)
{
    struct gil gil = gil_of(*state, &(struct view_query){ 0 });
    assert_int_equal(gil.waited + gil.rows + gil.count, 0);
    gil_deinit(&gil);
}

static void without_memory_there_is_an_error(void **state)
{
    const thread_id a = made_thread(*state, 1, 1), b = made_thread(*state, 1, 2);
    struct gil gil;
    struct err err = { 0 };
    hold(*state, a, "a", 5);
    await_gil(*state, b, 1);
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    enum err_code rc = ERR_NOMEM;
    for (unsigned nth = 0; rc; nth++) {
        failing_alloc_at(nth);
        rc = gil_init(&gil, &snapshot, &(struct view_query){ 0 }, &err);
        assert_true(rc == ERR_OK || rc == ERR_NOMEM);
    }
    failing_alloc_never();
    gil_deinit(&gil);
    profile_snapshot_release(&snapshot);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_GROUP(TEST(of_two_threads_each_waits_for_the_other),
           TEST(waiting_is_shared_out_by_who_held_in_the_same_window),
           TEST(processes_have_their_own_and_what_nobody_held_is_left_over),
           TEST(of_many_threads_the_busiest_have_rows_and_the_rest_has_one),
           TEST(nothing_recorded_is_nothing), TEST(without_memory_there_is_an_error))
