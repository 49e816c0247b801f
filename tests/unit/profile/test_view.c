#include <stdlib.h>

#include "sampler/profile/views/view.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

/* Three windows of a second each:
 *
 *     second  thread            state              stack       samples
 *     0       a  process 1      ON_CPU|HAS_GIL     main;f          1
 *     0       b  process 1      0                  main;g          2
 *     1       a  process 1      ON_CPU|HAS_GIL     main;f          4
 *     1       a  process 1      UNKNOWN_ON_CPU     main;f          8
 *     1       c  process 2      ON_CPU             main;f;f       16
 *     2       c  process 2      HAS_GIL            main           32
 *     2       b  process 1      0                  main;g         64
 *
 * Counts are powers of two, so that a sum shows which rows are in it. */
struct session_entry {
    struct profile *profile;
    struct profile_snapshot snapshot;
    thread_id a, b, c;
    process_id one, two;
    node_id main, f, g, ff;
};

static int begin_with(void **state, unsigned spare)
{
    struct session_entry *const s = calloc(1, sizeof *s);
    struct profile *const p = s->profile = made_profile();
    made_spare(p, spare / 2);
    s->a = made_thread(p, 1, 11);
    s->b = made_thread(p, 1, 12);
    s->c = made_thread(p, 2, 21);
    made_add(p, s->a, STATE_ON_CPU | STATE_HAS_GIL, "main;f", 1);
    made_add(p, s->b, 0, "main;g", 2);
    made_seal(p, 1);
    made_add(p, s->a, STATE_ON_CPU | STATE_HAS_GIL, "main;f", 4);
    made_add(p, s->a, STATE_UNKNOWN_ON_CPU, "main;f", 8);
    made_add(p, s->c, STATE_ON_CPU, "main;f;f", 16);
    made_seal(p, 2);
    made_add(p, s->c, STATE_HAS_GIL, "main", 32);
    made_add(p, s->b, 0, "main;g", 64);
    made_seal(p, 3);
    s->main = made_node(p, "main");
    s->f = made_node(p, "main;f");
    s->g = made_node(p, "main;g");
    s->ff = made_node(p, "main;f;f");
    made_spare(p, spare - spare / 2);
    s->snapshot = made_snapshot(p);
    s->one = profile_thread_at(&s->snapshot, s->a).process;
    s->two = profile_thread_at(&s->snapshot, s->c).process;
    *state = s;
    return 0;
}

static int begin(void **state)
{
    return begin_with(state, 0);
}

/* Here samples are so few that they are sorted. */
static int begin_among_many(void **state)
{
    return begin_with(state, 1000);
}

static int end(void **state)
{
    struct session_entry *const s = *state;
    profile_snapshot_release(&s->snapshot);
    profile_destroy(s->profile);
    free(s);
    return 0;
}

static uint64_t total_of_cells(const struct session_entry *s, const struct view_query *query)
{
    struct view_cells cells;
    struct err err = { 0 };
    uint64_t total = 0;
    assert_ok(view_cells_init(&cells, &s->snapshot, query, &err), &err);
    for (size_t i = 0; i < cells.count; i++)
        total += cells.cells[i].count;
    view_cells_deinit(&cells);
    return total;
}

/* Both kinds of view must agree. */
static void expect_total(const struct session_entry *s, struct view_query query, uint64_t total)
{
    struct view view = made_view(&s->snapshot, &query);
    assert_int_equal(view.total, total);
    assert_int_equal(total_of_cells(s, &query), total);
    view_deinit(&view);
}

static void a_view_of_everything_has_all_samples_at_their_nodes(void **state)
{
    const struct session_entry *const s = *state;
    struct view view = made_view(&s->snapshot, &(struct view_query){ 0 });
    assert_int_equal(view.generation, 3);
    assert_int_equal(view.total, 127);
    assert_int_equal(view.count, 4);
    assert_int_equal(made_self(&view, s->main), 32);
    assert_int_equal(made_self(&view, s->f), 1 + 4 + 8);
    assert_int_equal(made_self(&view, s->g), 2 + 64);
    assert_int_equal(made_self(&view, s->ff), 16);
    view_deinit(&view);
}

static void a_view_has_the_states_of_its_samples_only(void **state)
{
    const struct session_entry *const s = *state;
    const thread_id threads[] = { s->b, s->c };
    struct view all = made_view(&s->snapshot, &(struct view_query){ 0 });
    struct view some =
        made_view(&s->snapshot,
                  &(struct view_query){ .threads = threads, .thread_count = 2, .since = 1 });
    assert_int_equal(all.states, STATE_ON_CPU | STATE_HAS_GIL | STATE_UNKNOWN_ON_CPU);
    assert_int_equal(some.states, STATE_ON_CPU | STATE_HAS_GIL);
    view_deinit(&all);
    view_deinit(&some);
}

static void nodes_ascend_and_have_samples(void **state)
{
    const struct session_entry *const s = *state;
    struct view view = made_view(&s->snapshot, &(struct view_query){ 0 });
    for (size_t i = 0; i < view.count; i++) {
        assert_true(view.self[i] > 0);
        assert_true(i == 0 || view.node[i - 1] < view.node[i]);
    }
    view_deinit(&view);
}

static void time_selects_windows_by_their_start(void **state)
{
    const struct session_entry *const s = *state;
    static const struct {
        uint64_t from_ns, to_ns, total;
    } table[] = {
        { 0, 0, 127 },
        { 0, NS_PER_S, 1 + 2 },
        { 0, NS_PER_S + 1, 1 + 2 + 4 + 8 + 16 },
        { 1, 0, 4 + 8 + 16 + 32 + 64 },
        { NS_PER_S, 2 * NS_PER_S, 4 + 8 + 16 },
        { 2 * NS_PER_S, 3 * NS_PER_S, 32 + 64 },
        { 2 * NS_PER_S + 1, 0, 0 },
        { NS_PER_S, NS_PER_S, 0 },
        { 2 * NS_PER_S, NS_PER_S, 0 },
        { UINT64_MAX, UINT64_MAX, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        expect_total(
            s, (struct view_query){ .from_ns = table[i].from_ns, .to_ns = table[i].to_ns },
            table[i].total);
}

static void since_selects_what_came_after(void **state)
{
    const struct session_entry *const s = *state;
    expect_total(s, (struct view_query){ .since = 0 }, 127);
    expect_total(s, (struct view_query){ .since = 1 }, 4 + 8 + 16 + 32 + 64);
    expect_total(s, (struct view_query){ .since = 2 }, 32 + 64);
    expect_total(s, (struct view_query){ .since = 3 }, 0);
    expect_total(s, (struct view_query){ .since = UINT32_MAX }, 0);
    expect_total(s, (struct view_query){ .since = 1, .to_ns = 2 * NS_PER_S }, 4 + 8 + 16);
    expect_total(s, (struct view_query){ .since = 2, .to_ns = NS_PER_S }, 0);
    expect_total(s, (struct view_query){ .since = 1, .from_ns = 2 * NS_PER_S }, 32 + 64);
}

static void threads_select_their_samples(void **state)
{
    const struct session_entry *const s = *state;
    const thread_id ac[] = { s->c, s->a, s->a };
    expect_total(s, (struct view_query){ .threads = &s->a, .thread_count = 1 }, 1 + 4 + 8);
    expect_total(s, (struct view_query){ .threads = &s->b, .thread_count = 1 }, 2 + 64);
    expect_total(s, (struct view_query){ .threads = ac, .thread_count = 3 },
                 1 + 4 + 8 + 16 + 32);
}

static void an_empty_list_of_threads_selects_none(void **state)
{
    expect_total(*state, (struct view_query){ .threads = &(thread_id){ 0 } }, 0);
}

static void threads_that_do_not_exist_have_no_samples(void **state)
{
    const struct session_entry *const s = *state;
    const thread_id threads[] = { 3, 1000, UINT32_MAX, s->b };
    expect_total(s, (struct view_query){ .threads = threads, .thread_count = 3 }, 0);
    expect_total(s, (struct view_query){ .threads = threads, .thread_count = 4 }, 2 + 64);
}

static void processes_select_the_samples_of_their_threads(void **state)
{
    const struct session_entry *const s = *state;
    const process_id both[] = { s->one, s->two }, none[] = { 2, UINT32_MAX };
    expect_total(s, (struct view_query){ .processes = &s->one, .process_count = 1 }, 79);
    expect_total(s, (struct view_query){ .processes = &s->two, .process_count = 1 }, 16 + 32);
    expect_total(s, (struct view_query){ .processes = both, .process_count = 2 }, 127);
    expect_total(s, (struct view_query){ .processes = none, .process_count = 2 }, 0);
}

static void threads_and_processes_must_both_fit(void **state)
{
    const struct session_entry *const s = *state;
    const thread_id ac[] = { s->a, s->c };
    struct view_query query = { .threads = ac, .thread_count = 2, .process_count = 1 };
    query.processes = &s->one;
    expect_total(s, query, 1 + 4 + 8);
    query.processes = &s->two;
    expect_total(s, query, 16 + 32);
}

static void required_bits_must_all_be_there(void **state)
{
    const struct session_entry *const s = *state;
    expect_total(s, (struct view_query){ .states.require = STATE_ON_CPU }, 1 + 4 + 16);
    expect_total(s, (struct view_query){ .states.require = STATE_HAS_GIL }, 1 + 4 + 32);
    expect_total(s, (struct view_query){ .states.require = STATE_ON_CPU | STATE_HAS_GIL },
                 1 + 4);
    expect_total(s, (struct view_query){ .states.require = STATE_IN_GC }, 0);
}

static void excluded_bits_must_all_be_missing(void **state)
{
    const struct session_entry *const s = *state;
    expect_total(s, (struct view_query){ .states.exclude = STATE_ON_CPU }, 2 + 8 + 32 + 64);
    expect_total(s, (struct view_query){ .states.exclude = STATE_ON_CPU | STATE_HAS_GIL },
                 2 + 8 + 64);
    expect_total(
        s,
        (struct view_query){ .states.require = STATE_ON_CPU, .states.exclude = STATE_HAS_GIL },
        16);
    expect_total(
        s,
        (struct view_query){ .states.require = STATE_ON_CPU, .states.exclude = STATE_ON_CPU },
        0);
}

/* Unknown is neither on nor off: it is in both queries for "not known to be". */
static void unknown_is_a_value_of_its_own(void **state)
{
    const struct session_entry *const s = *state;
    expect_total(s, (struct view_query){ .states.require = STATE_UNKNOWN_ON_CPU }, 8);
    expect_total(s, (struct view_query){ .states.exclude = STATE_UNKNOWN_ON_CPU }, 127 - 8);
    expect_total(s,
                 (struct view_query){ .states.exclude = STATE_ON_CPU | STATE_UNKNOWN_ON_CPU },
                 2 + 32 + 64);
}

static void totals_count_everything_beneath(void **state)
{
    const struct session_entry *const s = *state;
    uint64_t *const total = calloc(s->snapshot.sizes.nodes, sizeof *total);
    struct view view = made_view(&s->snapshot, &(struct view_query){ 0 });
    total[0] = 99; /* what was there does not matter */
    view_totals(&view, &s->snapshot, total);
    assert_int_equal(total[0], 127);
    assert_int_equal(total[s->main], 127);
    assert_int_equal(total[s->f], 1 + 4 + 8 + 16);
    assert_int_equal(total[s->ff], 16);
    assert_int_equal(total[s->g], 2 + 64);
    view_deinit(&view);
    free(total);
}

static void a_deep_recursion_adds_up_at_every_level(void **state)
{
    enum { DEPTH = 5000 };
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    const frame_id frame = made_frame(profile, "f", 1);
    uint64_t *const total = calloc(DEPTH + 1, sizeof *total);
    struct err err = { 0 };
    node_id node = 0;
    (void)state;
    for (unsigned i = 0; i < DEPTH; i++) {
        assert_ok(profile_node(profile, node, frame, &node, &err), &err);
        assert_ok(profile_add(profile, thread, 0, node, 1, &err), &err);
    }
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct view view = made_view(&snapshot, &(struct view_query){ 0 });
    view_totals(&view, &snapshot, total);
    assert_int_equal(total[0], DEPTH);
    for (unsigned i = 1; i <= DEPTH; i++)
        assert_int_equal(total[i], DEPTH + 1 - i);
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
    free(total);
}

static void totals_of_a_part_are_that_part(void **state)
{
    const struct session_entry *const s = *state;
    uint64_t *const total = calloc(s->snapshot.sizes.nodes, sizeof *total);
    struct view view = made_view(&s->snapshot, &(struct view_query){ .since = 2 });
    view_totals(&view, &s->snapshot, total);
    assert_int_equal(total[0], 32 + 64);
    assert_int_equal(total[s->f], 0);
    view_deinit(&view);
    free(total);
}

static void cells_are_summed_over_time_and_in_order(void **state)
{
    const struct session_entry *const s = *state;
    const struct view_cell expected[] = {
        { s->a, s->f, STATE_ON_CPU | STATE_HAS_GIL, 1 + 4, 0 },
        { s->a, s->f, STATE_UNKNOWN_ON_CPU, 8, 0 },
        { s->b, s->g, 0, 2 + 64, 0 },
        { s->c, s->ff, STATE_ON_CPU, 16, 0 },
        { s->c, s->main, STATE_HAS_GIL, 32, 0 },
    };
    struct view_cells cells;
    struct err err = { 0 };
    assert_ok(view_cells_init(&cells, &s->snapshot, &(struct view_query){ 0 }, &err), &err);
    assert_int_equal(cells.count, 5);
    for (size_t i = 0; i < cells.count; i++) {
        assert_int_equal(cells.cells[i].thread, expected[i].thread);
        assert_int_equal(cells.cells[i].node, expected[i].node);
        assert_int_equal(cells.cells[i].state, expected[i].state);
        assert_int_equal(cells.cells[i].count, expected[i].count);
    }
    view_cells_deinit(&cells);
}

static void sums_go_beyond_the_count_of_a_cell(void **state)
{
    struct session_entry *const s = *state;
    for (unsigned i = 0; i < 3; i++) {
        made_add(s->profile, s->a, 0, "main;g", UINT32_MAX);
        made_seal(s->profile, 4 + i);
    }
    profile_snapshot_release(&s->snapshot);
    s->snapshot = made_snapshot(s->profile);
    expect_total(s, (struct view_query){ .since = 3 }, 3 * (uint64_t)UINT32_MAX);
}

static void a_session_without_samples_has_an_empty_view(void **state)
{
    struct profile *const profile = made_profile();
    struct profile_snapshot snapshot = made_snapshot(profile);
    const struct view_query query = { .threads = &(thread_id){ 0 }, .thread_count = 1 };
    struct view view = made_view(&snapshot, &query);
    struct view_cells cells;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(view.count, 0);
    assert_int_equal(view.total, 0);
    view_totals(&view, &snapshot, NULL);
    assert_ok(view_cells_init(&cells, &snapshot, &query, &err), &err);
    assert_int_equal(cells.count, 0);
    view_cells_deinit(&cells);
    view_deinit(&view);
    view_deinit(&view); /* a second time is harmless */
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void without_memory_a_view_is_an_error_and_no_leak(void **state)
{
    const struct session_entry *const s = *state;
    const struct view_query query = {
        .threads = &s->a, .thread_count = 1, .processes = &s->one, .process_count = 1
    };
    const struct view_query by_process = { .processes = &s->one, .process_count = 1 };
    struct view view = { .count = 77 };
    enum err_code rc = ERR_NOMEM;
    for (unsigned nth = 0; rc; nth++) {
        assert_int_equal(view.count, 77);
        failing_alloc_at(nth);
        rc = view_init(&view, &s->snapshot, nth % 2 ? &query : &by_process, NULL);
        failing_alloc_never();
    }
    view_deinit(&view);
}

static void without_memory_cells_are_an_error_and_no_leak(void **state)
{
    const struct session_entry *const s = *state;
    const struct view_query query = { .processes = &s->one, .process_count = 1 };
    struct view_cells cells = { .count = 77 };
    enum err_code rc = ERR_NOMEM;
    unsigned nth = 0;
    while (rc) {
        assert_int_equal(cells.count, 77);
        failing_alloc_at(nth++);
        rc = view_cells_init(&cells, &s->snapshot, &query, NULL);
        failing_alloc_never();
    }
    assert_true(nth > 4);
    view_cells_deinit(&cells);
}

#define WITH_SESSION(test) cmocka_unit_test_setup_teardown(test, begin, end)
#define AMONG_MANY(test)   cmocka_unit_test_setup_teardown(test, begin_among_many, end)

TEST_GROUP(
    WITH_SESSION(a_view_of_everything_has_all_samples_at_their_nodes),
    WITH_SESSION(a_view_has_the_states_of_its_samples_only),
    WITH_SESSION(nodes_ascend_and_have_samples),
    WITH_SESSION(time_selects_windows_by_their_start),
    WITH_SESSION(since_selects_what_came_after), WITH_SESSION(threads_select_their_samples),
    WITH_SESSION(an_empty_list_of_threads_selects_none),
    WITH_SESSION(threads_that_do_not_exist_have_no_samples),
    WITH_SESSION(processes_select_the_samples_of_their_threads),
    WITH_SESSION(threads_and_processes_must_both_fit),
    WITH_SESSION(required_bits_must_all_be_there),
    WITH_SESSION(excluded_bits_must_all_be_missing),
    WITH_SESSION(unknown_is_a_value_of_its_own), WITH_SESSION(totals_count_everything_beneath),
    WITH_SESSION(a_deep_recursion_adds_up_at_every_level),
    WITH_SESSION(totals_of_a_part_are_that_part),
    WITH_SESSION(cells_are_summed_over_time_and_in_order),
    WITH_SESSION(sums_go_beyond_the_count_of_a_cell),
    WITH_SESSION(a_session_without_samples_has_an_empty_view),
    WITH_SESSION(without_memory_a_view_is_an_error_and_no_leak),
    WITH_SESSION(without_memory_cells_are_an_error_and_no_leak),
    AMONG_MANY(a_view_of_everything_has_all_samples_at_their_nodes),
    AMONG_MANY(a_view_has_the_states_of_its_samples_only),
    AMONG_MANY(nodes_ascend_and_have_samples), AMONG_MANY(time_selects_windows_by_their_start),
    AMONG_MANY(since_selects_what_came_after), AMONG_MANY(threads_and_processes_must_both_fit),
    AMONG_MANY(unknown_is_a_value_of_its_own), AMONG_MANY(totals_count_everything_beneath),
    AMONG_MANY(totals_of_a_part_are_that_part),
    AMONG_MANY(without_memory_a_view_is_an_error_and_no_leak))
