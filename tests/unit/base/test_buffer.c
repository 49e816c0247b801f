#include "sampler/base/buffer.h"
#include "tests/support/test.h"

static void nothing_can_be_appended_to_an_empty_buffer(void **state)
{
    struct buffer buffer = { 0 };
    (void)state;
    buffer_append(&buffer, "", 0);
    assert_non_null(buffer_reserve(&buffer, 0));
    assert_false(buffer.failed);
    assert_int_equal(buffer.length, 0);
    assert_string_equal(buffer_string(&buffer), "");
    buffer_deinit(&buffer);
}

static void what_is_too_large_fails_for_good(void **state)
{
    struct buffer buffer = { 0 };
    (void)state;
    buffer_text(&buffer, "kept");
    assert_null(buffer_reserve(&buffer, BUFFER_MAX_BYTES));
    assert_true(buffer.failed);
    buffer_char(&buffer, 'x');
    assert_int_equal(buffer.length, 4);
    assert_null(buffer_string(&buffer));
    buffer_clear(&buffer);
    buffer_uint(&buffer, 18446744073709551615u);
    assert_string_equal(buffer_string(&buffer), "18446744073709551615");
    buffer_deinit(&buffer);
}

static bool count_bytes(void *to, const char *data, size_t bytes)
{
    (void)data;
    *(size_t *)to += bytes;
    return true;
}

static void a_drain_gets_all_bytes(void **state)
{
    size_t total = 0;
    struct buffer buffer;
    (void)state;
    buffer_init_draining(&buffer, count_bytes, &total);
    for (unsigned i = 0; i < BUFFER_DRAIN_BYTES; i++)
        buffer_text(&buffer, "abc");
    assert_in_range(total, 2 * BUFFER_DRAIN_BYTES, 3 * BUFFER_DRAIN_BYTES);
    buffer_flush(&buffer);
    assert_int_equal(total, 3 * BUFFER_DRAIN_BYTES);
    buffer_deinit(&buffer);
}

TEST_GROUP(cmocka_unit_test(nothing_can_be_appended_to_an_empty_buffer),
           cmocka_unit_test(what_is_too_large_fails_for_good),
           cmocka_unit_test(a_drain_gets_all_bytes))
