/* The memcmp that the static program has instead of musl's. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

int words_memcmp(const void *left, const void *right, size_t bytes);

enum { LONGEST = 100, SHIFTS = 8 };

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static int order_of_bytes(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Blocks end with the memory that holds them: a sanitizer sees what is read beyond. */
static void check(size_t bytes, size_t shift, size_t differs, unsigned char left,
                  unsigned char right)
{
    unsigned char *const a = calloc(1, shift + bytes);
    unsigned char *const b = calloc(1, shift + bytes);
    assert_true(a && b);
    /* Bytes behind the first difference do not count. */
    memset(a + shift + differs, left < right ? 255 : 0, bytes - differs);
    a[shift + differs] = left;
    b[shift + differs] = right;
    assert_int_equal(sign(words_memcmp(a + shift, b + shift, bytes)),
                     order_of_bytes(a + shift, b + shift, bytes));
    assert_int_equal(sign(words_memcmp(b + shift, a + shift, bytes)),
                     order_of_bytes(b + shift, a + shift, bytes));
    free(a);
    free(b);
}

static void memory_is_ordered_by_its_first_different_byte(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes <= LONGEST; bytes++)
        for (size_t shift = 0; shift < SHIFTS; shift++)
            for (size_t differs = 0; differs < bytes; differs++) {
                check(bytes, shift, differs, 1, 2);
                check(bytes, shift, differs, 0, 255);
                check(bytes, shift, differs, 128, 127);
            }
}

static void equal_memory_has_no_order(void **state)
{
    static const unsigned char same[2][LONGEST] = { "pyrometer", "pyrometer" };
    (void)state;
    for (size_t bytes = 0; bytes <= LONGEST; bytes++)
        assert_int_equal(words_memcmp(same[0], same[1], bytes), 0);
}

TEST_GROUP(cmocka_unit_test(memory_is_ordered_by_its_first_different_byte),
           cmocka_unit_test(equal_memory_has_no_order))
