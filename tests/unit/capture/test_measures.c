#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/merge.h"
#include "sampler/capture/names.h"
#include "sampler/capture/windows.h"
#include "sampler/profile/views/view.h"
#include "sampler/profile/window.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

enum { PAGE = 16384, SECONDS = 4, PAGES = 1000, SAMPLES = 10 };

static void add_pages(struct made_capture *capture, thread_id thread, const char *stack,
                      uint32_t pages, uint64_t at_ms)
{
    struct err err = { 0 };
    const struct run run = { .thread = thread,
                             .node = made_node(capture->profile, stack),
                             .spot = PROFILE_NO_SPOT,
                             .count = pages,
                             .state = STATE_ON_CPU,
                             .measure = MEASURE_PAGE_FAULTS,
                             .first_ns = at_ms * NS_PER_MS };
    assert_ok(writer_run(&capture->writer, &run, &err), &err);
}

/* A capture with as many pages in each second as in the others, and samples of time if wanted. */
static void make(struct made_capture *capture, bool has_time)
{
    struct err err = { 0 };
    made_capture_begin(capture);
    const thread_id thread = made_thread(capture->profile, 1, 1);
    for (unsigned second = 0; second < SECONDS; second++) {
        if (has_time)
            made_run(capture, thread, STATE_ON_CPU, "main;work", SAMPLES, second * 1000ull);
        add_pages(capture, thread, "main;grows", PAGES - 1, second * 1000ull + 5);
        add_pages(capture, thread, "main;work", 1, second * 1000ull + 900);
        assert_ok(writer_seal_measured(&capture->writer, MEASURE_PAGE_FAULTS,
                                       (second + 1) * NS_PER_S, PAGE, &err),
                  &err);
        made_capture_seal(capture, second + 1);
        if (second % 2)
            made_capture_flush(capture);
    }
    made_capture_end(capture);
}

struct sums {
    uint64_t count, value, grows;
};

static struct sums sum_of(struct profile *profile, enum measure measure, uint64_t to_ns)
{
    const struct view_query query = { .to_ns = to_ns };
    struct profile_snapshot snapshot;
    struct err err = { 0 };
    assert_ok(profile_snapshot_measured(profile, measure, &snapshot, &err), &err);
    struct view view = made_view(&snapshot, &query);
    const struct sums sums = { view.total, view.total_ns,
                               made_self(&view, made_node(profile, "main;grows")) };
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    return sums;
}

static void check_loaded(struct made_capture *capture, unsigned times, bool has_time)
{
    struct err err = { 0 };
    struct reader *const reader = made_reader(capture);
    assert_ok(reader_load(reader, 0, &err), &err);
    struct profile *const profile = reader_profile(reader);
    const struct sums time = sum_of(profile, MEASURE_TIME, 0);
    const struct sums pages = sum_of(profile, MEASURE_PAGE_FAULTS, 0);
    const struct sums half = sum_of(profile, MEASURE_PAGE_FAULTS, SECONDS / 2 * NS_PER_S);
    assert_int_equal(time.count, has_time ? times * SECONDS * SAMPLES : 0);
    assert_int_equal(time.value, time.count * NS_PER_MS);
    assert_int_equal(time.grows, 0);
    assert_int_equal(pages.count, times * SECONDS * PAGES);
    assert_int_equal(pages.value, pages.count * PAGE);
    assert_int_equal(pages.grows, times * SECONDS * (PAGES - 1));
    /* A window of a merged capture begins where one of another ends. */
    if (times == 1)
        assert_int_equal(half.count, pages.count / 2);
    reader_close(reader);
}

static void each_measure_is_loaded_as_it_was(void **state)
{
    struct made_capture capture;
    (void)state;
    make(&capture, true);
    check_loaded(&capture, 1, true);
    made_capture_free(&capture);
}

static void a_capture_needs_no_time(void **state)
{
    struct made_capture capture;
    (void)state;
    make(&capture, false);
    check_loaded(&capture, 1, false);
    made_capture_free(&capture);
}

static void a_part_has_the_part_of_each_measure(void **state)
{
    struct made_capture capture;
    struct err err = { 0 };
    (void)state;
    make(&capture, true);
    struct reader *const reader = made_reader(&capture);
    assert_ok(reader_load_part(reader, &(struct reader_part){ .from_ns = 3 * NS_PER_S }, &err),
              &err);
    struct profile *const profile = reader_profile(reader);
    assert_int_equal(sum_of(profile, MEASURE_PAGE_FAULTS, 0).count, PAGES);
    assert_int_equal(sum_of(profile, MEASURE_TIME, 0).count, SAMPLES);
    reader_close(reader);
    made_capture_free(&capture);
}

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    buffer_append(to, data, bytes);
    return buffer_check(to, err);
}

static void merging_keeps_measures_apart(void **state)
{
    const struct merge_options everything = { .ranges = NULL };
    struct made_capture captures[2];
    struct reader *readers[2];
    struct merge_result result;
    struct buffer merged = { 0 };
    struct err err = { 0 };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        make(&captures[i], true);
        readers[i] = made_reader(&captures[i]);
    }
    assert_ok(merge_captures(readers, 2, &everything, take, &merged, &result, &err), &err);
    for (size_t i = 0; i < 2; i++)
        reader_close(readers[i]);
    made_file(&captures[0], merged.data, merged.length);
    check_loaded(&captures[0], 2, true);
    buffer_deinit(&merged);
    for (size_t i = 0; i < 2; i++)
        made_capture_free(&captures[i]);
}

static enum err_code decode(const char *name, struct err *err)
{
    static const struct names names;
    static const struct profile_sizes sizes;
    struct windows_block block;
    struct buffer raw = { 0 };
    struct profile *const profile = made_profile();
    buffer_sized_text(&raw, name);
    struct byte_reader in = byte_reader_over(&raw);
    const enum err_code rc =
        windows_decode_measured(&in, &names, 1, &sizes, profile, &block, err);
    buffer_deinit(&raw);
    profile_destroy(profile);
    return rc;
}

static void an_unknown_measure_is_named(void **state)
{
    struct err err = { 0 };
    (void)state;
    assert_int_equal(decode("teeth", &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "'teeth'"));
    assert_int_equal(decode("time", &err), ERR_CORRUPT);
    assert_int_equal(decode("page-faults", &err), ERR_CORRUPT);
    assert_int_equal(decode("", &err), ERR_CORRUPT);
}

TEST_GROUP(cmocka_unit_test(each_measure_is_loaded_as_it_was),
           cmocka_unit_test(a_capture_needs_no_time),
           cmocka_unit_test(a_part_has_the_part_of_each_measure),
           cmocka_unit_test(merging_keeps_measures_apart),
           cmocka_unit_test(an_unknown_measure_is_named))
