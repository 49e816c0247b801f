#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/profile/views/expression.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/reshape.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

/* tests/filters.json, which tests/web/shared-filters.test.mjs runs through the page's half. */
static cJSON *cases;

static int read_cases(void **state)
{
    static char text[32 * 1024];
    FILE *const file = fopen(TEST_SOURCE_DIR "/filters.json", "r");
    (void)state;
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    cases = cJSON_Parse(text);
    return cases ? 0 : -1;
}

static int free_cases(void **state)
{
    (void)state;
    cJSON_Delete(cases);
    return 0;
}

static const char *text_at(const cJSON *list, int index)
{
    return cJSON_GetStringValue(cJSON_GetArrayItem(list, index));
}

static bool names(const cJSON *list, const char *name)
{
    for (int i = 0; i < cJSON_GetArraySize(list); i++)
        if (strcmp(text_at(list, i), name) == 0)
            return true;
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
            const bool expected = names(cJSON_GetArrayItem(row, 1), function->string);
            if (pattern_matches(&pattern, text_at(function, 0), text_at(function, 1),
                                cJSON_GetArrayItem(function, 2)->valueint) != expected)
                fail_msg("'%s' and %s", text_at(row, 0), function->string);
        }
        pattern_deinit(&pattern);
    }
}

static void patterns_that_mean_nothing_are_refused_with_a_reason(void **state)
{
    const cJSON *text;
    (void)state;
    cJSON_ArrayForEach(text, cJSON_GetObjectItem(cases, "refused"))
    {
        struct frame_filters filters = { 0 };
        struct err err = { 0 };
        if (frame_filters_add(&filters, FRAME_FILTER_HIDE, text->valuestring, &err) !=
            ERR_INVALID)
            fail_msg("'%s' is taken", text->valuestring);
        assert_true(strlen(err.message) > 10 && filters.count == 0);
    }
}

static function_id function_of(struct profile *profile, const char *key)
{
    const cJSON *const row = cJSON_GetObjectItem(cJSON_GetObjectItem(cases, "functions"), key);
    return made_function(profile, text_at(row, 0), text_at(row, 1),
                         cJSON_GetArrayItem(row, 2)->valueint);
}

static void add_stack(struct profile *profile, thread_id thread, const char *stack,
                      uint32_t count)
{
    char copy[128];
    char *rest = copy;
    node_id node = 0;
    frame_id frame;
    struct err err = { 0 };
    snprintf(copy, sizeof copy, "%s", stack);
    for (const char *key; (key = strtok_r(rest, ";", &rest));) {
        assert_ok(profile_frame(profile, function_of(profile, key), 1, &frame, &err), &err);
        assert_ok(profile_node(profile, node, frame, &node, &err), &err);
    }
    assert_ok(profile_add(profile, thread, STATE_ON_CPU, node, count, &err), &err);
}

static struct profile *made_session(uint64_t *samples)
{
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 7, 7);
    const cJSON *row;
    *samples = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "stacks"))
    {
        add_stack(profile, thread, text_at(row, 0),
                  (uint32_t)cJSON_GetArrayItem(row, 1)->valueint);
        *samples += (uint64_t)cJSON_GetArrayItem(row, 1)->valueint;
    }
    made_seal(profile, 1);
    return profile;
}

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
    fail_msg("a function '%s'", name);
    return "";
}

/* "main;work 6" of every stack that has samples. */
static void expect_lines(struct profile *profile, const cJSON *lines)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct view view = made_view(&snapshot, &(struct view_query){ 0 });
    assert_int_equal(view.count, cJSON_GetArraySize(lines));
    for (size_t i = 0; i < view.count; i++) {
        char text[256] = "", rest[256];
        for (node_id node = view.node[i]; node;
             node = profile_node_at(&snapshot, node).parent) {
            snprintf(rest, sizeof rest, "%s", text);
            sprintf(text, "%s%s%.200s", key_of(&snapshot, node), *rest ? ";" : "", rest);
        }
        sprintf(text + strlen(text), " %d", (int)view.self[i]);
        if (!names(lines, text))
            fail_msg("'%s' is left", text);
    }
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
}

/* "show-from function:a" */
static void add_term(struct frame_filters *filters, const char *term)
{
    const char *const pattern = strchr(term, ' ') + 1;
    char word[16];
    struct err err = { 0 };
    snprintf(word, sizeof word, "%.*s", (int)(pattern - term - 1), term);
    if (strchr(word, '-'))
        *strchr(word, '-') = '_';
    for (int kind = 0; kind < FRAME_FILTER_KIND_COUNT; kind++)
        if (strcmp(frame_filter_name((enum frame_filter_kind)kind), word) == 0) {
            assert_ok(frame_filters_add(filters, (enum frame_filter_kind)kind, pattern, &err),
                      &err);
            return;
        }
    fail_msg("no filter is called '%s'", word);
}

static void filters_leave_what_they_leave_in_the_page(void **state)
{
    const cJSON *row;
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "cases"))
    {
        struct frame_filters filters = { 0 };
        struct reshape_counts counts = { 0 };
        struct err err = { 0 };
        uint64_t samples;
        struct profile *const from = made_session(&samples);
        struct profile *const into = made_profile();
        struct profile_snapshot snapshot = made_snapshot(from);
        for (int i = 0; i < cJSON_GetArraySize(cJSON_GetArrayItem(row, 0)); i++)
            add_term(&filters, text_at(cJSON_GetArrayItem(row, 0), i));
        const struct reshape_settings settings = { .filters = &filters };
        assert_ok(
            reshape_add(into, &snapshot, &(struct view_query){ 0 }, &settings, &counts, &err),
            &err);
        made_seal(into, 1);
        expect_lines(into, cJSON_GetArrayItem(row, 1));
        assert_int_equal(counts.samples + counts.filtered, samples);
        profile_snapshot_release(&snapshot);
        profile_destroy(into);
        profile_destroy(from);
    }
}

static void there_is_an_end_to_filters_and_to_expressions(void **state)
{
    struct frame_filters filters = { 0 };
    struct expression *made = NULL;
    char text[EXPRESSION_MAX_TEXT + 2];
    struct err err = { 0 };
    (void)state;
    for (int i = 0; i < FRAME_FILTERS_MAX; i++)
        assert_ok(frame_filters_add(&filters, FRAME_FILTER_SHOW, "x", &err), &err);
    assert_int_equal(frame_filters_add(&filters, FRAME_FILTER_SHOW, "x", &err), ERR_INVALID);
    memset(text, 'a', sizeof text);
    assert_ok(expression_compile(text, EXPRESSION_MAX_TEXT, "", &made, &err), &err);
    expression_destroy(made);
    assert_int_equal(expression_compile(text, sizeof text - 1, "", &made, &err), ERR_INVALID);
    memset(text, '(', sizeof text);
    assert_int_equal(expression_compile(text, 1000, "", &made, &err), ERR_INVALID);
    static const char *const large[] = { "a{999999999999}", "((a{100}){100}){100}",
                                         "(a{0,9999}){0,9999}", "(((()*)*)*){9999}b{2048}" };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        assert_int_equal(expression_compile(large[i], strlen(large[i]), "", &made, &err),
                         ERR_INVALID);
}

/* What takes a backtracking matcher longer than the world has lasted. */
static void no_expression_takes_long(void **state)
{
    static const char *const rows[] = { "(a*)*b", "(a|a)*b", "(a|aa)+$b", "^(([a-z])+.)+[A-Z]$",
                                        "(.*)(.*)(.*)(.*)(.*)(.*)b" };
    char text[2000];
    (void)state;
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct expression *made = NULL;
        struct err err = { 0 };
        assert_ok(expression_compile(rows[i], strlen(rows[i]), "", &made, &err), &err);
        assert_false(expression_matches(made, text, sizeof text));
        expression_destroy(made);
    }
}

static void lines_and_dots_are_as_the_flags_say(void **state)
{
    static const struct {
        const char *text, *flags;
        bool matches;
    } rows[] = { { "^b$", "", false },    { "^b$", "m", true },   { "a.b", "", false },
                 { "a.b", "s", true },    { "B", "", false },     { "B", "i", true },
                 { "A\\SB", "i", false }, { "A\\sB", "iu", true } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct expression *made = NULL;
        struct err err = { 0 };
        assert_ok(
            expression_compile(rows[i].text, strlen(rows[i].text), rows[i].flags, &made, &err),
            &err);
        assert_int_equal(expression_matches(made, "a\nb", 3), rows[i].matches);
        expression_destroy(made);
    }
}

static void bytes_that_are_no_text_match_as_characters(void **state)
{
    struct expression *made = NULL;
    struct err err = { 0 };
    (void)state;
    assert_ok(expression_compile("^a..$", 5, "", &made, &err), &err);
    assert_true(expression_matches(made, "a\xff\xc3", 3));
    expression_destroy(made);
}

static void every_allocation_may_fail(void **state)
{
    const struct frame_filters filters = {
        .count = 2, .items = { { FRAME_FILTER_HIDE, "a" }, { FRAME_FILTER_SHOW, "/b/" } }
    };
    enum err_code rc = ERR_NOMEM;
    (void)state;
    for (unsigned nth = 0; rc; nth++) {
        struct frame_matcher matcher;
        failing_alloc_at(nth);
        rc = frame_matcher_init(&matcher, &filters, NULL);
        failing_alloc_never();
        assert_true(rc == ERR_OK || rc == ERR_NOMEM);
        frame_matcher_deinit(&matcher);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_what_they_match_in_the_page),
        cmocka_unit_test(patterns_that_mean_nothing_are_refused_with_a_reason),
        cmocka_unit_test(filters_leave_what_they_leave_in_the_page),
        cmocka_unit_test(there_is_an_end_to_filters_and_to_expressions),
        cmocka_unit_test(no_expression_takes_long),
        cmocka_unit_test(lines_and_dots_are_as_the_flags_say),
        cmocka_unit_test(bytes_that_are_no_text_match_as_characters),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, read_cases, free_cases);
}
