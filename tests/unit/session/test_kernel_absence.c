/* The time that threads are away from their processors, and lost records, become samples: how many, of which time. */
#include <string.h>
#include <sys/syscall.h>

#include "sampler/kernel/engine.h"
#include "sampler/session/kernel/kernel_feed.h"
#include "tests/unit/session/fed_world.h"

static void an_absence_counts_once_for_every_period_of_it(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= KERNEL_RUNNABLE; flags += KERNEL_RUNNABLE) {
        struct fed_world *const world = fed_create();
        fed_leave(world, 7, flags);
        fed_come_back(world, 7, 7 + 50 * PERIOD_NS);
        fed_drain(world);
        assert_int_equal(taken_count, 1);
        assert_in_range(taken[0].instants.times, 50, 51);
        assert_int_equal(taken[0].instants.since_ns, begin_ns + 7);
        assert_int_equal(taken[0].instants.until_ns, begin_ns + 7 + 50 * PERIOD_NS);
        assert_int_equal(taken[0].instants.runs, flags ? VALUE_YES : VALUE_NO);
        assert_int_equal(taken[0].instants.runnable, flags ? VALUE_YES : VALUE_NO);
        assert_int_equal(taken[0].word, 7);
        fed_destroy(world);
    }
}

/* A thread that was woken waits for a processor, not for what it slept for. */
static void an_absence_is_of_two_parts_if_the_thread_was_woken(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_leave(world, 7, 0);
    fed_put(world,
            (struct kernel_record){ .kind = KERNEL_RETURNED,
                                    .time_ns = begin_ns + 7 + 50 * PERIOD_NS,
                                    .left_ns = begin_ns + 7,
                                    .woken_ns = begin_ns + 7 + 20 * PERIOD_NS },
            0);
    fed_drain(world);
    assert_int_equal(taken_count, 2);
    assert_in_range(taken[0].instants.times, 19, 21);
    assert_int_equal(taken[0].instants.until_ns, begin_ns + 7 + 20 * PERIOD_NS);
    assert_int_equal(taken[0].instants.runs, VALUE_NO);
    assert_in_range(taken[1].instants.times, 30, 31);
    assert_int_equal(taken[1].instants.since_ns, begin_ns + 7 + 20 * PERIOD_NS);
    assert_int_equal(taken[1].instants.until_ns, begin_ns + 7 + 50 * PERIOD_NS);
    assert_int_equal(taken[1].instants.runnable, VALUE_YES);
    assert_in_range(taken[0].instants.times + taken[1].instants.times, 50, 51);
    fed_destroy(world);
}

static void a_thread_that_was_woken_and_stays_away_lacks_a_processor(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_leave(world, 7, 0);
    fed_drain(world);
    fake_kernel_set_left_ns(world->kernel, begin_ns + 7);
    fake_kernel_set_woken_ns(world->kernel, begin_ns + 7 + 20 * PERIOD_NS);
    fed_flush(world, 7 + 50 * PERIOD_NS);
    fed_flush(world, 7 + 60 * PERIOD_NS);
    assert_int_equal(taken_count, 3);
    assert_int_equal(taken[0].instants.runs, VALUE_NO);
    assert_in_range(taken[0].instants.times, 19, 21);
    assert_int_equal(taken[1].instants.runnable, VALUE_YES);
    assert_in_range(taken[1].instants.times, 30, 31);
    assert_int_equal(taken[2].instants.runnable, VALUE_YES);
    assert_in_range(taken[2].instants.times, 10, 11);
    fed_destroy(world);
}

static void a_thread_that_stays_away_is_counted_at_every_flush(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_leave(world, 7, 0);
    fake_kernel_set_left_ns(world->kernel, begin_ns + 7);
    fed_flush(world, 7 + 20 * PERIOD_NS);
    fed_flush(world, 7 + 30 * PERIOD_NS);
    fed_come_back(world, 7, 7 + 50 * PERIOD_NS);
    fake_kernel_set_left_ns(world->kernel, 0);
    fed_flush(world, 7 + 60 * PERIOD_NS);
    assert_int_equal(taken_count, 3);
    assert_in_range(taken[0].instants.times, 20, 21);
    assert_in_range(taken[1].instants.times, 10, 11);
    assert_in_range(taken[2].instants.times, 20, 21);
    fed_destroy(world);
}

static void an_absence_whose_beginning_was_lost_has_an_unknown_stack(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_come_back(world, 7, 7 + 50 * PERIOD_NS);
    fed_leave(world, 100 * PERIOD_NS, 0);
    fed_come_back(world, 100 * PERIOD_NS, 120 * PERIOD_NS);
    fed_drain(world);
    fed_flush(world, 121 * PERIOD_NS);
    assert_int_equal(taken_count, 1);
    assert_in_range(taken[0].instants.times, 20, 21);
    assert_in_range(unknown_either, 50, 51);
    assert_int_equal(world->quality.missed_ticks, 0);
    fed_destroy(world);
}

static void an_absence_before_the_first_record_is_missed_once(void **state)
{
    struct fed_world *const world = fed_create();
    struct err err = { 0 };
    (void)state;
    assert_int_equal(kernel_feed_remove(world->feed, &world->target), ERR_OK);
    assert_ok(kernel_feed_add(world->feed, &world->target, &err), &err);
    fed_come_back(world, 20 * PERIOD_NS, 80 * PERIOD_NS);
    fed_flush(world, 80 * PERIOD_NS);
    assert_int_equal(taken_count, 0);
    assert_in_range(world->quality.missed_ticks, 60, 81);
    fed_destroy(world);
}

static void lost_instants_are_samples_of_their_thread(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put(world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 42);
    fake_kernel_lose(world->kernel, 5, 30 * PERIOD_NS);
    fed_flush(world, 40 * PERIOD_NS);
    fed_flush(world, 41 * PERIOD_NS);
    assert_int_equal(taken_count, 1);
    assert_int_equal(unknown_running, 5);
    assert_in_range(unknown_either, 30, 31);
    fake_kernel_lose(world->kernel, 7, 0);
    fed_flush(world, 42 * PERIOD_NS);
    assert_int_equal(unknown_running, 5 + 7);
    assert_int_equal(last_unknown.since_ns, begin_ns + 41 * PERIOD_NS);
    assert_int_equal(last_unknown.until_ns, begin_ns + 42 * PERIOD_NS);
    assert_int_equal(world->quality.missed_ticks, 0);
    fed_destroy(world);
}

static void what_a_thread_lost_counts_though_it_ends(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fake_kernel_lose(world->kernel, 5, 0);
    assert_int_equal(kernel_feed_remove(world->feed, &world->target), ERR_OK);
    assert_int_equal(unknown_running, 5);
    fed_destroy(world);
    fed_create();
    fake_kernel_lose(world->kernel, 6, 0);
    fed_put(world, (struct kernel_record){ .kind = KERNEL_UNKNOWN, .tid = TID + 1 }, 0);
    fed_drain(world);
    assert_int_equal(listings, 1);
    assert_int_equal(unknown_running, 6);
    fed_destroy(world);
}

static void what_was_lost_in_a_pause_is_not_counted(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fake_kernel_lose(world->kernel, 5, 50 * PERIOD_NS);
    kernel_feed_skip(world->feed);
    fed_drain(world);
    fed_flush(world, 51 * PERIOD_NS);
    assert_int_equal(unknown_running + unknown_either, 0);
    fed_destroy(world);
}

/* The records of its leaving and of its return are lost: the thread counts while it stays away, and once. */
static void an_absence_that_is_lost_counts_from_where_it_was_counted(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_leave(world, 7, 0);
    fake_kernel_set_left_ns(world->kernel, begin_ns + 7);
    fed_flush(world, 7 + 20 * PERIOD_NS);
    assert_in_range(taken[0].instants.times, 20, 21);
    fake_kernel_lose(world->kernel, 0, 30 * PERIOD_NS); /* its return */
    fake_kernel_lose(world->kernel, 0, 0);              /* its leaving */
    fake_kernel_set_left_ns(world->kernel, begin_ns + 40 * PERIOD_NS);
    fed_put(world,
            (struct kernel_record){
                .kind = KERNEL_TICK, .tid = TID + 1, .time_ns = begin_ns + 41 * PERIOD_NS },
            1);
    fed_flush(world, 60 * PERIOD_NS);
    assert_in_range(unknown_either, 10, 11);
    fed_flush(world, 80 * PERIOD_NS);
    assert_in_range(unknown_either, 10 + 40, 11 + 41);
    fed_come_back(world, 40 * PERIOD_NS, 100 * PERIOD_NS);
    fake_kernel_set_left_ns(world->kernel, 0);
    fed_flush(world, 110 * PERIOD_NS);
    assert_in_range(unknown_either, 10 + 60, 11 + 62);
    assert_int_equal(taken_count, 1);
    fed_destroy(world);
}

static void records_that_are_left_at_the_end_have_unknown_stacks(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fake_kernel_set_most(world->kernel, 2);
    for (uint64_t i = 0; i < 5; i++)
        fed_put(world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns + i },
                42);
    fed_leave(world, 7, 0);
    fed_come_back(world, 7, 7 + 50 * PERIOD_NS);
    assert_int_equal(
        kernel_feed_flush(world->feed, &world->quality, begin_ns + 60 * PERIOD_NS, true),
        ERR_OK);
    assert_int_equal(taken_count, 2);
    assert_int_equal(unknown_running, 3);
    assert_in_range(unknown_waiting, 50, 51);
    fed_destroy(world);
}

/* The thread has left by now, but the records that say so have not been taken yet. */
static void a_record_that_is_still_to_come_is_not_lost(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fake_kernel_lose(world->kernel, 0, 0);
    fake_kernel_set_left_ns(world->kernel, begin_ns + 40 * PERIOD_NS);
    fed_flush(world, 41 * PERIOD_NS);
    fed_leave(world, 40 * PERIOD_NS, 0);
    fed_come_back(world, 40 * PERIOD_NS, 90 * PERIOD_NS);
    fake_kernel_set_left_ns(world->kernel, 0);
    fed_flush(world, 100 * PERIOD_NS);
    assert_int_equal(taken_count, 1);
    assert_in_range(taken[0].instants.times, 50, 51);
    assert_int_equal(unknown_either, 0);
    fed_destroy(world);
}

static bool stands(struct fed_world *world, uint64_t at_ns)
{
    bool stands = false;
    assert_ok(kernel_feed_check_stands(world->feed, &world->target, &the_thread,
                                       begin_ns + at_ns, &stands),
              NULL);
    return stands;
}

static void the_stack_of_a_thread_that_is_away_is_taken_when_it_is_needed(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put(world,
            (struct kernel_record){
                .kind = KERNEL_LEFT, .time_ns = begin_ns + 7, .system_call = SYS_futex },
            7);
    fed_drain(world);
    assert_int_equal(kernel_feed_stands_since(world->feed, &world->target, &the_thread),
                     begin_ns + 7);
    assert_int_equal(taken_count, 0);
    /* It has come back, and its record is still to come. */
    fake_kernel_set_left_ns(world->kernel, begin_ns + 9);
    assert_false(stands(world, 20 * PERIOD_NS));
    fake_kernel_set_left_ns(world->kernel, begin_ns + 7);
    assert_true(stands(world, 20 * PERIOD_NS));
    assert_true(stands(world, 30 * PERIOD_NS));
    assert_int_equal(taken_count, 1);
    assert_in_range(taken[0].instants.times, 19, 21);
    fed_come_back(world, 7, 7 + 50 * PERIOD_NS);
    fake_kernel_set_left_ns(world->kernel, 0);
    fed_drain(world);
    assert_int_equal(kernel_feed_stands_since(world->feed, &world->target, &the_thread), 0);
    assert_false(stands(world, 60 * PERIOD_NS));
    assert_int_equal(taken_count, 2);
    assert_in_range(taken[0].instants.times + taken[1].instants.times, 49, 52);
    fed_destroy(world);
}

TEST_GROUP(cmocka_unit_test(an_absence_counts_once_for_every_period_of_it),
           cmocka_unit_test(an_absence_is_of_two_parts_if_the_thread_was_woken),
           cmocka_unit_test(a_thread_that_was_woken_and_stays_away_lacks_a_processor),
           cmocka_unit_test(a_thread_that_stays_away_is_counted_at_every_flush),
           cmocka_unit_test(an_absence_whose_beginning_was_lost_has_an_unknown_stack),
           cmocka_unit_test(an_absence_before_the_first_record_is_missed_once),
           cmocka_unit_test(lost_instants_are_samples_of_their_thread),
           cmocka_unit_test(what_a_thread_lost_counts_though_it_ends),
           cmocka_unit_test(what_was_lost_in_a_pause_is_not_counted),
           cmocka_unit_test(an_absence_that_is_lost_counts_from_where_it_was_counted),
           cmocka_unit_test(records_that_are_left_at_the_end_have_unknown_stacks),
           cmocka_unit_test(a_record_that_is_still_to_come_is_not_lost),
           cmocka_unit_test(the_stack_of_a_thread_that_is_away_is_taken_when_it_is_needed))
