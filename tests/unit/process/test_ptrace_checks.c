#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "sampler/process/ptrace_checks.h"
#include "tests/support/test.h"

static void no_check_blocks_a_process_from_itself(void **state)
{
    struct access_checks checks = { .count = 0 };
    struct err err = { 0 };
    (void)state;
    assert_int_equal(ptrace_checks_of_process(getpid(), true, &checks, &err), ERR_OK);
    assert_true(checks.count >= 5);
    for (size_t i = 0; i < checks.count; i++) {
        /* Yama and PR_SET_DUMPABLE do not apply to the process itself. */
        if (strcmp(checks.items[i].name, "user") == 0)
            assert_int_equal(checks.items[i].state, ACCESS_CHECK_OK);
        assert_true(checks.items[i].found[0] != '\0');
        assert_int_not_equal(checks.items[i].state, ACCESS_CHECK_BLOCKED);
    }
}

static void a_missing_process_is_gone(void **state)
{
    struct access_checks checks = { .count = 0 };
    struct err err = { 0 };
    (void)state;
    assert_int_equal(ptrace_checks_of_process(INT32_MAX, false, &checks, &err), ERR_GONE);
    assert_int_equal(ptrace_checks_explain(INT32_MAX, &err), ERR_GONE);
}

static void a_refusal_is_one_line_about_the_process(void **state)
{
    struct err err = { 0 };
    (void)state;
    assert_int_equal(ptrace_checks_explain(getpid(), &err), ERR_PERM);
    assert_non_null(strstr(err.message, "process "));
    assert_null(strchr(err.message, '\n'));
}

static void the_host_has_access_checks(void **state)
{
    struct access_checks checks = { .count = 0 };
    (void)state;
    ptrace_checks_of_host(&checks);
    assert_true(checks.count >= 4);
    assert_string_equal(checks.items[0].name, "capability");
}

static void the_first_blocking_check_is_found_and_the_list_is_bounded(void **state)
{
    struct access_checks checks = { .count = 0 };
    (void)state;
    assert_null(access_checks_first_blocked(&checks));
    access_checks_add(&checks, "a", ACCESS_CHECK_BYPASSED, "%d", 1);
    assert_null(access_checks_first_blocked(&checks));
    access_check_remedy(access_checks_add(&checks, "b", ACCESS_CHECK_BLOCKED, "two"), "open %s",
                        "it");
    for (int i = 0; i < 2 * ACCESS_CHECKS_MAX; i++)
        access_checks_add(&checks, "c", ACCESS_CHECK_BLOCKED, "three");
    assert_int_equal(checks.count, ACCESS_CHECKS_MAX);
    assert_string_equal(access_checks_first_blocked(&checks)->name, "b");
    assert_string_equal(access_checks_first_blocked(&checks)->remedy, "open it");
    assert_string_equal(access_check_state_text(ACCESS_CHECK_BLOCKED), "BLOCKED");
}

TEST_GROUP(cmocka_unit_test(no_check_blocks_a_process_from_itself),
           cmocka_unit_test(a_missing_process_is_gone),
           cmocka_unit_test(a_refusal_is_one_line_about_the_process),
           cmocka_unit_test(the_host_has_access_checks),
           cmocka_unit_test(the_first_blocking_check_is_found_and_the_list_is_bounded))
