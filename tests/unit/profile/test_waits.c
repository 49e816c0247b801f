/* Why threads wait: tests/waits.json, which tests/web/model/waits.test.mjs runs through the page's half; shares. */
#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/mark_shares.h"
#include "sampler/profile/views/reshape.h"
#include "sampler/profile/views/thread_waits.h"
#include "sampler/profile/wait.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/shared_cases.h"
#include "tests/support/test.h"

static cJSON *cases;

static int begin(void **state)
{
    (void)state;
    cases = shared_cases_read("waits.json");
    return 0;
}

static int end(void **state)
{
    (void)state;
    cJSON_Delete(cases);
    return 0;
}

static void patterns_match_what_they_match_in_the_page(void **state)
{
    (void)state;
    shared_cases_check_patterns(cases);
}

static void stacks_are_what_they_are_in_the_page(void **state)
{
    const cJSON *row;
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "cases"))
    {
        struct frame_filters filters = {
            .waits =
                cJSON_IsTrue(cJSON_GetArrayItem(row, 0)) ? WAIT_MARKS_SHOWN : WAIT_MARKS_HIDDEN,
        };
        shared_cases_add_terms(&filters, cJSON_GetArrayItem(row, 1));
        shared_cases_check(cases, &filters, cJSON_GetArrayItem(row, 2));
    }
}

static void every_name_is_read_as_it_was_written(void **state)
{
    char name[WAIT_MAX_NAME];
    struct wait_text wait;
    (void)state;
    for (enum wait_cause cause = WAIT_UNKNOWN; cause < WAIT_CAUSE_COUNT; cause++) {
        wait_name(cause, "", name);
        assert_true(wait_read_name(name, &wait));
        assert_int_equal(wait.cause, cause);
        assert_int_equal(wait.detail_length, 0);
        wait_name(cause, "[::1]:80", name);
        assert_true(wait_read_name(name, &wait));
        assert_int_equal(wait.cause, cause);
        assert_int_equal(wait.detail_length, 8);
        assert_memory_equal(wait.detail, "[::1]:80", 8);
    }
}

static void a_long_peer_is_cut(void **state)
{
    char detail[400], name[WAIT_MAX_NAME];
    struct wait_text wait;
    (void)state;
    memset(detail, 'x', sizeof detail);
    detail[sizeof detail - 1] = '\0';
    wait_name(WAIT_NETWORK_WRITE, detail, name);
    assert_true(wait_read_name(name, &wait));
    assert_in_range(wait.detail_length, 40, WAIT_MAX_NAME);
}

static void other_marks_say_nothing(void **state)
{
    static const char *const names[] = { "",
                                         "<GC>",
                                         "<waits: >",
                                         "<waits: sleep",
                                         "<waits:",
                                         "<waits: sleepy>",
                                         "<waits: lock x",
                                         "waits: sleep>" };
    struct wait_text wait;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(wait_read_name(names[i], &wait));
}

static void functions_say_what_they_say_in_the_page(void **state)
{
    const cJSON *row;
    struct profile *const profile = shared_cases_profile(cases);
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "functions"))
    {
        const function_id id = shared_cases_function(cases, profile, row->string);
        const cJSON *const wanted =
            cJSON_GetObjectItem(cJSON_GetObjectItem(cases, "waits"), row->string);
        made_seal(profile, 2);
        struct profile_snapshot snapshot = made_snapshot(profile);
        struct wait_text wait;
        assert_int_equal(wait_of_function(&snapshot, id, &wait), wanted != NULL);
        if (wanted) {
            assert_string_equal(wait_cause_title(wait.cause), shared_cases_text(wanted, 0));
            assert_int_equal(wait_cause_is_idle(wait.cause),
                             cJSON_IsTrue(cJSON_GetArrayItem(wanted, 1)));
            assert_int_equal(wait.detail_length, strlen(shared_cases_text(wanted, 2)));
            assert_memory_equal(wait.detail, shared_cases_text(wanted, 2), wait.detail_length);
        }
        profile_snapshot_release(&snapshot);
    }
    profile_destroy(profile);
}

static void only_profiles_with_waits_need_another_shape(void **state)
{
    struct profile *const profile = made_profile();
    struct frame_filters filters = { .waits = WAIT_MARKS_HIDDEN };
    (void)state;
    (void)shared_cases_node(cases, profile, "main;native");
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_false(reshape_is_needed(&snapshot, &filters));
    profile_snapshot_release(&snapshot);
    (void)shared_cases_node(cases, profile, "main;read");
    made_seal(profile, 2);
    snapshot = made_snapshot(profile);
    assert_true(reshape_is_needed(&snapshot, &filters));
    filters.waits = WAIT_MARKS_SHOWN;
    assert_false(reshape_is_needed(&snapshot, &filters));
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

/* Three threads: one waits, one runs at the same places, one stands for waiting tasks. */
static struct profile *made_waiting(void)
{
    struct profile *const profile = made_profile();
    const struct profile_thread tasks = { .name = made_string(profile, PROFILE_WAITING_TASKS) };
    const thread_id waiting = made_thread(profile, 7, 7), running = made_thread(profile, 7, 8);
    const state_bits on_cpu = STATE_ON_CPU, unknown = STATE_UNKNOWN_ON_CPU;
    thread_id of_tasks = 0;
    struct err err = { 0 };
    assert_ok(profile_thread(profile, &tasks, &of_tasks, &err), &err);
    const struct {
        thread_id thread;
        state_bits state;
        const char *stack;
        uint32_t count;
    } cells[] = {
        { waiting, 0, "main;recv;read", 8 },
        { waiting, 0, "main;read", 4 },
        { waiting, 0, "main;recv;other", 1 },
        { waiting, 0, "main;loop", 20 },
        { waiting, 0, "main", 3 },
        { waiting, 0, "main;broken", 2 },
        { running, on_cpu, "main;recv", 100 },
        { running, unknown, "main", 50 },
        { running, on_cpu, "main;loop", 10 },
        { of_tasks, 0, "main", 1000 },
    };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        assert_ok(profile_add(profile, cells[i].thread, cells[i].state,
                              shared_cases_node(cases, profile, cells[i].stack), cells[i].count,
                              &err),
                  &err);
    made_seal(profile, 1);
    return profile;
}

static void shares_are_of_waiting_samples(void **state)
{
    struct profile *const profile = made_waiting();
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct mark_shares shares;
    struct err err = { 0 };
    (void)state;
    assert_ok(mark_shares_init(&shares, MARK_WAITS, &snapshot, &(struct view_query){ 0 }, &err),
              &err);
    assert_int_equal(shares.samples, 198);
    assert_int_equal(shares.waiting, 38);
    assert_int_equal(shares.idle, 20);
    assert_int_equal(shares.by_cause[WAIT_NETWORK_READ], 13);
    assert_int_equal(shares.by_cause[WAIT_EVENT_LOOP], 20);
    assert_int_equal(shares.by_cause[WAIT_UNKNOWN], 5);
    assert_int_equal(shares.count, 3);
    assert_int_equal(shares.items[0].samples, 20);
    assert_int_equal(shares.items[1].samples, 12);
    assert_memory_equal(shares.items[1].wait.detail, "10.0.0.5:5432", 13);
    assert_int_equal(shares.items[2].samples, 1);
    mark_shares_deinit(&shares);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void a_profile_without_causes_has_none(void **state)
{
    struct profile *const profile = made_profile();
    struct mark_shares shares;
    struct err err = { 0 };
    (void)state;
    made_add(profile, made_thread(profile, 7, 7), 0, "main", 9);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(mark_shares_init(&shares, MARK_WAITS, &snapshot, &(struct view_query){ 0 }, &err),
              &err);
    assert_int_equal(shares.waiting, 9);
    assert_int_equal(shares.by_cause[WAIT_UNKNOWN], 9);
    assert_int_equal(shares.count, 0);
    mark_shares_deinit(&shares);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void shares_without_memory_fail(void **state)
{
    struct profile *const profile = made_waiting();
    struct profile_snapshot snapshot = made_snapshot(profile);
    (void)state;
    const struct view_query everything = { 0 };
    struct mark_shares shares;
    struct err err = { 0 };
    enum err_code rc = ERR_NOMEM;
    for (unsigned i = 0; rc == ERR_NOMEM; i++) {
        failing_alloc_at(i);
        rc = mark_shares_init(&shares, MARK_WAITS, &snapshot, &everything, &err);
        failing_alloc_never();
    }
    assert_ok(rc, &err);
    mark_shares_deinit(&shares);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void each_thread_has_its_main_cause(void **state)
{
    struct profile *const profile = made_waiting();
    const thread_id reader = made_thread(profile, 7, 9);
    struct err err = { 0 };
    struct thread_waits waits;
    char text[WAIT_MAX_NAME];
    (void)state;
    assert_ok(profile_add(profile, reader, 0, shared_cases_node(cases, profile, "main;read"), 9,
                          &err),
              &err);
    made_seal(profile, 2);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(thread_waits_init(&waits, &snapshot, &(struct view_query){ 0 }, &err), &err);
    assert_int_equal(waits.count, 2);
    assert_int_equal(waits.rows[0].waiting, 38);
    assert_int_equal(waits.rows[0].samples, 20);
    thread_wait_text(&snapshot, &waits.rows[0], text, sizeof text);
    assert_string_equal(text, "event loop");
    assert_int_equal(waits.rows[1].thread, reader);
    assert_int_equal(waits.rows[1].samples, 9);
    thread_wait_text(&snapshot, &waits.rows[1], text, sizeof text);
    assert_string_equal(text, "network read 10.0.0.5:5432");
    /* Together they waited most for the network. */
    assert_int_equal(waits.all.waiting, 47);
    assert_int_equal(waits.all.samples, 22);
    assert_int_equal(waits.all.cause, WAIT_NETWORK_READ);
    thread_waits_deinit(&waits);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void a_cause_that_is_unknown_is_said_to_be(void **state)
{
    struct profile *const profile = made_profile();
    struct thread_waits waits;
    struct err err = { 0 };
    char text[WAIT_MAX_NAME];
    (void)state;
    made_add(profile, made_thread(profile, 7, 7), 0, "main", 9);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(thread_waits_init(&waits, &snapshot, &(struct view_query){ 0 }, &err), &err);
    thread_wait_text(&snapshot, &waits.all, text, sizeof text);
    assert_string_equal(text, "unknown");
    assert_int_equal(waits.all.samples, 9);
    thread_waits_deinit(&waits);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void causes_of_threads_without_memory_fail(void **state)
{
    struct profile *const profile = made_waiting();
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct thread_waits waits;
    struct err err = { 0 };
    enum err_code rc = ERR_NOMEM;
    (void)state;
    for (unsigned i = 0; rc == ERR_NOMEM; i++) {
        failing_alloc_at(i);
        rc = thread_waits_init(&waits, &snapshot, &(struct view_query){ 0 }, &err);
        failing_alloc_never();
    }
    assert_ok(rc, &err);
    thread_waits_deinit(&waits);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

TEST_GROUP_WITHIN(begin, end, cmocka_unit_test(patterns_match_what_they_match_in_the_page),
                  cmocka_unit_test(stacks_are_what_they_are_in_the_page),
                  cmocka_unit_test(functions_say_what_they_say_in_the_page),
                  cmocka_unit_test(every_name_is_read_as_it_was_written),
                  cmocka_unit_test(a_long_peer_is_cut),
                  cmocka_unit_test(other_marks_say_nothing),
                  cmocka_unit_test(only_profiles_with_waits_need_another_shape),
                  cmocka_unit_test(shares_are_of_waiting_samples),
                  cmocka_unit_test(a_profile_without_causes_has_none),
                  cmocka_unit_test(shares_without_memory_fail),
                  cmocka_unit_test(each_thread_has_its_main_cause),
                  cmocka_unit_test(a_cause_that_is_unknown_is_said_to_be),
                  cmocka_unit_test(causes_of_threads_without_memory_fail))
