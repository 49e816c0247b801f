#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/capture/merge.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/source_texts.h"
#include "sampler/profile/packages.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

static const struct merge_options everything = { .ranges = NULL };
static const uint64_t START_NS = 1700000000000000000u;

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    buffer_append(to, data, bytes);
    return buffer_check(to, err);
}

/* Makes a capture with ten samples of main;work and one of its own function `own` in each
 * second. */
static void make(struct made_capture *capture, const char *host, uint64_t start_s,
                 const char *own, unsigned seconds)
{
    const struct made_capture_words words = { .host = host,
                                              .started_at_ns = START_NS + start_s * NS_PER_S };
    made_capture_begin_as(capture, &words);
    const thread_id thread = made_thread(capture->profile, 4711, 4711);
    for (unsigned second = 0; second < seconds; second++) {
        made_run(capture, thread, STATE_ON_CPU, "main;work", 10, second * 1000ull);
        made_run(capture, thread, STATE_WAITS_GIL, own, 1, second * 1000ull + 10);
        made_capture_seal(capture, second + 1);
    }
    made_capture_end(capture);
}

/* One in which something is known of a folder. */
static void make_of_package(struct made_capture *capture, const char *path, const char *package)
{
    struct err err = { 0 };
    made_capture_begin(capture);
    assert_ok(packages_add(profile_packages(capture->profile), path, package, &err), &err);
    made_run(capture, made_thread(capture->profile, 1, 1), STATE_ON_CPU, "main", 1, 0);
    made_capture_seal(capture, 1);
    made_capture_end(capture);
}

static struct reader *open_path(const char *path)
{
    struct reader *reader = NULL;
    struct err err = { 0 };
    assert_ok(reader_open(path, &reader, &err), &err);
    return reader;
}

/* Replaces the first capture by the merged one, and loads it. */
static struct reader *merge(struct made_capture *captures, size_t count)
{
    struct reader *readers[4];
    struct buffer file = { 0 };
    struct merge_result result;
    uint64_t wanted = 0;
    struct err err = { 0 };
    for (size_t i = 0; i < count; i++) {
        readers[i] = open_path(captures[i].path);
    }
    assert_ok(merge_captures(readers, count, &everything, take, &file, &result, &err), &err);
    for (size_t i = 0; i < count; i++) {
        wanted += made_samples(readers[i]);
        reader_close(readers[i]);
    }
    assert_int_equal(result.samples, wanted);
    made_file(&captures[0], file.data, file.length);
    buffer_deinit(&file);
    struct reader *const merged = open_path(captures[0].path);
    assert_ok(reader_load(merged, 0, &err), &err);
    assert_null(reader_missing(merged));
    return merged;
}

static void end(struct reader *merged, struct made_capture *captures, size_t count)
{
    reader_close(merged);
    for (size_t i = 0; i < count; i++)
        made_capture_free(&captures[i]);
}

static uint64_t samples_between(struct reader *reader, uint64_t from_s, uint64_t to_s)
{
    const struct view_query query = { .from_ns = from_s * NS_PER_S, .to_ns = to_s * NS_PER_S };
    struct profile_snapshot snapshot = made_snapshot(reader_profile(reader));
    struct view view = made_view(&snapshot, &query);
    const uint64_t total = view.total;
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    return total;
}

static void what_is_the_same_is_there_once(void **state)
{
    struct made_capture captures[2];
    (void)state;
    make(&captures[0], "build7", 0, "main;a", 3);
    make(&captures[1], "build7", 0, "main;b", 3);
    struct reader *const merged = merge(captures, 2);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(merged));
    struct view view = made_view(&snapshot, &(struct view_query){ 0 });
    assert_int_equal(snapshot.sizes.nodes, 1 + 4); /* the root, main, work, a, b */
    assert_int_equal(snapshot.sizes.threads, 1);
    assert_int_equal(snapshot.sizes.processes, 1);
    assert_int_equal(view.total, 66);
    assert_int_equal(view.count, 3);
    assert_int_equal(view.self[0], 60);
    assert_int_equal(view.self[1] + view.self[2], 6);
    assert_int_equal(snapshot.quality.samples, 66);
    assert_int_equal(view.total_ns, 66 * NS_PER_MS);
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    end(merged, captures, 2);
}

static void what_is_known_of_packages_is_kept(void **state)
{
    struct made_capture captures[2];
    (void)state;
    make_of_package(&captures[0], "/srv/shop", "");
    make_of_package(&captures[1], "/srv/vendored", "six");
    struct reader *const merged = merge(captures, 2);
    const struct packages *const packages = profile_packages(reader_profile(merged));
    assert_int_equal(packages_count(packages), 2);
    assert_string_equal(packages_find(packages, "/srv/vendored/six.py"), "six");
    assert_string_equal(packages_find(packages, "/srv/shop/app.py"), "");
    end(merged, captures, 2);
}

/* In any order, the session begins when the earliest capture began. */
static void each_keeps_its_time(void **state)
{
    (void)state;
    for (unsigned turn = 0; turn < 2; turn++) {
        struct made_capture captures[2];
        make(&captures[turn], "build7", 100, "main;a", 2);
        make(&captures[1 - turn], "build7", 107, "main;b", 3);
        struct reader *const merged = merge(captures, 2);
        const struct capture_metadata *const metadata = reader_metadata(merged);
        assert_int_equal(metadata->started_at_ns, START_NS + 100 * NS_PER_S);
        assert_int_equal(metadata->merged, 2);
        assert_string_equal(metadata->reason, "merged from 2 captures");
        assert_int_equal(metadata->elapsed_ns,
                         (7 + 9) * NS_PER_S); /* the counter is nine in each */
        assert_int_equal(samples_between(merged, 0, 2), 22);
        assert_int_equal(samples_between(merged, 2, 7), 0);
        assert_int_equal(samples_between(merged, 7, 8), 11);
        assert_int_equal(samples_between(merged, 7, 10), 33);
        end(merged, captures, 2);
    }
}

/* Windows of both follow each other by their ends; no sample is lost or counted in two. */
static void what_overlaps_is_added_up(void **state)
{
    struct made_capture captures[3];
    (void)state;
    make(&captures[0], "build7", 0, "main;a", 5);
    make(&captures[1], "build7", 2, "main;b", 5);
    make(&captures[2], "build7", 4, "main;a", 1);
    struct reader *const merged = merge(captures, 3);
    assert_int_equal(samples_between(merged, 0, 2), 22);
    assert_int_equal(samples_between(merged, 0, 0), 121);
    assert_int_equal(samples_between(merged, 5, 0) + samples_between(merged, 0, 5), 121);
    end(merged, captures, 3);
}

/* Each capture has three seconds; the last of one and the first of the other are taken. */
static void of_each_a_range_is_taken(void **state)
{
    const struct merge_range ranges[2] = { { .from_ns = 2 * NS_PER_S }, { .to_ns = NS_PER_S } };
    struct made_capture captures[2];
    struct reader *readers[2];
    struct buffer file = { 0 };
    struct merge_result result;
    struct err err = { 0 };
    (void)state;
    make(&captures[0], "build7", 0, "main;a", 3);
    make(&captures[1], "build7", 10, "main;b", 3);
    for (size_t i = 0; i < 2; i++)
        readers[i] = open_path(captures[i].path);
    assert_ok(merge_captures(readers, 2, &(struct merge_options){ .ranges = ranges }, take,
                             &file, &result, &err),
              &err);
    for (size_t i = 0; i < 2; i++)
        reader_close(readers[i]);
    assert_int_equal(result.samples, 22);
    made_file(&captures[0], file.data, file.length);
    buffer_deinit(&file);
    struct reader *const merged = open_path(captures[0].path);
    assert_ok(reader_load(merged, 0, &err), &err);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(merged));
    assert_int_equal(snapshot.quality.samples, 22);
    profile_snapshot_release(&snapshot);
    /* It begins with the first range. */
    assert_int_equal(reader_metadata(merged)->started_at_ns, START_NS + 2 * NS_PER_S);
    assert_int_equal(samples_between(merged, 0, 1), 11);
    assert_int_equal(samples_between(merged, 1, 8), 0);
    assert_int_equal(samples_between(merged, 8, 9), 11);
    end(merged, captures, 2);
}

static void a_range_behind_the_end_is_named(void **state)
{
    const struct merge_range range = { .from_ns = 4 * NS_PER_S };
    struct made_capture capture;
    struct buffer file = { 0 };
    struct merge_result result;
    struct err err = { 0 };
    (void)state;
    make(&capture, "build7", 0, "main;a", 3);
    struct reader *const reader = open_path(capture.path);
    assert_int_equal(merge_captures(&reader, 1, &(struct merge_options){ .ranges = &range },
                                    take, &file, &result, &err),
                     ERR_INVALID);
    assert_string_equal(err.message, "capture 1 has nothing in that part of its time");
    reader_close(reader);
    buffer_deinit(&file);
    made_capture_free(&capture);
}

static void processes_of_other_hosts_say_so(void **state)
{
    struct made_capture captures[3];
    const char *names[2];
    (void)state;
    make(&captures[0], "build7", 0, "main;a", 1);
    make(&captures[1], "build8", 0, "main;a", 1);
    make(&captures[2], "", 0, "main;a", 1); /* unknown host: counts as this one */
    struct reader *const merged = merge(captures, 3);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(merged));
    assert_int_equal(snapshot.sizes.processes, 2);
    assert_int_equal(snapshot.sizes.threads, 2);
    for (process_id id = 0; id < 2; id++) {
        assert_int_equal(profile_process_at(&snapshot, id).pid, 4711);
        names[id] = profile_string(&snapshot, profile_process_at(&snapshot, id).name).text;
    }
    assert_null(strchr(names[0], '@'));
    assert_non_null(strstr(names[1], "@build8"));
    profile_snapshot_release(&snapshot);
    end(merged, captures, 3);
}

static void make_hiding(struct made_capture *capture, const char *pattern)
{
    made_capture_begin_as(capture,
                          &(struct made_capture_words){ .host = "build7", .hide = pattern });
    made_run(capture, made_thread(capture->profile, 1, 1), STATE_ON_CPU, "main;work", 1, 0);
    made_capture_seal(capture, 1);
    made_capture_end(capture);
}

static void filters_are_kept_if_all_have_the_same(void **state)
{
    static const struct {
        const char *first, *second;
        bool drops;
    } rows[] = { { "a", "a", false },
                 { NULL, NULL, false },
                 { "a", "b", true },
                 { "a", NULL, true },
                 { NULL, "a", true } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made_capture captures[2];
        struct merge_result result;
        struct buffer file = { 0 };
        struct err err = { 0 };
        make_hiding(&captures[0], rows[i].first);
        make_hiding(&captures[1], rows[i].second);
        struct reader *const readers[2] = { open_path(captures[0].path),
                                            open_path(captures[1].path) };
        assert_ok(merge_captures(readers, 2, &everything, take, &file, &result, &err), &err);
        reader_close(readers[0]);
        reader_close(readers[1]);
        assert_int_equal(result.drops_filters, rows[i].drops);
        made_file(&captures[0], file.data, file.length);
        buffer_deinit(&file);
        struct reader *const merged = open_path(captures[0].path);
        const struct capture_texts *const hide = &reader_metadata(merged)->hide;
        assert_int_equal(hide->count, rows[i].first && !rows[i].drops);
        if (hide->count)
            assert_string_equal(hide->items[0], rows[i].first);
        reader_close(merged);
        made_capture_free(&captures[0]);
        made_capture_free(&captures[1]);
    }
}

/* The result has the finest unit of time of all captures. */
static void units_may_differ(void **state)
{
    static const struct made_capture_words fine = { .host = "build7", .unit_ns = 1000 };
    struct made_capture captures[2];
    struct capture_window window;
    (void)state;
    make(&captures[0], "build7", 0, "main;a", 1);
    made_capture_begin_as(&captures[1], &fine);
    const thread_id thread = made_thread(captures[1].profile, 1, 1);
    const struct run odd = { .thread = thread,
                             .node = made_node(captures[1].profile, "main;fine"),
                             .spot = PROFILE_NO_SPOT,
                             .count = 1,
                             .first_ns = 500123000 };
    made_any_run(&captures[1], &odd);
    made_capture_seal(&captures[1], 1);
    made_capture_end(&captures[1]);
    struct reader *const merged = merge(captures, 2);
    uint64_t found = 0;
    assert_int_equal(reader_metadata(merged)->unit_ns, 1000);
    reader_rewind(merged);
    while (reader_next_window(merged, &window, NULL) == ERR_OK)
        for (size_t i = 0; i < window.run_count; i++)
            found += window.runs[i].first_ns == 500123000;
    assert_int_equal(found, 1);
    end(merged, captures, 2);
}

static void spots_come_along(void **state)
{
    struct made_capture captures[2];
    struct err err = { 0 };
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        made_capture_begin(&captures[i]);
        struct profile *const profile = captures[i].profile;
        const thread_id thread = made_thread(profile, 1, 1);
        if (i) /* so that ids differ */
            (void)made_node(profile, "other;place");
        function_id function;
        spot_id spot;
        assert_ok(profile_function(profile, made_string(profile, "main"),
                                   made_string(profile, "app.py"), 1, &function, &err),
                  &err);
        const struct profile_spot place = { .function = function,
                                            .line = 7,
                                            .opcode = made_string(profile, "CALL"),
                                            .base = made_string(profile, "CALL") };
        assert_ok(profile_spot(profile, &place, &spot, &err), &err);
        made_spot_run(&captures[i], thread, "main;leaf", spot, 3, 0);
        made_capture_seal(&captures[i], 1);
        made_capture_end(&captures[i]);
    }
    struct reader *const merged = merge(captures, 2);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(merged));
    struct view_spots spots;
    assert_ok(view_spots_init(&spots, &snapshot, &(struct view_query){ 0 }, &err), &err);
    assert_int_equal(spots.count, 1);
    assert_int_equal(spots.spots[0].self, 6);
    view_spots_deinit(&spots);
    profile_snapshot_release(&snapshot);
    end(merged, captures, 2);
}

static void libraries_come_along(void **state)
{
    struct made_capture captures[2];
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        made_capture_begin(&captures[i]);
        struct profile *const profile = captures[i].profile;
        if (i) /* so that ids differ */
            (void)made_native_function(profile, "gzread", "/lib/libz.so", NULL, 0);
        (void)made_native_function(profile, "PyList_Sort", "/usr/bin/python3", "list.c", 9);
        made_run(&captures[i], made_thread(profile, 1, 1), 0, "main", 3, 0);
        made_capture_seal(&captures[i], 1);
        made_capture_end(&captures[i]);
    }
    struct reader *const merged = merge(captures, 2);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(merged));
    function_id found = 0;
    assert_int_equal(snapshot.sizes.libraries, 3);
    for (function_id id = 1; id < snapshot.sizes.functions; id++) {
        const struct profile_function row = profile_function_at(&snapshot, id);
        if (strcmp(profile_string(&snapshot, row.name).text, "PyList_Sort") != 0)
            continue;
        assert_int_equal(found, 0);
        found = id;
        const struct profile_library library = profile_library_at(&snapshot, row.library);
        assert_string_equal(profile_string(&snapshot, library.path).text, "/usr/bin/python3");
        assert_int_equal(library.flags, PROFILE_LIBRARY_INTERPRETER);
    }
    assert_int_not_equal(found, 0);
    profile_snapshot_release(&snapshot);
    end(merged, captures, 2);
}

static void make_with_text(struct made_capture *capture, const char *state, const char *text)
{
    const struct source_text row = { .path = "/srv/a.py",
                                     .path_bytes = 9,
                                     .text = text,
                                     .bytes = strlen(text),
                                     .has_text = true };
    const struct capture_metadata end = { .ended_at_ns = 1, .source_text = state };
    struct buffer texts = { 0 };
    struct err err = { 0 };
    made_capture_begin(capture);
    made_run(capture, made_thread(capture->profile, 1, 1), STATE_ON_CPU, "main", 1, 0);
    made_capture_seal(capture, 1);
    made_capture_flush(capture);
    if (*text) {
        assert_true(source_texts_put(&texts, &row));
        assert_ok(writer_source(&capture->writer, &texts, &err), &err);
    }
    assert_ok(writer_finish(&capture->writer, &end, &err), &err);
    made_file(capture, capture->file.data, capture->file.length);
    buffer_deinit(&texts);
}

static void source_text_comes_along_unless_it_is_omitted(void **state)
{
    struct made_capture captures[3];
    (void)state;
    make_with_text(&captures[0], SOURCE_TEXT_OFF, "");
    make_with_text(&captures[1], SOURCE_TEXT_KEPT, "def a():\n\n");
    make_with_text(&captures[2], SOURCE_TEXT_KEPT, "\n  pass\n");
    for (int omits = 0; omits <= 1; omits++) {
        const struct merge_options options = { .omits_source = omits };
        struct reader *readers[] = { open_path(captures[0].path), open_path(captures[1].path),
                                     open_path(captures[2].path) };
        struct made_capture merged;
        struct buffer file = { 0 };
        struct merge_result result;
        struct err err = { 0 };
        assert_ok(merge_captures(readers, 3, &options, take, &file, &result, &err), &err);
        made_capture_begin(&merged);
        made_file(&merged, file.data, file.length);
        struct reader *const reader = made_reader(&merged);
        assert_ok(reader_load(reader, 0, &err), &err);
        const struct source_texts *const texts = reader_source(reader);
        assert_int_equal(result.source_texts, !omits);
        assert_int_equal(texts->count, !omits);
        assert_string_equal(reader_metadata(reader)->source_text,
                            omits ? SOURCE_TEXT_OFF : SOURCE_TEXT_KEPT);
        if (!omits)
            assert_memory_equal(texts->items[0].text, "def a():\n  pass\n",
                                texts->items[0].bytes);
        reader_close(reader);
        made_capture_free(&merged);
        buffer_deinit(&file);
        for (size_t i = 0; i < 3; i++)
            reader_close(readers[i]);
    }
    for (size_t i = 0; i < 3; i++)
        made_capture_free(&captures[i]);
}

/* A cut capture is merged as far as it goes, and says what is missing. */
static void a_capture_that_was_cut_gives_what_it_has(void **state)
{
    struct made_capture whole, cut;
    struct reader *readers[2];
    struct buffer file = { 0 };
    struct merge_result result;
    struct err err = { 0 };
    (void)state;
    make(&whole, "build7", 0, "main;a", 2);
    make(&cut, "build7", 0, "main;b", 2);
    made_file(&cut, cut.file.data, cut.file.length - 20);
    readers[0] = open_path(whole.path);
    readers[1] = open_path(cut.path);
    assert_ok(merge_captures(readers, 2, &everything, take, &file, &result, &err), &err);
    assert_int_equal(result.samples, 44);
    assert_null(reader_missing(readers[0]));
    assert_non_null(reader_missing(readers[1]));
    reader_close(readers[0]);
    reader_close(readers[1]);
    buffer_deinit(&file);
    made_capture_free(&whole);
    made_capture_free(&cut);
}

static enum err_code refuse(void *to, const void *data, size_t bytes, struct err *err)
{
    (void)to, (void)data, (void)bytes;
    return err_set(err, ERR_SYS, "the disk is full");
}

static void what_goes_wrong_is_named(void **state)
{
    struct made_capture captures[2];
    struct reader *readers[2];
    struct buffer file = { 0 };
    struct merge_result result;
    struct err err = { 0 };
    (void)state;
    make(&captures[0], "build7", 0, "main;a", 1);
    make(&captures[1], "build7", 200ull * 365 * 86400, "main;a", 1);
    for (unsigned turn = 0; turn < 2; turn++) {
        readers[0] = open_path(captures[0].path);
        readers[1] = open_path(captures[turn].path);
        const enum err_code rc =
            merge_captures(readers, 2, &everything, turn ? take : refuse, &file, &result, &err);
        assert_int_equal(rc, turn ? ERR_INVALID : ERR_SYS);
        assert_non_null(strstr(err.message, turn ? "too far apart in time" : "disk is full"));
        reader_close(readers[0]);
        reader_close(readers[1]);
    }
    buffer_deinit(&file);
    made_capture_free(&captures[0]);
    made_capture_free(&captures[1]);
}

static void want_of_memory_is_an_error(void **state)
{
    struct made_capture captures[2];
    (void)state;
    make(&captures[0], "build7", 0, "main;a", 2);
    make(&captures[1], "build8", 1, "main;b", 2);
    for (unsigned nth = 0, done = 0; !done; nth++) {
        struct reader *const readers[2] = { open_path(captures[0].path),
                                            open_path(captures[1].path) };
        struct buffer file = { 0 };
        struct merge_result result;
        struct err err = { 0 };
        failing_alloc_at(nth);
        const enum err_code rc =
            merge_captures(readers, 2, &everything, take, &file, &result, &err);
        done = !failing_alloc_happened();
        failing_alloc_never();
        if (done)
            assert_ok(rc, &err);
        else if (rc != ERR_OK) /* memory that merging windows can wait for */
            assert_int_equal(rc, ERR_NOMEM);
        buffer_deinit(&file);
        reader_close(readers[0]);
        reader_close(readers[1]);
    }
    made_capture_free(&captures[0]);
    made_capture_free(&captures[1]);
}

static void counters_are_added_up(void **state)
{
    struct made_capture captures[2];
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        made_capture_begin(&captures[i]);
        profile_quality(captures[i].profile)->moving = 7;
        made_run(&captures[i], made_thread(captures[i].profile, 1, 1), STATE_ON_CPU, "main", 1,
                 0);
        made_capture_seal(&captures[i], 1);
        made_capture_end(&captures[i]);
    }
    struct reader *const merged = merge(captures, 2);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(merged));
    assert_int_equal(snapshot.quality.moving, 14);
    profile_snapshot_release(&snapshot);
    end(merged, captures, 2);
}

TEST_GROUP(
    cmocka_unit_test(counters_are_added_up), cmocka_unit_test(what_is_the_same_is_there_once),
    cmocka_unit_test(what_is_known_of_packages_is_kept), cmocka_unit_test(each_keeps_its_time),
    cmocka_unit_test(what_overlaps_is_added_up), cmocka_unit_test(of_each_a_range_is_taken),
    cmocka_unit_test(a_range_behind_the_end_is_named),
    cmocka_unit_test(processes_of_other_hosts_say_so), cmocka_unit_test(units_may_differ),
    cmocka_unit_test(filters_are_kept_if_all_have_the_same),
    cmocka_unit_test(source_text_comes_along_unless_it_is_omitted),
    cmocka_unit_test(spots_come_along), cmocka_unit_test(libraries_come_along),
    cmocka_unit_test(a_capture_that_was_cut_gives_what_it_has),
    cmocka_unit_test(what_goes_wrong_is_named), cmocka_unit_test(want_of_memory_is_an_error))
