#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/capture/block.h"
#include "sampler/capture/format.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

enum { PART_SECONDS = 2000, BLOCK_SECONDS = 4 };

/* A window of each second, some in two blocks; a block of four seconds. */
static void make_long(struct made_capture *capture)
{
    made_capture_begin(capture);
    const thread_id thread = made_thread(capture->profile, 1, 1);
    for (uint64_t second = 0; second < PART_SECONDS; second++) {
        char stack[16];
        snprintf(stack, sizeof stack, "main;f%u", (unsigned)(second % 7));
        made_run(capture, thread, STATE_ON_CPU, stack, 10, second * 1000);
        if (second % 20 == 8)
            made_capture_flush(capture);
        made_run(capture, thread, 0, "main", 1, second * 1000 + 500);
        made_capture_seal(capture, second + 1);
        if (second % BLOCK_SECONDS == BLOCK_SECONDS - 1)
            made_capture_flush(capture);
    }
    made_capture_end(capture);
}

static struct reader *load_part(const struct made_capture *capture, uint64_t from_s,
                                uint64_t to_s)
{
    const struct reader_part part = { .from_ns = from_s * NS_PER_S, .to_ns = to_s * NS_PER_S };
    struct reader *const reader = made_reader(capture);
    struct err err = { 0 };
    assert_ok(reader_load_part(reader, &part, &err), &err);
    return reader;
}

/* The part has these seconds, each with its own window; everything else is as if all had been read. */
static void expect_part(const struct made_capture *capture, uint64_t from_s, uint64_t to_s)
{
    const uint64_t end_s = to_s && to_s < PART_SECONDS ? to_s : PART_SECONDS;
    const uint64_t seconds = from_s < end_s ? end_s - from_s : 0;
    const struct view_query query = { .from_ns = from_s * NS_PER_S, .to_ns = to_s * NS_PER_S };
    struct reader *const reader = load_part(capture, from_s, to_s);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(reader));
    struct view view = made_view(&snapshot, &query);
    struct view all = made_view(&snapshot, &(struct view_query){ 0 });
    size_t whole = 0;
    for (size_t i = 0; i < snapshot.window_count; i++)
        whole += snapshot.windows[i]->samples == 11;
    assert_int_equal(view.total, seconds * 11);
    assert_int_equal(all.total, view.total);
    if (seconds < 360)
        assert_int_equal(whole, seconds);
    assert_int_equal(snapshot.end_ns, PART_SECONDS * NS_PER_S);
    assert_int_equal(snapshot.quality.samples, PART_SECONDS * 11);
    view_deinit(&view);
    view_deinit(&all);
    profile_snapshot_release(&snapshot);
    reader_close(reader);
}

static void a_part_has_its_windows_and_what_is_known_of_all(void **state)
{
    static const uint64_t parts[][2] = { { 0, 1 },       { 0, 4 },       { 3, 5 },
                                         { 4, 8 },       { 20, 21 },     { 21, 22 },
                                         { 19, 41 },     { 60, 0 },      { 0, 0 },
                                         { 1999, 2000 }, { 1998, 9999 }, { 5000, 0 },
                                         { 5000, 6000 }, { 7, 300 },     { 500, 1900 } };
    struct made_capture capture;
    (void)state;
    make_long(&capture);
    for (unsigned has_end = 2; has_end-- > 0;) {
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            expect_part(&capture, parts[i][0], parts[i][1]);
        /* Without the trailer there is no index. */
        made_file(&capture, capture.file.data, capture.file.length - 16);
    }
    made_capture_free(&capture);
}

/* The offset of the first block of samples behind that time. */
static size_t first_samples(const struct made_capture *capture, size_t behind)
{
    struct block_head head;
    struct err err = { 0 };
    size_t at = CAPTURE_PREAMBLE_BYTES;
    for (;;) {
        assert_ok(
            block_head_decode((const unsigned char *)capture->file.data + at, &head, &err),
            &err);
        at += CAPTURE_BLOCK_HEAD_BYTES;
        if (head.kind == CAPTURE_WINDOWS && at > behind)
            return at;
        at += head.stored_bytes;
    }
}

/* Damage outside of the part does not show, because it is not unpacked. */
static void of_a_part_the_index_spares_the_rest(void **state)
{
    struct made_capture capture;
    struct err err = { 0 };
    (void)state;
    make_long(&capture);
    capture.file.data[first_samples(&capture, capture.file.length / 3)] ^= 1;
    made_file(&capture, capture.file.data, capture.file.length);
    struct reader *reader = made_reader(&capture);
    assert_int_equal(reader_load(reader, 0, &err), ERR_CORRUPT);
    reader_close(reader);
    reader = load_part(&capture, 1500, 1510);
    struct profile_snapshot snapshot = made_snapshot(reader_profile(reader));
    struct view view = made_view(&snapshot, &(struct view_query){ 0 });
    assert_int_equal(view.total, 10 * 11);
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    reader_close(reader);
    made_capture_free(&capture);
}

/* The index has blocks that do not exist: before, within and behind the requested part. */
static void an_index_that_lies_is_noticed(void **state)
{
    static const uint64_t starts_s[] = { 1, 5, 100 };
    (void)state;
    for (size_t i = 0; i < sizeof starts_s / sizeof *starts_s; i++) {
        struct made_capture capture;
        struct err err = { 0 };
        made_capture_begin(&capture);
        const thread_id thread = made_thread(capture.profile, 1, 1);
        for (uint64_t second = 0; second < 10; second++) {
            made_run(&capture, thread, 0, "main", 1, second * 1000);
            made_capture_seal(&capture, second + 1);
            made_capture_flush(&capture);
        }
        buffer_u8(&capture.writer.index, CAPTURE_WINDOWS);
        buffer_number(&capture.writer.index, 17);
        buffer_number(&capture.writer.index, starts_s[i] * NS_PER_S);
        buffer_number(&capture.writer.index, 1);
        capture.writer.index_count++;
        made_capture_end(&capture);
        struct reader *const reader = made_reader(&capture);
        const struct reader_part part = { .from_ns = 3 * NS_PER_S, .to_ns = 8 * NS_PER_S };
        assert_int_equal(reader_load_part(reader, &part, &err), ERR_CORRUPT);
        assert_non_null(strstr(err.message, "names blocks that are not there"));
        reader_close(reader);
        made_capture_free(&capture);
    }
}

struct watched {
    uint64_t last, bytes;
    unsigned calls;
    unsigned most; /* 0: all */
};

static bool watch(void *context, uint64_t done, uint64_t bytes)
{
    struct watched *const watched = context;
    assert_in_range(done, watched->last, bytes);
    *watched = (struct watched){ done, bytes, watched->calls + 1, watched->most };
    return watched->calls != watched->most;
}

static void a_watcher_sees_every_block(void **state)
{
    struct made_capture capture;
    struct watched watched = { 0 };
    struct err err = { 0 };
    (void)state;
    make_long(&capture);
    struct reader *const reader = made_reader(&capture);
    reader_watch(reader, watch, &watched);
    assert_ok(reader_load(reader, 0, &err), &err);
    assert_in_range(watched.calls, PART_SECONDS / BLOCK_SECONDS, PART_SECONDS);
    assert_int_equal(watched.bytes, capture.file.length);
    assert_in_range(watched.last, watched.bytes - 16, watched.bytes);
    reader_close(reader);
    made_capture_free(&capture);
}

static void a_watcher_can_stop_reading(void **state)
{
    struct made_capture capture;
    struct watched watched = { .most = 2 };
    struct err err = { 0 };
    (void)state;
    make_long(&capture);
    struct reader *const reader = made_reader(&capture);
    reader_watch(reader, watch, &watched);
    assert_int_equal(reader_load(reader, 0, &err), ERR_SYS);
    assert_int_equal(watched.calls, 2);
    reader_close(reader);
    made_capture_free(&capture);
}

TEST_GROUP(cmocka_unit_test(a_part_has_its_windows_and_what_is_known_of_all),
           cmocka_unit_test(of_a_part_the_index_spares_the_rest),
           cmocka_unit_test(an_index_that_lies_is_noticed),
           cmocka_unit_test(a_watcher_sees_every_block),
           cmocka_unit_test(a_watcher_can_stop_reading))
