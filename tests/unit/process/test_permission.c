#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "sampler/process/permission.h"
#include "tests/support/test.h"

static void nothing_is_shut_between_a_process_and_itself(void **state)
{
    struct gates gates = { .count = 0 };
    struct err err = { 0 };
    (void)state;
    assert_int_equal(permission_of_process(getpid(), &gates, &err), ERR_OK);
    assert_true(gates.count >= 5);
    for (size_t i = 0; i < gates.count; i++) {
        /* Yama and a process that is not dumpable do not count for oneself. */
        if (strcmp(gates.items[i].name, "user") == 0)
            assert_int_equal(gates.items[i].state, GATE_OPEN);
        assert_true(gates.items[i].found[0] != '\0');
        if (gates.items[i].state == GATE_SHUT)
            assert_true(gates.items[i].remedy[0] != '\0');
    }
}

static void a_process_that_is_not_there_is_gone(void **state)
{
    struct gates gates = { .count = 0 };
    struct err err = { 0 };
    (void)state;
    assert_int_equal(permission_of_process(INT32_MAX, &gates, &err), ERR_GONE);
    assert_int_equal(permission_explain(INT32_MAX, &err), ERR_GONE);
}

static void a_refusal_is_one_line_about_the_process(void **state)
{
    struct err err = { 0 };
    (void)state;
    assert_int_equal(permission_explain(getpid(), &err), ERR_PERM);
    assert_non_null(strstr(err.message, "process "));
    assert_null(strchr(err.message, '\n'));
}

static void the_host_has_gates_of_its_own(void **state)
{
    struct gates gates = { .count = 0 };
    (void)state;
    permission_of_host(&gates);
    assert_true(gates.count >= 4);
    assert_string_equal(gates.items[0].name, "capability");
}

static void the_first_shut_gate_is_told_and_no_more_than_fit_are_kept(void **state)
{
    struct gates gates = { .count = 0 };
    (void)state;
    assert_null(gates_first_shut(&gates));
    gates_add(&gates, "a", GATE_PASSED, "%d", 1);
    assert_null(gates_first_shut(&gates));
    gate_remedy(gates_add(&gates, "b", GATE_SHUT, "two"), "open %s", "it");
    for (int i = 0; i < 2 * GATES_MAX; i++)
        gates_add(&gates, "c", GATE_SHUT, "three");
    assert_int_equal(gates.count, GATES_MAX);
    assert_string_equal(gates_first_shut(&gates)->name, "b");
    assert_string_equal(gates_first_shut(&gates)->remedy, "open it");
    assert_string_equal(gate_state_text(GATE_SHUT), "SHUT");
}

TEST_MAIN(cmocka_unit_test(nothing_is_shut_between_a_process_and_itself),
          cmocka_unit_test(a_process_that_is_not_there_is_gone),
          cmocka_unit_test(a_refusal_is_one_line_about_the_process),
          cmocka_unit_test(the_host_has_gates_of_its_own),
          cmocka_unit_test(the_first_shut_gate_is_told_and_no_more_than_fit_are_kept))
