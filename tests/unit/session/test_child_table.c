#include "sampler/session/children/child_table.h"
#include "tests/support/test.h"

static void rows_are_found_by_their_numbers(void **state)
{
    struct child_table table;
    (void)state;
    child_table_init(&table, 1000);
    /* Numbers come in any order: 7 has no common factor with 1000. */
    for (int i = 0; i < 1000; i++)
        assert_int_equal(child_table_add(&table, &(struct child){ .pid = 1 + i * 7 % 1000 }),
                         ERR_OK);
    for (int pid = 1; pid <= 1000; pid++)
        assert_int_equal(child_table_find(&table, pid)->pid, pid);
    assert_null(child_table_find(&table, 0));
    assert_null(child_table_find(&table, 1001));
    for (int pid = 2; pid <= 1000; pid += 2)
        child_table_drop(&table, child_table_find(&table, pid));
    assert_int_equal(table.count, 500);
    for (int pid = 1; pid <= 1000; pid++)
        assert_int_equal(child_table_find(&table, pid) != NULL, pid % 2);
    child_table_deinit(&table);
}

static void a_full_table_says_so(void **state)
{
    struct child_table table;
    (void)state;
    child_table_init(&table, 2);
    assert_int_equal(child_table_add(&table, &(struct child){ .pid = 1 }), ERR_OK);
    assert_int_equal(child_table_add(&table, &(struct child){ .pid = 3 }), ERR_OK);
    assert_int_equal(child_table_add(&table, &(struct child){ .pid = 2 }), ERR_LIMIT);
    assert_null(child_table_find(&table, 2));
    child_table_drop(&table, child_table_find(&table, 1));
    assert_int_equal(child_table_add(&table, &(struct child){ .pid = 2 }), ERR_OK);
    child_table_deinit(&table);
}

static const struct procfs_identity parent = {
    .parent = 1,
    .state = 'S',
    .start_time = 100,
    .stack_start = 0x7ffe00001000,
    .code_start = 0x55d000000000,
};

static void a_fork_is_recognized_by_its_addresses(void **state)
{
    struct child_table table;
    struct procfs_identity fork = parent;
    (void)state;
    child_table_init(&table, 10);
    assert_int_equal(child_table_add(&table, &(struct child){ .pid = 1 }), ERR_OK);
    assert_false(child_table_has_parent_of(&table, &fork));
    assert_int_equal(child_table_add(&table, &(struct child){ .pid = 7, .identity = parent }),
                     ERR_OK);
    assert_true(child_table_has_parent_of(&table, &fork));
    fork.start_time = parent.start_time - 1;
    assert_false(child_table_has_parent_of(&table, &fork));
    fork.start_time = parent.start_time + 1;
    assert_true(child_table_has_parent_of(&table, &fork));
    fork.stack_start += 16;
    assert_false(child_table_has_parent_of(&table, &fork));
    fork = parent;
    fork.code_start += 4096;
    assert_false(child_table_has_parent_of(&table, &fork));
    /* The kernel hides addresses: all processes show zero. */
    fork.code_start = fork.stack_start = 0;
    assert_false(child_table_has_parent_of(&table, &fork));
    child_table_deinit(&table);
}

static void add_and_drop(struct child_table *table, const struct procfs_identity *identity)
{
    assert_int_equal(child_table_add(table, &(struct child){ .pid = 7, .identity = *identity }),
                     ERR_OK);
    child_table_drop(table, child_table_find(table, 7));
}

static void those_that_ended_last_are_remembered(void **state)
{
    struct child_table table;
    struct procfs_identity other = parent;
    (void)state;
    child_table_init(&table, 10);
    add_and_drop(&table, &parent);
    for (int i = 1; i < CHILD_TABLE_MAX_ENDED; i++) {
        other.stack_start += 4096;
        add_and_drop(&table, &other);
        assert_true(child_table_has_parent_of(&table, &other));
    }
    assert_true(child_table_has_parent_of(&table, &parent));
    other.stack_start += 4096;
    add_and_drop(&table, &other);
    assert_false(child_table_has_parent_of(&table, &parent));
    assert_true(child_table_has_parent_of(&table, &other));
    child_table_deinit(&table);
}

TEST_GROUP(cmocka_unit_test(rows_are_found_by_their_numbers),
           cmocka_unit_test(a_full_table_says_so),
           cmocka_unit_test(a_fork_is_recognized_by_its_addresses),
           cmocka_unit_test(those_that_ended_last_are_remembered))
