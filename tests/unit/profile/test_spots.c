#include <stdlib.h>

#include "sampler/profile/views/view.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

/* Two windows of a second; both spots are in f, which is called by main and by g. */
struct session_entry {
    struct profile *profile;
    struct profile_snapshot snapshot;
    node_id below_main, below_g;
    spot_id add, call;
};

static spot_id made_spot(struct profile *profile, int32_t column, const char *opcode,
                         const char *base)
{
    struct err err = { 0 };
    const struct profile_spot row = { .function = 1,
                                      .line = 1,
                                      .end_line = 1,
                                      .column = column,
                                      .end_column = column + 4,
                                      .opcode = made_string(profile, opcode),
                                      .base = made_string(profile, base) };
    spot_id spot = PROFILE_NO_SPOT;
    assert_ok(profile_spot(profile, &row, &spot, &err), &err);
    return spot;
}

static void count(struct session_entry *s, node_id node, spot_id spot, uint32_t samples)
{
    struct err err = { 0 };
    assert_ok(profile_add_spot(s->profile, node, spot, samples, &err), &err);
}

static int begin(void **state)
{
    struct session_entry *const s = calloc(1, sizeof *s);
    struct profile *const p = s->profile = made_profile();
    const thread_id thread = made_thread(p, 1, 11);
    s->below_main = made_node(p, "main;f");
    s->below_g = made_node(p, "main;g;f");
    s->add = made_spot(p, 4, "BINARY_OP_ADD_INT", "BINARY_OP");
    s->call = made_spot(p, 8, "CALL", "CALL");
    made_add(p, thread, 0, "main;f", 3);
    count(s, s->below_main, s->call, 2);
    count(s, s->below_main, s->add, 1);
    made_seal(p, 1);
    made_add(p, thread, 0, "main;f", 4);
    made_add(p, thread, 0, "main;g;f", 8);
    count(s, s->below_g, s->add, 8);
    count(s, s->below_main, s->call, 4);
    made_seal(p, 2);
    s->snapshot = made_snapshot(p);
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct session_entry *const s = *state;
    profile_snapshot_release(&s->snapshot);
    profile_destroy(s->profile);
    free(s);
    return 0;
}

static struct view_spots view_of(const struct session_entry *s, const struct view_query *query)
{
    struct err err = { 0 };
    struct view_spots spots;
    assert_ok(view_spots_init(&spots, &s->snapshot, query, &err), &err);
    return spots;
}

static void expect(const struct view_spot *found, node_id node, spot_id spot, uint64_t samples)
{
    assert_int_equal(found->node, node);
    assert_int_equal(found->spot, spot);
    assert_int_equal(found->self, samples);
}

static void spots_are_summed_beside_their_nodes(void **state)
{
    const struct session_entry *const s = *state;
    struct view_spots spots = view_of(s, &(struct view_query){ 0 });
    assert_int_equal(spots.count, 3);
    expect(&spots.spots[0], s->below_main, s->add, 1);
    expect(&spots.spots[1], s->below_main, s->call, 6);
    expect(&spots.spots[2], s->below_g, s->add, 8);
    view_spots_deinit(&spots);
}

/* f at two places, below a mark and many native frames; main called it from one place. */
#define MARKED "main;a@l;b@l;c@l;d@l;e@l;f@l;g@l;h@l;i@l;j@l;<native>;f"
static void callers_have_what_they_called(void **state)
{
    struct session_entry *const s = *state;
    struct err err = { 0 };
    spot_id outer, inner[2];
    const str_id op = made_string(s->profile, "CALL");
    const node_id marked = made_node(s->profile, MARKED);
    const function_id main = made_function(s->profile, "main", "made.py", 1);
    const function_id f = made_function(s->profile, "f", "made.py", 1);
    struct profile_spot row = { .function = main, .line = 5, .opcode = op, .base = op };
    assert_ok(profile_spot(s->profile, &row, &outer, &err), &err);
    row = (struct profile_spot){ .function = f, .line = 6, .opcode = op, .base = op };
    row.caller = outer + 1;
    assert_ok(profile_spot(s->profile, &row, &inner[0], &err), &err);
    row.line = 7;
    assert_ok(profile_spot(s->profile, &row, &inner[1], &err), &err);
    count(s, marked, inner[0], 3);
    count(s, marked, inner[1], 4);
    made_add(s->profile, 0, 0, MARKED, 7);
    made_seal(s->profile, 3);
    struct profile_snapshot snapshot = made_snapshot(s->profile);
    struct view_spots spots;
    assert_ok(view_spots_init(&spots, &snapshot, &(struct view_query){ .since = 2 }, &err),
              &err);
    assert_int_equal(spots.count, 3);
    assert_int_equal(spots.spots[0].spot, outer);
    assert_int_equal(spots.spots[0].self, 0);
    assert_int_equal(spots.spots[0].total, 7);
    expect(&spots.spots[1], marked, inner[0], 3);
    expect(&spots.spots[2], marked, inner[1], 4);
    assert_int_equal(spots.spots[2].total, 4);
    view_spots_deinit(&spots);
    profile_snapshot_release(&snapshot);
}

static void spots_are_chosen_by_time_and_generation(void **state)
{
    const struct session_entry *const s = *state;
    struct view_spots spots = view_of(s, &(struct view_query){ .to_ns = NS_PER_S });
    assert_int_equal(spots.count, 2);
    expect(&spots.spots[1], s->below_main, s->call, 2);
    view_spots_deinit(&spots);
    spots = view_of(s, &(struct view_query){ .since = 1 });
    assert_int_equal(spots.count, 2);
    expect(&spots.spots[0], s->below_main, s->call, 4);
    view_spots_deinit(&spots);
}

static void spots_know_no_threads_and_no_states(void **state)
{
    const struct session_entry *const s = *state;
    const thread_id thread = 0;
    const process_id process = 0;
    const struct view_query queries[] = {
        { .threads = &thread, .thread_count = 1 },
        { .processes = &process, .process_count = 1 },
        { .states.require = STATE_ON_CPU },
        { .states.exclude = STATE_ON_CPU },
    };
    struct view_spots spots;
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_int_equal(view_spots_init(&spots, &s->snapshot, &queries[i], NULL), ERR_INVALID);
}

static void spots_are_no_samples_of_their_own(void **state)
{
    const struct session_entry *const s = *state;
    struct view view = made_view(&s->snapshot, &(struct view_query){ 0 });
    assert_int_equal(view.total, 15);
    view_deinit(&view);
}

static void a_spot_is_what_it_was_made_of(void **state)
{
    const struct session_entry *const s = *state;
    const struct profile_spot spot = profile_spot_at(&s->snapshot, s->add);
    assert_int_equal(s->snapshot.sizes.spots, 2);
    assert_int_equal(spot.column, 4);
    assert_int_equal(spot.end_column, 8);
    assert_string_equal(profile_string(&s->snapshot, spot.opcode).text, "BINARY_OP_ADD_INT");
    assert_string_equal(profile_string(&s->snapshot, spot.base).text, "BINARY_OP");
}

static void equal_spots_are_one(void **state)
{
    const struct session_entry *const s = *state;
    assert_int_equal(made_spot(s->profile, 8, "CALL", "CALL"), s->call);
    assert_int_not_equal(made_spot(s->profile, 8, "CALL_LEN", "CALL"), s->call);
}

static void what_does_not_exist_is_refused(void **state)
{
    const struct session_entry *const s = *state;
    const struct profile_spot spot = { .function = 1000 };
    const struct profile_spot orphan = { .function = 1, .caller = 1000 };
    spot_id id;
    assert_int_equal(profile_spot(s->profile, &spot, &id, NULL), ERR_INVALID);
    assert_int_equal(profile_spot(s->profile, &orphan, &id, NULL), ERR_INVALID);
    assert_int_equal(profile_add_spot(s->profile, 1, 1000, 1, NULL), ERR_INVALID);
    assert_int_equal(profile_add_spot(s->profile, 1000, 1, 1, NULL), ERR_INVALID);
}

static void a_window_without_memory_for_spots_is_not_made(void **state)
{
    const struct session_entry *const s = *state;
    const uint32_t generation = s->snapshot.generation;
    made_add(s->profile, 0, 0, "main;f", 1);
    assert_int_equal(profile_add_spot(s->profile, s->below_main, s->call, 1, NULL), ERR_OK);
    failing_alloc_at(1);
    assert_int_equal(profile_seal(s->profile, 3 * NS_PER_S, NULL), ERR_NOMEM);
    failing_alloc_never();
    made_seal(s->profile, 4);
    struct profile_snapshot snapshot = made_snapshot(s->profile);
    assert_int_equal(snapshot.generation, generation + 1);
    assert_int_equal(snapshot.windows[snapshot.window_count - 1]->spot_count, 1);
    profile_snapshot_release(&snapshot);
}

static void spots_are_counted_as_memory(void **state)
{
    const struct session_entry *const s = *state;
    const size_t before = made_bytes(s->profile);
    assert_int_equal(profile_add_spot(s->profile, s->below_g, s->call, 1, NULL), ERR_OK);
    made_add(s->profile, 0, 0, "main;f", 1);
    made_seal(s->profile, 4);
    assert_true(made_bytes(s->profile) >= before + sizeof(struct window) + sizeof(struct cell) +
                                              sizeof(struct spot_cell));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_GROUP(TEST(spots_are_summed_beside_their_nodes), TEST(callers_have_what_they_called),
           TEST(spots_are_chosen_by_time_and_generation),
           TEST(spots_know_no_threads_and_no_states), TEST(spots_are_no_samples_of_their_own),
           TEST(a_spot_is_what_it_was_made_of), TEST(equal_spots_are_one),
           TEST(what_does_not_exist_is_refused),
           TEST(a_window_without_memory_for_spots_is_not_made),
           TEST(spots_are_counted_as_memory))
