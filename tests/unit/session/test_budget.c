#include "sampler/session/pace/budget.h"
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

/* With a budget, at a rate that was measured before. */
static void begin(struct budget *budget, double share, double rate_hz)
{
    budget_init(budget, share, rate_hz, 0);
    budget->rate_hz = rate_hz;
}

static void what_the_budget_pays_for_is_left_alone(void **state)
{
    struct budget budget;
    (void)state;
    begin(&budget, 0.02, 1000);
    /* 10 us a tick, 1000 ticks a second: 1 %. */
    assert_false(budget_measure(&budget, 10 * MS, 1000));
    assert_true(budget.rate_hz == 1000);
}

static void a_rate_that_costs_too_much_is_lowered_at_once(void **state)
{
    struct budget budget;
    (void)state;
    begin(&budget, 0.01, 10000);
    /* 100 us a tick: 1 % pays for 100 ticks a second. */
    assert_true(budget_measure(&budget, 100 * MS, 1000));
    assert_float_equal(budget.rate_hz, 100, 0.001);
}

static void a_lowered_rate_rises_slowly_and_never_above_what_was_wanted(void **state)
{
    struct budget budget;
    uint64_t cpu_ns = 100 * MS, ticks = 1000;
    (void)state;
    begin(&budget, 0.01, 1000);
    assert_true(budget_measure(&budget, cpu_ns, ticks));
    for (int i = 0; i < 30; i++) {
        const double before = budget.rate_hz;
        cpu_ns += 100 * 1000;
        ticks += 100;
        (void)budget_measure(&budget, cpu_ns, ticks);
        assert_true(budget.rate_hz <= before * 1.2501);
        assert_true(budget.rate_hz <= 1000);
    }
    assert_true(budget.rate_hz == 1000);
}

static void a_few_ticks_are_not_a_measurement(void **state)
{
    struct budget budget;
    (void)state;
    begin(&budget, 0.01, 1000);
    assert_false(budget_measure(&budget, 1000 * MS, 1));
    assert_true(budget.rate_hz == 1000);
    assert_true(budget_measure(&budget, 1000 * MS, 2));
    const double rate_hz = budget.rate_hz;
    assert_false(budget_measure(&budget, 1001 * MS, 9));
    assert_true(budget.rate_hz == rate_hz);
}

static void the_rate_never_falls_below_one_tick_a_second(void **state)
{
    struct budget budget;
    (void)state;
    begin(&budget, 0.001, 1000);
    assert_true(budget_measure(&budget, 100000 * MS, 10));
    assert_true(budget.rate_hz == 1);
}

/* The first ticks cost four times as much as later ones. */
static uint64_t cost_of(uint64_t tick, uint64_t cost_ns)
{
    return tick < 20 ? 4 * cost_ns : cost_ns;
}

/* Windows of a quarter of a second, as the loop makes them.  Returns the CPU time of the first so many
 * of them, and the rate in the end. */
static uint64_t use(double share, double requested_hz, uint64_t cost_ns, unsigned windows,
                    double *rate_hz_out)
{
    struct budget budget;
    uint64_t cpu_ns = 0, ticks = 0;
    double due = 0;
    budget_init(&budget, share, requested_hz, 0);
    for (unsigned i = 0; i < windows; i++) {
        for (due += budget.rate_hz / 4; due >= 1; due--)
            cpu_ns += cost_of(ticks++, cost_ns);
        (void)budget_measure(&budget, cpu_ns, ticks);
    }
    *rate_hz_out = budget.rate_hz;
    return cpu_ns;
}

static void the_budget_holds_from_the_first_second_on(void **state)
{
    static const double shares[] = { 0.001, 0.01, 0.05, 0.5 };
    static const double rates_hz[] = { 100, 1000, 10000, 1000000 };
    static const uint64_t costs_ns[] = { 2000, 10000, 30000, 100000, 250000 };
    (void)state;
    for (size_t s = 0; s < sizeof shares / sizeof *shares; s++)
        for (size_t r = 0; r < sizeof rates_hz / sizeof *rates_hz; r++)
            for (size_t c = 0; c < sizeof costs_ns / sizeof *costs_ns; c++) {
                double rate_hz, paid_hz = shares[s] * 1e9 / (double)costs_ns[c];
                for (unsigned seconds = 1; seconds <= 5; seconds++) {
                    const double used =
                        (double)use(shares[s], rates_hz[r], costs_ns[c], 4 * seconds, &rate_hz);
                    /* A tick or two is the least possible. */
                    assert_true(used <=
                                1.05e9 * shares[s] * seconds + 2.0 * 4 * (double)costs_ns[c]);
                }
                if (paid_hz > rates_hz[r])
                    paid_hz = rates_hz[r];
                (void)use(shares[s], rates_hz[r], costs_ns[c], 160, &rate_hz);
                assert_true(rate_hz > 0.8 * paid_hz || paid_hz < 1);
            }
}

static void the_first_rate_is_one_that_is_surely_paid_for(void **state)
{
    (void)state;
    assert_float_equal(budget_first_hz(0, 10000), 10000, 0);
    assert_float_equal(budget_first_hz(0.01, 10000), 10, 0.001);
    assert_float_equal(budget_first_hz(0.5, 100), 100, 0);
    assert_float_equal(budget_first_hz(0.0001, 100), 1, 0);
}

TEST_GROUP(cmocka_unit_test(the_budget_holds_from_the_first_second_on),
           cmocka_unit_test(the_first_rate_is_one_that_is_surely_paid_for),
           cmocka_unit_test(without_a_budget_nothing_changes),
           cmocka_unit_test(what_the_budget_pays_for_is_left_alone),
           cmocka_unit_test(a_rate_that_costs_too_much_is_lowered_at_once),
           cmocka_unit_test(a_lowered_rate_rises_slowly_and_never_above_what_was_wanted),
           cmocka_unit_test(a_few_ticks_are_not_a_measurement),
           cmocka_unit_test(the_rate_never_falls_below_one_tick_a_second))
