/* Contexts of threads: tests/contexts.json, which tests/web/model/contexts.test.mjs runs
 * through the page's half. */
#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/profile/context.h"
#include "sampler/profile/state.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/mark_shares.h"
#include "sampler/profile/views/reshape.h"
#include "sampler/profile/views/view.h"
#include "tests/support/made_profile.h"
#include "tests/support/shared_cases.h"
#include "tests/support/test.h"

static cJSON *cases;

static int begin(void **state)
{
    (void)state;
    cases = shared_cases_read("contexts.json");
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
            .waits = WAIT_MARKS_HIDDEN,
            .shows_contexts = cJSON_IsTrue(cJSON_GetArrayItem(row, 0)),
        };
        shared_cases_add_terms(&filters, cJSON_GetArrayItem(row, 1));
        shared_cases_check(cases, &filters, cJSON_GetArrayItem(row, 2));
    }
}

static void expect_part(const char *part, size_t length, const char *text)
{
    assert_int_equal(length, strlen(text));
    assert_memory_equal(part, text, length);
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
            cJSON_GetObjectItem(cJSON_GetObjectItem(cases, "contexts"), row->string);
        made_seal(profile, 2);
        struct profile_snapshot snapshot = made_snapshot(profile);
        struct context_text text;
        assert_int_equal(context_of_function(&snapshot, id, &text), wanted != NULL);
        if (wanted) {
            expect_part(text.variable, text.variable_length, shared_cases_text(wanted, 0));
            assert_string_equal(context_mark_text(text.mark), shared_cases_text(wanted, 1));
            expect_part(text.value, text.value_length, shared_cases_text(wanted, 2));
        }
        profile_snapshot_release(&snapshot);
    }
    profile_destroy(profile);
}

static void samples_are_added_up_by_value(void **state)
{
    static const struct view_query everything = { 0 };
    struct profile *const profile = shared_cases_profile(cases);
    struct profile_snapshot snapshot = made_snapshot(profile);
    const cJSON *const wanted = cJSON_GetObjectItem(cases, "shares");
    struct mark_shares shares;
    struct err err = { 0 };
    (void)state;
    assert_ok(mark_shares_init(&shares, MARK_CONTEXTS, &snapshot, &everything, &err), &err);
    assert_int_equal(shares.count, cJSON_GetArraySize(wanted));
    for (size_t i = 0; i < shares.count; i++) {
        const cJSON *const row = cJSON_GetArrayItem(wanted, (int)i);
        const cJSON *const context = cJSON_GetObjectItem(cJSON_GetObjectItem(cases, "contexts"),
                                                         shared_cases_text(row, 0));
        expect_part(shares.items[i].context.value, shares.items[i].context.value_length,
                    shared_cases_text(context, 2));
        assert_int_equal(shares.items[i].samples, cJSON_GetArrayItem(row, 1)->valueint);
        assert_int_equal(shares.items[i].running, shares.items[i].samples);
    }
    assert_int_equal(shares.samples, 255);
    assert_int_equal(shares.by_mark[CONTEXT_MARK_UNKNOWN], 193);
    assert_int_equal(shares.by_mark[CONTEXT_MARK_UNSET], 8);
    assert_int_equal(shares.by_mark[CONTEXT_MARK_OTHER], 0);
    assert_int_equal(shares.by_mark[CONTEXT_MARK_VALUE], 54);
    mark_shares_deinit(&shares);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void only_profiles_with_contexts_need_another_shape(void **state)
{
    struct profile *const profile = made_profile();
    struct frame_filters filters = { .count = 0 };
    (void)state;
    (void)shared_cases_node(cases, profile, "main;broken");
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_false(reshape_is_needed(&snapshot, &filters));
    profile_snapshot_release(&snapshot);
    (void)shared_cases_node(cases, profile, "main;one");
    made_seal(profile, 2);
    snapshot = made_snapshot(profile);
    assert_true(reshape_is_needed(&snapshot, &filters));
    filters.shows_contexts = true;
    assert_false(reshape_is_needed(&snapshot, &filters));
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void every_name_is_read_as_it_was_written(void **state)
{
    static const char *const values[] = { "", "x", "unset", "a: b>", "\xc3\xa9", "<Request>" };
    char name[CONTEXT_MAX_NAME];
    struct context_text text;
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        context_name("id", CONTEXT_MARK_VALUE, values[i], name);
        assert_true(context_read_name(name, &text));
        assert_int_equal(text.mark, CONTEXT_MARK_VALUE);
        expect_part(text.variable, text.variable_length, "id");
        expect_part(text.value, text.value_length, values[i]);
    }
    context_name("id", CONTEXT_MARK_OTHER, "", name);
    assert_true(context_read_name(name, &text));
    assert_int_equal(text.mark, CONTEXT_MARK_OTHER);
}

static void a_long_value_is_cut_between_characters(void **state)
{
    char value[600], variable[CONTEXT_MAX_VARIABLE], name[CONTEXT_MAX_NAME];
    struct context_text text;
    (void)state;
    for (size_t i = 0; i + 2 < sizeof value; i += 2)
        memcpy(value + i, "\xc3\xa9", 3);
    memset(variable, 'v', sizeof variable);
    variable[sizeof variable - 1] = '\0';
    context_name(variable, CONTEXT_MARK_VALUE, value, name);
    assert_true(context_read_name(name, &text));
    assert_int_equal(text.variable_length, CONTEXT_MAX_VARIABLE - 1);
    assert_int_equal(text.value_length % 2, 0);
    assert_in_range(text.value_length, 100, CONTEXT_MAX_NAME);
}

static void variables_have_visible_names(void **state)
{
    static const char *const bad[] = { "", "a b", "a:b", "<a", "a>", "\xc3\xa9", "a\n" };
    char name[CONTEXT_MAX_VARIABLE + 1];
    (void)state;
    assert_true(context_variable_is_valid("structlog_request-id.2"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(context_variable_is_valid(bad[i]));
    memset(name, 'x', sizeof name);
    name[CONTEXT_MAX_VARIABLE] = '\0';
    assert_false(context_variable_is_valid(name));
    name[CONTEXT_MAX_VARIABLE - 1] = '\0';
    assert_true(context_variable_is_valid(name));
}

static bool is_span(const char *variable, const char *value)
{
    char name[CONTEXT_MAX_NAME];
    struct context_text text;
    struct context_span span;
    context_name(variable, CONTEXT_MARK_VALUE, value, name);
    assert_true(context_read_name(name, &text));
    return context_read_span(&text, &span);
}

static void only_two_ids_are_a_span(void **state)
{
    (void)state;
    assert_true(
        is_span(CONTEXT_OPENTELEMETRY, "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7"));
    assert_false(is_span("request_id", "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7"));
    assert_false(
        is_span(CONTEXT_OPENTELEMETRY, "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902bx"));
    assert_false(
        is_span(CONTEXT_OPENTELEMETRY, "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b"));
    assert_false(
        is_span(CONTEXT_OPENTELEMETRY, "4bf92f3577b34da6a3ce929d0e0e4736000f067aa0ba902b7"));
    assert_false(is_span(CONTEXT_OPENTELEMETRY, ""));
}

TEST_GROUP_WITHIN(begin, end, cmocka_unit_test(patterns_match_what_they_match_in_the_page),
                  cmocka_unit_test(stacks_are_what_they_are_in_the_page),
                  cmocka_unit_test(functions_say_what_they_say_in_the_page),
                  cmocka_unit_test(samples_are_added_up_by_value),
                  cmocka_unit_test(only_profiles_with_contexts_need_another_shape),
                  cmocka_unit_test(every_name_is_read_as_it_was_written),
                  cmocka_unit_test(a_long_value_is_cut_between_characters),
                  cmocka_unit_test(variables_have_visible_names),
                  cmocka_unit_test(only_two_ids_are_a_span))
