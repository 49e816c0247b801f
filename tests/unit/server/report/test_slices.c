#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/run.h"
#include "server/report/header.h"
#include "server/report/preorder.h"
#include "server/report/report.h"
#include "server/report/slices.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { TURNS = 10, TURN = 20, MAX_RUNS = 1000 };

static const uint64_t PERIOD_NS = NS_PER_MS;

/* A thread whose two functions take turns. */
struct alternating {
    struct profile *profile;
    struct profile_snapshot snapshot;
    struct view_query query;
    struct report_header header;
    struct report_source source;
    struct preorder order;
    thread_id thread;
};

/* Every sample is taken at the end of its period. */
static void add(struct alternating *a, int turn, bool is_timed)
{
    const char *const stack = turn % 2 ? "main;g" : "main;f";
    made_add(a->profile, a->thread, STATE_ON_CPU, stack, TURN);
    if (is_timed)
        profile_order(a->profile,
                      &(struct run){ .thread = a->thread,
                                     .node = made_node(a->profile, stack),
                                     .spot = PROFILE_NO_SPOT,
                                     .count = TURN,
                                     .state = STATE_ON_CPU,
                                     .first_ns = ((uint64_t)turn * TURN + 1) * PERIOD_NS,
                                     .step_ns = PERIOD_NS });
}

static void make(struct alternating *a, bool is_timed)
{
    struct err err = { 0 };
    *a = (struct alternating){ .profile = made_profile() };
    a->thread = made_thread(a->profile, 1, 1);
    profile_set_period(a->profile, PERIOD_NS);
    for (int turn = 0; turn < TURNS; turn++)
        add(a, turn, is_timed);
    made_seal(a->profile, 1);
    a->snapshot = made_snapshot(a->profile);
    a->header = (struct report_header){ .to_ns = NS_PER_S, .period_ns = PERIOD_NS };
    a->source = (struct report_source){ .snapshot = &a->snapshot,
                                        .query = &a->query,
                                        .header = &a->header };
    assert_ok(preorder_init(&a->order, &a->snapshot, &err), &err);
}

static void unmake(struct alternating *a)
{
    preorder_deinit(&a->order);
    profile_snapshot_release(&a->snapshot);
    profile_destroy(a->profile);
}

static struct slice_part only_part(struct alternating *a, struct slices *slices,
                                   size_t max_runs)
{
    struct slice_part part;
    struct err err = { 0 };
    assert_ok(slices_init(slices, &a->source, max_runs, &err), &err);
    assert_int_equal(slices->count, 1);
    assert_int_equal(slices->thread_count, 1);
    assert_ok(slices_part(slices, 0, a->thread, SLICES_BY_TREE, &a->order, &part, &err), &err);
    return part;
}

static void turns_stand_where_they_were(void **state)
{
    struct alternating a;
    struct slices slices;
    (void)state;
    make(&a, true);
    struct slice_part part = only_part(&a, &slices, MAX_RUNS);
    assert_int_equal(part.cells.count, TURNS);
    for (uint64_t i = 0; i < TURNS; i++) {
        assert_int_equal(part.cells.cells[i].node,
                         made_node(a.profile, i % 2 ? "main;g" : "main;f"));
        assert_int_equal(part.times[i].start_ns, i * TURN * PERIOD_NS);
        assert_int_equal(part.times[i].end_ns, (i + 1) * TURN * PERIOD_NS);
    }
    assert_int_equal(slices.unordered_samples, 0);
    slice_part_deinit(&part);
    slices_deinit(&slices);
    unmake(&a);
}

static void expect_two_blocks(struct alternating *a, size_t max_runs, uint64_t unordered)
{
    struct slices slices;
    struct slice_part part = only_part(a, &slices, max_runs);
    assert_int_equal(part.cells.count, 2);
    assert_int_equal(part.times[0].start_ns, 0);
    assert_int_equal(part.times[0].end_ns, TURNS / 2 * TURN * PERIOD_NS);
    assert_int_equal(part.times[1].start_ns, part.times[0].end_ns);
    assert_int_equal(part.times[1].end_ns, TURNS * TURN * PERIOD_NS);
    assert_int_equal(slices.unordered_samples, unordered);
    slice_part_deinit(&part);
    slices_deinit(&slices);
}

static void without_times_functions_stand_one_after_the_other(void **state)
{
    struct alternating a;
    (void)state;
    make(&a, false);
    expect_two_blocks(&a, MAX_RUNS, TURNS * TURN);
    unmake(&a);
}

static void a_format_may_do_without_the_order(void **state)
{
    struct alternating a;
    (void)state;
    make(&a, true);
    expect_two_blocks(&a, 0, TURNS * TURN);
    unmake(&a);
}

static void expect_note(uint64_t unordered, const char *expected)
{
    struct buffer text = { 0 };
    slices_put_note(&text, unordered, 1000);
    assert_int_equal(text.length, strlen(expected));
    if (text.length)
        assert_memory_equal(text.data, expected, text.length);
    buffer_deinit(&text);
}

static void a_note_says_how_many_are_not_in_order(void **state)
{
    (void)state;
    expect_note(0, "");
    expect_note(3, " · < 1 % not in order of time");
    expect_note(350, " · 35 % not in order of time");
    expect_note(1000, " · not in order of time");
}

TEST_GROUP(cmocka_unit_test(turns_stand_where_they_were),
           cmocka_unit_test(without_times_functions_stand_one_after_the_other),
           cmocka_unit_test(a_note_says_how_many_are_not_in_order),
           cmocka_unit_test(a_format_may_do_without_the_order))
