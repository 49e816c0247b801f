/* Activity of each process in the last slots. */
#include <stdio.h>

#include "sampler/profile/views/activity.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { WEB = 100, BATCH = 200, LEFT = 300 };

static node_id under(struct profile *profile, node_id parent, const char *name,
                     const char *file, int32_t line)
{
    struct err err = { 0 };
    frame_id frame;
    node_id node;
    assert_ok(profile_frame(profile, made_function(profile, name, file, 1), line, &frame, &err),
              &err);
    assert_ok(profile_node(profile, parent, frame, &node, &err), &err);
    return node;
}

static void add(struct profile *profile, int32_t pid, int32_t tid, node_id node,
                state_bits state, uint32_t count)
{
    struct err err = { 0 };
    assert_ok(profile_add(profile, made_thread(profile, pid, tid), state, node, count, &err),
              &err);
}

/* Ten seconds, 10 samples a second.  LEFT ends after three. */
static int begin(void **state)
{
    struct profile *const profile = made_profile();
    const node_id main = under(profile, 0, "main", "/srv/app.py", 3);
    const node_id work = under(profile, main, "work", "/srv/app.py", 10);
    const node_id decode = under(profile, work, "decode", "/usr/lib/python3.13/json.py", 40);
    const node_id other = under(profile, main, "work", "/srv/app.py", 11);
    const node_id sleep = under(profile, main, "<native> time.sleep", "~", 0);
    const node_id library = under(profile, 0, "run", "/usr/lib/python3.13/runpy.py", 7);
    const node_id leaf = under(profile, library, "<native> zlib", "~", 0);
    for (uint64_t second = 1; second <= 10; second++) {
        profile_set_period(profile, NS_PER_S / 10);
        add(profile, WEB, 1, decode, STATE_ON_CPU | STATE_HAS_GIL, 4);
        add(profile, WEB, 1, other, STATE_RUNNABLE, 2);
        add(profile, WEB, 1, sleep, 0, 4);
        add(profile, WEB, 2, sleep, 0, 10);
        add(profile, BATCH, 3, leaf, STATE_ON_CPU, second > 8 ? 10 : 0);
        add(profile, BATCH, 3, work, 0, second > 8 ? 0 : 10);
        if (second <= 3)
            add(profile, LEFT, 4, other, STATE_ON_CPU, 10);
        made_seal(profile, second);
    }
    *state = profile;
    return 0;
}

static int end(void **state)
{
    profile_destroy(*state);
    return 0;
}

static struct activity activity_of(const struct profile_snapshot *snapshot,
                                   struct own_marks *marks, uint64_t slot_s, size_t slots)
{
    struct activity activity;
    struct err err = { 0 };
    assert_ok(activity_init(&activity, snapshot, marks, slot_s * NS_PER_S, slots, &err), &err);
    return activity;
}

static const struct activity_process *row_of(const struct profile_snapshot *snapshot,
                                             const struct activity *activity, int32_t pid)
{
    for (size_t i = 0; i < activity->count; i++)
        if (profile_process_at(snapshot, activity->processes[i].process).pid == pid)
            return &activity->processes[i];
    return NULL;
}

static void expect_place(const struct profile_snapshot *snapshot,
                         const struct activity_place *place, const char *name, int32_t line,
                         bool is_own, uint64_t tenths)
{
    const struct profile_function function = profile_function_at(snapshot, place->function);
    assert_string_equal(profile_string(snapshot, function.name).text, name);
    assert_int_equal(place->line, line);
    assert_int_equal(place->is_own, is_own);
    assert_int_equal(place->ns, tenths * NS_PER_S / 10);
}

static void each_process_has_its_hottest_line_and_where_it_waits(void **state)
{
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct own_marks marks = { 0 };
    struct activity activity = activity_of(&snapshot, &marks, 10, 4);
    const struct activity_process *const web = row_of(&snapshot, &activity, WEB);
    const struct activity_process *const batch = row_of(&snapshot, &activity, BATCH);
    assert_int_equal(activity.count, 3);
    expect_place(&snapshot, &web->hottest, "work", 10, true, 40);
    expect_place(&snapshot, &web->waits.place, "<native> time.sleep", 0, false, 140);
    assert_int_equal(web->waits.cause, WAIT_UNKNOWN);
    assert_int_equal(web->waits.ns, 14 * NS_PER_S);
    assert_int_equal(web->parts_ns[PART_RUNNING], 4 * NS_PER_S);
    assert_int_equal(web->parts_ns[PART_NEEDS_PROCESSOR], 2 * NS_PER_S);
    assert_int_equal(web->parts_ns[PART_BLOCKED], 14 * NS_PER_S);
    /* Without code of its own the innermost Python frame counts. */
    expect_place(&snapshot, &batch->hottest, "run", 7, false, 20);
    expect_place(&snapshot, &batch->waits.place, "work", 10, true, 80);
    activity_deinit(&activity);
    own_marks_deinit(&marks);
    profile_snapshot_release(&snapshot);
}

/* The cause with most time, though a single place of unknown cause has more than each of its own; of it the
 * line of your own code and the peer with most. */
static void a_process_waits_for_a_cause_at_a_line_of_its_own(void **state)
{
    static const char *const marks[] = { "<waits: network read 10.0.0.5:5432>",
                                         "<waits: network read 10.0.0.6:80>" };
    struct own_marks kept = { 0 };
    struct profile *const profile = *state;
    const node_id fetch = under(profile, 0, "fetch", "/srv/app.py", 30);
    const node_id send = under(profile, 0, "send", "/srv/app.py", 50);
    const node_id receive =
        under(profile, under(profile, fetch, "readinto", "/usr/lib/python3.13/socket.py", 7),
              "<native> recv_into", "~", 0);
    for (uint32_t i = 0; i < 2; i++) {
        const struct profile_function row = { .name = made_string(profile, marks[i]),
                                              .file = made_string(profile, "~") };
        struct err err = { 0 };
        function_id function;
        frame_id frame;
        node_id node;
        assert_ok(profile_function_row(profile, &row, &function, &err), &err);
        assert_ok(profile_frame(profile, function, 0, &frame, &err), &err);
        assert_ok(profile_node(profile, i ? send : receive, frame, &node, &err), &err);
        add(profile, WEB, 1, node, 0, i ? 70 : 90);
    }
    made_seal(profile, 11);
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct activity activity = activity_of(&snapshot, &kept, 20, 4);
    const struct activity_wait *const waits = &row_of(&snapshot, &activity, WEB)->waits;
    struct wait_text text;
    assert_int_equal(waits->cause, WAIT_NETWORK_READ);
    assert_int_equal(waits->ns, 16 * NS_PER_S);
    expect_place(&snapshot, &waits->place, "fetch", 30, true, 90);
    assert_true(wait_of_function(&snapshot, waits->mark, &text));
    assert_memory_equal(text.detail, "10.0.0.5:5432", 13);
    activity_deinit(&activity);
    own_marks_deinit(&kept);
    profile_snapshot_release(&snapshot);
}

static void functions_add_up_over_lines_and_processes(void **state)
{
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct own_marks marks = { 0 };
    struct activity activity = activity_of(&snapshot, &marks, 10, 4);
    assert_int_equal(activity.function_count, 2);
    /* Its hottest line is the one that is hottest in a single process. */
    expect_place(&snapshot, &activity.functions[0].place, "work", 10, true, 70);
    assert_int_equal(activity.functions[0].processes, 2);
    assert_int_equal(profile_process_at(&snapshot, activity.functions[0].process).pid, WEB);
    expect_place(&snapshot, &activity.functions[1].place, "run", 7, false, 20);
    assert_int_equal(activity.functions[1].processes, 1);
    assert_int_equal(activity.running_ns, 9 * NS_PER_S);
    activity_deinit(&activity);
    own_marks_deinit(&marks);
    profile_snapshot_release(&snapshot);
}

static void slots_begin_at_whole_multiples_and_the_last_goes_on(void **state)
{
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct own_marks marks = { 0 };
    struct activity activity = activity_of(&snapshot, &marks, 3, 3);
    const uint64_t wanted_s[] = { 0, 1, 1 };
    assert_int_equal(activity.slots, 3);
    assert_int_equal(activity.from_ns, 3 * NS_PER_S);
    assert_int_equal(activity.to_ns, 10 * NS_PER_S);
    const struct activity_process *const batch = row_of(&snapshot, &activity, BATCH);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(batch->running[i], wanted_s[i] * NS_PER_S);
    /* It has ended before the range began. */
    assert_null(row_of(&snapshot, &activity, LEFT));
    activity_deinit(&activity);
    activity = activity_of(&snapshot, &marks, 4, 200);
    assert_int_equal(activity.slots, 3);
    assert_int_equal(activity.from_ns, 0);
    assert_true(row_of(&snapshot, &activity, WEB)->is_present);
    assert_false(row_of(&snapshot, &activity, LEFT)->is_present);
    activity_deinit(&activity);
    own_marks_deinit(&marks);
    profile_snapshot_release(&snapshot);
}

static void marks_grow_with_the_profile(void **state)
{
    struct own_marks marks = { 0 };
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct activity activity = activity_of(&snapshot, &marks, 10, 4);
    activity_deinit(&activity);
    profile_snapshot_release(&snapshot);
    add(*state, WEB, 1, under(*state, 0, "new", "/srv/new.py", 5), STATE_ON_CPU, 500);
    made_seal(*state, 11);
    snapshot = made_snapshot(*state);
    activity = activity_of(&snapshot, &marks, 10, 4);
    expect_place(&snapshot, &activity.functions[0].place, "new", 5, true, 500);
    activity_deinit(&activity);
    own_marks_deinit(&marks);
    profile_snapshot_release(&snapshot);
}

/* More functions than are listed, as many a host has. */
static void the_hottest_functions_stay(void **state)
{
    struct own_marks marks = { 0 };
    char name[16];
    for (uint32_t i = 1; i <= 2 * ACTIVITY_MAX_FUNCTIONS; i++) {
        snprintf(name, sizeof name, "f%u", i);
        add(*state, WEB, 1, under(*state, 0, name, "/srv/many.py", (int32_t)i), STATE_ON_CPU,
            1000 + i * 7 % 65);
    }
    made_seal(*state, 11);
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct activity activity = activity_of(&snapshot, &marks, 10, 4);
    assert_int_equal(activity.function_count, ACTIVITY_MAX_FUNCTIONS);
    for (uint32_t i = 0; i < ACTIVITY_MAX_FUNCTIONS; i++)
        assert_int_equal(activity.functions[i].place.ns, (1064 - i) * (NS_PER_S / 10));
    activity_deinit(&activity);
    own_marks_deinit(&marks);
    profile_snapshot_release(&snapshot);
}

static void an_empty_profile_has_no_rows(void **state)
{
    struct profile *const profile = made_profile();
    struct own_marks marks = { 0 };
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct activity activity = activity_of(&snapshot, &marks, 5, 60);
    (void)state;
    assert_int_equal(activity.count, 0);
    assert_int_equal(activity.function_count, 0);
    activity_deinit(&activity);
    own_marks_deinit(&marks);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void no_memory_is_an_error(void **state)
{
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct activity activity;
    struct err err = { 0 };
    enum err_code rc = ERR_NOMEM;
    for (unsigned i = 0; rc == ERR_NOMEM; i++) {
        struct own_marks marks = { 0 };
        failing_alloc_at(i);
        rc = activity_init(&activity, &snapshot, &marks, NS_PER_S, 60, &err);
        failing_alloc_never();
        own_marks_deinit(&marks);
    }
    assert_ok(rc, &err);
    activity_deinit(&activity);
    profile_snapshot_release(&snapshot);
}

TEST_GROUP(cmocka_unit_test_setup_teardown(each_process_has_its_hottest_line_and_where_it_waits,
                                           begin, end),
           cmocka_unit_test_setup_teardown(a_process_waits_for_a_cause_at_a_line_of_its_own,
                                           begin, end),
           cmocka_unit_test_setup_teardown(functions_add_up_over_lines_and_processes, begin,
                                           end),
           cmocka_unit_test_setup_teardown(slots_begin_at_whole_multiples_and_the_last_goes_on,
                                           begin, end),
           cmocka_unit_test_setup_teardown(marks_grow_with_the_profile, begin, end),
           cmocka_unit_test_setup_teardown(the_hottest_functions_stay, begin, end),
           cmocka_unit_test(an_empty_profile_has_no_rows),
           cmocka_unit_test_setup_teardown(no_memory_is_an_error, begin, end))
