#include <stdio.h>

#include "sampler/profile/run.h"
#include "sampler/profile/views/thread_runs.h"
#include "sampler/profile/views/view.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static const uint64_t PERIOD_NS = NS_PER_MS;

static int begin(void **state)
{
    struct profile *const profile = made_profile();
    profile_set_period(profile, PERIOD_NS);
    *state = profile;
    return 0;
}

static int end(void **state)
{
    profile_destroy(*state);
    return 0;
}

/* Samples at first_ns and every period after it. */
static void add_at(struct profile *profile, thread_id thread, const char *stack,
                   uint64_t first_ns, uint32_t count)
{
    made_add_at(profile, thread, stack, first_ns, PERIOD_NS, count);
}

static struct thread_runs runs_of(struct profile *profile, const struct view_query *query,
                                  size_t slots)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct thread_runs runs = { 0 };
    struct err err = { 0 };
    assert_ok(thread_runs_init(&runs, &snapshot, query, slots, &err), &err);
    profile_snapshot_release(&snapshot);
    for (size_t i = 0; i < runs.count; i++) {
        assert_true(runs.rows[i].start_ns < runs.rows[i].end_ns);
        assert_true(i == 0 || runs.rows[i - 1].end_ns <= runs.rows[i].start_ns);
    }
    return runs;
}

static struct view_query of_thread(const thread_id *thread)
{
    return (struct view_query){ .threads = thread, .thread_count = 1 };
}

static void expect(const struct thread_run *row, node_id node, uint64_t start_ms,
                   uint64_t end_ms)
{
    assert_int_equal(row->node, node);
    assert_int_equal(row->start_ns, start_ms * NS_PER_MS);
    assert_int_equal(row->end_ns, end_ms * NS_PER_MS);
}

static void turns_follow_each_other_across_windows(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1), other = made_thread(profile, 1, 2);
    const struct view_query query = of_thread(&thread);
    add_at(profile, thread, "main;f", 1 * PERIOD_NS, 600);
    add_at(profile, other, "main;h", 1 * PERIOD_NS, 999);
    add_at(profile, thread, "main;g", 601 * PERIOD_NS, 399);
    made_seal(profile, 1);
    add_at(profile, thread, "main;g", 1000 * PERIOD_NS, 100);
    add_at(profile, thread, "main;f", 1500 * PERIOD_NS, 1);
    made_seal(profile, 2);
    struct thread_runs runs = runs_of(profile, &query, 2000);
    assert_int_equal(runs.count, 3);
    expect(&runs.rows[0], made_node(profile, "main;f"), 0, 600);
    expect(&runs.rows[1], made_node(profile, "main;g"), 600, 1099);
    /* Nothing is known of the time between. */
    expect(&runs.rows[2], made_node(profile, "main;f"), 1499, 1500);
    assert_true(runs.rows[0].is_ordered);
    assert_int_equal(runs.rows[1].runs, 1);
    thread_runs_deinit(&runs);
}

static void parts_of_windows_are_included(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    struct view_query query = of_thread(&thread);
    add_at(profile, thread, "main;f", 1 * PERIOD_NS, 500);
    add_at(profile, thread, "main;g", 501 * PERIOD_NS, 499);
    made_seal(profile, 1);
    query.from_ns = 400 * NS_PER_MS;
    query.to_ns = 600 * NS_PER_MS;
    struct thread_runs runs = runs_of(profile, &query, 100);
    assert_int_equal(runs.count, 2);
    expect(&runs.rows[0], made_node(profile, "main;f"), 400, 500);
    expect(&runs.rows[1], made_node(profile, "main;g"), 500, 600);
    thread_runs_deinit(&runs);
}

/* 1,000 turns of 1 ms, in 10 slots: of each slot the place with the most time. */
static void short_runs_become_one_in_each_slot(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    const struct view_query query = of_thread(&thread);
    for (uint32_t i = 0; i < 999; i++)
        add_at(profile, thread, i % 3 ? "main;f" : "main;g", (i + 1) * PERIOD_NS, 1);
    made_seal(profile, 1);
    struct thread_runs runs = runs_of(profile, &query, 10);
    assert_in_range(runs.count, 10, 11);
    uint32_t joined = 0;
    for (size_t i = 0; i < runs.count; i++) {
        joined += runs.rows[i].runs;
        assert_int_equal(runs.rows[i].node, made_node(profile, "main;f"));
    }
    assert_int_equal(joined, 666);
    assert_int_equal(runs.rows[runs.count - 1].end_ns, 999 * NS_PER_MS);
    thread_runs_deinit(&runs);
}

static void a_row_for_each_slot_bounds_the_answer(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    const struct view_query query = of_thread(&thread);
    char stack[32];
    for (uint32_t second = 0; second < 10; second++) {
        for (uint32_t i = 0; i < 1000; i++) {
            snprintf(stack, sizeof stack, "main;f%u", (i * 7 + second) % 97);
            add_at(profile, thread, stack, (second * 1000 + i + 1) * PERIOD_NS, 1);
        }
        made_seal(profile, second + 1);
    }
    struct thread_runs runs = runs_of(profile, &query, 64);
    assert_in_range(runs.count, 60, 2 * 64 + 2);
    thread_runs_deinit(&runs);
}

static void without_order_the_largest_stand_first(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    const struct view_query query = of_thread(&thread);
    made_add(profile, thread, STATE_ON_CPU, "main;small;x", 100);
    made_add(profile, thread, STATE_ON_CPU, "main;large;y", 200);
    made_add(profile, thread, STATE_ON_CPU, "main;large;z", 300);
    made_seal(profile, 1);
    struct thread_runs runs = runs_of(profile, &query, 1000);
    assert_int_equal(runs.count, 3);
    expect(&runs.rows[0], made_node(profile, "main;large;z"), 0, 300);
    expect(&runs.rows[1], made_node(profile, "main;large;y"), 300, 500);
    expect(&runs.rows[2], made_node(profile, "main;small;x"), 500, 600);
    assert_false(runs.rows[0].is_ordered);
    thread_runs_deinit(&runs);
}

/* More samples than the window has room for: two threads of one number, or a clock that jumped. */
static void more_than_a_window_holds_gets_less(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    const struct view_query query = of_thread(&thread);
    made_add(profile, thread, STATE_ON_CPU, "f", 3000);
    made_add(profile, thread, STATE_ON_CPU, "g", 1000);
    made_seal(profile, 1);
    struct thread_runs runs = runs_of(profile, &query, 1000);
    assert_int_equal(runs.count, 2);
    expect(&runs.rows[0], made_node(profile, "f"), 0, 750);
    expect(&runs.rows[1], made_node(profile, "g"), 750, 1000);
    thread_runs_deinit(&runs);
}

static void states_are_kept_and_filtered(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    struct view_query query = of_thread(&thread);
    made_add(profile, thread, STATE_ON_CPU, "f", 100);
    made_add(profile, thread, 0, "f", 200);
    made_seal(profile, 1);
    struct thread_runs runs = runs_of(profile, &query, 1000);
    assert_int_equal(runs.count, 2);
    assert_int_equal(runs.rows[0].state, 0);
    assert_int_equal(runs.rows[1].state, STATE_ON_CPU);
    thread_runs_deinit(&runs);
    query.states.require = STATE_ON_CPU;
    runs = runs_of(profile, &query, 1000);
    assert_int_equal(runs.count, 1);
    thread_runs_deinit(&runs);
}

static void only_one_thread_has_an_order(void **state)
{
    struct profile *const profile = *state;
    const thread_id threads[] = { made_thread(profile, 1, 1), made_thread(profile, 1, 2), 99 };
    struct thread_runs runs = { 0 };
    struct err err = { 0 };
    made_add(profile, threads[0], STATE_ON_CPU, "f", 1);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct view_query query = { .threads = threads, .thread_count = 2 };
    assert_int_equal(thread_runs_init(&runs, &snapshot, &query, 10, &err), ERR_INVALID);
    query = (struct view_query){ 0 };
    assert_int_equal(thread_runs_init(&runs, &snapshot, &query, 10, &err), ERR_INVALID);
    query = of_thread(&threads[2]);
    assert_ok(thread_runs_init(&runs, &snapshot, &query, 10, &err), &err);
    assert_int_equal(runs.count, 0);
    thread_runs_deinit(&runs);
    profile_snapshot_release(&snapshot);
}

static void a_failed_allocation_is_an_error(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    const struct view_query query = of_thread(&thread);
    add_at(profile, thread, "main;f", 1 * PERIOD_NS, 500);
    made_seal(profile, 1);
    made_add(profile, thread, STATE_ON_CPU, "main;g", 100);
    made_seal(profile, 2);
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct thread_runs runs = { 0 };
    enum err_code rc = ERR_NOMEM;
    unsigned failures = 0;
    for (unsigned nth = 0; rc; nth++) {
        struct err err = { 0 };
        failing_alloc_at(nth);
        rc = thread_runs_init(&runs, &snapshot, &query, 10, &err);
        failing_alloc_never();
        assert_true(rc == ERR_OK || rc == ERR_NOMEM);
        failures += rc == ERR_NOMEM;
    }
    assert_true(failures >= 6);
    assert_int_equal(runs.count, 2);
    thread_runs_deinit(&runs);
    profile_snapshot_release(&snapshot);
}

TEST_GROUP(cmocka_unit_test_setup_teardown(turns_follow_each_other_across_windows, begin, end),
           cmocka_unit_test_setup_teardown(parts_of_windows_are_included, begin, end),
           cmocka_unit_test_setup_teardown(short_runs_become_one_in_each_slot, begin, end),
           cmocka_unit_test_setup_teardown(a_row_for_each_slot_bounds_the_answer, begin, end),
           cmocka_unit_test_setup_teardown(without_order_the_largest_stand_first, begin, end),
           cmocka_unit_test_setup_teardown(more_than_a_window_holds_gets_less, begin, end),
           cmocka_unit_test_setup_teardown(states_are_kept_and_filtered, begin, end),
           cmocka_unit_test_setup_teardown(only_one_thread_has_an_order, begin, end),
           cmocka_unit_test_setup_teardown(a_failed_allocation_is_an_error, begin, end))
