#include "sampler/base/clock.h"
#include "sampler/kernel/fault_events.h"
#include "tests/support/test.h"

static void few_faults_are_all_events(void **state)
{
    uint32_t period = 1024;
    (void)state;
    for (int i = 0; i < 20; i++)
        period = fault_events_period(period, 10, NS_PER_S / 10);
    assert_int_equal(period, 1);
}

static void many_faults_have_fewer_events_at_once(void **state)
{
    (void)state;
    assert_int_equal(fault_events_period(1, 32000, NS_PER_S / 10), 128);
    assert_int_equal(fault_events_period(4, 400, NS_PER_S / 10), 4);
    assert_int_equal(fault_events_period(4, 401, NS_PER_S / 10), 8);
    assert_int_equal(fault_events_period(1, UINT64_MAX, NS_PER_S), 1024);
    assert_int_equal(fault_events_period(1, 1, 0), 2);
}

/* A rate that does not change has a period that does not. */
static void the_period_settles(void **state)
{
    (void)state;
    for (uint64_t faults = 1; faults < 1u << 24; faults *= 3) {
        uint32_t period = 4;
        for (int i = 0; i < 20; i++)
            period = fault_events_period(period, faults / period, NS_PER_S);
        assert_int_equal(fault_events_period(period, faults / period, NS_PER_S), period);
    }
}

TEST_GROUP(cmocka_unit_test(few_faults_are_all_events),
           cmocka_unit_test(many_faults_have_fewer_events_at_once),
           cmocka_unit_test(the_period_settles))
