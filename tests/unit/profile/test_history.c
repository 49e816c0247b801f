#include <stdio.h>
#include <string.h>

#include "sampler/profile/history.h"
#include "sampler/profile/window.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { WEEK_S = 7 * 86400, MIB = 1 << 20 };

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

static void seal_at(struct profile *profile, uint64_t ns)
{
    struct err err = { 0 };
    assert_ok(profile_seal(profile, ns, &err), &err);
}

/* A sample of one of two stacks each step of `step_ns`. */
static void record(struct profile *profile, uint64_t from_ns, uint64_t to_ns, uint64_t step_ns)
{
    const thread_id thread = made_thread(profile, 1, 1);
    const node_id nodes[] = { made_node(profile, "main;f"), made_node(profile, "main;g") };
    struct err err = { 0 };
    for (uint64_t now = from_ns + step_ns; now <= to_ns; now += step_ns) {
        const node_id node = nodes[now / step_ns % 2];
        assert_ok(profile_add(profile, thread, STATE_ON_CPU, node, 1, &err), &err);
        seal_at(profile, now);
    }
}

static uint64_t total_since(const struct profile_snapshot *snapshot, uint32_t since)
{
    struct view view = made_view(snapshot, &(struct view_query){ .since = since });
    const uint64_t total = view.total;
    view_deinit(&view);
    return total;
}

static uint64_t total_between(const struct profile_snapshot *snapshot, uint64_t from_s,
                              uint64_t to_s)
{
    struct view view = made_view(snapshot, &(struct view_query){ .from_ns = from_s * NS_PER_S,
                                                                 .to_ns = to_s * NS_PER_S });
    const uint64_t total = view.total;
    view_deinit(&view);
    return total;
}

static void expect_chain(const struct profile_snapshot *snapshot)
{
    for (size_t i = 1; i < snapshot->window_count; i++) {
        const struct window *const before = snapshot->windows[i - 1];
        const struct window *const window = snapshot->windows[i];
        assert_true(before->end_ns <= window->start_ns);
        assert_true(before->generation < window->first_generation);
        assert_true(window->first_generation <= window->generation);
    }
}

static void recent_windows_stay_as_they_were_sealed(void **state)
{
    const uint64_t quarter = NS_PER_S / 4;
    record(*state, 0, 1000 * NS_PER_S, quarter);
    struct profile_snapshot snapshot = made_snapshot(*state);
    size_t whole = 0;
    for (size_t i = 0; i < snapshot.window_count; i++) {
        const struct window *const window = snapshot.windows[i];
        const uint64_t age_ns = 1000 * NS_PER_S - window->end_ns;
        assert_true(window->parts == 1 || age_ns >= HISTORY_SEALED_NS);
        assert_true(window->parts == 1 || window->width_ns == NS_PER_S);
        whole += window->parts == 1;
    }
    const uint64_t sealed_s = HISTORY_SEALED_NS / NS_PER_S;
    assert_in_range(whole, sealed_s * 4, (sealed_s + 6) * 4);
    assert_int_equal(total_since(&snapshot, 0), 4000);
    expect_chain(&snapshot);
    profile_snapshot_release(&snapshot);
}

static void a_week_loses_no_sample_and_has_few_windows(void **state)
{
    record(*state, 0, WEEK_S * NS_PER_S, NS_PER_S);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_in_range(snapshot.window_count, 3600, 5000);
    assert_int_equal(total_since(&snapshot, 0), WEEK_S);
    assert_int_equal(total_between(&snapshot, 0, 86400), 86400);
    assert_int_equal(total_between(&snapshot, WEEK_S - 60, WEEK_S), 60);
    expect_chain(&snapshot);
    assert_int_equal(snapshot.windows[0]->start_ns, 0);
    assert_int_equal(snapshot.windows[0]->width_ns, 3600 * NS_PER_S);
    profile_snapshot_release(&snapshot);
}

static void merged_windows_lie_within_their_step(void **state)
{
    record(*state, 0, 20000 * NS_PER_S, NS_PER_S);
    struct profile_snapshot snapshot = made_snapshot(*state);
    for (size_t i = 0; i < snapshot.window_count; i++) {
        const struct window *const window = snapshot.windows[i];
        if (window->width_ns)
            assert_int_equal(window->start_ns / window->width_ns,
                             (window->end_ns - 1) / window->width_ns);
    }
    profile_snapshot_release(&snapshot);
}

/* A client that polls at every generation gets everything, whatever was merged in between: either the
 * rest, or the answer to start again. */
static void what_came_since_a_generation_is_exact_or_everything(void **state)
{
    const uint64_t all = 5000;
    record(*state, 0, all * NS_PER_S, NS_PER_S);
    struct profile_snapshot snapshot = made_snapshot(*state);
    uint32_t exact = 0;
    for (uint32_t since = 0; since <= all; since++) {
        const uint32_t from = profile_snapshot_since(&snapshot, since);
        assert_true(from == since || from == 0);
        assert_int_equal(total_since(&snapshot, from), all - from);
        exact += from == since;
    }
    assert_true(exact > 3600 && exact < all);
    assert_int_equal(profile_snapshot_since(&snapshot, (uint32_t)all), all);
    assert_int_equal(profile_snapshot_since(&snapshot, (uint32_t)all + 1), 0);
    profile_snapshot_release(&snapshot);
}

static void a_client_that_polls_gets_every_sample_once(void **state)
{
    uint32_t generation = 0;
    uint64_t held = 0;
    for (uint64_t s = 0; s < 6000; s += 7) {
        record(*state, s * NS_PER_S, (s + 7) * NS_PER_S, NS_PER_S);
        struct profile_snapshot snapshot = made_snapshot(*state);
        assert_int_equal(profile_snapshot_since(&snapshot, generation), generation);
        held += total_since(&snapshot, generation);
        generation = snapshot.generation;
        assert_int_equal(held, total_since(&snapshot, 0));
        profile_snapshot_release(&snapshot);
    }
}

/* A client gets every row that it lacks; it may get some that it has. */
static void sizes_within_a_merged_window_are_those_before_it(void **state)
{
    for (uint32_t i = 1; i <= 5000; i++) {
        char stack[32];
        sprintf(stack, "f%u", i);
        made_add(*state, made_thread(*state, 1, 1), 0, stack, 1);
        made_seal(*state, i);
    }
    struct profile_snapshot snapshot = made_snapshot(*state);
    for (uint32_t i = 0; i <= 5000; i++)
        assert_true(profile_snapshot_sizes_at(&snapshot, i).nodes <= i + 1);
    assert_int_equal(profile_snapshot_sizes_at(&snapshot, 5000).nodes, 5001);
    assert_int_equal(profile_snapshot_sizes_at(&snapshot, 4999).nodes, 5000);
    profile_snapshot_release(&snapshot);
}

static void a_snapshot_stays_while_windows_are_merged(void **state)
{
    record(*state, 0, 100 * NS_PER_S, NS_PER_S);
    struct profile_snapshot before = made_snapshot(*state);
    record(*state, 100 * NS_PER_S, 8000 * NS_PER_S, NS_PER_S);
    assert_int_equal(before.window_count, 100);
    assert_int_equal(total_since(&before, 0), 100);
    assert_int_equal(total_since(&before, 50), 50);
    profile_snapshot_release(&before);
}

/* Each window has different cells, so that merging saves the least. */
static void record_wide(struct profile *profile, uint64_t seconds, unsigned cells)
{
    const thread_id thread = made_thread(profile, 1, 1);
    node_id nodes[512];
    struct err err = { 0 };
    for (unsigned i = 0; i < cells; i++) {
        char stack[32];
        sprintf(stack, "main;f%u", i);
        nodes[i] = made_node(profile, stack);
    }
    for (uint64_t now = 1; now <= seconds; now++) {
        for (unsigned i = 0; i < cells; i++)
            assert_ok(profile_add(profile, thread, 0, nodes[i], 1, &err), &err);
        seal_at(profile, now * NS_PER_S);
    }
}

static void short_memory_makes_windows_longer_and_loses_nothing(void **state)
{
    profile_set_memory(*state, 4 * MIB);
    record_wide(*state, 4000, 256);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_true(snapshot.bytes <= 5 * MIB);
    assert_int_equal(snapshot.memory_bytes, 4 * MIB);
    assert_int_equal(total_since(&snapshot, 0), 4000 * 256);
    for (size_t i = snapshot.window_count - 100; i < snapshot.window_count; i++)
        assert_int_equal(snapshot.windows[i]->parts, 1);
    expect_chain(&snapshot);
    profile_snapshot_release(&snapshot);
}

static void where_nothing_fits_only_the_recent_past_is_kept_apart(void **state)
{
    profile_set_memory(*state, MIB);
    record_wide(*state, 2000, 512);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(total_since(&snapshot, 0), 2000 * 512);
    assert_true(snapshot.window_count <= 120 + 64 + 64 + 2);
    profile_snapshot_release(&snapshot);
}

static enum err_code new_place(struct profile *profile, node_id parent, unsigned i,
                               node_id *node)
{
    function_id function;
    frame_id frame;
    struct err err = { 0 };
    char name[32];
    sprintf(name, "place%u", i);
    const str_id id = made_string(profile, name);
    enum err_code rc = profile_function(profile, id, 0, 1, &function, &err);
    if (!rc)
        rc = profile_frame(profile, function, 1, &frame, &err);
    return rc ? rc : profile_node(profile, parent, frame, node, &err);
}

static void full_tables_take_no_new_places_and_go_on_counting(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    node_id node = 0, ignored;
    unsigned places = 0;
    struct err err = { 0 };
    profile_set_memory(*state, MIB);
    assert_false(profile_is_full(*state));
    while (!new_place(*state, node, places, &node) && places++ < 100000)
        if (places % 100 == 0)
            seal_at(*state, places);
    assert_in_range(places, 1000, 50000);
    assert_int_equal(new_place(*state, node, places, &ignored), ERR_LIMIT);
    assert_true(profile_is_full(*state));
    assert_int_equal(made_string(*state, "quite new"), made_string(*state, "<name not kept>"));
    assert_ok(new_place(*state, 0, 0, &ignored), &err);
    assert_ok(profile_add(*state, thread, 0, node, 7, &err), &err);
    (void)made_thread(*state, 2, 2);
    seal_at(*state, 200000);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(total_since(&snapshot, 0), 7);
    assert_true(snapshot.bytes <= MIB);
    profile_snapshot_release(&snapshot);
}

static void without_memory_windows_wait_to_be_merged(void **state)
{
    record(*state, 0, 719 * NS_PER_S, NS_PER_S / 4);
    for (unsigned nth = 0; nth < 40; nth++) {
        struct profile_snapshot snapshot = made_snapshot(*state);
        assert_int_equal(total_since(&snapshot, 0), 719 * 4 + nth);
        profile_snapshot_release(&snapshot);
        struct err err = { 0 };
        made_add(*state, 0, 0, "main;f", 1);
        failing_alloc_at(nth);
        const enum err_code rc = profile_seal(*state, (720 + 10 * nth) * NS_PER_S, &err);
        failing_alloc_never();
        assert_true(rc == ERR_OK || rc == ERR_NOMEM);
        if (rc)
            seal_at(*state, (720 + 10 * nth) * NS_PER_S);
    }
}

static void a_sample_stands_for_the_period_of_its_window(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    struct err err = { 0 };
    const node_id node = made_node(*state, "f");
    for (uint64_t s = 0; s < 4000; s++) {
        profile_set_period(*state, s % 2 ? NS_PER_MS : 10 * NS_PER_MS);
        assert_ok(profile_add(*state, thread, 0, node, 2, &err), &err);
        seal_at(*state, (s + 1) * NS_PER_S);
    }
    struct profile_snapshot snapshot = made_snapshot(*state);
    uint64_t ns = 0;
    for (size_t i = 0; i < snapshot.window_count; i++)
        ns += window_cell_ns(snapshot.windows[i], 0);
    assert_null(snapshot.windows[snapshot.window_count - 1]->cell_ns);
    assert_non_null(snapshot.windows[0]->cell_ns);
    assert_int_equal(ns, 2000ull * 2 * 11 * NS_PER_MS);
    profile_snapshot_release(&snapshot);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_GROUP(TEST(recent_windows_stay_as_they_were_sealed),
           TEST(a_week_loses_no_sample_and_has_few_windows),
           TEST(merged_windows_lie_within_their_step),
           TEST(what_came_since_a_generation_is_exact_or_everything),
           TEST(a_client_that_polls_gets_every_sample_once),
           TEST(sizes_within_a_merged_window_are_those_before_it),
           TEST(a_snapshot_stays_while_windows_are_merged),
           TEST(short_memory_makes_windows_longer_and_loses_nothing),
           TEST(where_nothing_fits_only_the_recent_past_is_kept_apart),
           TEST(full_tables_take_no_new_places_and_go_on_counting),
           TEST(without_memory_windows_wait_to_be_merged),
           TEST(a_sample_stands_for_the_period_of_its_window))
