/* The heat map with the text of source files; without it, it is among the golden files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "server/report/embedded.h"
#include "server/report/report.h"
#include "server/wire/json.h"
#include "tests/support/made_profile.h"
#include "tests/support/sample_session.h"
#include "tests/support/source_folder.h"
#include "tests/support/test.h"

struct world {
    char *folder;
    struct source_reader files;
    struct sample_session *session;
    struct report_source source;
};

static int setup(void **state)
{
    struct world *const world = calloc(1, sizeof *world);
    char path[512];
    world->folder = temp_dir();
    snprintf(path, sizeof path, "%s/srv", world->folder);
    mkdir(path, 0755);
    world->files = source_folder(world->folder);
    world->session = sample_session_small();
    world->source = world->session->source;
    world->source.files = &world->files;
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *const world = *state;
    sample_session_destroy(world->session);
    temp_dir_remove(world->folder);
    free(world);
    return 0;
}

/* /srv/app.py of that many lines, line 22 of which is `text`. */
static void put_app(const struct world *world, int lines, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/srv/app.py", world->folder);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    for (int line = 1; line <= lines; line++)
        if (line == 22)
            fprintf(file, "%s\n", text);
        else
            fprintf(file, "source line %d\n", line);
    fclose(file);
}

/* The caller deinits. */
static struct buffer page_of(const struct world *world)
{
    struct buffer out = { 0 };
    struct err err = { 0 };
    assert_ok(report_write_heatmap(&world->source, &out, &err), &err);
    assert_non_null(buffer_string(&out));
    return out;
}

static size_t count(const struct buffer *page, const char *text)
{
    size_t found = 0;
    const char *const end = page->data + page->length;
    for (const char *at = page->data; (at = memmem(at, (size_t)(end - at), text, strlen(text)));
         at++)
        found++;
    return found;
}

static void source_lines_stand_beside_their_samples(void **state)
{
    struct world *const world = *state;
    put_app(world, 40,
            "    return a < b & c > \"</td><script>alert(1)</script>\"\t# \x1b[31m\xff");
    struct buffer page = page_of(world);
    assert_int_equal(count(&page, "source line "), 39);
    assert_non_null(strstr(page.data,
                           "<td class=\"n\">300</td><td class=\"n\">300</td><td class=\"code\">"
                           "    return a &lt; b &amp; c &gt; &quot;&lt;/td&gt;&lt;script&gt;"
                           "alert(1)&lt;/script&gt;&quot;\t# \\x1b[31m\xef\xbf\xbd</td>"));
    assert_null(strstr(page.data, "<script>"));
    assert_non_null(strstr(page.data, "The file was changed after recording began"));
    buffer_deinit(&page);
}

static void source_can_be_left_out(void **state)
{
    struct world *const world = *state;
    put_app(world, 40, "secret");
    world->source.settings.no_source = true;
    struct buffer page = page_of(world);
    assert_null(strstr(page.data, "secret"));
    assert_null(strstr(page.data, "source line"));
    assert_non_null(strstr(page.data, "The source was left out."));
    buffer_deinit(&page);
}

static void of_a_long_file_only_surroundings_are_shown(void **state)
{
    struct world *const world = *state;
    put_app(world, 20000, "hot");
    struct buffer page = page_of(world);
    assert_int_equal(count(&page, "source line "), 19999);
    buffer_deinit(&page);
    put_app(world, 20001, "hot");
    page = page_of(world);
    /* Lines 10, 14 to 17, 20, 22 and 23 are known of; two lines around each are shown. */
    assert_int_equal(count(&page, "source line "), 25 - 8);
    assert_non_null(strstr(page.data, "Of this long file only the surroundings"));
    buffer_deinit(&page);
}

static void a_file_that_got_shorter_keeps_its_samples(void **state)
{
    struct world *const world = *state;
    put_app(world, 12, "");
    struct buffer page = page_of(world);
    assert_int_equal(count(&page, "source line "), 12);
    assert_non_null(strstr(page.data, "-22\" class=\"s"));
    buffer_deinit(&page);
}

static void of_many_callers_some_are_shown(void **state)
{
    struct world *const world = *state;
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    char stack[64];
    for (int i = 0; i < 30; i++) {
        struct err err = { 0 };
        node_id node = 0;
        snprintf(stack, sizeof stack, "caller%d", i);
        assert_ok(profile_node(profile, 0, made_frame(profile, stack, 10 + i), &node, &err),
                  &err);
        assert_ok(profile_node(profile, node, made_frame(profile, "callee", 5), &node, &err),
                  &err);
        assert_ok(profile_add(profile, thread, 0, node, (uint32_t)i + 1, &err), &err);
    }
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    world->source.snapshot = &snapshot;
    struct buffer page = page_of(world);
    assert_non_null(strstr(page.data, "<li>and 18 more</li>"));
    /* The most frequent ones, in that order. */
    const char *const first = strstr(page.data, "made.py:39</a> <b>30</b>");
    const char *const second = strstr(page.data, "made.py:38</a> <b>29</b>");
    assert_non_null(first);
    assert_true(second > first);
    buffer_deinit(&page);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

/* What a report of the page embeds, as an object; the caller deinits. */
static struct buffer embedded(const struct world *world)
{
    struct buffer out = { 0 };
    struct json json;
    struct err err = { 0 };
    json_init(&json, &out);
    json_object(&json);
    assert_ok(embedded_write_heat(&json, &world->source, &err), &err);
    assert_ok(embedded_write_sources(&json, &world->source, &err), &err);
    json_end(&json);
    assert_ok(json_finish(&json, &err), &err);
    assert_non_null(buffer_string(&out));
    return out;
}

static void a_report_has_its_hottest_files_whole_or_cut(void **state)
{
    struct world *const world = *state;
    put_app(world, 40, "</script>hot");
    struct buffer text = embedded(world);
    assert_int_equal(count(&text, "source line "), 39);
    assert_int_equal(count(&text, "\"whole\":true"), 1);
    assert_int_equal(count(&text, "\"changed\":true"), 1);
    assert_int_equal(count(&text, "</script"), 0);
    buffer_deinit(&text);
    put_app(world, 2000, "hot");
    text = embedded(world);
    assert_int_equal(count(&text, "\"whole\":false"), 1);
    /* Lines 14 to 23 have samples: six around them, and all are still at their number. */
    assert_int_equal(count(&text, "source line "), 29 - 8 + 1 - 1);
    assert_int_equal(count(&text, "\\n"), 2000);
    assert_non_null(strstr(text.data, "\\n\\n\\nsource line 8\\n"));
    buffer_deinit(&text);
}

static void a_report_has_no_text_where_it_was_left_out_or_has_no_room(void **state)
{
    struct world *const world = *state;
    char *const huge = calloc(1, EMBEDDED_TEXT_BYTES + 1);
    memset(huge, 'x', EMBEDDED_TEXT_BYTES);
    put_app(world, 40, huge);
    struct buffer text = embedded(world);
    assert_int_equal(count(&text, "sources"), 0);
    buffer_deinit(&text);
    free(huge);
    put_app(world, 40, "secret");
    world->source.settings.no_source = true;
    text = embedded(world);
    assert_int_equal(count(&text, "sources") + count(&text, "secret"), 0);
    buffer_deinit(&text);
    world->source.settings.no_source = false;
    world->source.files = NULL;
    text = embedded(world);
    assert_int_equal(count(&text, "sources"), 0);
    buffer_deinit(&text);
}

static void a_report_has_the_last_seconds_of_its_heat_map(void **state)
{
    struct world *const world = *state;
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    for (uint64_t s = 0; s < 200; s++) {
        made_add(profile, thread, STATE_HAS_GIL, "f", 1);
        profile_tick(profile, s * NS_PER_S, s * NS_PER_S, STATE_HAS_GIL, 7);
        made_seal(profile, s + 1);
    }
    struct profile_snapshot snapshot = made_snapshot(profile);
    world->source.snapshot = &snapshot;
    struct buffer text = embedded(world);
    assert_non_null(strstr(text.data, "\"from\":80,\"to\":200,\"bins\":50,\"second\":[80,81,"));
    assert_int_equal(count(&text, "7,0,0"), EMBEDDED_HEAT_SECONDS);
    buffer_deinit(&text);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void a_report_has_the_instructions_of_its_hottest_files(void **state)
{
    struct world *const world = *state;
    struct buffer text = embedded(world);
    assert_non_null(
        strstr(text.data, "\"instructions\":[{\"samples\":1000,\"path\":\"/srv/app.py\","));
    assert_non_null(strstr(text.data, "\"line\":[14,22,22],\"end_line\":[14,22,22],\"column\":"
                                      "[8,4,12],\"end_column\":[19,9,17],"));
    assert_non_null(
        strstr(text.data, "\"self\":[0,150,100],\"total\":[250,150,100],\"left_out\":0}]"));
    buffer_deinit(&text);
    const thread_id thread = 0;
    world->source.query = &(struct view_query){ .threads = &thread, .thread_count = 1 };
    text = embedded(world);
    assert_int_equal(count(&text, "instructions"), 0);
    buffer_deinit(&text);
}

/* Of many instructions those with the most samples are kept, by line. */
static void a_report_has_so_many_instructions(void **state)
{
    enum { MORE = EMBEDDED_INSTRUCTIONS + 100 };
    struct world *const world = *state;
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    for (int line = 1; line <= MORE; line++) {
        struct err err = { 0 };
        struct profile_spot spot = { .function = made_function(profile, "f", "/srv/many.py", 1),
                                     .line = line,
                                     .end_line = line,
                                     .column = -1,
                                     .end_column = -1 };
        const uint32_t samples = line <= 100 ? 1 : 2;
        frame_id frame = 0;
        node_id node = 0;
        spot_id id = 0;
        assert_ok(profile_frame(profile, spot.function, line, &frame, &err), &err);
        assert_ok(profile_node(profile, 0, frame, &node, &err), &err);
        assert_ok(profile_add(profile, thread, 0, node, samples, &err), &err);
        assert_ok(profile_spot(profile, &spot, &id, &err), &err);
        assert_ok(profile_add_spot(profile, node, id, samples, &err), &err);
    }
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    world->source.snapshot = &snapshot;
    struct buffer text = embedded(world);
    assert_non_null(strstr(text.data, "\"names\":[\"\"],\"line\":[101,102,"));
    assert_non_null(strstr(text.data, "\"left_out\":100}]"));
    buffer_deinit(&text);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

TEST_MAIN(WITH_WORLD(source_lines_stand_beside_their_samples),
          WITH_WORLD(source_can_be_left_out),
          WITH_WORLD(of_a_long_file_only_surroundings_are_shown),
          WITH_WORLD(a_file_that_got_shorter_keeps_its_samples),
          WITH_WORLD(of_many_callers_some_are_shown),
          WITH_WORLD(a_report_has_its_hottest_files_whole_or_cut),
          WITH_WORLD(a_report_has_no_text_where_it_was_left_out_or_has_no_room),
          WITH_WORLD(a_report_has_the_instructions_of_its_hottest_files),
          WITH_WORLD(a_report_has_so_many_instructions),
          WITH_WORLD(a_report_has_the_last_seconds_of_its_heat_map))
