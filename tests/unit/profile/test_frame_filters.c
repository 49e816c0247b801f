#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/profile/views/expression.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/reshape.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/shared_cases.h"
#include "tests/support/test.h"

/* tests/filters.json, which tests/web/model/shared-filters.test.mjs runs through the page's filters. */
static cJSON *cases;

static int read_cases(void **state)
{
    (void)state;
    cases = shared_cases_read("filters.json");
    return 0;
}

static int free_cases(void **state)
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

static void filters_leave_what_they_leave_in_the_page(void **state)
{
    const cJSON *row;
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "cases"))
    {
        struct frame_filters filters = { 0 };
        shared_cases_add_terms(&filters, cJSON_GetArrayItem(row, 0));
        shared_cases_check(cases, &filters, cJSON_GetArrayItem(row, 1));
    }
}

static struct expression *made_expression(const char *text, const char *flags)
{
    struct expression *made = NULL;
    struct err err = { 0 };
    assert_ok(expression_compile(text, strlen(text), flags, &made, &err), &err);
    return made;
}

static bool is_match(const char *expression, const char *flags, const char *text)
{
    struct expression *const made = made_expression(expression, flags);
    struct err err = { 0 };
    bool matches;
    assert_ok(expression_matches(made, text, strlen(text), &matches, &err), &err);
    expression_destroy(made);
    return matches;
}

static void letters_are_the_same_as_in_the_page(void **state)
{
    static const char *const kinds[] = { "same", "other" };
    const cJSON *const letters = cJSON_GetObjectItem(cases, "letters");
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        const cJSON *pair;
        cJSON_ArrayForEach(pair, cJSON_GetObjectItem(letters, kinds[kind]))
        {
            if (is_match(shared_cases_text(pair, 0), "i", shared_cases_text(pair, 1)) !=
                    (kind == 0) ||
                is_match(shared_cases_text(pair, 0), NULL, shared_cases_text(pair, 1)) !=
                    (kind == 0) ||
                is_match(shared_cases_text(pair, 0), "", shared_cases_text(pair, 1)))
                fail_msg("%s and %s", shared_cases_text(pair, 0), shared_cases_text(pair, 1));
        }
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
                                         "(a{0,9999}){0,9999}", "(((()*)*)*){9999}b{2048}",
                                         "(((((((a{9}){9}){9}){9}){9}){9}){9}){9}" };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        assert_int_equal(expression_compile(large[i], strlen(large[i]), "", &made, &err),
                         ERR_INVALID);
}

/* Every start of an expression, and every pair of signs, is read to its end or refused. */
static void no_expression_is_read_beyond_its_end(void **state)
{
    static const char all[] = "(?:[^\\]a-\\S\\x41-\\u00ff[:]|\\d.\\0+?){1,2}?$\\b\xc3\xbc";
    static const char signs[] = "()[]{}\\^$.|*+?-:,/&~#<=!0123xuSdbcé";
    (void)state;
    for (size_t length = 0; length < sizeof all; length++) {
        struct expression *made = NULL;
        char *const copy = malloc(length + 1);
        memcpy(copy, all, length);
        (void)!expression_compile(copy, length, "ims", &made, NULL);
        expression_destroy(made);
        free(copy);
    }
    for (size_t i = 0; i < sizeof signs * sizeof signs * sizeof signs; i++) {
        struct expression *made = NULL;
        bool matches;
        const char text[] = { signs[i % sizeof signs], signs[i / sizeof signs % sizeof signs],
                              signs[i / sizeof signs / sizeof signs], '\0' };
        if (expression_compile(text, strlen(text), "", &made, NULL) == ERR_OK)
            assert_int_equal(expression_matches(made, signs, sizeof signs, &matches, NULL),
                             ERR_OK);
        expression_destroy(made);
    }
}

/* Without bounds a backtracking matcher takes longer on them than the world has lasted; the last
 * ones need fewer steps than are allowed wherever they begin, but begin everywhere. */
static const char *const endless[] = { "(a+)+$",
                                       "(a*)*[bc]",
                                       "(a|a)*[bc]",
                                       "(a|aa)+$",
                                       "^(([a-z])+.)+[A-Z]$",
                                       "((a*)*)*$",
                                       "(.*)(.*)(.*)(.*)(.*)(.*)[bc]",
                                       "(?:a|a){14}[bc]",
                                       "(?:a?){14}[bc]" };

static void expressions_that_take_long_say_so(void **state)
{
    char text[PATTERN_MAX_MATCHED];
    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '!';
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        struct expression *const made = made_expression(endless[i], "");
        struct err err = { 0 };
        bool matches;
        if (expression_matches(made, text, sizeof text, &matches, &err) != ERR_INVALID)
            fail_msg("%s", endless[i]);
        assert_ok(expression_matches(made, "b", 1, &matches, &err), &err);
        expression_destroy(made);
    }
}

static void filters_that_take_long_are_named(void **state)
{
    struct frame_filters filters = { 0 };
    struct frame_matcher matcher;
    struct err err = { 0 };
    char name[2000];
    unsigned kinds;
    (void)state;
    memset(name, 'a', sizeof name);
    memcpy(name + sizeof name - 2, "!", 2);
    for (int i = 0; i < FRAME_FILTERS_MAX; i++)
        assert_ok(frame_filters_add(&filters, FRAME_FILTER_HIDE,
                                    i < 9 ? "function:/^a+b/" : "function:/(a+)+$/", &err),
                  &err);
    assert_ok(frame_matcher_init(&matcher, &filters, &err), &err);
    assert_ok(frame_matcher_kinds(&matcher,
                                  &(struct pattern_subject){ .name = "aaab", .file = "~" },
                                  &kinds, &err),
              &err);
    assert_int_equal(kinds, 1U << FRAME_FILTER_HIDE);
    assert_int_equal(frame_matcher_kinds(&matcher,
                                         &(struct pattern_subject){ .name = name, .file = "~" },
                                         &kinds, &err),
                     ERR_INVALID);
    assert_non_null(strstr(err.message, "hide function:/(a+)+$/"));
    frame_matcher_deinit(&matcher);
}

/* A long name is no hostile one. */
static void simple_expressions_match_the_longest_names(void **state)
{
    char text[PATTERN_MAX_MATCHED];
    (void)state;
    memset(text, 'a', sizeof text - 1);
    memcpy(text + sizeof text - 4, "b.c", 4);
    assert_true(is_match("a+b\\.c$", "", text));
    assert_true(is_match("^(?:a|b)+\\.c$", "", text));
    assert_true(is_match("^.*b\\.", "", text));
    assert_true(is_match("(?:a|b)\\.c", "i", text));
    assert_true(is_match("B.C", NULL, text));
    assert_false(is_match("[xy]$", "", text));
}

static void lines_and_dots_are_as_the_flags_say(void **state)
{
    static const struct {
        const char *text, *flags;
        bool matches;
    } rows[] = { { "^b$", "", false },    { "^b$", "m", true },     { "a.b", "", false },
                 { "a.b", "s", true },    { "B", "", false },       { "B", "i", true },
                 { "A\\SB", "i", false }, { "A\\sB", "iu", true },  { "a$", "", false },
                 { "a$", "m", true },     { "b$", "", true },       { "[^\\S]b", "", true },
                 { "[\\S]b", "", false }, { "[\\s\\S]b", "", true } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_match(rows[i].text, rows[i].flags, "a\nb") != rows[i].matches)
            fail_msg("/%s/%s", rows[i].text, rows[i].flags);
}

static void bytes_that_are_no_text_match_as_characters(void **state)
{
    (void)state;
    assert_true(is_match("^a..$", "", "a\xff\xc3"));
    assert_true(is_match("^a\\ufffd{2}$", "", "a\xff\xc3"));
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

static void filters_agree_in_any_order(void **state)
{
    static const struct frame_filters
        a = { .count = 2, .items = { { FRAME_FILTER_HIDE, "a" }, { FRAME_FILTER_SHOW, "b" } } },
        b = { .count = 2, .items = { { FRAME_FILTER_SHOW, "b" }, { FRAME_FILTER_HIDE, "a" } } },
        other_kind = { .count = 2,
                       .items = { { FRAME_FILTER_HIDE, "b" }, { FRAME_FILTER_SHOW, "a" } } },
        fewer = { .count = 1, .items = { { FRAME_FILTER_HIDE, "a" } } }, none;
    (void)state;
    assert_true(frame_filters_agree(&a, &b));
    assert_true(frame_filters_agree(&none, &none));
    assert_false(frame_filters_agree(&a, &other_kind));
    assert_false(frame_filters_agree(&a, &fewer));
    assert_false(frame_filters_agree(&fewer, &a));
    assert_false(frame_filters_agree(&none, &fewer));
}

TEST_GROUP_WITHIN(read_cases, free_cases,
                  cmocka_unit_test(patterns_match_what_they_match_in_the_page),
                  cmocka_unit_test(patterns_that_mean_nothing_are_refused_with_a_reason),
                  cmocka_unit_test(filters_leave_what_they_leave_in_the_page),
                  cmocka_unit_test(there_is_an_end_to_filters_and_to_expressions),
                  cmocka_unit_test(letters_are_the_same_as_in_the_page),
                  cmocka_unit_test(no_expression_is_read_beyond_its_end),
                  cmocka_unit_test(expressions_that_take_long_say_so),
                  cmocka_unit_test(filters_that_take_long_are_named),
                  cmocka_unit_test(simple_expressions_match_the_longest_names),
                  cmocka_unit_test(lines_and_dots_are_as_the_flags_say),
                  cmocka_unit_test(bytes_that_are_no_text_match_as_characters),
                  cmocka_unit_test(filters_agree_in_any_order),
                  cmocka_unit_test(every_allocation_may_fail))
