/* Output of every format for a made session, to the byte: tests/golden/session.*. After a
 * change that is meant, GOLDEN_REFRESH=1 ctest --preset debug -R unit.server.formats writes
 * them again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/utf8.h"
#include "server/report/diff/comparison.h"
#include "server/report/diff/diff.h"
#include "server/report/report.h"
#include "tests/support/sample_session.h"
#include "tests/support/test.h"

/* Formats that need a baseline get the session itself. */
static struct report_source with_baseline(const struct report_source *source)
{
    struct report_source own = *source;
    own.baseline = source;
    own.header = NULL;
    return own;
}

/* Text that depends on the machine, the version or the style is a word in golden files. */
static void replace(struct buffer *text, const char *what, size_t length, const char *with)
{
    struct buffer made = { 0 };
    const char *at = text->data, *const end = text->data + text->length;
    for (const char *found = NULL;
         length > 0 && at && (found = memmem(at, (size_t)(end - at), what, length));
         at = found + length) {
        buffer_append(&made, at, (size_t)(found - at));
        buffer_text(&made, with);
    }
    if (at)
        buffer_append(&made, at, (size_t)(end - at));
    buffer_deinit(text);
    *text = made;
}

static void make_portable(struct buffer *text)
{
    char host[300] = "\"host\":\"";
    gethostname(host + 8, sizeof host - 10);
    strcat(host, "\"");
    replace(text, host, strlen(host), "\"host\":\"HOST\"");
    replace(text, PYROMETER_VERSION, strlen(PYROMETER_VERSION), "VERSION");
    const char *const begin = memmem(text->data, text->length, "<style>", 7);
    const char *const end = memmem(text->data, text->length, "</style>", 8);
    const char *const hash = memmem(text->data, text->length, "'sha256-", 8);
    if (!begin || !end || !hash)
        return;
    char policy[64];
    char *const style = strndup(begin, (size_t)(end - begin));
    snprintf(policy, sizeof policy, "%.53s", hash);
    replace(text, style, strlen(style), "<style>");
    replace(text, policy, strlen(policy), "'HASH'");
    free(style);
}

static void expect_golden(const char *name, struct buffer *given)
{
    char path[512];
    struct buffer wanted = { 0 };
    make_portable(given);
    snprintf(path, sizeof path, "%s/golden/session.%s", TEST_SOURCE_DIR, name);
    if (getenv("GOLDEN_REFRESH")) {
        FILE *const file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(given->data, 1, given->length, file), given->length);
        assert_int_equal(fclose(file), 0);
        return;
    }
    FILE *const file = fopen(path, "r");
    if (!file)
        fail_msg("no %s", path);
    char *const room = buffer_reserve(&wanted, 1 << 20);
    buffer_grow(&wanted, fread(room, 1, 1 << 20, file));
    fclose(file);
    size_t same = 0;
    while (same < wanted.length && same < given->length &&
           wanted.data[same] == given->data[same])
        same++;
    if (same < wanted.length || same < given->length)
        fail_msg("%s differs at byte %zu: ...%.*s", path, same,
                 (int)(given->length - same < 200 ? given->length - same : 200),
                 given->data + same);
    buffer_deinit(&wanted);
}

static struct buffer written(const struct report_source *source, const char *format)
{
    struct buffer out = { 0 };
    struct err err = { 0 };
    const struct report_source own = with_baseline(source);
    assert_ok(report_write(report_find(format), &own, &out, &err), &err);
    return out;
}

static void text_formats_are_as_they_were(void **state)
{
    static const char *const names[] = { "collapsed",    "pstats",  "pstats-text",
                                         "jsonl",        "gecko",   "chrome-trace",
                                         "speedscope",   "summary", "summary-markdown",
                                         "summary-json", "svg" };
    struct sample_session *const session = sample_session_small();
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buffer out = written(&session->source, names[i]);
        expect_golden(report_find(names[i])->extension, &out);
        buffer_deinit(&out);
    }
    sample_session_destroy(session);
}

static void every_text_ends_with_a_newline(void **state)
{
    struct sample_session *const session = sample_session_small();
    const struct report_format *format = NULL;
    (void)state;
    for (size_t i = 0; (format = report_at(i)); i++) {
        struct buffer out = written(&session->source, format->name);
        if (strncmp(format->mime, "text/", 5) == 0 || strstr(format->mime, "json"))
            assert_int_equal(out.data[out.length - 1], '\n');
        buffer_deinit(&out);
    }
    sample_session_destroy(session);
}

static void comparisons_are_as_they_were(void **state)
{
    struct sample_session *const baseline = sample_session_steady();
    struct sample_session *const now = sample_session_changed();
    const struct comparison_side sides[] = { { { &baseline->source }, 1 },
                                             { { &now->source }, 1 } };
    struct comparison comparison;
    struct buffer out = { 0 };
    struct err err = { 0 };
    (void)state;
    assert_ok(comparison_init(&comparison, &sides[0], &sides[1], COMPARISON_BY_SAMPLES, &err),
              &err);
    const struct diff diff = { &comparison, &sides[0], &sides[1], { 0 } };
    assert_ok(diff_write_text(&diff, &out, &err), &err);
    expect_golden("diff.txt", &out);
    buffer_deinit(&out);
    assert_ok(diff_write_markdown(&diff, &out, &err), &err);
    expect_golden("diff.md", &out);
    buffer_deinit(&out);
    assert_ok(diff_write_json(&diff, &out, &err), &err);
    expect_golden("diff.json", &out);
    buffer_deinit(&out);
    comparison_deinit(&comparison);
    sample_session_destroy(now);
    sample_session_destroy(baseline);
}

static void the_same_session_gives_the_same_file(void **state)
{
    struct sample_session *const one = sample_session_small();
    struct sample_session *const other = sample_session_small();
    const struct report_format *format = NULL;
    (void)state;
    for (size_t i = 0; (format = report_at(i)); i++) {
        struct buffer a = written(&one->source, format->name);
        struct buffer b = written(&other->source, format->name);
        assert_int_equal(a.length, b.length);
        assert_memory_equal(a.data, b.data, a.length);
        buffer_deinit(&a);
        buffer_deinit(&b);
    }
    sample_session_destroy(one);
    sample_session_destroy(other);
}

static void nothing_is_a_report_too(void **state)
{
    struct sample_session *const session = sample_session_empty();
    const struct report_format *format = NULL;
    (void)state;
    for (size_t i = 0; (format = report_at(i)); i++) {
        struct buffer out = written(&session->source, format->name);
        buffer_deinit(&out);
    }
    sample_session_destroy(session);
}

/* A view of one thread, one state, one second: every format takes it. */
static void every_format_takes_the_query(void **state)
{
    static const thread_id main_thread[] = { 0 };
    static const struct view_query query = {
        .threads = main_thread, .thread_count = 1, .from_ns = 1, .states.require = STATE_HAS_GIL
    };
    struct sample_session *const session = sample_session_small();
    const struct report_format *format = NULL;
    struct report_source source = session->source;
    (void)state;
    source.query = &query;
    for (size_t i = 0; (format = report_at(i)); i++) {
        struct buffer out = written(&source, format->name);
        buffer_deinit(&out);
    }
    struct buffer out = written(&source, "collapsed");
    assert_string_equal(buffer_string(&out),
                        "tid:4711 MainThread;app.py:main:16;view.py:render:44 120\n"
                        "tid:4711 MainThread;app.py:main:17;view.py:log:61 60\n"
                        "tid:4711 MainThread;app.py:main:14;app.py:parse:22 50\n"
                        "tid:4711 MainThread;<frozen importlib._bootstrap>:_find_and_load:2;"
                        "six.py:<module>:100 30\n");
    buffer_deinit(&out);
    out = written(&source, "pstats-text");
    assert_non_null(strstr(buffer_string(&out), "260 samples in 5.00 s"));
    buffer_deinit(&out);
    sample_session_destroy(session);
}

static const char *first_row(const struct sample_session *session, enum report_sort sort,
                             struct buffer *out)
{
    struct report_source source = session->source;
    source.settings = (struct report_settings){ .sort = sort, .limit = 1, .no_summary = true };
    *out = written(&source, "pstats-text");
    const char *const head = strstr(buffer_string(out), "(function)\n");
    assert_non_null(head);
    assert_null(strstr(out->data, "Interesting"));
    assert_non_null(strstr(out->data, "12 more (-l 13 shows all)"));
    return head;
}

static void the_table_is_sorted_by_any_key(void **state)
{
    static const struct {
        enum report_sort sort;
        const char *first;
    } rows[] = {
        { REPORT_SORT_NSAMPLES, "300/400 " },      { REPORT_SORT_SAMPLE_PCT, "300/400 " },
        { REPORT_SORT_TOTTIME, "300/400 " },       { REPORT_SORT_CUMTIME, "0/820 " },
        { REPORT_SORT_CUMUL_PCT, "0/820 " },       { REPORT_SORT_NSAMPLES_CUMUL, "0/820 " },
        { REPORT_SORT_NAME, "(</script><img src" }
    };
    struct sample_session *const session = sample_session_small();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buffer out;
        const char *const table = first_row(session, rows[i].sort, &out);
        const char *const found = strstr(table, rows[i].first);
        assert_non_null(found);
        assert_true(found < strstr(table, "..."));
        buffer_deinit(&out);
    }
    sample_session_destroy(session);
}

static void colours_are_only_for_those_who_ask(void **state)
{
    struct sample_session *const session = sample_session_small();
    struct report_source source = session->source;
    (void)state;
    struct buffer out = written(&source, "pstats-text");
    assert_null(memchr(out.data, '\x1b', out.length));
    buffer_deinit(&out);
    source.settings.colours = true;
    out = written(&source, "pstats-text");
    assert_non_null(memchr(out.data, '\x1b', out.length));
    buffer_deinit(&out);
    sample_session_destroy(session);
}

static void expect_plain(const struct buffer *out, const char *format)
{
    size_t bytes;
    for (size_t at = 0; at < out->length; at += bytes) {
        bytes = utf8_char_length(out->data + at, out->length - at);
        if (bytes == 0 ||
            (out->data[at] != '\n' && !plain_text_shows(utf8_decode(out->data + at, bytes))))
            fail_msg("%s has what a terminal obeys at byte %zu", format, at);
    }
}

static void no_text_has_what_a_terminal_obeys(void **state)
{
    struct sample_session *const session = sample_session_hostile();
    const struct report_format *format = NULL;
    size_t checked = 0;
    (void)state;
    for (size_t i = 0; (format = report_at(i)); i++) {
        const bool is_binary =
            strcmp(format->name, "pprof") == 0 || strcmp(format->name, "pstats") == 0;
        if (is_binary || report_is_page(format))
            continue;
        struct buffer out = written(&session->source, format->name);
        expect_plain(&out, format->name);
        buffer_deinit(&out);
        checked++;
    }
    assert_true(checked >= 10);
    const struct comparison_side sides[] = { { { &session->source }, 1 },
                                             { { &session->source }, 1 } };
    struct comparison comparison;
    struct buffer out = { 0 };
    struct err err = { 0 };
    assert_ok(comparison_init(&comparison, &sides[0], &sides[1], COMPARISON_BY_SAMPLES, &err),
              &err);
    const struct diff diff = { &comparison, &sides[0], &sides[1], { 0 } };
    assert_ok(diff_write_text(&diff, &out, &err), &err);
    expect_plain(&out, "diff");
    buffer_deinit(&out);
    comparison_deinit(&comparison);
    sample_session_destroy(session);
}

static void expect_fill(const char *svg, const char *name, const char *part, const char *colour)
{
    char rule[128];
    snprintf(rule, sizeof rule, ".%s %s{fill:%s}", name, part, colour);
    if (!strstr(svg, rule))
        fail_msg("the picture has no %s", rule);
}

static void a_picture_has_the_colours_of_the_page(void **state)
{
    struct sample_session *const session = sample_session_small();
    struct buffer out = written(&session->source, "svg");
    const char *const svg = buffer_string(&out);
    char line[256], name[64], light[16], dark[16];
    size_t found = 0;
    (void)state;
    FILE *const file = fopen(TEST_SOURCE_DIR "/../web/tokens.css", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, " --%63[^:]: light-dark(%15[^,], %15[^)]);", name, light, dark) != 3)
            continue;
        const bool is_ink = strncmp(name, "heat-ink-", 9) == 0;
        if (strncmp(name, "heat-", 5) != 0 && strncmp(name, "wait-", 5) != 0 &&
            strcmp(name, "neutral") != 0)
            continue;
        if (is_ink)
            memmove(name + 5, name + 9, strlen(name + 9) + 1);
        expect_fill(svg, name, is_ink ? "text" : "rect", light);
        expect_fill(svg, name, is_ink ? "text" : "rect", dark);
        found++;
    }
    fclose(file);
    assert_int_equal(found, 24);
    buffer_deinit(&out);
    sample_session_destroy(session);
}

static void a_picture_may_have_a_frame_for_each_thread(void **state)
{
    struct sample_session *const session = sample_session_small();
    struct buffer out = { 0 };
    (void)state;
    session->source.settings.by_thread = true;
    out = written(&session->source, "svg");
    const char *const svg = buffer_string(&out);
    assert_non_null(strstr(svg, "<title>all\n100.0 %, 1000 samples;"));
    assert_non_null(strstr(svg, "<title>MainThread (4711)\n79.0 %, 790 samples;"));
    assert_non_null(strstr(svg, "<title>thread 4720\n11.0 %, 110 samples;"));
    assert_non_null(
        strstr(svg, "<title>parse\n/srv/app.py:20\n40.0 %, 400 samples; self 30.0 %, 300"));
    buffer_deinit(&out);
    sample_session_destroy(session);
}

static void no_line_is_as_long_as_a_command(void **state)
{
    enum { LONG = 120000, MOST = 400 };
    static const char *const names[] = { "pstats-text", "summary", "summary-markdown" };
    struct sample_session *const session = sample_session_small();
    char *const word = malloc(LONG);
    const char *const argv[] = { "python3", "-c", word };
    (void)state;
    assert_non_null(word);
    memset(word, 'x', LONG - 1);
    word[LONG - 1] = '\0';
    session->target.argv = argv;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buffer out = written(&session->source, names[i]);
        assert_non_null(strstr(buffer_string(&out), "python3 -c xxx"));
        assert_non_null(strstr(out.data, "xxx\u2026"));
        for (const char *line = out.data; line && *line; line = strchr(line, '\n')) {
            line += *line == '\n';
            assert_in_range(strcspn(line, "\n"), 0, MOST);
        }
        buffer_deinit(&out);
    }
    const char *const scripts[] = { "python3", word };
    session->target.argv = scripts;
    session->target.argc = 2;
    struct buffer out = written(&session->source, "speedscope");
    assert_in_range(out.length, 1, LONG);
    buffer_deinit(&out);
    sample_session_destroy(session);
    free(word);
}

static bool fail_drain(void *to, const char *data, size_t bytes)
{
    size_t *const left = to;
    (void)data;
    if (bytes > *left)
        return false;
    *left -= bytes;
    return true;
}

static void a_drain_that_fails_ends_every_writer(void **state)
{
    struct sample_session *const session = sample_session_big(2000, 4000);
    const struct report_format *format = NULL;
    (void)state;
    for (size_t i = 0; (format = report_at(i)); i++) {
        size_t room = 50; /* less than any format writes */
        struct buffer out;
        struct err err = { 0 };
        buffer_init_draining(&out, fail_drain, &room);
        const struct report_source own = with_baseline(&session->source);
        const enum err_code rc = report_write(format, &own, &out, &err);
        buffer_flush(&out);
        assert_true(rc != ERR_OK || out.failed);
        buffer_deinit(&out);
    }
    sample_session_destroy(session);
}

/* A drain is given the text in parts, never the whole. */
static bool count_drain(void *to, const char *data, size_t bytes)
{
    size_t *const most = to;
    (void)data;
    if (bytes > *most)
        *most = bytes;
    return true;
}

/* Many times what a writer may keep; more only where that takes a moment. */
#ifdef __OPTIMIZE__
enum { BIG_NODES = 20000 };
#else
enum { BIG_NODES = 10000 };
#endif

static void writers_stream(void **state)
{
    struct sample_session *const session = sample_session_big(BIG_NODES, 4 * BIG_NODES);
    const struct report_format *format = NULL;
    (void)state;
    for (size_t i = 0; (format = report_at(i)); i++) {
        size_t most = 0;
        struct buffer out;
        struct err err = { 0 };
        buffer_init_draining(&out, count_drain, &most);
        const struct report_source own = with_baseline(&session->source);
        assert_ok(report_write(format, &own, &out, &err), &err);
        assert_true(out.capacity <= 8 * BUFFER_DRAIN_BYTES);
        buffer_deinit(&out);
    }
    sample_session_destroy(session);
}

static void a_comparison_without_a_baseline_is_refused(void **state)
{
    struct sample_session *const session = sample_session_small();
    struct buffer out = { 0 };
    (void)state;
    assert_int_equal(report_find("diff-flamegraph")->write(&session->source, &out, NULL),
                     ERR_INVALID);
    buffer_deinit(&out);
    sample_session_destroy(session);
}

TEST_GROUP(cmocka_unit_test(text_formats_are_as_they_were),
           cmocka_unit_test(every_text_ends_with_a_newline),
           cmocka_unit_test(comparisons_are_as_they_were),
           cmocka_unit_test(the_same_session_gives_the_same_file),
           cmocka_unit_test(nothing_is_a_report_too),
           cmocka_unit_test(every_format_takes_the_query),
           cmocka_unit_test(the_table_is_sorted_by_any_key),
           cmocka_unit_test(colours_are_only_for_those_who_ask),
           cmocka_unit_test(no_text_has_what_a_terminal_obeys),
           cmocka_unit_test(no_line_is_as_long_as_a_command),
           cmocka_unit_test(a_picture_has_the_colours_of_the_page),
           cmocka_unit_test(a_picture_may_have_a_frame_for_each_thread),
           cmocka_unit_test(a_drain_that_fails_ends_every_writer),
           cmocka_unit_test(a_comparison_without_a_baseline_is_refused),
           cmocka_unit_test(writers_stream))
