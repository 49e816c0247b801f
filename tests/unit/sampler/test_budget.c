#include "sampler/budget.h"
#include "tests/support/test.h"

#define MS 1000000ull

static void without_a_budget_nothing_changes(void **state)
{
    struct budget budget;
    (void)state;
    budget_init(&budget, 0, 1000, 0);
    assert_false(budget_measure(&budget, 1000 * MS, 1000));
    assert_true(budget.rate_hz == 1000);
}

static void what_the_budget_pays_for_is_left_alone(void **state)
{
    struct budget budget;
    (void)state;
    budget_init(&budget, 0.02, 1000, 0);
    /* 10 us a look, 1000 looks a second: 1 %. */
    assert_false(budget_measure(&budget, 10 * MS, 1000));
    assert_true(budget.rate_hz == 1000);
}

static void a_rate_that_costs_too_much_is_lowered_at_once(void **state)
{
    struct budget budget;
    (void)state;
    budget_init(&budget, 0.01, 10000, 0);
    /* 100 us a look: 1 % pays for 100 looks a second. */
    assert_true(budget_measure(&budget, 100 * MS, 1000));
    assert_float_equal(budget.rate_hz, 100, 0.001);
}

static void a_lowered_rate_rises_slowly_and_never_above_what_was_wanted(void **state)
{
    struct budget budget;
    uint64_t cpu_ns = 100 * MS, looks = 1000;
    (void)state;
    budget_init(&budget, 0.01, 1000, 0);
    assert_true(budget_measure(&budget, cpu_ns, looks));
    for (int i = 0; i < 30; i++) {
        const double before = budget.rate_hz;
        cpu_ns += 100 * 1000;
        looks += 100;
        (void)budget_measure(&budget, cpu_ns, looks);
        assert_true(budget.rate_hz <= before * 1.2501);
        assert_true(budget.rate_hz <= 1000);
    }
    assert_true(budget.rate_hz == 1000);
}

static void a_few_looks_are_no_measurement(void **state)
{
    struct budget budget;
    (void)state;
    budget_init(&budget, 0.01, 1000, 0);
    assert_false(budget_measure(&budget, 1000 * MS, 3));
    assert_true(budget.rate_hz == 1000);
}

static void the_rate_never_falls_below_one_look_a_second(void **state)
{
    struct budget budget;
    (void)state;
    budget_init(&budget, 0.001, 1000, 0);
    assert_true(budget_measure(&budget, 100000 * MS, 10));
    assert_true(budget.rate_hz == 1);
}

TEST_MAIN(cmocka_unit_test(without_a_budget_nothing_changes),
          cmocka_unit_test(what_the_budget_pays_for_is_left_alone),
          cmocka_unit_test(a_rate_that_costs_too_much_is_lowered_at_once),
          cmocka_unit_test(a_lowered_rate_rises_slowly_and_never_above_what_was_wanted),
          cmocka_unit_test(a_few_looks_are_no_measurement),
          cmocka_unit_test(the_rate_never_falls_below_one_look_a_second))
