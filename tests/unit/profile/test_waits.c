/* Why threads wait: tests/waits.json, which tests/web/model/waits.test.mjs runs through the page's half; shares. */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/reshape.h"
#include "sampler/profile/views/wait_shares.h"
#include "sampler/profile/wait.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static cJSON *cases;

static int begin(void **state)
{
    static char text[1 << 15];
    FILE *const file = fopen(TEST_SOURCE_DIR "/waits.json", "r");
    (void)state;
    assert_non_null(file);
    assert_in_range(fread(text, 1, sizeof text - 1, file), 100, sizeof text - 2);
    fclose(file);
    cases = cJSON_Parse(text);
    assert_non_null(cases);
    return 0;
}

static int end(void **state)
{
    (void)state;
    cJSON_Delete(cases);
    return 0;
}

static const char *text_at(const cJSON *row, int index)
{
    const cJSON *const item = cJSON_GetArrayItem(row, index);
    return item ? item->valuestring : NULL;
}

static bool names(const cJSON *list, const char *text)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(item->valuestring, text) == 0)
            return true;
    }
    return false;
}

static void patterns_match_what_they_match_in_the_page(void **state)
{
    const cJSON *row, *function;
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "patterns"))
    {
        struct pattern pattern;
        struct err err = { 0 };
        assert_ok(pattern_init(&pattern, text_at(row, 0), &err), &err);
        cJSON_ArrayForEach(function, cJSON_GetObjectItem(cases, "functions"))
        {
            const struct pattern_subject subject = {
                .name = text_at(function, 0),
                .file = text_at(function, 1),
                .line = cJSON_GetArrayItem(function, 2)->valueint,
            };
            bool matches;
            assert_ok(pattern_matches(&pattern, &subject, &matches, &err), &err);
            if (matches != names(cJSON_GetArrayItem(row, 1), function->string))
                fail_msg("'%s' and %s", text_at(row, 0), function->string);
        }
        pattern_deinit(&pattern);
    }
}

static function_id function_of(struct profile *profile, const char *key)
{
    const cJSON *const row = cJSON_GetObjectItem(cJSON_GetObjectItem(cases, "functions"), key);
    return made_function(profile, text_at(row, 0), text_at(row, 1),
                         cJSON_GetArrayItem(row, 2)->valueint);
}

static node_id node_of(struct profile *profile, const char *stack)
{
    char copy[128];
    char *rest = copy;
    node_id node = 0;
    struct err err = { 0 };
    snprintf(copy, sizeof copy, "%s", stack);
    for (const char *key; (key = strtok_r(rest, ";", &rest));) {
        frame_id frame;
        assert_ok(profile_frame(profile, function_of(profile, key), 1, &frame, &err), &err);
        assert_ok(profile_node(profile, node, frame, &node, &err), &err);
    }
    return node;
}

static struct profile *made_session(uint64_t *samples_out)
{
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 7, 7);
    const cJSON *row;
    *samples_out = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "stacks"))
    {
        const uint32_t count = (uint32_t)cJSON_GetArrayItem(row, 1)->valueint;
        struct err err = { 0 };
        assert_ok(profile_add(profile, thread, STATE_ON_CPU, node_of(profile, text_at(row, 0)),
                              count, &err),
                  &err);
        *samples_out += count;
    }
    made_seal(profile, 1);
    return profile;
}

/* The key of the function, or the name of a frame that stands for a library. */
static const char *key_of(const struct profile_snapshot *snapshot, node_id node)
{
    const frame_id frame = profile_node_at(snapshot, node).frame;
    const struct profile_function function =
        profile_function_at(snapshot, profile_frame_at(snapshot, frame).function);
    const char *const name = profile_string(snapshot, function.name).text;
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "functions"))
    {
        if (strcmp(text_at(row, 0), name) == 0)
            return row->string;
    }
    return name;
}

static void expect_lines(struct profile *profile, const cJSON *lines, const char *setting)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct view view = made_view(&snapshot, &(struct view_query){ 0 });
    for (size_t i = 0; i < view.count; i++) {
        char text[256] = "", rest[256];
        for (node_id node = view.node[i]; node;
             node = profile_node_at(&snapshot, node).parent) {
            snprintf(rest, sizeof rest, "%s", text);
            snprintf(text, sizeof text, "%s%s%.200s", key_of(&snapshot, node), *rest ? ";" : "",
                     rest);
        }
        sprintf(text + strlen(text), " %d", (int)view.self[i]);
        if (!names(lines, text))
            fail_msg("%s: '%s' is left", setting, text);
    }
    assert_int_equal(view.count, cJSON_GetArraySize(lines));
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
}

/* "show-from function:a" */
static void add_term(struct frame_filters *filters, const char *term)
{
    const char *const pattern = strchr(term, ' ') + 1;
    const size_t length = (size_t)(pattern - term - 1);
    struct err err = { 0 };
    for (int kind = 0; kind < FRAME_FILTER_KIND_COUNT; kind++)
        if (strncmp(frame_filter_name((enum frame_filter_kind)kind), term, 4) == 0 &&
            strlen(frame_filter_name((enum frame_filter_kind)kind)) == length) {
            assert_ok(frame_filters_add(filters, (enum frame_filter_kind)kind, pattern, &err),
                      &err);
            return;
        }
    fail_msg("no filter is called so: '%s'", term);
}

static void stacks_are_what_they_are_in_the_page(void **state)
{
    const cJSON *row;
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "cases"))
    {
        struct frame_filters filters = {
            .shows_waits = cJSON_IsTrue(cJSON_GetArrayItem(row, 0)),
        };
        struct reshape_counts counts = { 0 };
        struct err err = { 0 };
        uint64_t samples;
        struct profile *const from = made_session(&samples), *const into = made_profile();
        struct profile_snapshot snapshot = made_snapshot(from);
        for (int i = 0; i < cJSON_GetArraySize(cJSON_GetArrayItem(row, 1)); i++)
            add_term(&filters, text_at(cJSON_GetArrayItem(row, 1), i));
        const struct reshape_settings settings = { .filters = &filters };
        assert_ok(
            reshape_add(into, &snapshot, &(struct view_query){ 0 }, &settings, &counts, &err),
            &err);
        made_seal(into, 1);
        expect_lines(into, cJSON_GetArrayItem(row, 2), filters.shows_waits ? "waits" : "plain");
        assert_int_equal(counts.samples + counts.filtered, samples);
        profile_snapshot_release(&snapshot);
        profile_destroy(into);
        profile_destroy(from);
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
    uint64_t samples;
    struct profile *const profile = made_session(&samples);
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "functions"))
    {
        const function_id id = function_of(profile, row->string);
        const cJSON *const wanted =
            cJSON_GetObjectItem(cJSON_GetObjectItem(cases, "waits"), row->string);
        made_seal(profile, 2);
        struct profile_snapshot snapshot = made_snapshot(profile);
        struct wait_text wait;
        assert_int_equal(wait_of_function(&snapshot, id, &wait), wanted != NULL);
        if (wanted) {
            assert_string_equal(wait_cause_title(wait.cause), text_at(wanted, 0));
            assert_int_equal(wait_cause_is_idle(wait.cause),
                             cJSON_IsTrue(cJSON_GetArrayItem(wanted, 1)));
            assert_int_equal(wait.detail_length, strlen(text_at(wanted, 2)));
            assert_memory_equal(wait.detail, text_at(wanted, 2), wait.detail_length);
        }
        profile_snapshot_release(&snapshot);
    }
    profile_destroy(profile);
}

static void only_profiles_with_waits_need_another_shape(void **state)
{
    struct profile *const profile = made_profile();
    struct frame_filters filters = { 0 };
    (void)state;
    (void)node_of(profile, "main;native");
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_false(reshape_is_needed(&snapshot, &filters));
    profile_snapshot_release(&snapshot);
    (void)node_of(profile, "main;read");
    made_seal(profile, 2);
    snapshot = made_snapshot(profile);
    assert_true(reshape_is_needed(&snapshot, &filters));
    filters.shows_waits = true;
    assert_false(reshape_is_needed(&snapshot, &filters));
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

/* Of three threads: one waits, one is active at the same places, one stands for waiting tasks. */
static struct profile *made_waiting(void)
{
    struct profile *const profile = made_profile();
    const struct profile_thread tasks = { .name = made_string(profile, PROFILE_WAITING_TASKS) };
    const thread_id waiting = made_thread(profile, 7, 7), active = made_thread(profile, 7, 8);
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
        { active, on_cpu, "main;recv", 100 },
        { active, unknown, "main", 50 },
        { active, on_cpu, "main;loop", 10 },
        { of_tasks, 0, "main", 1000 },
    };
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        assert_ok(profile_add(profile, cells[i].thread, cells[i].state,
                              node_of(profile, cells[i].stack), cells[i].count, &err),
                  &err);
    made_seal(profile, 1);
    return profile;
}

static void shares_are_of_waiting_samples(void **state)
{
    struct profile *const profile = made_waiting();
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct wait_shares shares;
    struct err err = { 0 };
    (void)state;
    assert_ok(wait_shares_init(&shares, &snapshot, &(struct view_query){ 0 }, &err), &err);
    assert_int_equal(shares.samples, 198);
    assert_int_equal(shares.waiting, 38);
    assert_int_equal(shares.idle, 20);
    assert_int_equal(shares.by_cause[WAIT_NETWORK_READ], 13);
    assert_int_equal(shares.by_cause[WAIT_EVENT_LOOP], 20);
    assert_int_equal(shares.by_cause[WAIT_UNKNOWN], 5);
    assert_int_equal(wait_shares_main(&shares), WAIT_EVENT_LOOP);
    assert_int_equal(shares.count, 3);
    assert_int_equal(shares.items[0].samples, 20);
    assert_int_equal(shares.items[1].samples, 12);
    assert_memory_equal(shares.items[1].wait.detail, "10.0.0.5:5432", 13);
    assert_int_equal(shares.items[2].samples, 1);
    wait_shares_deinit(&shares);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void a_profile_without_causes_has_none(void **state)
{
    struct profile *const profile = made_profile();
    struct wait_shares shares;
    struct err err = { 0 };
    (void)state;
    made_add(profile, made_thread(profile, 7, 7), 0, "main", 9);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(wait_shares_init(&shares, &snapshot, &(struct view_query){ 0 }, &err), &err);
    assert_int_equal(shares.waiting, 9);
    assert_int_equal(shares.by_cause[WAIT_UNKNOWN], 9);
    assert_int_equal(shares.count, 0);
    assert_int_equal(wait_shares_main(&shares), WAIT_UNKNOWN);
    wait_shares_deinit(&shares);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void shares_without_memory_fail(void **state)
{
    struct profile *const profile = made_waiting();
    struct profile_snapshot snapshot = made_snapshot(profile);
    (void)state;
    const struct view_query everything = { 0 };
    struct wait_shares shares;
    struct err err = { 0 };
    enum err_code rc = ERR_NOMEM;
    for (unsigned i = 0; rc == ERR_NOMEM; i++) {
        failing_alloc_at(i);
        rc = wait_shares_init(&shares, &snapshot, &everything, &err);
        failing_alloc_never();
    }
    assert_ok(rc, &err);
    wait_shares_deinit(&shares);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_what_they_match_in_the_page),
        cmocka_unit_test(stacks_are_what_they_are_in_the_page),
        cmocka_unit_test(functions_say_what_they_say_in_the_page),
        cmocka_unit_test(every_name_is_read_as_it_was_written),
        cmocka_unit_test(a_long_peer_is_cut),
        cmocka_unit_test(other_marks_say_nothing),
        cmocka_unit_test(only_profiles_with_waits_need_another_shape),
        cmocka_unit_test(shares_are_of_waiting_samples),
        cmocka_unit_test(a_profile_without_causes_has_none),
        cmocka_unit_test(shares_without_memory_fail),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
