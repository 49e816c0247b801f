#include <string.h>

#include "sampler/profile/views/states.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { SAMPLES_0 = 60 + 40 + 20, SAMPLES_1 = 7 };

/* Thread 0 in three states over two seconds, thread 1 in one, thread 2 without samples. */
static struct profile *made(void)
{
    struct profile *const profile = made_profile();
    const thread_id main_thread = made_thread(profile, 100, 100);
    const thread_id other = made_thread(profile, 100, 101);
    made_thread(profile, 100, 102);
    made_add(profile, main_thread, STATE_ON_CPU | STATE_HAS_GIL, "main;work", 60);
    made_add(profile, main_thread, STATE_WAITS_GIL, "main;work", 40);
    made_seal(profile, 1);
    made_add(profile, main_thread, STATE_UNKNOWN_ON_CPU | STATE_HAS_GIL, "main", 20);
    made_add(profile, other, STATE_ALL_UNKNOWN, "main", SAMPLES_1);
    made_seal(profile, 2);
    return profile;
}

static struct states states_of(const struct profile_snapshot *snapshot,
                               const struct view_query *query)
{
    struct states states;
    struct err err = { 0 };
    assert_ok(states_init(&states, snapshot, query, &err), &err);
    return states;
}

static void facts_have_the_bits_and_words_of_their_names(void **state)
{
    (void)state;
    assert_int_equal(state_flag_yes(STATE_FLAG_HAS_EXCEPTION), STATE_HAS_EXCEPTION);
    assert_int_equal(state_flag_unknown(STATE_FLAG_ON_CPU), STATE_UNKNOWN_ON_CPU);
    assert_string_equal(state_flag_text(STATE_FLAG_WAITS_GIL), "waits_gil");
    state_bits all = 0;
    for (unsigned flag = 0; flag < STATE_FLAG_COUNT; flag++)
        all = (state_bits)(all | state_flag_unknown((enum state_flag)flag));
    assert_int_equal(all, STATE_ALL_UNKNOWN);
}

static void threads_sum_to_the_whole(void **state)
{
    const struct view_query everything = { 0 };
    struct profile *const profile = made();
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct states states = states_of(&snapshot, &everything);
    (void)state;
    assert_int_equal(states.generation, snapshot.generation);
    assert_int_equal(states.count, 2);
    assert_int_equal(states.rows[0].thread, 0);
    assert_int_equal(states.rows[0].sums.samples, SAMPLES_0);
    assert_int_equal(states.rows[1].thread, 1);
    assert_int_equal(states.rows[1].sums.samples, SAMPLES_1);
    assert_int_equal(states.all.samples, SAMPLES_0 + SAMPLES_1);
    assert_int_equal(states.all.yes[STATE_FLAG_HAS_GIL], 80);
    assert_int_equal(states.all.unknown[STATE_FLAG_HAS_GIL], SAMPLES_1);
    states_deinit(&states);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

/* They neither hold the GIL nor have released it. */
static void waiting_tasks_are_no_threads(void **state)
{
    const struct view_query everything = { 0 };
    struct profile *const profile = made();
    struct err err = { 0 };
    struct profile_thread tasks = { 0 };
    thread_id id;
    (void)state;
    assert_ok(strtab_intern(profile_strings(profile), PROFILE_WAITING_TASKS,
                            strlen(PROFILE_WAITING_TASKS), &tasks.name, &err),
              &err);
    assert_ok(profile_thread(profile, &tasks, &id, &err), &err);
    made_add(profile, id, 0, "task", 1000);
    made_seal(profile, 3);
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct states states = states_of(&snapshot, &everything);
    assert_int_equal(states.count, 3);
    assert_int_equal(states.rows[2].sums.samples, 1000);
    for (enum part part = 0; part < PART_COUNT; part++)
        assert_int_equal(states.rows[2].sums.parts[part], 0);
    assert_int_equal(states.tasks, 1000);
    assert_int_equal(states.all.samples, SAMPLES_0 + SAMPLES_1);
    assert_int_equal(states.all.parts[PART_BLOCKED], 0);
    for (thread_id thread = 0; thread < snapshot.sizes.threads; thread++)
        assert_int_equal(profile_is_waiting_tasks(&snapshot, thread), thread == id);
    states_deinit(&states);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void unknown_is_neither_yes_nor_no(void **state)
{
    const struct view_query everything = { 0 };
    struct profile *const profile = made();
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct states states = states_of(&snapshot, &everything);
    const struct state_sums *const main_thread = &states.rows[0].sums;
    (void)state;
    assert_int_equal(main_thread->yes[STATE_FLAG_ON_CPU], 60);
    assert_int_equal(main_thread->unknown[STATE_FLAG_ON_CPU], 20);
    assert_true(state_sums_at_least(main_thread, STATE_FLAG_ON_CPU) == 60.0 / SAMPLES_0);
    assert_true(state_sums_at_most(main_thread, STATE_FLAG_ON_CPU) == 80.0 / SAMPLES_0);
    assert_true(state_sums_at_most(main_thread, STATE_FLAG_IN_GC) == 0);
    assert_true(state_sums_at_least(&states.rows[1].sums, STATE_FLAG_ON_CPU) == 0);
    assert_true(state_sums_at_most(&states.rows[1].sums, STATE_FLAG_ON_CPU) == 1);
    states_deinit(&states);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void every_sample_is_in_one_part(void **state)
{
    const struct view_query everything = { 0 };
    struct profile *const profile = made();
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct states states = states_of(&snapshot, &everything);
    uint64_t samples = 0;
    (void)state;
    for (enum part part = 0; part < PART_COUNT; part++)
        samples += states.all.parts[part];
    assert_int_equal(samples, SAMPLES_0 + SAMPLES_1);
    assert_int_equal(states.all.parts[PART_NEEDS_GIL], 40);
    states_deinit(&states);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void queries_choose_times_and_states_as_views_do(void **state)
{
    static const struct {
        struct view_query query;
        uint64_t samples;
    } rows[] = {
        { { .since = 1 }, 20 + SAMPLES_1 },
        { { .since = 2 }, 0 },
        { { .to_ns = NS_PER_S }, 100 },
        { { .from_ns = NS_PER_S }, 20 + SAMPLES_1 },
        { { .states.require = STATE_HAS_GIL }, 80 },
        { { .states.require = STATE_HAS_GIL,
            .states.exclude = STATE_ON_CPU | STATE_UNKNOWN_ON_CPU },
          0 },
        { { .states.exclude = STATE_UNKNOWN_ON_CPU }, 100 },
    };
    struct profile *const profile = made();
    struct profile_snapshot snapshot = made_snapshot(profile);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct states states = states_of(&snapshot, &rows[i].query);
        struct view view = made_view(&snapshot, &rows[i].query);
        assert_int_equal(states.all.samples, rows[i].samples);
        assert_int_equal(view.total, rows[i].samples);
        view_deinit(&view);
        states_deinit(&states);
    }
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void nothing_sampled_is_no_rows(void **state)
{
    const struct view_query everything = { 0 };
    struct profile *const profile = made_profile();
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct states states = states_of(&snapshot, &everything);
    (void)state;
    assert_int_equal(states.count, 0);
    assert_int_equal(states.all.samples, 0);
    assert_true(state_sums_at_least(&states.all, STATE_FLAG_ON_CPU) < 0);
    assert_true(state_sums_at_most(&states.all, STATE_FLAG_ON_CPU) < 0);
    states_deinit(&states);
    states_deinit(&states);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

TEST_GROUP(cmocka_unit_test(facts_have_the_bits_and_words_of_their_names),
           cmocka_unit_test(threads_sum_to_the_whole),
           cmocka_unit_test(waiting_tasks_are_no_threads),
           cmocka_unit_test(unknown_is_neither_yes_nor_no),
           cmocka_unit_test(every_sample_is_in_one_part),
           cmocka_unit_test(queries_choose_times_and_states_as_views_do),
           cmocka_unit_test(nothing_sampled_is_no_rows))
