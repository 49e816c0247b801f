#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/capture/format.h"
#include "sampler/capture/reader.h"
#include "sampler/capture/source_texts.h"
#include "server/sessions/open_capture.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

static const struct reader_part everything = { .memory_bytes = 0 };

static struct open_capture *open_made(const struct made_capture *capture)
{
    struct open_capture *opened = NULL;
    struct err err = { 0 };
    assert_ok(open_capture_open(capture->path, -1, &everything, false, &opened, &err), &err);
    return opened;
}

static void begin(struct made_capture *capture, const char *hide)
{
    made_capture_begin_as(capture,
                          &(struct made_capture_words){ .host = "build7", .hide = hide });
    made_run(capture, made_thread(capture->profile, 4711, 4711), STATE_ON_CPU, "main", 1, 0);
    made_capture_seal(capture, 1);
}

static void a_filter_comes_back(void **state)
{
    struct made_capture capture;
    (void)state;
    begin(&capture, "libraries");
    made_capture_end(&capture);
    struct open_capture *const opened = open_made(&capture);
    assert_int_equal(opened->filters.count, 1);
    assert_int_equal(opened->filters.items[0].kind, FRAME_FILTER_HIDE);
    assert_string_equal(opened->filters.items[0].pattern, "libraries");
    assert_string_equal(opened->ignored, "");
    open_capture_destroy(opened);
    made_capture_free(&capture);
}

static void an_invalid_filter_is_ignored_and_named(void **state)
{
    struct made_capture capture;
    (void)state;
    begin(&capture, "/(/");
    made_capture_end(&capture);
    struct open_capture *const opened = open_made(&capture);
    assert_int_equal(opened->filters.count, 0);
    assert_string_equal(opened->ignored,
                        "its filter hide '/(/' is ignored: the regular expression lacks a )");
    open_capture_destroy(opened);
    made_capture_free(&capture);
}

static void captures_of_earlier_versions_have_no_filters(void **state)
{
    static const char *const paths[] = { TEST_SOURCE_DIR "/golden/version1.pyro",
                                         TEST_SOURCE_DIR "/golden/version2.pyro",
                                         TEST_SOURCE_DIR "/golden/version3.pyro",
                                         TEST_SOURCE_DIR "/golden/version4.pyro" };
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct open_capture *opened = NULL;
        struct err err = { 0 };
        assert_ok(open_capture_open(paths[i], -1, &everything, false, &opened, &err), &err);
        assert_int_equal(opened->filters.count, 0);
        assert_string_equal(opened->ignored, "");
        open_capture_destroy(opened);
    }
}

/* Without a trailer the end is read after everything else, and its lists replace those of the start. */
static void an_end_that_changes_the_start_is_read_too(void **state)
{
    static const char *argv[] = { "other", NULL }, *hide[] = { "x", NULL };
    const struct capture_metadata end = {
        .ended_at_ns = 1, .elapsed_ns = NS_PER_S, .argv = { 1, argv }, .hide = { 1, hide }
    };
    struct made_capture capture;
    struct err err = { 0 };
    (void)state;
    begin(&capture, "libraries");
    made_capture_flush(&capture);
    assert_ok(writer_finish(&capture.writer, &end, &err), &err);
    made_file(&capture, capture.file.data, capture.file.length - CAPTURE_TRAILER_BYTES);
    struct open_capture *const opened = open_made(&capture);
    assert_int_equal(opened->target.argc, 1);
    assert_string_equal(opened->target.argv[0], "other");
    assert_string_equal(opened->filters.items[0].pattern, "x");
    open_capture_destroy(opened);
    made_capture_free(&capture);
}

/* Opens a capture whose metadata end with these. */
static struct open_capture *open_ended(struct made_capture *capture,
                                       const struct capture_metadata *end)
{
    struct err err = { 0 };
    begin(capture, NULL);
    made_capture_flush(capture);
    assert_ok(writer_finish(&capture->writer, end, &err), &err);
    made_file(capture, capture->file.data, capture->file.length - CAPTURE_TRAILER_BYTES);
    return open_made(capture);
}

static void how_threads_were_stopped_comes_back(void **state)
{
    const struct session_target target = { .pid = 1, .executable = "x", .python = "3.11.2" };
    const struct session_status status = { .started_at_ns = 1 };
    (void)state;
    for (enum session_stop stop = SESSION_STOP_AUTO; stop <= SESSION_STOP_ALWAYS; stop++) {
        const struct session_options options = { .stop = stop, .max_stop_percent = 2.5 };
        struct made_capture capture;
        struct capture_metadata start;
        open_capture_tell_start(&target, &options, &status, &start);
        struct open_capture *const opened = open_ended(&capture, &start);
        assert_int_equal(opened->options.stop, stop);
        assert_true(opened->options.max_stop_percent == 2.5);
        open_capture_destroy(opened);
        made_capture_free(&capture);
    }
}

/* They only say whether the target was stopped at each tick. */
static void captures_before_stops_say_never_or_always(void **state)
{
    (void)state;
    for (uint64_t blocking = 0; blocking <= 1; blocking++) {
        const struct capture_metadata end = { .ended_at_ns = 1, .blocking = blocking };
        struct made_capture capture;
        struct open_capture *const opened = open_ended(&capture, &end);
        assert_int_equal(opened->options.stop,
                         blocking ? SESSION_STOP_ALWAYS : SESSION_STOP_NEVER);
        open_capture_destroy(opened);
        made_capture_free(&capture);
    }
}

/* Asserts what a view of the capture says of the source of its first function. */
static void assert_source(const struct open_capture *opened, const char *wanted)
{
    struct profile_snapshot snapshot = made_snapshot(open_capture_profile(opened));
    const function_id function = snapshot.sizes.functions - 1;
    struct source_state about;
    struct buffer text = { 0 };
    struct err err = { 0 };
    if (source_read(&opened->files, &snapshot, &function, 1, &text, &about, NULL, &err) ==
        ERR_OK)
        assert_string_equal(buffer_string(&text), wanted);
    else
        assert_string_equal(err.message, wanted);
    buffer_deinit(&text);
    profile_snapshot_release(&snapshot);
}

/* A capture with the text of a file, and a sample in this one. */
static struct open_capture *open_with_text(struct made_capture *capture, const char *file,
                                           const char *source_text,
                                           const struct source_text *row)
{
    const struct capture_metadata end = { .ended_at_ns = 1, .source_text = source_text };
    struct buffer texts = { 0 };
    struct err err = { 0 };
    begin(capture, NULL);
    (void)made_function(capture->profile, "leaf", file, 1);
    made_capture_seal(capture, 2);
    made_capture_flush(capture);
    if (row) {
        assert_true(source_texts_put(&texts, row));
        assert_ok(writer_source(&capture->writer, &texts, &err), &err);
        buffer_deinit(&texts);
    }
    if (source_text)
        assert_ok(writer_finish(&capture->writer, &end, &err), &err);
    made_file(capture, capture->file.data, capture->file.length);
    return open_made(capture);
}

static void a_capture_shows_its_own_text_or_says_why_not(void **state)
{
    static const struct source_text here = { .path = "/srv/a.py",
                                             .path_bytes = 9,
                                             .text = "def leaf(): pass\n",
                                             .bytes = 17,
                                             .has_text = true },
                                    fault = { .path = "/srv/a.py",
                                              .path_bytes = 9,
                                              .text = "it was in use",
                                              .bytes = 13 };
    /* This file is there, and is not what ran. */
    static const char other[] = __FILE__;
    static const struct {
        const char *file, *source_text;
        const struct source_text *row;
        const char *wanted;
    } rows[] = {
        { "/srv/a.py", SOURCE_TEXT_KEPT, &here, "def leaf(): pass\n" },
        { "/srv/a.py", SOURCE_TEXT_KEPT, &fault,
          "the capture lacks the source text: it was in use" },
        { other, SOURCE_TEXT_KEPT, &here,
          "the capture has source text of functions with at least 0.5 % of its samples only" },
        { "<string>", SOURCE_TEXT_KEPT, &here,
          "the path of the source file is not an absolute path" },
        { other, "", NULL, "the capture has no source text: an older pyrometer recorded it" },
        { other, SOURCE_TEXT_OFF, NULL,
          "the capture has no source text: it was recorded with --no-source" },
        { other, SOURCE_TEXT_OF_ALL, NULL,
          "the capture has no source text: with --all, and by continuous sampling, none is read" },
        { other, SOURCE_TEXT_NO_READER, NULL,
          "the capture has no source text: source files could not be read" },
        { other, NULL, NULL,
          "the capture has no source text: its recording had not ended, and source text is "
          "written last" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made_capture capture;
        struct open_capture *const opened =
            open_with_text(&capture, rows[i].file, rows[i].source_text, rows[i].row);
        assert_source(opened, rows[i].wanted);
        open_capture_destroy(opened);
        made_capture_free(&capture);
    }
}

TEST_GROUP(cmocka_unit_test(a_capture_shows_its_own_text_or_says_why_not),
           cmocka_unit_test(captures_before_stops_say_never_or_always),
           cmocka_unit_test(how_threads_were_stopped_comes_back),
           cmocka_unit_test(a_filter_comes_back),
           cmocka_unit_test(an_invalid_filter_is_ignored_and_named),
           cmocka_unit_test(captures_of_earlier_versions_have_no_filters),
           cmocka_unit_test(an_end_that_changes_the_start_is_read_too))
