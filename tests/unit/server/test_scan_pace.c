#include "server/sessions/scan_pace.h"
#include "tests/support/test.h"

/* A quarter of a percent of a processor. */
static const double SHARE = 0.0025;
static const uint64_t CHEAP_NS = NS_PER_MS, DEAR_NS = 100 * NS_PER_MS;

static void searches_that_cost_little_follow_each_other_closely(void **state)
{
    struct scan_pace pace = { 0 };
    (void)state;
    for (uint64_t i = 1; i < 10; i++)
        assert_int_equal(scan_pace_rest_ns(&pace, CHEAP_NS, i * CHEAP_NS, SHARE),
                         SCAN_PACE_LEAST_NS);
}

static void searches_stay_within_their_share(void **state)
{
    struct scan_pace pace = { 0 };
    (void)state;
    (void)scan_pace_rest_ns(&pace, CHEAP_NS, 9 * CHEAP_NS, SHARE);
    assert_int_equal(scan_pace_rest_ns(&pace, CHEAP_NS, 18 * CHEAP_NS, SHARE),
                     400 * 10 * CHEAP_NS);
    assert_int_equal(scan_pace_rest_ns(&pace, CHEAP_NS, 27 * CHEAP_NS, 0), SCAN_PACE_LEAST_NS);
}

static void one_dear_search_delays_nothing_but_two_do(void **state)
{
    struct scan_pace pace = { 0 };
    (void)state;
    (void)scan_pace_rest_ns(&pace, CHEAP_NS, 0, SHARE);
    assert_int_equal(scan_pace_rest_ns(&pace, CHEAP_NS, DEAR_NS, SHARE), SCAN_PACE_LEAST_NS);
    assert_int_equal(scan_pace_rest_ns(&pace, CHEAP_NS, 2 * DEAR_NS, SHARE), SCAN_PACE_MOST_NS);
}

/* Another process begins to count again. */
static void a_counter_that_begins_again_delays_nothing(void **state)
{
    struct scan_pace pace = { 0 };
    (void)state;
    for (uint64_t i = 0; i < 5; i++)
        (void)scan_pace_rest_ns(&pace, CHEAP_NS, NS_PER_S, SHARE);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(scan_pace_rest_ns(&pace, CHEAP_NS, i * CHEAP_NS, SHARE),
                         SCAN_PACE_LEAST_NS);
}

TEST_GROUP(cmocka_unit_test(searches_that_cost_little_follow_each_other_closely),
           cmocka_unit_test(searches_stay_within_their_share),
           cmocka_unit_test(one_dear_search_delays_nothing_but_two_do),
           cmocka_unit_test(a_counter_that_begins_again_delays_nothing))
