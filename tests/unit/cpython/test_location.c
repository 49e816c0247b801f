#include <string.h>

#include "sampler/cpython/objects/location.h"
#include "tests/support/test.h"

#define ARRAY_LENGTH(a) (sizeof(a) / sizeof *(a))

/* First byte of an entry: the high bit, the form, and the number of code units less one. */
#define ENTRY(form, units) (0x80 | (form) << 3 | ((units)-1))

enum { ONE_LINE_0 = 10, ONE_LINE_1, ONE_LINE_2, NO_COLUMNS, LONG, NONE };

/* Searches a copy that ends before an unmapped page. */
static bool find(const unsigned char *table, size_t bytes, int32_t first_line, uint32_t unit,
                 struct location *out)
{
    unsigned char *const copy = guard_copy(table, bytes);
    const bool found = location_find(copy, bytes, first_line, unit, out);
    guard_free(copy, bytes);
    return found;
}

static void expect(const unsigned char *table, size_t bytes, int32_t first_line, uint32_t unit,
                   struct location expected)
{
    struct location found;
    assert_true(find(table, bytes, first_line, unit, &found));
    assert_int_equal(found.line, expected.line);
    assert_int_equal(found.end_line, expected.end_line);
    assert_int_equal(found.column, expected.column);
    assert_int_equal(found.end_column, expected.end_column);
}

static void each_form_of_entry_is_read(void **state)
{
    static const struct {
        unsigned char table[12];
        size_t bytes;
        struct location expected;
    } forms[] = {
        { { ENTRY(0, 1), 0x25 }, 2, { 100, 100, 2, 7 } },
        { { ENTRY(9, 1), 0x7f }, 2, { 100, 100, 79, 94 } },
        { { ENTRY(ONE_LINE_0, 1), 4, 200 }, 3, { 100, 100, 4, 200 } },
        { { ENTRY(ONE_LINE_1, 1), 4, 8 }, 3, { 101, 101, 4, 8 } },
        { { ENTRY(ONE_LINE_2, 1), 4, 8 }, 3, { 102, 102, 4, 8 } },
        { { ENTRY(NO_COLUMNS, 1), 5 << 1 }, 2, { 105, 105, -1, -1 } },
        { { ENTRY(NO_COLUMNS, 1), 5 << 1 | 1 }, 2, { 95, 95, -1, -1 } },
        { { ENTRY(LONG, 1), 3 << 1, 2, 11, 21 }, 5, { 103, 105, 10, 20 } },
        { { ENTRY(LONG, 1), 3 << 1 | 1, 0, 0, 0 }, 5, { 97, 97, -1, -1 } },
        { { ENTRY(LONG, 1), 0x40 | 8, 2, 0, 0x41, 1, 0x42, 1 }, 8, { 168, 168, 64, 65 } },
        { { ENTRY(NONE, 1) }, 1, { 0, 0, -1, -1 } },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(forms); i++)
        expect(forms[i].table, forms[i].bytes, 100, 0, forms[i].expected);
}

static void an_entry_covers_its_code_units_and_no_more(void **state)
{
    static const unsigned char table[] = {
        ENTRY(NO_COLUMNS, 8), 0, ENTRY(NO_COLUMNS, 1), 2, ENTRY(NONE, 3),
        ENTRY(NO_COLUMNS, 2), 4
    };
    static const int32_t lines[] = { 7, 7, 7, 7, 7, 7, 7, 7, 8, 0, 0, 0, 10, 10 };
    struct location found;
    (void)state;
    for (uint32_t unit = 0; unit < ARRAY_LENGTH(lines); unit++) {
        assert_true(find(table, sizeof table, 7, unit, &found));
        assert_int_equal(found.line, lines[unit]);
    }
    assert_false(find(table, sizeof table, 7, ARRAY_LENGTH(lines), &found));
    assert_false(find(table, sizeof table, 7, UINT32_MAX, &found));
}

static void a_table_that_ends_in_an_entry_ends_there(void **state)
{
    static const unsigned char whole[] = {
        ENTRY(NO_COLUMNS, 1), 2, ENTRY(LONG, 1), 0x44, 1, 0x43, 1, 0x45, 1, 0x46, 1
    };
    struct location found;
    (void)state;
    for (size_t bytes = 0; bytes <= sizeof whole; bytes++) {
        assert_int_equal(find(whole, bytes, 1, 0, &found), bytes >= 2);
        assert_int_equal(find(whole, bytes, 1, 1, &found), bytes == sizeof whole);
    }
}

static void an_empty_table_knows_nothing(void **state)
{
    struct location found = { 42, 42, 42, 42 };
    (void)state;
    assert_false(location_find(NULL, 0, 1, 0, &found));
    assert_int_equal(found.line, 42);
}

static void a_byte_that_begins_no_entry_ends_the_table(void **state)
{
    struct location found;
    (void)state;
    for (unsigned byte = 0; byte < 0x80; byte++) {
        const unsigned char table[] = { ENTRY(NONE, 1), (unsigned char)byte, 0, 0, 0, 0 };
        assert_true(find(table, sizeof table, 1, 0, &found));
        assert_false(find(table, sizeof table, 1, 1, &found));
    }
}

static void numbers_at_the_ends_of_their_range(void **state)
{
    /* A line 2^31-2 further on, and one 2^31-1 back. */
    static const unsigned char up[] = { ENTRY(NO_COLUMNS, 1), 0x7c, 0x7f, 0x7f, 0x7f, 0x7f, 3 };
    static const unsigned char down[] = {
        ENTRY(NO_COLUMNS, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 3
    };
    (void)state;
    expect(up, sizeof up, 1, 0, (struct location){ INT32_MAX, INT32_MAX, -1, -1 });
    expect(down, sizeof down, INT32_MAX, 0, (struct location){ 0, 0, -1, -1 });
}

static void numbers_that_overflow_end_the_table(void **state)
{
    static const struct {
        unsigned char table[16];
        size_t bytes;
    } tables[] = {
        /* line + 2^31-2 */
        { { ENTRY(NO_COLUMNS, 1), 0x7c, 0x7f, 0x7f, 0x7f, 0x7f, 3 }, 7 },
        /* end line, column and end column of 2^31 */
        { { ENTRY(LONG, 1), 0, 0x40, 0x40, 0x40, 0x40, 0x40, 2, 1, 1 }, 10 },
        { { ENTRY(LONG, 1), 0, 0, 0x40, 0x40, 0x40, 0x40, 0x40, 2, 1 }, 10 },
        { { ENTRY(LONG, 1), 0, 0, 1, 0x40, 0x40, 0x40, 0x40, 0x40, 2 }, 10 },
        /* more bits than 32 */
        { { ENTRY(NO_COLUMNS, 1), 0x40, 0x40, 0x40, 0x40, 0x40, 4 }, 7 },
        /* no end */
        { { ENTRY(NO_COLUMNS, 1), 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0 },
          11 },
    };
    struct location found;
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(tables); i++)
        assert_false(find(tables[i].table, tables[i].bytes, 100, 0, &found));
}

static void a_line_below_the_first_is_no_surprise(void **state)
{
    static const unsigned char table[] = { ENTRY(NO_COLUMNS, 1), ((100 << 1 | 1) & 0x3f) | 0x40,
                                           100 >> 5 };
    (void)state;
    expect(table, sizeof table, 10, 0, (struct location){ -90, -90, -1, -1 });
}

static void an_unfound_place_leaves_the_answer_alone(void **state)
{
    static const unsigned char table[] = { ENTRY(NO_COLUMNS, 1), 0, 0 };
    struct location found = { 42, 42, 42, 42 };
    (void)state;
    assert_false(find(table, sizeof table, 1, 5, &found));
    assert_int_equal(found.line, 42);
    assert_int_equal(found.column, 42);
}

TEST_GROUP(cmocka_unit_test(each_form_of_entry_is_read),
           cmocka_unit_test(an_entry_covers_its_code_units_and_no_more),
           cmocka_unit_test(a_table_that_ends_in_an_entry_ends_there),
           cmocka_unit_test(an_empty_table_knows_nothing),
           cmocka_unit_test(a_byte_that_begins_no_entry_ends_the_table),
           cmocka_unit_test(numbers_at_the_ends_of_their_range),
           cmocka_unit_test(numbers_that_overflow_end_the_table),
           cmocka_unit_test(a_line_below_the_first_is_no_surprise),
           cmocka_unit_test(an_unfound_place_leaves_the_answer_alone))
