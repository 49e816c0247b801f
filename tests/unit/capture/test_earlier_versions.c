#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/format.h"
#include "sampler/capture/merge.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/names.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    buffer_append(to, data, bytes);
    return buffer_check(to, err);
}

/* Opens a capture of an earlier version; its samples are in the profile. */
static struct reader *load(const char *path)
{
    struct reader *reader = NULL;
    struct err err = { 0 };
    assert_ok(reader_open(path, &reader, &err), &err);
    assert_ok(reader_load(reader, 0, &err), &err);
    assert_null(reader_missing(reader));
    return reader;
}

/* Version 1 has instructions, whose spots do not know their callers. */
static void version_1_is_read(void **state)
{
    struct reader *const reader = load(TEST_SOURCE_DIR "/golden/version1.pyro");
    struct profile_snapshot snapshot = made_snapshot(reader_profile(reader));
    struct view view = made_view(&snapshot, &(struct view_query){ 0 });
    struct view_spots spots;
    struct err err = { 0 };
    uint64_t self = 0;
    (void)state;
    assert_ok(view_spots_init(&spots, &snapshot, &(struct view_query){ 0 }, &err), &err);
    for (size_t i = 0; i < spots.count; i++)
        self += spots.spots[i].self;
    assert_int_equal(view.total, 200);
    assert_in_range(self, 150, 200);
    view_spots_deinit(&spots);
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    reader_close(reader);
}

static void version_2_is_read(void **state)
{
    struct reader *const reader = load(TEST_SOURCE_DIR "/golden/version2.pyro");
    (void)state;
    assert_int_equal(made_samples(reader), 10000);
    reader_close(reader);
}

static void version_3_is_read(void **state)
{
    struct reader *const reader = load(TEST_SOURCE_DIR "/golden/version3.pyro");
    struct profile_snapshot snapshot = made_snapshot(reader_profile(reader));
    (void)state;
    assert_int_equal(made_samples(reader), 1200);
    assert_int_equal(snapshot.quality.exact, 1175);
    assert_int_equal(snapshot.quality.overflowed, 0);
    profile_snapshot_release(&snapshot);
    reader_close(reader);
}

static void version_4_is_read(void **state)
{
    struct reader *const reader = load(TEST_SOURCE_DIR "/golden/version4.pyro");
    struct profile_snapshot snapshot = made_snapshot(reader_profile(reader));
    (void)state;
    assert_int_equal(snapshot.sizes.libraries, 6);
    profile_snapshot_release(&snapshot);
    reader_close(reader);
}

static void the_first_version_is_merged_with_this_one(void **state)
{
    static const struct merge_options everything = { .ranges = NULL };
    struct made_capture capture;
    struct reader *readers[2] = { NULL };
    struct buffer file = { 0 };
    struct merge_result result;
    struct err err = { 0 };
    (void)state;
    made_capture_begin(&capture);
    made_run(&capture, made_thread(capture.profile, 4711, 4711), STATE_ON_CPU, "main;work", 11,
             0);
    made_capture_seal(&capture, 1);
    made_capture_end(&capture);
    assert_ok(reader_open(TEST_SOURCE_DIR "/golden/version1.pyro", &readers[0], &err), &err);
    assert_ok(reader_open(capture.path, &readers[1], &err), &err);
    assert_ok(merge_captures(readers, 2, &everything, take, &file, &result, &err), &err);
    assert_int_equal(result.samples, 211);
    assert_int_equal(file.data[8], CAPTURE_MAJOR);
    buffer_deinit(&file);
    reader_close(readers[0]);
    reader_close(readers[1]);
    made_capture_free(&capture);
}

static void counters_keep_their_numbers_when_they_are_renamed(void **state)
{
    const char *items[] = { "missed", "folded",   "stood_in", "of another program",
                            "exact",  "repaired", "truncated" };
    const struct capture_metadata metadata = { .counters = { 7, items } };
    static const unsigned char numbers[] = { 7, 1, 2, 3, 4, 5, 6, 7 };
    struct byte_reader in = byte_reader_of(numbers, sizeof numbers);
    struct names names;
    struct quality quality;
    (void)state;
    names_init(&names, &metadata);
    names_take_quality(&names, &in, &quality);
    assert_int_equal(quality.missed_ticks, 1);
    assert_int_equal(quality.overflowed, 2);
    assert_int_equal(quality.extrapolated, 3);
    assert_int_equal(quality.exact, 5);
    assert_int_equal(quality.truncated, 6 + 7);
}

TEST_GROUP(cmocka_unit_test(version_1_is_read), cmocka_unit_test(version_2_is_read),
           cmocka_unit_test(version_3_is_read), cmocka_unit_test(version_4_is_read),
           cmocka_unit_test(the_first_version_is_merged_with_this_one),
           cmocka_unit_test(counters_keep_their_numbers_when_they_are_renamed))
