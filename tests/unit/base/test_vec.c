#include <stdint.h>
#include <stdlib.h>

#include "sampler/base/vec.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

static void items_stay_while_the_room_grows(void **state)
{
    enum { MANY = 1000 };
    uint32_t *items = NULL;
    size_t room = 0, grown = 0;
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        const size_t before = room;
        assert_true(VEC_RESERVE(items, room, (size_t)i + 1));
        assert_true(room > i);
        grown += room != before;
        items[i] = i;
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(items[i], i);
    assert_in_range(grown, 2, 12);
    assert_true(VEC_RESERVE(items, room, 5 * MANY));
    assert_true(room >= 5 * MANY);
    free(items);
}

static void without_memory_nothing_changes(void **state)
{
    uint32_t *items = NULL;
    size_t room = 0;
    (void)state;
    assert_true(VEC_RESERVE(items, room, 1));
    uint32_t *const before = items;
    const size_t room_before = room;
    failing_alloc_at(0);
    assert_false(VEC_RESERVE(items, room, room + 1));
    failing_alloc_never();
    assert_false(VEC_RESERVE(items, room, SIZE_MAX / sizeof *items));
    assert_ptr_equal(items, before);
    assert_int_equal(room, room_before);
    assert_true(VEC_RESERVE(items, room, 0));
    free(items);
}

static void the_first_that_is_not_below_is_found(void **state)
{
    static const int items[] = { 1, 3, 3, 7 };
    static const size_t expected[] = { 0, 0, 1, 1, 3, 3, 3, 3, 4 };
    (void)state;
    for (int key = 0; key <= 8; key++) {
        size_t at;
        LOWER_BOUND(at, sizeof items / sizeof *items, items[at] < key);
        assert_int_equal(at, expected[key]);
        LOWER_BOUND(at, 0, items[at] < key);
        assert_int_equal(at, 0);
    }
}

TEST_GROUP(cmocka_unit_test(items_stay_while_the_room_grows),
           cmocka_unit_test(without_memory_nothing_changes),
           cmocka_unit_test(the_first_that_is_not_below_is_found))
