#include "sampler/kin.h"
#include "tests/support/test.h"

static void rows_are_found_by_their_numbers(void **state)
{
    struct kin_table table;
    (void)state;
    kin_init(&table, 1000);
    /* Numbers come in any order: 7 has no common factor with 1000. */
    for (int i = 0; i < 1000; i++)
        assert_int_equal(kin_add(&table, &(struct kin){ .pid = 1 + i * 7 % 1000 }), ERR_OK);
    for (int pid = 1; pid <= 1000; pid++)
        assert_int_equal(kin_find(&table, pid)->pid, pid);
    assert_null(kin_find(&table, 0));
    assert_null(kin_find(&table, 1001));
    for (int pid = 2; pid <= 1000; pid += 2)
        kin_drop(&table, kin_find(&table, pid));
    assert_int_equal(table.count, 500);
    for (int pid = 1; pid <= 1000; pid++)
        assert_int_equal(kin_find(&table, pid) != NULL, pid % 2);
    kin_deinit(&table);
}

static void a_full_table_says_so(void **state)
{
    struct kin_table table;
    (void)state;
    kin_init(&table, 2);
    assert_int_equal(kin_add(&table, &(struct kin){ .pid = 1 }), ERR_OK);
    assert_int_equal(kin_add(&table, &(struct kin){ .pid = 3 }), ERR_OK);
    assert_int_equal(kin_add(&table, &(struct kin){ .pid = 2 }), ERR_LIMIT);
    assert_null(kin_find(&table, 2));
    kin_drop(&table, kin_find(&table, 1));
    assert_int_equal(kin_add(&table, &(struct kin){ .pid = 2 }), ERR_OK);
    kin_deinit(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_found_by_their_numbers),
        cmocka_unit_test(a_full_table_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
