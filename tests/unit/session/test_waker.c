#define _GNU_SOURCE
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "sampler/base/clock.h"
#include "sampler/session/pace/waker.h"
#include "tests/support/test.h"

static const uint64_t STEP_NS = 200000;

static void it_never_wakes_before_the_instant(void **state)
{
    struct waker waker;
    (void)state;
    waker_init(&waker);
    for (int i = 0; i < 20; i++) {
        const uint64_t at_ns = clock_now_ns() + STEP_NS;
        waker_sleep(&waker, at_ns);
        assert_true(clock_now_ns() >= at_ns);
    }
    waker_deinit(&waker);
}

/* Whatever the kernel grants, nothing else of the thread changes, and it sleeps as before. */
static void who_is_hastened_sleeps_as_long(void **state)
{
    struct waker waker;
    const int policy = sched_getscheduler(0), niceness = getpriority(PRIO_PROCESS, 0);
    (void)state;
    waker_hasten();
    assert_int_equal(prctl(PR_GET_TIMERSLACK), 1);
    assert_int_equal(sched_getscheduler(0), policy);
    assert_int_equal(getpriority(PRIO_PROCESS, 0), niceness);
    waker_init(&waker);
    const uint64_t at_ns = clock_now_ns() + STEP_NS;
    waker_sleep(&waker, at_ns);
    assert_true(clock_now_ns() >= at_ns);
    waker_deinit(&waker);
}

static void what_is_prepared_is_waited_for_in_its_turn(void **state)
{
    struct waker waker;
    (void)state;
    waker_init(&waker);
    uint64_t at_ns = clock_now_ns() + STEP_NS;
    for (int i = 0; i < 20; i++) {
        const uint64_t ahead_ns = at_ns + STEP_NS;
        waker_prepare(&waker, ahead_ns);
        waker_sleep(&waker, at_ns);
        assert_true(clock_now_ns() >= at_ns);
        at_ns = ahead_ns;
    }
    waker_deinit(&waker);
}

/* An instant that is never slept until does not occupy a timer for ever. */
static void what_was_prepared_for_nothing_is_in_nobodys_way(void **state)
{
    struct waker waker;
    (void)state;
    waker_init(&waker);
    for (int i = 0; i < 5; i++) {
        const uint64_t unused_ns = clock_now_ns() + STEP_NS;
        waker_prepare(&waker, unused_ns);
        waker_prepare(&waker, unused_ns + STEP_NS);
        waker_prepare(&waker, unused_ns + 2 * STEP_NS);
        const uint64_t at_ns = unused_ns + 4 * STEP_NS;
        waker_sleep(&waker, at_ns);
        assert_true(clock_now_ns() >= at_ns);
    }
    waker_deinit(&waker);
}

static void what_has_passed_is_not_waited_for(void **state)
{
    struct waker waker;
    (void)state;
    waker_init(&waker);
    waker_prepare(&waker, 1);
    waker_sleep(&waker, 1);
    waker_sleep(&waker, clock_now_ns() - 1);
    waker_deinit(&waker);
}

static void without_timers_it_sleeps_all_the_same(void **state)
{
    struct waker waker = { .timers = { { .fd = -1 }, { .fd = -1 } } };
    (void)state;
    const uint64_t at_ns = clock_now_ns() + STEP_NS;
    waker_prepare(&waker, at_ns);
    waker_sleep(&waker, at_ns);
    assert_true(clock_now_ns() >= at_ns);
    waker_deinit(&waker);
}

TEST_GROUP(cmocka_unit_test(it_never_wakes_before_the_instant),
           cmocka_unit_test(who_is_hastened_sleeps_as_long),
           cmocka_unit_test(what_is_prepared_is_waited_for_in_its_turn),
           cmocka_unit_test(what_was_prepared_for_nothing_is_in_nobodys_way),
           cmocka_unit_test(what_has_passed_is_not_waited_for),
           cmocka_unit_test(without_timers_it_sleeps_all_the_same))
