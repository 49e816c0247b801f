#include <string.h>

#include "sampler/capture/bytes.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

static const uint64_t numbers[] = { 0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX };
static const int64_t signed_numbers[] = { 0, -1, 1, -64, 64, INT32_MIN, INT64_MAX, INT64_MIN };

static void numbers_come_back(void **state)
{
    struct bytes bytes = { 0 };
    (void)state;
    for (size_t i = 0; i < 8; i++) {
        bytes_number(&bytes, numbers[i]);
        bytes_signed(&bytes, signed_numbers[i]);
        bytes_u64(&bytes, numbers[i]);
        bytes_u32(&bytes, (uint32_t)numbers[i]);
    }
    struct cursor cursor = cursor_of(bytes.data, bytes.count);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(cursor_number(&cursor), numbers[i]);
        assert_true(cursor_signed(&cursor) == signed_numbers[i]);
        assert_int_equal(cursor_u64(&cursor), numbers[i]);
        assert_int_equal(cursor_u32(&cursor), (uint32_t)numbers[i]);
    }
    assert_int_equal(cursor_left(&cursor), 0);
    assert_false(cursor.is_bad);
    bytes_deinit(&bytes);
}

static void texts_come_back(void **state)
{
    struct bytes bytes = { 0 };
    (void)state;
    bytes_text(&bytes, "app.py");
    bytes_text(&bytes, NULL);
    struct cursor cursor = cursor_of(bytes.data, bytes.count);
    assert_string_equal(cursor_text(&cursor), "app.py");
    assert_string_equal(cursor_text(&cursor), "");
    assert_false(cursor.is_bad);
    bytes_deinit(&bytes);
}

static void a_cursor_never_reads_too_far(void **state)
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
        struct cursor cursor = cursor_of(guarded, texts[i].bytes);
        assert_string_equal(cursor_text(&cursor), "");
        assert_true(cursor.is_bad);
        assert_int_equal(cursor_u32(&cursor), 0);
        guard_free(guarded, texts[i].bytes);
    }
    struct cursor cursor = cursor_of(eleven, sizeof eleven);
    assert_int_equal(cursor_number(&cursor), 0);
    assert_true(cursor.is_bad);
}

static void a_count_is_bounded_by_what_can_hold_it(void **state)
{
    static const unsigned char data[] = { 3, 1, 2, 3, 4, 5 };
    struct cursor cursor = cursor_of(data, sizeof data);
    (void)state;
    assert_int_equal(cursor_count(&cursor, 1, 100), 3);
    cursor = cursor_of(data, sizeof data);
    assert_int_equal(cursor_count(&cursor, 2, 100), 0);
    assert_true(cursor.is_bad);
    cursor = cursor_of(data, sizeof data);
    assert_int_equal(cursor_count(&cursor, 1, 2), 0);
    assert_true(cursor.is_bad);
}

static void lack_of_memory_is_reported_at_the_end(void **state)
{
    struct bytes bytes = { 0 };
    struct err err = { 0 };
    (void)state;
    failing_alloc_at(0);
    bytes_text(&bytes, "lost");
    failing_alloc_never();
    bytes_text(&bytes, "no longer written");
    assert_int_equal(bytes.count, 0);
    assert_int_equal(bytes_check(&bytes, &err), ERR_NOMEM);
    bytes_deinit(&bytes);
}

TEST_GROUP(cmocka_unit_test(numbers_come_back), cmocka_unit_test(texts_come_back),
           cmocka_unit_test(a_cursor_never_reads_too_far),
           cmocka_unit_test(a_count_is_bounded_by_what_can_hold_it),
           cmocka_unit_test(lack_of_memory_is_reported_at_the_end))
