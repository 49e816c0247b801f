#include "sampler/cpython/stack/pair_set.h"
#include "tests/support/test.h"

static void a_pair_is_in_the_set_once_it_was_added(void **state)
{
    struct pair_set set;
    (void)state;
    pair_set_init(&set);
    assert_false(pair_set_has(&set, 1, 2));
    pair_set_add(&set, 1, 2);
    pair_set_add(&set, 1, 2);
    assert_true(pair_set_has(&set, 1, 2));
    assert_false(pair_set_has(&set, 2, 1));
    assert_false(pair_set_has(&set, 1, 3));
    assert_int_equal(set.items.count, 1);
    pair_set_deinit(&set);
}

static void a_full_set_keeps_what_it_has(void **state)
{
    struct pair_set set;
    (void)state;
    pair_set_init(&set);
    for (uint32_t i = 0; i <= PAIR_SET_MAX; i++)
        pair_set_add(&set, i, i + 1);
    assert_int_equal(set.items.count, PAIR_SET_MAX);
    assert_true(pair_set_has(&set, PAIR_SET_MAX - 1, PAIR_SET_MAX));
    assert_false(pair_set_has(&set, PAIR_SET_MAX, PAIR_SET_MAX + 1));
    pair_set_deinit(&set);
}

TEST_GROUP(cmocka_unit_test(a_pair_is_in_the_set_once_it_was_added),
           cmocka_unit_test(a_full_set_keeps_what_it_has))
