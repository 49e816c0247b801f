#include <stdlib.h>
#include <string.h>

#include "sampler/profile/history.h"
#include "sampler/profile/run.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/reshape.h"
#include "sampler/profile/window.h"
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

/* Counts `count` samples, a period apart, and says when they were taken. */
static void add_at(struct profile *profile, thread_id thread, const char *stack,
                   uint64_t first_ns, uint32_t count)
{
    made_add_at(profile, thread, stack, first_ns, PERIOD_NS, count);
}

/* Two stacks take turns, 20 samples each. */
static void alternate(struct profile *profile, thread_id thread, uint64_t from_ns, int turns)
{
    for (int i = 0; i < turns; i++)
        for (uint64_t j = 0; j < 20; j++)
            add_at(profile, thread, i % 2 ? "main;g" : "main;f",
                   from_ns + ((uint64_t)i * 20 + j) * PERIOD_NS, 1);
}

static struct view_runs runs_of(struct profile *profile, enum err_code expected)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct view_runs runs = { 0 };
    struct err err = { 0 };
    assert_int_equal(view_runs_init(&runs, &snapshot, &(struct view_query){ 0 }, &err),
                     expected);
    profile_snapshot_release(&snapshot);
    return runs;
}

static void turns_are_seen_in_their_order(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    alternate(profile, thread, 0, 10);
    made_seal(profile, 1);
    struct view_runs runs = runs_of(profile, ERR_OK);
    assert_int_equal(runs.count, 10);
    for (size_t i = 0; i < runs.count; i++) {
        const struct view_run *const run = &runs.runs[i];
        assert_int_equal(run->cell.node, made_node(profile, i % 2 ? "main;g" : "main;f"));
        assert_int_equal(run->cell.count, 20);
        assert_int_equal(run->cell.ns, 20 * PERIOD_NS);
        assert_int_equal(run->first_ns, i * 20 * PERIOD_NS);
        assert_int_equal(run->step_ns, PERIOD_NS);
    }
    view_runs_deinit(&runs);
}

static void threads_do_not_mix_and_gaps_stay(void **state)
{
    struct profile *const profile = *state;
    const thread_id a = made_thread(profile, 1, 1), b = made_thread(profile, 1, 2);
    add_at(profile, b, "main;f", 5 * PERIOD_NS, 3);
    add_at(profile, a, "main;f", 6 * PERIOD_NS, 2);
    add_at(profile, b, "main;f", 8 * PERIOD_NS, 1);
    add_at(profile, b, "main;f", 20 * PERIOD_NS, 1);
    made_seal(profile, 1);
    struct view_runs runs = runs_of(profile, ERR_OK);
    assert_int_equal(runs.count, 3);
    assert_int_equal(runs.runs[0].cell.thread, a);
    assert_int_equal(runs.runs[1].cell.thread, b);
    assert_int_equal(runs.runs[1].cell.count, 4);
    assert_int_equal(runs.runs[2].first_ns, 20 * PERIOD_NS);
    view_runs_deinit(&runs);
}

static void a_window_knows_all_of_its_samples_or_none(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    add_at(profile, thread, "main;f", 0, 3);
    made_add(profile, thread, STATE_ON_CPU, "main;g", 1);
    made_seal(profile, 1);
    struct view_runs runs = runs_of(profile, ERR_NOT_FOUND);
    view_runs_deinit(&runs);
}

static void windows_of_hours_keep_it(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    for (uint64_t second = 0; second < 7200; second++) {
        add_at(profile, thread, second % 2 ? "main;g" : "main;f", second * NS_PER_S, 1);
        made_seal(profile, second + 1);
    }
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_true(snapshot.window_count < 7200);
    profile_snapshot_release(&snapshot);
    struct view_runs runs = runs_of(profile, ERR_OK);
    assert_int_equal(runs.count, 7200);
    for (size_t i = 0; i < runs.count; i++)
        assert_int_equal(runs.runs[i].first_ns, i * NS_PER_S);
    view_runs_deinit(&runs);
}

/* 100 runs a second take more than a quarter of the memory before the windows take the rest. */
static void memory_takes_the_oldest_order_first(void **state)
{
    enum { MEMORY = 2 << 20, SECONDS = 400 };
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    profile_set_memory(profile, MEMORY);
    for (uint64_t second = 0; second < SECONDS; second++) {
        for (uint64_t i = 0; i < 100; i++)
            add_at(profile, thread, i % 2 ? "main;g" : "main;f",
                   second * NS_PER_S + i * 10 * PERIOD_NS, 1);
        made_seal(profile, second + 1);
    }
    struct profile_snapshot snapshot = made_snapshot(profile);
    size_t run_bytes = 0, ordered = 0;
    uint64_t samples = 0;
    for (size_t i = 0; i < snapshot.window_count; i++) {
        const struct window *const window = snapshot.windows[i];
        samples += window->samples;
        run_bytes += window_run_bytes(window);
        if (ordered)
            assert_true(window_is_ordered(window));
        ordered += window_is_ordered(window);
    }
    assert_int_equal(samples, SECONDS * 100);
    assert_in_range(ordered, SECONDS / 8, SECONDS - 1);
    assert_in_range(run_bytes, MEMORY / 8, MEMORY / 4);
    profile_snapshot_release(&snapshot);
}

static void filtered_frames_leave_the_order(void **state)
{
    struct profile *const profile = *state, *into = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    struct frame_filters filters = { .native = NATIVE_FRAMES_EVERYTHING };
    struct err err = { 0 };
    alternate(profile, thread, 0, 4);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(reshape_windows(into, &snapshot, &(struct view_query){ 0 },
                              &(struct reshape_settings){ .filters = &filters }, NULL, &err),
              &err);
    profile_snapshot_release(&snapshot);
    struct view_runs runs = runs_of(into, ERR_OK);
    assert_int_equal(runs.count, 4);
    assert_int_equal(runs.runs[3].first_ns, 60 * PERIOD_NS);
    assert_int_equal(runs.runs[3].cell.count, 20);
    view_runs_deinit(&runs);
    profile_destroy(into);
}

static void without_memory_only_the_order_is_lost(void **state)
{
    struct profile *const profile = *state;
    const thread_id thread = made_thread(profile, 1, 1);
    made_add(profile, thread, STATE_ON_CPU, "main;f", 1);
    const node_id node = made_node(profile, "main;f");
    failing_alloc_at(0);
    profile_order(profile, &(struct run){ .thread = thread,
                                          .node = node,
                                          .spot = PROFILE_NO_SPOT,
                                          .count = 1,
                                          .state = STATE_ON_CPU });
    failing_alloc_never();
    made_seal(profile, 1);
    struct view_runs runs = runs_of(profile, ERR_NOT_FOUND);
    view_runs_deinit(&runs);
}

TEST_GROUP(cmocka_unit_test_setup_teardown(turns_are_seen_in_their_order, begin, end),
           cmocka_unit_test_setup_teardown(threads_do_not_mix_and_gaps_stay, begin, end),
           cmocka_unit_test_setup_teardown(a_window_knows_all_of_its_samples_or_none, begin,
                                           end),
           cmocka_unit_test_setup_teardown(windows_of_hours_keep_it, begin, end),
           cmocka_unit_test_setup_teardown(memory_takes_the_oldest_order_first, begin, end),
           cmocka_unit_test_setup_teardown(filtered_frames_leave_the_order, begin, end),
           cmocka_unit_test_setup_teardown(without_memory_only_the_order_is_lost, begin, end))
