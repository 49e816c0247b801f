/* Embedded parts of reports beside the profile: text of source files, instructions, bins of 20
 * ms, requests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "server/report/embedded.h"
#include "server/report/report.h"
#include "server/wire/json.h"
#include "server/wire/kept_rows.h"
#include "server/wire/requests.h"
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

static size_t count(const struct buffer *page, const char *text)
{
    size_t found = 0;
    const char *const end = page->data + page->length;
    for (const char *at = page->data; (at = memmem(at, (size_t)(end - at), text, strlen(text)));
         at++)
        found++;
    return found;
}

/* The embedded part of a report within these bounds, as an object; the caller deinits. */
static struct buffer embedded_within(const struct world *world,
                                     const struct embedded_bounds *bounds)
{
    struct buffer out = { 0 };
    struct json json;
    struct err err = { 0 };
    json_init(&json, &out);
    json_object(&json);
    assert_ok(embedded_write_heat(&json, &world->source, &err), &err);
    assert_ok(embedded_write_sources(&json, &world->source, bounds, &err), &err);
    json_end(&json);
    assert_ok(json_finish(&json, &err), &err);
    assert_non_null(buffer_string(&out));
    return out;
}

static struct buffer embedded(const struct world *world)
{
    return embedded_within(world, &embedded_hottest);
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
    /* Something is known of lines 10 to 23: six around them, all still at their number. */
    assert_int_equal(count(&text, "source line "), 29 - 4 + 1 - 1);
    assert_int_equal(count(&text, "\\n"), 2000);
    assert_non_null(strstr(text.data, "\\n\\n\\nsource line 4\\n"));
    buffer_deinit(&text);
}

static void a_report_has_no_text_where_it_was_left_out_or_has_no_room(void **state)
{
    struct world *const world = *state;
    char *const huge = calloc(1, embedded_hottest.text_bytes + 1);
    memset(huge, 'x', embedded_hottest.text_bytes);
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

static void a_heat_map_has_all_files_whole_and_is_all_one_is_missing(void **state)
{
    struct world *const world = *state;
    put_app(world, 20000, "</script>hot");
    struct buffer text = embedded_within(world, &embedded_all);
    assert_int_equal(count(&text, "source line "), 19999);
    assert_int_equal(count(&text, "\"whole\":true"), 1);
    assert_int_equal(count(&text, "</script"), 0);
    /* The others are not there to be read. */
    assert_true(count(&text, "\"error\":\"") > 0);
    buffer_deinit(&text);
}

static void a_heat_map_has_so_much_text(void **state)
{
    const struct embedded_bounds bounds = {
        .files = SIZE_MAX, .text_bytes = 4096, .whole_bytes = SIZE_MAX, .is_all = true
    };
    struct world *const world = *state;
    put_app(world, 400, "hot");
    struct buffer text = embedded_within(world, &bounds);
    assert_int_equal(count(&text, "\"whole\":false"), 1);
    assert_int_equal(count(&text, "source line "), 29 - 4 + 1 - 1);
    buffer_deinit(&text);
    char *const huge = calloc(1, bounds.text_bytes + 1);
    memset(huge, 'x', bounds.text_bytes);
    put_app(world, 400, huge);
    text = embedded_within(world, &bounds);
    assert_int_equal(count(&text, "source line "), 0);
    assert_non_null(strstr(text.data, "{\"path\":\"/srv/app.py\",\"error\":\"the report has no "
                                      "room for it\"}"));
    buffer_deinit(&text);
    free(huge);
}

static void a_report_has_the_last_seconds_of_its_heat_map(void **state)
{
    struct world *const world = *state;
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    for (uint64_t s = 0; s < 200; s++) {
        made_add(profile, thread, STATE_HAS_GIL, "f", 1);
        profile_tick(profile, s * NS_PER_S, s * NS_PER_S, PART_RUNNING, 7);
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
        strstr(text.data, "\"self\":[0,150,100],\"total\":[250,150,100],\"omitted\":0}]"));
    buffer_deinit(&text);
    const thread_id thread = 0;
    world->source.query = &(struct view_query){ .threads = &thread, .thread_count = 1 };
    text = embedded(world);
    assert_int_equal(count(&text, "instructions"), 0);
    buffer_deinit(&text);
}

/* The instructions with the most samples are kept, by line. */
static void a_report_has_so_many_instructions(void **state)
{
    const int more = (int)embedded_hottest.instructions + 100;
    struct world *const world = *state;
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    for (int line = 1; line <= more; line++) {
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
    assert_non_null(strstr(text.data, "\"omitted\":100}]"));
    buffer_deinit(&text);
    text = embedded_within(world, &embedded_all);
    assert_non_null(strstr(text.data, "\"names\":[\"\"],\"line\":[1,2,"));
    assert_non_null(strstr(text.data, "\"omitted\":0}]"));
    buffer_deinit(&text);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

/* One request of `count` samples of 1 ms each, in so many pieces at least. */
static void put_request(struct profile *profile, thread_id thread, unsigned number,
                        uint64_t at_ns, uint32_t count, unsigned pieces)
{
    for (unsigned i = 0; i < pieces; i++) {
        char stack[128];
        snprintf(stack, sizeof stack, "main;work%u;<context id: r%u>", i % 2, number);
        made_add_at(profile, thread, stack, at_ns + (uint64_t)i * count * NS_PER_MS, NS_PER_MS,
                    count);
    }
}

static void a_report_has_the_slowest_requests_some_of_each_duration_and_all_durations(
    void **state)
{
    enum { QUICK = 5000, SLOW = 30 };
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    uint64_t at_ns = 100 * NS_PER_MS;
    (void)state;
    profile_set_period(profile, NS_PER_MS);
    for (unsigned i = 0; i < QUICK; i++, at_ns += 4 * NS_PER_MS)
        put_request(profile, thread, i, at_ns, 1 + i % 3, 1);
    for (unsigned i = QUICK; i < QUICK + SLOW; i++, at_ns += 400 * NS_PER_MS)
        put_request(profile, thread, i, at_ns, 1, 300);
    made_seal(profile, at_ns / NS_PER_S + 2);
    struct profile_snapshot snapshot = made_snapshot(profile);

    struct buffer text = { 0 };
    struct json json;
    struct err err = { 0 };
    struct kept_rows kept;
    const struct view_query everything = { 0 };
    json_init(&json, &text);
    json_object(&json);
    assert_ok(kept_rows_init(&kept, &snapshot, &err), &err);
    for (node_id node = 1; node < snapshot.sizes.nodes; node += 2)
        kept_rows_cell(&kept, thread, node);
    assert_ok(requests_write_embedded(&json, &snapshot, &everything, &err), &err);
    assert_ok(requests_write_durations(&json, &snapshot, &kept, &err), &err);
    json_end(&json);
    assert_ok(json_finish(&json, &err), &err);
    assert_non_null(buffer_string(&text));
    assert_int_equal(count(&text, "\"requests\":5030,"), 1);
    assert_int_equal(count(&text, "\"chosen\":5030,"), 1);
    /* 30 slow ones, 20 of 3 ms to be 50, and 4 of each of the three short durations. */
    assert_int_equal(count(&text, "\"variable\":"), 50 + 3 * REQUESTS_EMBEDDED_OF_BIN);
    assert_int_equal(count(&text, "\"pieces_left_out\":200"), REQUESTS_EMBEDDED_WATERFALLS);
    assert_int_equal(count(&text, "\"cause\":null"),
                     REQUESTS_EMBEDDED_WATERFALLS * REQUESTS_EMBEDDED_PIECES);
    const char *const ns = strstr(text.data, "\"ns\":[");
    assert_non_null(ns);
    size_t durations = 1;
    for (const char *at = ns; (at = strchr(at, ',')); at++)
        durations++;
    /* About a half is kept; the slow ones have two nodes, one of which is. */
    assert_true(durations >= QUICK / 2 + SLOW / 2 && durations < QUICK / 2 + 2 * SLOW);
    buffer_deinit(&text);
    kept_rows_deinit(&kept);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

TEST_GROUP(
    WITH_WORLD(a_report_has_its_hottest_files_whole_or_cut),
    WITH_WORLD(a_report_has_no_text_where_it_was_left_out_or_has_no_room),
    WITH_WORLD(a_heat_map_has_all_files_whole_and_is_all_one_is_missing),
    WITH_WORLD(a_heat_map_has_so_much_text),
    WITH_WORLD(a_report_has_the_instructions_of_its_hottest_files),
    WITH_WORLD(a_report_has_so_many_instructions),
    WITH_WORLD(a_report_has_the_last_seconds_of_its_heat_map),
    cmocka_unit_test(a_report_has_the_slowest_requests_some_of_each_duration_and_all_durations))
