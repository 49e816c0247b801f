#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "sampler/base/buffer.h"
#include "server/report/report.h"
#include "server/report/summary.h"
#include "tests/support/made_profile.h"
#include "tests/support/sample_session.h"
#include "tests/support/test.h"

enum { RUNNING = STATE_ON_CPU | STATE_HAS_GIL };

static struct buffer written(const struct report_source *source, const char *format)
{
    struct buffer out = { 0 };
    struct err err = { 0 };
    assert_ok(report_write(report_find(format), source, &out, &err), &err);
    assert_non_null(buffer_string(&out));
    return out;
}

static size_t lines_of(const struct buffer *text)
{
    size_t lines = 0;
    for (size_t i = 0; i < text->length; i++)
        lines += text->data[i] == '\n';
    return lines;
}

/* More of everything than there is room for, with names that try to be something else. */
static struct sample_session *crowded(const char *name)
{
    struct profile *const profile = made_profile();
    const thread_id active = made_thread(profile, 1, 1), idle = made_thread(profile, 1, 2);
    for (unsigned i = 1; i <= 12; i++) {
        char stack[400];
        snprintf(stack, sizeof stack, "main;%s%u", name, i);
        made_add(profile, active, RUNNING, stack, i);
        made_add(profile, idle, 0, stack, i);
        snprintf(stack, sizeof stack, "main;f%u@/lib/lib%u.so", i, i);
        made_add(profile, active, RUNNING, stack, i);
        made_add(profile, made_thread(profile, 1, (int32_t)i + 2), STATE_WAITS_GIL, "main", 1);
    }
    made_seal(profile, 1);
    return sample_session_of(profile);
}

static void a_program_that_only_waits_is_said_to_wait(void **state)
{
    static const struct {
        state_bits state;
        const char *stack, *said, *not_said;
    } rows[] = {
        { 0, "main;wait", "None: no thread ran.\n", "outside" },
        { RUNNING, "<GC>", "None: none of it runs.\n", "ran." },
        { RUNNING, "main", "made.py:1", "None:" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct profile *const profile = made_profile();
        made_add(profile, made_thread(profile, 1, 1), rows[i].state, rows[i].stack, 10);
        made_seal(profile, 1);
        struct sample_session *const session = sample_session_of(profile);
        struct buffer out = written(&session->source, "summary");
        assert_non_null(strstr(buffer_string(&out), rows[i].said));
        assert_null(strstr(out.data, rows[i].not_said));
        buffer_deinit(&out);
        sample_session_destroy(session);
    }
}

static void texts_have_at_most_forty_lines(void **state)
{
    static const char *const formats[] = { "summary", "summary-markdown" };
    struct sample_session *const session = crowded("a\nb\r\v\f\xe2\x80\xa8");
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct buffer out = written(&session->source, formats[i]);
        assert_in_range(lines_of(&out), 25, SUMMARY_MAX_LINES);
        assert_null(strpbrk(out.data, "\r\v\f\x1b"));
        assert_null(strstr(out.data, "\xe2\x80\xa8"));
        buffer_deinit(&out);
    }
    sample_session_destroy(session);
}

static void names_stay_code_in_markdown(void **state)
{
    struct sample_session *const session = crowded("`x``](http://a) | <b>`");
    (void)state;
    struct buffer out = written(&session->source, "summary-markdown");
    /* Two in a row are within, so three in a row are around. */
    assert_non_null(strstr(out.data, "  ``` `x``](http://a) | <b>`12 ```  `made.py:1`\n"));
    buffer_deinit(&out);
    sample_session_destroy(session);
}

static void long_names_are_cut(void **state)
{
    char name[350];
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct sample_session *const session = crowded(name);
    struct buffer out = written(&session->source, "summary");
    for (const char *line = out.data; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        assert_true(strcspn(line, "\n") < 300);
    }
    assert_non_null(strstr(out.data, "nnn\xe2\x80\xa6  made.py:1"));
    buffer_deinit(&out);
    sample_session_destroy(session);
}

static void json_says_the_same_as_text(void **state)
{
    struct sample_session *const session = sample_session_small();
    (void)state;
    struct buffer text = written(&session->source, "summary");
    struct buffer document = written(&session->source, "summary-json");
    cJSON *const json = cJSON_Parse(document.data);
    assert_non_null(json);
    struct summary summary;
    struct err err = { 0 };
    assert_ok(summary_init(&summary, &session->source, &err), &err);
    const cJSON *const hot = cJSON_GetObjectItem(json, "hot");
    const cJSON *row = NULL;
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(hot, "lines")), SUMMARY_LINES);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(hot, "lines"))
    {
        char share[32];
        snprintf(share, sizeof share, "%6.1f %%  ",
                 100 * cJSON_GetObjectItem(row, "share")->valuedouble);
        assert_non_null(strstr(text.data, share));
        const double samples = cJSON_GetObjectItem(row, "samples")->valuedouble;
        assert_true(fabs(cJSON_GetObjectItem(row, "share")->valuedouble -
                         samples / (double)summary.busy) < 1e-6);
    }
    cJSON_Delete(json);
    buffer_deinit(&document);
    buffer_deinit(&text);
    sample_session_destroy(session);
}

static void anonymized_summaries_have_no_names(void **state)
{
    static const char *const formats[] = { "summary", "summary-markdown", "summary-json" };
    struct sample_session *const session = sample_session_small();
    (void)state;
    session->source.settings.anonymizes = true;
    for (size_t i = 0; i < 3; i++) {
        struct buffer out = written(&session->source, formats[i]);
        assert_null(strstr(out.data, "parse"));
        assert_null(strstr(out.data, "app.py"));
        assert_null(strstr(out.data, "quoted"));
        assert_non_null(strstr(out.data, "func-"));
        buffer_deinit(&out);
    }
    sample_session_destroy(session);
}

static void nothing_is_a_summary_too(void **state)
{
    struct sample_session *const session = sample_session_empty();
    (void)state;
    struct buffer out = written(&session->source, "summary");
    assert_non_null(strstr(out.data, "0 samples"));
    assert_null(strstr(out.data, "hottest"));
    buffer_deinit(&out);
    out = written(&session->source, "summary-json");
    cJSON *const json = cJSON_Parse(out.data);
    assert_non_null(json);
    cJSON_Delete(json);
    buffer_deinit(&out);
    sample_session_destroy(session);
}

TEST_GROUP(cmocka_unit_test(a_program_that_only_waits_is_said_to_wait),
           cmocka_unit_test(texts_have_at_most_forty_lines),
           cmocka_unit_test(names_stay_code_in_markdown), cmocka_unit_test(long_names_are_cut),
           cmocka_unit_test(json_says_the_same_as_text),
           cmocka_unit_test(anonymized_summaries_have_no_names),
           cmocka_unit_test(nothing_is_a_summary_too))
