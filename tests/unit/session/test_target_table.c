#include <stdlib.h>
#include <string.h>

#include "sampler/process/process.h"
#include "sampler/session/target_table.h"
#include "tests/support/test.h"

static size_t join(struct target_table *target_table, int pid)
{
    struct process process = { .pid = pid, .argc = 1 };
    struct err err = { 0 };
    size_t place = 0;
    process.argv = calloc(2, sizeof *process.argv);
    assert_non_null(process.argv);
    process.argv[0] = strdup("python3");
    const struct target_table_info info = { .python = "3.14.1", .parent = 1, .from_ns = 5 };
    assert_ok(target_table_add(target_table, &process, &info, &place, &err), &err);
    for (size_t i = 0; process.argv && i < process.argc; i++)
        free(process.argv[i]);
    free(process.argv);
    return place;
}

static void a_target_that_has_ended_is_still_listed(void **state)
{
    struct target_table target_table;
    struct session_target target;
    struct session_processes counts;
    (void)state;
    target_table_init(&target_table);
    const size_t first = join(&target_table, 10);
    join(&target_table, 20);
    target_table_end(&target_table, first, 9, "it exited");
    assert_true(target_table_at(&target_table, 0, &target));
    assert_int_equal(target.pid, 10);
    assert_int_equal(target.to_ns, 9);
    assert_string_equal(target.reason, "it exited");
    assert_string_equal(target.argv[0], "python3");
    assert_int_equal(target.argc, 1);
    assert_null(target.argv[1]);
    assert_string_equal(target.python, "3.14.1");
    assert_string_equal(target.executable, "");
    assert_true(target_table_at(&target_table, 1, &target));
    assert_null(target.reason);
    assert_false(target_table_at(&target_table, 2, &target));
    target_table_counts(&target_table, &counts);
    assert_int_equal(counts.joined, 2);
    assert_int_equal(counts.running, 1);
    target_table_deinit(&target_table);
}

static void the_first_warning_of_a_kind_stays(void **state)
{
    struct target_table target_table;
    struct session_target target;
    (void)state;
    target_table_init(&target_table);
    const size_t row = join(&target_table, 10);
    assert_true(target_table_warn(&target_table, row, SESSION_WARNING_ANOTHER, "one"));
    assert_true(target_table_at(&target_table, 0, &target));
    assert_true(target_table_warn(&target_table, row, SESSION_WARNING_ANOTHER, "two"));
    assert_string_equal(target.warnings[SESSION_WARNING_ANOTHER], "one");
    assert_null(target.warnings[SESSION_WARNING_INTERPRETERS]);
    assert_true(target_table_warn(&target_table, SESSION_MAX_LISTED, SESSION_WARNING_ANOTHER,
                                  "beyond"));
    target_table_deinit(&target_table);
}

static void more_targets_than_are_listed_are_counted(void **state)
{
    struct target_table target_table;
    struct session_target target;
    struct session_processes counts;
    size_t place = 0;
    (void)state;
    target_table_init(&target_table);
    for (int i = 0; i < SESSION_MAX_LISTED + 3; i++)
        place = join(&target_table, i + 1);
    assert_true(target_table_at(&target_table, SESSION_MAX_LISTED - 1, &target));
    assert_false(target_table_at(&target_table, SESSION_MAX_LISTED, &target));
    target_table_end(&target_table, place, 9, "it exited");
    target_table_counts(&target_table, &counts);
    assert_int_equal(counts.joined, SESSION_MAX_LISTED + 3);
    assert_int_equal(counts.running, SESSION_MAX_LISTED + 2);
    target_table_deinit(&target_table);
}

TEST_GROUP(cmocka_unit_test(a_target_that_has_ended_is_still_listed),
           cmocka_unit_test(the_first_warning_of_a_kind_stays),
           cmocka_unit_test(more_targets_than_are_listed_are_counted))
