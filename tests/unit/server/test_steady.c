#include "server/sessions/steady.h"
#include "tests/support/test.h"

static const uint64_t YEAR_NS = 365 * 24 * 3600 * NS_PER_S, MINUTE_NS = 60 * NS_PER_S;
static const uint64_t WALL_NS = 1700000000 * NS_PER_S, BOOT_NS = 1000 * NS_PER_S;

/* Checks every minute, with a small error of the wall clock, and returns the last result. */
static bool trust_after(struct steady *steady, uint64_t *wall_ns, uint64_t *boot_ns,
                        uint64_t ns)
{
    bool is_trusted = true;
    for (uint64_t passed_ns = 0; passed_ns < ns; passed_ns += MINUTE_NS) {
        *wall_ns += MINUTE_NS + NS_PER_S;
        *boot_ns += MINUTE_NS;
        is_trusted = steady_is_trusted(steady, *wall_ns, *boot_ns);
    }
    return is_trusted;
}

static void a_clock_that_goes_on_is_trusted(void **state)
{
    struct steady steady = { 0 };
    uint64_t wall_ns = WALL_NS, boot_ns = BOOT_NS;
    (void)state;
    assert_true(steady_is_trusted(&steady, wall_ns, boot_ns));
    assert_true(trust_after(&steady, &wall_ns, &boot_ns, 3 * STEADY_NS));
    /* The machine was asleep: both clocks say so. */
    wall_ns += YEAR_NS;
    boot_ns += YEAR_NS;
    assert_true(steady_is_trusted(&steady, wall_ns, boot_ns));
}

static void one_that_jumped_is_trusted_a_day_later(void **state)
{
    static const int64_t jumps[] = { 10, -10, 1, -1 };
    (void)state;
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        struct steady steady = { 0 };
        uint64_t wall_ns = WALL_NS, boot_ns = BOOT_NS;
        assert_true(steady_is_trusted(&steady, wall_ns, boot_ns));
        wall_ns += (uint64_t)(jumps[i] * (int64_t)YEAR_NS);
        assert_false(trust_after(&steady, &wall_ns, &boot_ns, STEADY_NS / 2));
        /* It is set right again, which is a jump too. */
        wall_ns -= (uint64_t)(jumps[i] * (int64_t)YEAR_NS);
        assert_false(trust_after(&steady, &wall_ns, &boot_ns, STEADY_NS - MINUTE_NS));
        assert_true(trust_after(&steady, &wall_ns, &boot_ns, 2 * MINUTE_NS));
    }
}

TEST_GROUP(cmocka_unit_test(a_clock_that_goes_on_is_trusted),
           cmocka_unit_test(one_that_jumped_is_trusted_a_day_later))
