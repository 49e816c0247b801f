#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/memory_block.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

enum { MIB = 1 << 20, SECONDS = 40 };

static struct memory_step step_at(uint64_t second)
{
    return (struct memory_step){ .start_ns = second * NS_PER_S,
                                 .end_ns = (second + 1) * NS_PER_S,
                                 .peak_bytes = (second + 1) * MIB,
                                 .count = 1 };
}

/* A capture of 40 seconds, in which a process grows by a MiB a second. */
static void make(struct made_capture *capture)
{
    made_capture_begin(capture);
    const thread_id thread = made_thread(capture->profile, 4711, 4711);
    for (uint64_t second = 0; second < SECONDS; second++) {
        const struct memory_step step = step_at(second);
        const struct memory_use use = { .process = 0,
                                        .group = 77,
                                        .rss_bytes = (second + 1) * MIB,
                                        .swap_bytes = 4096,
                                        .peak_bytes = (second + 1) * MIB,
                                        .limit_bytes = 100 * MIB,
                                        .minor_faults = 256,
                                        .major_faults = 1 };
        struct err err = { 0 };
        made_run(capture, thread, STATE_ON_CPU, "main;grow", 10, second * 1000);
        assert_ok(writer_memory(&capture->writer, &step, &use, &err), &err);
        made_capture_seal(capture, second + 1);
        made_capture_flush(capture);
    }
    made_capture_end(capture);
}

static struct memory_log read_part(const struct made_capture *capture, uint64_t from_s,
                                   uint64_t to_s)
{
    const struct reader_part part = { .from_ns = from_s * NS_PER_S, .to_ns = to_s * NS_PER_S };
    struct reader *const reader = made_reader(capture);
    struct memory_log log;
    struct err err = { 0 };
    assert_ok(reader_load_part(reader, &part, &err), &err);
    assert_int_equal(profile_copy_memory(reader_profile(reader), 0, 0, &log, NULL), ERR_OK);
    reader_close(reader);
    return log;
}

static void what_was_written_is_read(void **state)
{
    struct made_capture capture;
    (void)state;
    make(&capture);
    struct memory_log log = read_part(&capture, 0, 0);
    assert_int_equal(log.step_count, SECONDS);
    for (size_t i = 0; i < log.step_count; i++) {
        const struct memory_step wanted = step_at(i), *const step = &log.steps[i];
        const struct memory_use *const use = memory_log_uses(&log, step);
        assert_true(step->start_ns == wanted.start_ns && step->end_ns == wanted.end_ns);
        assert_true(step->peak_bytes == wanted.peak_bytes);
        assert_true(use->rss_bytes == (i + 1) * MIB && use->peak_bytes == (i + 1) * MIB);
        assert_int_equal(use->swap_bytes, 4096);
        assert_int_equal(use->limit_bytes, 100 * MIB);
        assert_int_equal(use->group, 77);
        assert_int_equal(use->minor_faults, 256);
        assert_int_equal(use->major_faults, 1);
    }
    memory_log_deinit(&log);
    log = read_part(&capture, 5, 30);
    assert_int_equal(log.step_count, 25);
    assert_true(log.steps[0].start_ns == 5 * NS_PER_S);
    memory_log_deinit(&log);
    made_capture_free(&capture);
}

static void damage_is_found(void **state)
{
    static const struct memory_use uses[] = { { .process = 0, .rss_bytes = MIB },
                                              { .process = 3, .rss_bytes = MIB },
                                              { .process = MEMORY_OTHERS } };
    struct memory_step step = step_at(1);
    struct memory_log log = { .step_count = 0 }, read = { .step_count = 0 };
    struct buffer bytes = { 0 };
    size_t next = 0;
    (void)state;
    step.count = 3;
    assert_int_equal(memory_log_add(&log, &step, uses, NULL), ERR_OK);
    assert_true(memory_block_encode(&log, &next, 4, &bytes));
    assert_false(memory_block_encode(&log, &next, 4, &bytes));

    struct byte_reader in = byte_reader_over(&bytes);
    assert_int_equal(memory_block_decode(&in, 4, &read, NULL), ERR_OK);
    assert_int_equal(read.use_count, 3);
    memory_log_clear(&read);
    in = byte_reader_over(&bytes);
    assert_int_equal(memory_block_decode(&in, 3, &read, NULL), ERR_CORRUPT);
    for (size_t length = 0; length < bytes.length; length++) {
        unsigned char *const cut = guard_copy(bytes.data, length);
        memory_log_clear(&read);
        in = byte_reader_of(cut, length);
        assert_int_equal(memory_block_decode(&in, 4, &read, NULL), ERR_CORRUPT);
        guard_free(cut, length);
    }

    /* A process whose rows could not be written is left out. */
    buffer_clear(&bytes);
    memory_log_clear(&read);
    next = 0;
    assert_true(memory_block_encode(&log, &next, 1, &bytes));
    in = byte_reader_over(&bytes);
    assert_int_equal(memory_block_decode(&in, 1, &read, NULL), ERR_OK);
    assert_int_equal(read.use_count, 2);
    buffer_deinit(&bytes);
    memory_log_deinit(&log);
    memory_log_deinit(&read);
}

TEST_GROUP(cmocka_unit_test(what_was_written_is_read), cmocka_unit_test(damage_is_found))
