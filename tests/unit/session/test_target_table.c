#include <stdlib.h>
#include <string.h>

#include "sampler/process/process.h"
#include "sampler/session/target_table.h"
#include "tests/support/test.h"

static size_t join(struct roster *roster, int pid)
{
    struct process process = { .pid = pid, .argc = 1 };
    struct err err = { 0 };
    size_t place = 0;
    process.argv = calloc(2, sizeof *process.argv);
    assert_non_null(process.argv);
    process.argv[0] = strdup("python3");
    const struct roster_facts facts = { .python = "3.14.1", .parent = 1, .from_ns = 5 };
    assert_ok(roster_add(roster, &process, &facts, &place, &err), &err);
    for (size_t i = 0; process.argv && i < process.argc; i++)
        free(process.argv[i]);
    free(process.argv);
    return place;
}

static void who_ends_is_still_told(void **state)
{
    struct roster roster;
    struct sampler_target target;
    struct sampler_processes counts;
    (void)state;
    roster_init(&roster);
    const size_t first = join(&roster, 10);
    join(&roster, 20);
    roster_end(&roster, first, 9, "it exited");
    assert_true(roster_at(&roster, 0, &target));
    assert_int_equal(target.pid, 10);
    assert_int_equal(target.to_ns, 9);
    assert_string_equal(target.reason, "it exited");
    assert_string_equal(target.argv[0], "python3");
    assert_true(roster_at(&roster, 1, &target));
    assert_null(target.reason);
    assert_false(roster_at(&roster, 2, &target));
    roster_counts(&roster, &counts);
    assert_int_equal(counts.joined, 2);
    assert_int_equal(counts.running, 1);
    roster_deinit(&roster);
}

static void more_than_are_told_are_counted(void **state)
{
    struct roster roster;
    struct sampler_target target;
    struct sampler_processes counts;
    size_t place = 0;
    (void)state;
    roster_init(&roster);
    for (int i = 0; i < SAMPLER_MAX_TOLD + 3; i++)
        place = join(&roster, i + 1);
    assert_true(roster_at(&roster, SAMPLER_MAX_TOLD - 1, &target));
    assert_false(roster_at(&roster, SAMPLER_MAX_TOLD, &target));
    roster_end(&roster, place, 9, "it exited");
    roster_counts(&roster, &counts);
    assert_int_equal(counts.joined, SAMPLER_MAX_TOLD + 3);
    assert_int_equal(counts.running, SAMPLER_MAX_TOLD + 2);
    roster_deinit(&roster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_ends_is_still_told),
        cmocka_unit_test(more_than_are_told_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
