#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

static const uint64_t numbers[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX };
static const int64_t signed_numbers[] = { 0, -1, 1, -64, 64, INT32_MIN, INT64_MAX, INT64_MIN };

static void numbers_come_back(void **state)
{
    struct buffer bytes = { 0 };
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        buffer_number(&bytes, numbers[i]);
        buffer_signed(&bytes, signed_numbers[i]);
        buffer_u64(&bytes, numbers[i]);
        buffer_u32(&bytes, (uint32_t)numbers[i]);
    }
    struct byte_reader in = byte_reader_over(&bytes);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(byte_reader_number(&in), numbers[i]);
        assert_true(byte_reader_signed(&in) == signed_numbers[i]);
        assert_int_equal(byte_reader_u64(&in), numbers[i]);
        assert_int_equal(byte_reader_u32(&in), (uint32_t)numbers[i]);
    }
    assert_int_equal(byte_reader_left(&in), 0);
    assert_false(in.is_bad);
    buffer_deinit(&bytes);
}

static void texts_come_back(void **state)
{
    struct buffer bytes = { 0 };
    (void)state;
    buffer_sized_text(&bytes, "app.py");
    buffer_sized_text(&bytes, NULL);
    struct byte_reader in = byte_reader_over(&bytes);
    assert_string_equal(byte_reader_text(&in), "app.py");
    assert_string_equal(byte_reader_text(&in), "");
    assert_false(in.is_bad);
    buffer_deinit(&bytes);
}

static void a_reader_never_reads_too_far(void **state)
{
    static const unsigned char endless[] = { 0xff, 0xff, 0xff };
    static const unsigned char eleven[] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1
    };
    static const unsigned char no_nul[] = { 2, 'a', 'b', 'c' }, nul_inside[] = { 2, 'a', 0, 0 };
    static const struct {
        const unsigned char *data;
        size_t bytes;
    } texts[] = { { endless, sizeof endless },
                  { no_nul, sizeof no_nul },
                  { nul_inside, sizeof nul_inside },
                  { no_nul, 2 } };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        unsigned char *const guarded = guard_copy(texts[i].data, texts[i].bytes);
        struct byte_reader in = byte_reader_of(guarded, texts[i].bytes);
        assert_string_equal(byte_reader_text(&in), "");
        assert_true(in.is_bad);
        assert_int_equal(byte_reader_u32(&in), 0);
        guard_free(guarded, texts[i].bytes);
    }
    struct byte_reader in = byte_reader_of(eleven, sizeof eleven);
    assert_int_equal(byte_reader_number(&in), 0);
    assert_true(in.is_bad);
}

static void a_count_is_bounded_by_what_can_hold_it(void **state)
{
    static const unsigned char data[] = { 3, 1, 2, 3, 4, 5 };
    struct byte_reader in = byte_reader_of(data, sizeof data);
    (void)state;
    assert_int_equal(byte_reader_count(&in, 1, 100), 3);
    in = byte_reader_of(data, sizeof data);
    assert_int_equal(byte_reader_count(&in, 2, 100), 0);
    assert_true(in.is_bad);
    in = byte_reader_of(data, sizeof data);
    assert_int_equal(byte_reader_count(&in, 1, 2), 0);
    assert_true(in.is_bad);
}

static void lack_of_memory_is_reported_at_the_end(void **state)
{
    struct buffer bytes = { 0 };
    struct err err = { 0 };
    (void)state;
    failing_alloc_at(0);
    buffer_sized_text(&bytes, "lost");
    failing_alloc_never();
    buffer_sized_text(&bytes, "no longer written");
    assert_int_equal(bytes.length, 0);
    assert_int_equal(buffer_check(&bytes, &err), ERR_NOMEM);
    buffer_deinit(&bytes);
}

TEST_GROUP(cmocka_unit_test(numbers_come_back), cmocka_unit_test(texts_come_back),
           cmocka_unit_test(a_reader_never_reads_too_far),
           cmocka_unit_test(a_count_is_bounded_by_what_can_hold_it),
           cmocka_unit_test(lack_of_memory_is_reported_at_the_end))
