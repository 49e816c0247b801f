#include "sampler/profile/views/resolution.h"
#include "sampler/profile/views/timeline.h"
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

static struct timeline_slots slots_of(const struct profile_snapshot *snapshot,
                                      const struct view_query *query, size_t slots)
{
    struct timeline_slots timeline;
    struct err err = { 0 };
    assert_ok(timeline_slots_init(&timeline, snapshot, query, slots, &err), &err);
    return timeline;
}

/* Second s has 1 sample that holds the GIL, 2 that wait for it, 4 on a CPU, 8 that wait, 16 of
 * which nothing is known, and collects garbage in the 4. */
static void record(struct profile *profile, uint64_t seconds)
{
    const thread_id thread = made_thread(profile, 1, 1);
    profile_set_period(profile, NS_PER_MS);
    for (uint64_t s = 0; s < seconds; s++) {
        made_add(profile, thread, STATE_HAS_GIL | STATE_ON_CPU, "f", 1);
        made_add(profile, thread, STATE_WAITS_GIL, "f", 2);
        made_add(profile, thread, STATE_ON_CPU | STATE_IN_GC, "f", 4);
        made_add(profile, thread, 0, "f", 8);
        made_add(profile, thread, STATE_UNKNOWN_ON_CPU, "f", 16);
        made_add(profile, thread, STATE_HAS_GIL | STATE_RUNNABLE, "f", 32);
        made_seal(profile, s + 1);
    }
}

static void a_second_is_divided_into_parts(void **state)
{
    record(*state, 3);
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct timeline_slots timeline = slots_of(&snapshot, &(struct view_query){ 0 }, 3);
    assert_int_equal(timeline.width_ns, NS_PER_S);
    assert_int_equal(timeline.count, 3);
    for (uint64_t i = 0; i < 3; i++) {
        const struct timeline_slot *const row = &timeline.rows[i];
        assert_int_equal(row->slot, i);
        assert_int_equal(row->start_ns, i * NS_PER_S);
        assert_int_equal(row->end_ns, (i + 1) * NS_PER_S);
        assert_int_equal(row->samples, 63);
        assert_int_equal(row->ns, 63 * NS_PER_MS);
        assert_int_equal(row->parts[PART_RUNNING], 1 + 4 + 16);
        assert_int_equal(row->parts[PART_NEEDS_GIL], 2);
        assert_int_equal(row->parts[PART_NEEDS_PROCESSOR], 32);
        assert_int_equal(row->parts[PART_BLOCKED], 8);
        assert_int_equal(row->parts[PART_IDLE], 0);
        assert_int_equal(row->parts_ns[PART_NEEDS_PROCESSOR], 32 * NS_PER_MS);
        assert_int_equal(row->in_gc, 4);
        assert_int_equal(row->in_gc_ns, 4 * NS_PER_MS);
    }
    timeline_slots_deinit(&timeline);
    profile_snapshot_release(&snapshot);
}

static void slots_are_never_more_than_requested_and_add_up(void **state)
{
    static const size_t counts[] = { 1, 2, 3, 7, 100, 512, TIMELINE_MAX_SLOTS };
    record(*state, 5000);
    struct profile_snapshot snapshot = made_snapshot(*state);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct timeline_slots timeline =
            slots_of(&snapshot, &(struct view_query){ 0 }, counts[i]);
        uint64_t samples = 0;
        assert_in_range(timeline.count, 1, counts[i]);
        for (size_t j = 0; j < timeline.count; j++)
            samples += timeline.rows[j].samples;
        assert_int_equal(samples, 5000 * 63);
        timeline_slots_deinit(&timeline);
    }
    profile_snapshot_release(&snapshot);
}

static void the_query_says_what_is_counted(void **state)
{
    const thread_id other = 1;
    record(*state, 10);
    const struct view_query query = { .from_ns = 2 * NS_PER_S,
                                      .to_ns = 6 * NS_PER_S,
                                      .states.require = STATE_ON_CPU };
    const struct view_query none = { .threads = &other, .thread_count = 1 };
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct timeline_slots timeline = slots_of(&snapshot, &query, 4);
    assert_int_equal(timeline.count, 4);
    assert_int_equal(timeline.rows[0].slot, 2);
    assert_int_equal(timeline.rows[3].samples, 5);
    timeline_slots_deinit(&timeline);
    timeline = slots_of(&snapshot, &none, 4);
    assert_int_equal(timeline.rows[0].samples, 0);
    timeline_slots_deinit(&timeline);
    profile_snapshot_release(&snapshot);
}

static void since_a_generation_there_are_only_slots_with_news_whole(void **state)
{
    record(*state, 10);
    struct profile_snapshot snapshot = made_snapshot(*state);
    /* Slots of two seconds: generation 7 is the first half of slot 3. */
    struct timeline_slots timeline = slots_of(&snapshot, &(struct view_query){ .since = 7 }, 5);
    assert_int_equal(timeline.width_ns, 2 * NS_PER_S);
    assert_int_equal(timeline.count, 2);
    assert_int_equal(timeline.rows[0].slot, 3);
    assert_int_equal(timeline.rows[0].samples, 126);
    timeline_slots_deinit(&timeline);
    timeline = slots_of(&snapshot, &(struct view_query){ .since = 10 }, 5);
    assert_int_equal(timeline.count, 0);
    timeline_slots_deinit(&timeline);
    profile_snapshot_release(&snapshot);
}

static void an_empty_session_has_no_slot(void **state)
{
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct timeline_slots timeline = slots_of(&snapshot, &(struct view_query){ 0 }, 512);
    assert_int_equal(timeline.count, 0);
    timeline_slots_deinit(&timeline);
    timeline_slots_deinit(&timeline);
    profile_snapshot_release(&snapshot);
}

static void without_memory_there_is_an_error(void **state)
{
    struct timeline_slots timeline;
    struct err err = { 0 };
    record(*state, 3);
    struct profile_snapshot snapshot = made_snapshot(*state);
    failing_alloc_at(0);
    assert_int_equal(
        timeline_slots_init(&timeline, &snapshot, &(struct view_query){ 0 }, 3, &err),
        ERR_NOMEM);
    failing_alloc_never();
    profile_snapshot_release(&snapshot);
}

static void the_resolution_covers_all_windows_from_coarse_to_fine(void **state)
{
    struct resolution resolution;
    record(*state, 20000);
    struct profile_snapshot snapshot = made_snapshot(*state);
    resolution_of(&snapshot, &resolution);
    size_t windows = 0;
    uint64_t sealed = 0;
    assert_int_equal(resolution.count, 3);
    for (size_t i = 0; i < resolution.count; i++) {
        windows += resolution.ranges[i].windows;
        sealed += resolution.ranges[i].sealed;
    }
    assert_int_equal(windows, snapshot.window_count);
    assert_int_equal(sealed, 20000);
    assert_int_equal(resolution.ranges[0].start_ns, 0);
    assert_int_equal(resolution.ranges[0].width_ns, 60 * NS_PER_S);
    assert_int_equal(resolution.ranges[1].width_ns, 10 * NS_PER_S);
    assert_int_equal(resolution.ranges[2].width_ns, 0);
    assert_int_equal(resolution.ranges[2].end_ns, 20000 * NS_PER_S);
    profile_snapshot_release(&snapshot);
}

static void check_times(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    profile_set_period(*state, NS_PER_MS);
    made_add(*state, thread, 0, "f", 10);
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct view view = made_view(&snapshot, &(struct view_query){ 0 });
    assert_int_equal(view.period_ns, NS_PER_MS);
    assert_null(view.self_ns);
    assert_int_equal(view.total_ns, 10 * NS_PER_MS);
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    profile_set_period(*state, 5 * NS_PER_MS);
    made_add(*state, thread, 0, "f", 2);
    made_add(*state, thread, 0, "g", 1);
    made_seal(*state, 2);
    snapshot = made_snapshot(*state);
    view = made_view(&snapshot, &(struct view_query){ 0 });
    assert_int_equal(view.period_ns, 0);
    assert_int_equal(view.total_ns, (10 + 10 + 5) * NS_PER_MS);
    assert_int_equal(view_self_ns(&view, 0), 20 * NS_PER_MS);
    assert_int_equal(view_self_ns(&view, 1), 5 * NS_PER_MS);
    view_deinit(&view);
    view = made_view(&snapshot, &(struct view_query){ .since = 1 });
    assert_int_equal(view.period_ns, 5 * NS_PER_MS);
    assert_int_equal(view.total_ns, 15 * NS_PER_MS);
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
}

static void a_view_has_the_time_that_samples_stand_for(void **state)
{
    check_times(state);
}

static void few_samples_among_many_nodes_have_it_too(void **state)
{
    made_spare(*state, 1000);
    check_times(state);
}

static void samples_may_have_times_of_their_own(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    const node_id f = made_node(*state, "f"), g = made_node(*state, "g");
    struct view_cells cells;
    struct err err = { 0 };
    profile_set_period(*state, NS_PER_MS);
    assert_ok(profile_add_timed(*state, thread, 1, g, 3, 7, &err), &err);
    assert_ok(profile_add(*state, thread, 0, f, 2, &err), &err);
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_ok(view_cells_init(&cells, &snapshot, &(struct view_query){ 0 }, &err), &err);
    assert_int_equal(cells.cells[0].ns, 2 * NS_PER_MS);
    assert_int_equal(cells.cells[1].ns, 7);
    view_cells_deinit(&cells);
    profile_snapshot_release(&snapshot);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_GROUP(TEST(a_second_is_divided_into_parts),
           TEST(slots_are_never_more_than_requested_and_add_up),
           TEST(the_query_says_what_is_counted),
           TEST(since_a_generation_there_are_only_slots_with_news_whole),
           TEST(an_empty_session_has_no_slot), TEST(without_memory_there_is_an_error),
           TEST(the_resolution_covers_all_windows_from_coarse_to_fine),
           TEST(a_view_has_the_time_that_samples_stand_for),
           TEST(few_samples_among_many_nodes_have_it_too),
           TEST(samples_may_have_times_of_their_own))
