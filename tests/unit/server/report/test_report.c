#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <zlib.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "sampler/session.h"
#include "server/report/encoding/base64.h"
#include "server/report/report.h"
#include "server/report/timed.h"
#include "server/wire/assets.h"
#include "server/wire/session.h"
#include "tests/support/fake_session.h"
#include "tests/support/made_profile.h"
#include "tests/support/sample_session.h"
#include "tests/support/test.h"

enum { DEEP = 10000 };

static struct session *start(int pid)
{
    const struct session_options options = { .pids = { pid }, .pid_count = 1, .rate_hz = 1000 };
    struct session *session = NULL;
    assert_int_equal(session_start(&options, &session, NULL), ERR_OK);
    return session;
}

/* The caller deinits. */
static struct buffer report_of(struct session *session, const char *format,
                               const struct view_query *query)
{
    struct buffer out = { 0 };
    struct profile_snapshot snapshot;
    struct session_info info = { .id = "1", .epoch = "0123456789abcdef" };
    const struct report_source source = { .snapshot = &snapshot,
                                          .query = query,
                                          .session = &info };
    assert_int_equal(profile_snapshot(session_profile(session), &snapshot, NULL), ERR_OK);
    info.target = session_target(session);
    info.options = session_options(session);
    info.snapshot = &snapshot;
    session_status(session, &info.status);
    assert_int_equal(report_write(report_find(format), &source, &out, NULL), ERR_OK);
    profile_snapshot_release(&snapshot);
    assert_non_null(buffer_string(&out));
    return out;
}

static void expect_golden(const char *name, const struct buffer *given)
{
    char path[512], text[4096];
    snprintf(path, sizeof path, "%s/golden/%s", TEST_SOURCE_DIR, name);
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_true(length < sizeof text);
    text[length] = '\0';
    assert_string_equal(given->data, text);
}

static const struct view_query everything = { 0 };

static void folded_stacks_are_sorted_by_count_then_text(void **state)
{
    static const struct fake_frame b[] = { { "/srv/b.py", "b", 1, 2 } };
    static const struct fake_frame a[] = { { "/srv/a.py", "a", 1, 2 } };
    static const struct fake_frame native[] = { { "/srv/a.py", "a", 1, 0 },
                                                { "~", "<native>", 0, 0 } };
    struct session *const session = start(FAKE_PID_STILL);
    (void)state;
    fake_session_add(session, 4711, b, 1, 0, 15);
    fake_session_add(session, 4711, a, 1, 0, 10);
    fake_session_add(session, 4711, a, 1, STATE_ON_CPU, 5); /* another cell, the same line */
    fake_session_add(session, 4712, a, 1, 0, 15);
    fake_session_add(session, 4712, native, 2, 0, 1000000);
    fake_session_add(session, 4712, NULL, 0, 0, 1); /* a thread without frames */
    fake_session_seal(session);
    struct buffer out = report_of(session, "collapsed", &everything);
    expect_golden("sorted.folded", &out);
    buffer_deinit(&out);
    session_destroy(session);
}

static void folded_lines_survive_hostile_names(void **state)
{
    static const struct fake_frame frames[] = {
        { "/srv/semi;colon:.py", "f;tid:1;g", 1, 1 },
        { "/srv/new\nline.py", "name with spaces 99\n", 1, 2 },
        { "C:\\win\\x.py", "back\\slash", 1, 3 },
        { "", "", 1, 4 },
        { "/folder/", "\x1b[31mred\x7f", 1, 5 },
        { "/srv/u.py", "line\xe2\x80\xa8sep\xe2\x80\xa9\xc2\x85nel", 1, 6 },
        { "/srv/u.py", "\xe2\x82\xac\xf0\x9f\x94\xa5", 1, -7 },
        { "~", "<GC>;", 0, 0 },
        { "~~", "not synthetic", 0, 0 },
    };
    struct session *const session = start(FAKE_PID_EMPTY);
    (void)state;
    fake_session_add(session, 1, frames, sizeof frames / sizeof *frames, 0, 3);
    fake_session_seal(session);
    struct buffer out = report_of(session, "collapsed", &everything);
    expect_golden("hostile.folded", &out);
    buffer_deinit(&out);
    session_destroy(session);
}

static void files_of_one_name_share_a_line(void **state)
{
    static const struct fake_frame here[] = { { "/a/x.py", "f", 1, 1 } };
    static const struct fake_frame there[] = { { "/b/x.py", "f", 1, 1 } };
    struct session *const session = start(FAKE_PID_EMPTY);
    (void)state;
    fake_session_add(session, 1, here, 1, 0, 1);
    fake_session_add(session, 1, there, 1, 0, 2);
    fake_session_seal(session);
    struct buffer out = report_of(session, "collapsed", &everything);
    assert_string_equal(out.data, "tid:1 Thread-1;x.py:f:1 3\n");
    buffer_deinit(&out);
    session_destroy(session);
}

static void deep_stacks_are_written_whole(void **state)
{
    struct fake_frame *const frames = calloc(DEEP, sizeof *frames);
    struct session *const session = start(FAKE_PID_EMPTY);
    size_t count = 0;
    (void)state;
    assert_non_null(frames);
    for (size_t i = 0; i < DEEP; i++)
        frames[i] = (struct fake_frame){ "/srv/r.py", "recurse", 1, 2 };
    fake_session_add(session, 1, frames, DEEP, 0, 1);
    fake_session_seal(session);
    struct buffer out = report_of(session, "collapsed", &everything);
    for (const char *c = strchr(out.data, ';'); c; c = strchr(c + 1, ';'))
        count++;
    assert_int_equal(count, DEEP);
    buffer_deinit(&out);
    out = report_of(session, "flamegraph", &everything);
    buffer_deinit(&out);
    session_destroy(session);
    free(frames);
}

static void reports_take_the_same_query_as_views(void **state)
{
    static const thread_id second[] = { 1 };
    static const struct view_query query = { .threads = second, .thread_count = 1 };
    struct session *const session = start(FAKE_PID_STILL);
    (void)state;
    struct buffer out = report_of(session, "collapsed", &query);
    assert_non_null(strstr(out.data, "tid:4712"));
    assert_null(strstr(out.data, "tid:4711"));
    buffer_deinit(&out);
    session_destroy(session);
}

static void empty_profile_is_an_empty_report(void **state)
{
    struct session *const session = start(FAKE_PID_EMPTY);
    (void)state;
    struct buffer out = report_of(session, "collapsed", &everything);
    assert_int_equal(out.length, 0);
    buffer_deinit(&out);
    out = report_of(session, "flamegraph", &everything);
    buffer_deinit(&out);
    session_destroy(session);
}

static unsigned digit_of(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *const at = c ? strchr(digits, c) : NULL;
    assert_true(at || c == '=');
    return at ? (unsigned)(at - digits) : 0;
}

/* The caller frees. */
static unsigned char *decode64(const char *text, size_t length, size_t *bytes_out)
{
    unsigned char *const out = malloc(length + 1);
    assert_non_null(out);
    assert_int_equal(length % 4, 0);
    *bytes_out = 0;
    for (size_t i = 0; i < length; i += 4) {
        const unsigned bits = digit_of(text[i]) << 18 | digit_of(text[i + 1]) << 12 |
                              digit_of(text[i + 2]) << 6 | digit_of(text[i + 3]);
        out[(*bytes_out)++] = (unsigned char)(bits >> 16);
        out[(*bytes_out)++] = (unsigned char)(bits >> 8);
        out[(*bytes_out)++] = (unsigned char)bits;
    }
    *bytes_out -= (size_t)(text[length - 1] == '=') + (size_t)(text[length - 2] == '=');
    return out;
}

static void base64_follows_the_vectors_of_its_rfc(void **state)
{
    static const char *const rows[][2] = { { "", "" },
                                           { "f", "Zg==" },
                                           { "fo", "Zm8=" },
                                           { "foo", "Zm9v" },
                                           { "foob", "Zm9vYg==" },
                                           { "fooba", "Zm9vYmE=" },
                                           { "foobar", "Zm9vYmFy" },
                                           { "\xfb\xff\xfe", "+//+" } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buffer out = { 0 };
        base64_append(&out, rows[i][0], strlen(rows[i][0]));
        assert_string_equal(buffer_string(&out), rows[i][1]);
        buffer_deinit(&out);
    }
}

static cJSON *unpack(const unsigned char *data, size_t bytes)
{
    enum { ROOM = 1 << 20 };
    char *const text = calloc(1, ROOM + 1);
    z_stream z;
    assert_non_null(text);
    memset(&z, 0, sizeof z);
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)data;
    z.avail_in = (unsigned)bytes;
    z.next_out = (unsigned char *)text;
    z.avail_out = ROOM;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    cJSON *const json = cJSON_Parse(text);
    free(text);
    assert_non_null(json);
    return json;
}

static const cJSON *at(const cJSON *json, const char *name)
{
    const cJSON *const found = cJSON_GetObjectItemCaseSensitive(json, name);
    assert_non_null(found);
    return found;
}

/* The profile inside a report; the caller deletes. */
static cJSON *payload_of(const struct buffer *html)
{
    static const char mark[] =
        "<script type=\"text/plain\" id=\"profile-data\" data-view=\"flame\">";
    const char *const begin = strstr(html->data, mark);
    assert_non_null(begin);
    const char *const text = begin + sizeof mark - 1;
    const char *const end = strstr(text, "</script>");
    assert_non_null(end);
    size_t bytes = 0;
    unsigned char *const packed = decode64(text, (size_t)(end - text), &bytes);
    cJSON *const json = unpack(packed, bytes);
    free(packed);
    return json;
}

static void html_report_is_the_page_with_the_profile_inside(void **state)
{
    struct session *const session = start(FAKE_PID_STILL);
    (void)state;
    struct buffer out = report_of(session, "flamegraph", &everything);
    cJSON *const json = payload_of(&out);
    const cJSON *const cells = at(json, "cells");
    const cJSON *count = NULL;
    double total = 0;
    cJSON_ArrayForEach(count, at(cells, "count")) total += count->valuedouble;
    assert_true(total == FAKE_TOTAL);
    assert_true(at(json, "version")->valuedouble == 1);
    assert_int_equal(cJSON_GetArraySize(at(cells, "node")), FAKE_STACK_COUNT);
    assert_int_equal(cJSON_GetArraySize(at(cells, "thread")), FAKE_STACK_COUNT);
    assert_int_equal(cJSON_GetArraySize(at(cells, "state")), FAKE_STACK_COUNT);
    assert_string_equal(at(at(json, "session"), "epoch")->valuestring, "0123456789abcdef");
    assert_true(at(at(json, "quality"), "samples")->valuedouble == FAKE_TOTAL);
    assert_null(cJSON_GetObjectItem(at(json, "quality"), "rss_bytes"));
    assert_true(at(at(json, "tree"), "generation")->valuedouble == 1);
    assert_true(at(at(at(json, "summary"), "observed"), "samples")->valuedouble == FAKE_TOTAL);
    assert_non_null(strstr(at(json, "summary_markdown")->valuestring, "GIL"));
    cJSON_Delete(json);
    buffer_deinit(&out);
    session_destroy(session);
}

static void html_report_has_no_names_of_what_was_filtered_away(void **state)
{
    static const char *const gone[] = { "render",     "_find_and_load", "six",    "worker;",
                                        "MainThread", "view.py",        "onerror" };
    static const char *const kept[] = { "Tree.walk", "<GC>", "/srv/lib/tree.py", "python3" };
    struct sample_session *const session = sample_session_small();
    struct report_source source = session->source;
    const thread_id child = 2;
    const struct view_query query = { .threads = &child, .thread_count = 1 };
    struct buffer out = { 0 };
    (void)state;
    source.query = &query;
    source.header = NULL;
    assert_int_equal(report_write(report_find("flamegraph"), &source, &out, NULL), ERR_OK);
    assert_non_null(buffer_string(&out));
    cJSON *const json = payload_of(&out);
    cJSON_DeleteItemFromObject(json, "session"); /* names the program */
    char *const text = cJSON_PrintUnformatted(json);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (strstr(text, gone[i]))
            fail_msg("it has '%s'", gone[i]);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (!strstr(text, kept[i]))
            fail_msg("it lacks '%s'", kept[i]);
    free(text);
    cJSON_Delete(json);
    buffer_deinit(&out);
    sample_session_destroy(session);
}

static void a_thread_that_is_named_late_is_one_track(void **state)
{
    /* Its name and its number were unknown at first; another thread has its ident later. */
    const struct profile_thread rows[] = { { .ident = 9 },
                                           { .tid = 5, .ident = 9 },
                                           { .tid = 5, .ident = 9 },
                                           { .tid = 6, .ident = 9 } };
    struct profile *const profile = made_profile();
    thread_id ids[4];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct profile_thread row = rows[i];
        row.name = made_string(profile, i == 2 ? "late" : "");
        assert_ok(profile_process(profile, 4711, 0, &row.process, NULL), NULL);
        assert_ok(profile_thread(profile, &row, &ids[i], NULL), NULL);
    }
    for (size_t i = 0; i < 4; i++) {
        made_add_at(profile, ids[i], "main;work", i * NS_PER_S + NS_PER_S / 10, NS_PER_S / 10,
                    8);
        made_seal(profile, i + 1);
    }
    struct sample_session *const session = sample_session_of(profile);
    struct buffer out = { 0 };
    assert_int_equal(report_write(report_find("chrome-trace"), &session->source, &out, NULL),
                     ERR_OK);
    cJSON *const json = cJSON_Parse(buffer_string(&out));
    const cJSON *event;
    size_t named = 0, begun = 0;
    cJSON_ArrayForEach(event, at(json, "traceEvents"))
    {
        const bool is_label = strcmp(at(event, "name")->valuestring, "thread_name") == 0;
        const int tid = at(event, "tid")->valueint;
        assert_true(tid == 5 || tid == 6);
        begun += strcmp(at(event, "ph")->valuestring, "B") == 0 && tid == 5;
        if (is_label && tid == 5)
            assert_non_null(strstr(at(at(event, "args"), "name")->valuestring, "late (5)"));
        named += is_label;
    }
    assert_int_equal(named, 2);
    assert_true(begun >= 2);
    cJSON_Delete(json);
    buffer_deinit(&out);
    sample_session_destroy(session);
}

/* One second in which `lines` lines of one function had a sample each. */
static void add_second(struct session *session, int32_t lines)
{
    for (int32_t line = 1; line <= lines; line++) {
        const struct fake_frame frame = { "/srv/app.py", "main", 1, line };
        fake_session_add(session, 4711, &frame, 1, STATE_ON_CPU, 1);
    }
    fake_session_seal(session);
}

static cJSON *profile_after(unsigned seconds, int32_t lines)
{
    struct session *const session = start(FAKE_PID_STILL);
    for (unsigned i = 0; i < seconds; i++)
        add_second(session, lines);
    struct buffer out = report_of(session, "flamegraph", &everything);
    cJSON *const json = payload_of(&out);
    buffer_deinit(&out);
    session_destroy(session);
    return json;
}

static double sum_of_slot(const cJSON *cells, int slot)
{
    double sum = 0;
    for (int i = 0; i < cJSON_GetArraySize(at(cells, "slot")); i++)
        if (cJSON_GetArrayItem(at(cells, "slot"), i)->valueint == slot)
            sum += cJSON_GetArrayItem(at(cells, "count"), i)->valuedouble;
    return sum;
}

static void cells_of_a_report_say_when_they_were(void **state)
{
    (void)state;
    cJSON *const json = profile_after(3, 5);
    const cJSON *const slots = at(json, "slots");
    assert_true(at(slots, "width")->valuedouble == 0.25);
    assert_int_equal(cJSON_GetArraySize(at(slots, "start")), 4);
    assert_int_equal(cJSON_GetArraySize(at(slots, "end")), 4);
    assert_true(sum_of_slot(at(json, "cells"), 0) == FAKE_TOTAL);
    for (int slot = 1; slot < 4; slot++)
        assert_true(sum_of_slot(at(json, "cells"), slot) == 5);
    cJSON_Delete(json);
}

static void time_gets_coarser_where_a_report_would_get_large(void **state)
{
    (void)state;
    cJSON *const json = profile_after(64, 400);
    const cJSON *const counts = at(at(json, "cells"), "count");
    const int slots = cJSON_GetArraySize(at(at(json, "slots"), "start"));
    const cJSON *count = NULL;
    double total = 0;
    cJSON_ArrayForEach(count, counts) total += count->valuedouble;
    assert_true(total == FAKE_TOTAL + 64 * 400);
    assert_in_range(slots, 2, 32);
    assert_in_range(cJSON_GetArraySize(counts), 1, TIMED_SPARE_CELLS + 500);
    cJSON_Delete(json);
}

static void html_report_holds_its_policy_and_no_name_in_the_open(void **state)
{
    struct session *const session = start(FAKE_PID_STILL);
    const struct asset meta = asset_page_meta();
    (void)state;
    struct buffer out = report_of(session, "flamegraph", &everything);
    assert_null(strstr(out.data, "<!--report-csp-->"));
    assert_non_null(memmem(out.data, out.length, meta.data, meta.bytes));
    assert_null(strstr(out.data, "onerror=alert"));
    buffer_deinit(&out);
    session_destroy(session);
}

TEST_GROUP(cmocka_unit_test(folded_stacks_are_sorted_by_count_then_text),
           cmocka_unit_test(folded_lines_survive_hostile_names),
           cmocka_unit_test(files_of_one_name_share_a_line),
           cmocka_unit_test(deep_stacks_are_written_whole),
           cmocka_unit_test(reports_take_the_same_query_as_views),
           cmocka_unit_test(empty_profile_is_an_empty_report),
           cmocka_unit_test(base64_follows_the_vectors_of_its_rfc),
           cmocka_unit_test(html_report_is_the_page_with_the_profile_inside),
           cmocka_unit_test(html_report_has_no_names_of_what_was_filtered_away),
           cmocka_unit_test(a_thread_that_is_named_late_is_one_track),
           cmocka_unit_test(cells_of_a_report_say_when_they_were),
           cmocka_unit_test(time_gets_coarser_where_a_report_would_get_large),
           cmocka_unit_test(html_report_holds_its_policy_and_no_name_in_the_open))
