/* Records of the kernel engine become samples: how many, of which time, in which state. */
#include <string.h>

#include "sampler/kernel/engine.h"
#include "sampler/session/kernel/kernel_feed.h"
#include "tests/unit/session/fed_world.h"

static void an_instant_of_a_running_thread_is_one_sample(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put(world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 42);
    fed_drain(world);
    assert_int_equal(taken_count, 1);
    assert_int_equal(taken[0].instants.times, 1);
    assert_int_equal(taken[0].instants.until_ns, begin_ns);
    assert_int_equal(taken[0].instants.runs, VALUE_YES);
    assert_int_equal(taken[0].instants.runnable, VALUE_NO);
    assert_int_equal(taken[0].word, 42);
    fed_destroy(world);
}

static void a_late_instant_is_as_many_samples_as_it_stands_for(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put(world,
            (struct kernel_record){
                .kind = KERNEL_TICK, .time_ns = begin_ns + 9 * PERIOD_NS, .instants = 7 },
            42);
    /* The first of these instants was before the session. */
    fed_put(world,
            (struct kernel_record){
                .kind = KERNEL_TICK, .time_ns = begin_ns + 5 * PERIOD_NS, .instants = 7 },
            42);
    fed_drain(world);
    assert_int_equal(taken_count, 2);
    assert_int_equal(taken[0].instants.times, 7);
    assert_int_equal(taken[1].instants.times, 6);
    fed_destroy(world);
}

static void memory_is_as_many_samples_of_its_measure_as_it_has_pages(void **state)
{
    static const struct {
        unsigned kind;
        enum measure measure;
    } rows[] = { { KERNEL_FAULT, MEASURE_PAGE_FAULTS },
                 { KERNEL_COPY, MEASURE_COPY_ON_WRITE },
                 { KERNEL_FREE, MEASURE_RETURNED } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fed_world *const world = fed_create();
        fed_put(world,
                (struct kernel_record){
                    .kind = rows[i].kind, .time_ns = begin_ns + PERIOD_NS, .instants = 70000 },
                42);
        fed_drain(world);
        assert_int_equal(taken_count, 1);
        assert_int_equal(taken[0].instants.measure, rows[i].measure);
        assert_int_equal(taken[0].instants.times, 70000);
        assert_int_equal(taken[0].instants.runs, VALUE_YES);
        assert_int_equal(taken[0].word, 42);
        fed_destroy(world);
    }
}

static void a_fault_whose_stack_is_not_here_has_an_unknown_one(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_same(world, KERNEL_FAULT, PERIOD_NS, 1, 42);
    fed_drain(world);
    assert_int_equal(taken_count, 0);
    assert_int_equal(last_unknown.measure, MEASURE_PAGE_FAULTS);
    assert_int_equal(fake_kernel_forgets(world->kernel), 1);
    fed_destroy(world);
}

static void pages_whose_records_were_lost_have_an_unknown_stack(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fake_kernel_lose_pages(world->kernel, (struct kernel_pages){ .grown = 4000 });
    fed_flush(world, begin_ns + PERIOD_NS);
    assert_int_equal(last_unknown.measure, MEASURE_PAGE_FAULTS);
    assert_int_equal(last_unknown.times, 4000);
    fed_flush(world, begin_ns + 2 * PERIOD_NS);
    assert_int_equal(last_unknown.times, 4000);
    fake_kernel_lose_pages(world->kernel, (struct kernel_pages){ .copied = 20 });
    fed_flush(world, begin_ns + 3 * PERIOD_NS);
    assert_int_equal(last_unknown.measure, MEASURE_COPY_ON_WRITE);
    assert_int_equal(last_unknown.times, 20);
    fake_kernel_lose_pages(world->kernel, (struct kernel_pages){ .returned = 30 });
    fed_flush(world, begin_ns + 4 * PERIOD_NS);
    assert_int_equal(last_unknown.measure, MEASURE_RETURNED);
    assert_int_equal(last_unknown.times, 30);
    fed_destroy(world);
}

static void a_switch_is_a_sample_of_its_measure_and_of_no_time(void **state)
{
    struct fed_world *const world = fed_create_of(MEASURE_SET(MEASURE_CONTEXT_SWITCHES));
    (void)state;
    fed_leave(world, PERIOD_NS, 0);
    fed_come_back(world, PERIOD_NS, 9 * PERIOD_NS);
    fed_leave(world, 10 * PERIOD_NS, KERNEL_RUNNABLE);
    fed_flush(world, 30 * PERIOD_NS);
    assert_int_equal(taken_count, 2);
    for (size_t i = 0; i < taken_count; i++) {
        assert_int_equal(taken[i].instants.measure, MEASURE_CONTEXT_SWITCHES);
        assert_int_equal(taken[i].instants.times, 1);
    }
    assert_int_equal(unknown_running + unknown_waiting + unknown_either, 0);
    fed_destroy(world);
}

static void a_switch_counts_beside_the_time_that_it_takes(void **state)
{
    struct fed_world *const world =
        fed_create_of(MEASURE_SET(MEASURE_TIME) | MEASURE_SET(MEASURE_CONTEXT_SWITCHES));
    uint64_t switches = 0, instants = 0;
    (void)state;
    fed_leave(world, PERIOD_NS, 0);
    fed_come_back(world, PERIOD_NS, 9 * PERIOD_NS);
    fed_drain(world);
    for (size_t i = 0; i < taken_count; i++) {
        const bool is_switch = taken[i].instants.measure == MEASURE_CONTEXT_SWITCHES;
        *(is_switch ? &switches : &instants) += taken[i].instants.times;
    }
    assert_int_equal(switches, 1);
    assert_int_equal(instants, 8);
    fed_destroy(world);
}

/* More come than can be counted one by one: the sum is right on average. */
static void of_very_many_switches_some_stand_for_all(void **state)
{
    enum { SWITCHES = 60000, EACH = 6000 };
    struct fed_world *const world = fed_create_of(MEASURE_SET(MEASURE_CONTEXT_SWITCHES));
    const uint64_t begun_ns = clock_now_ns();
    uint64_t samples = 0, counted = 0;
    (void)state;
    for (unsigned i = 0; i < SWITCHES; i++) {
        fed_leave(world, i + 1, 0);
        if ((i + 1) % 32 == 0 || i + 1 == SWITCHES) {
            fed_drain(world);
            for (size_t k = 0; k < taken_count; k++)
                counted += taken[k].instants.times;
            samples += taken_count;
            taken_count = 0;
        }
        if ((i + 1) % EACH == 0)
            nanosleep(&(struct timespec){ .tv_nsec = 110 * NS_PER_MS }, NULL);
    }
    /* Two thousand a second, after the first tenth of a second; twice as many where the processor is not always ours. */
    const double seconds = (double)(clock_now_ns() - begun_ns) / (double)NS_PER_S;
    assert_in_range(samples, SWITCHES / 100, 2 * EACH + 2 * 2000 * seconds);
    assert_in_range(counted, 0.8 * SWITCHES, 1.2 * SWITCHES);
    fed_destroy(world);
}

static void times_that_go_backwards_count_nothing(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_leave(world, 100 * PERIOD_NS, 0);
    fake_kernel_set_left_ns(world->kernel, begin_ns + 100 * PERIOD_NS);
    fed_flush(world, 90 * PERIOD_NS); /* before it left */
    fed_flush(world, 130 * PERIOD_NS);
    fed_come_back(world, 100 * PERIOD_NS, 120 * PERIOD_NS); /* before what has been counted */
    fed_drain(world);
    fed_come_back(world, 140 * PERIOD_NS, 120 * PERIOD_NS); /* before it left */
    fed_flush(world, 150 * PERIOD_NS);
    assert_int_equal(taken_count, 1);
    assert_in_range(taken[0].instants.times, 30, 31);
    assert_int_equal(world->quality.missed_ticks, 0);
    assert_int_equal(world->quality.failed_corrupt, 1);
    fed_destroy(world);
}

static void records_of_others_count_nothing(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put(world,
            (struct kernel_record){ .kind = KERNEL_TICK, .tid = TID + 1, .time_ns = begin_ns },
            1);
    fed_put(world,
            (struct kernel_record){ .kind = KERNEL_TICK, .pid = PID + 1, .time_ns = begin_ns },
            1);
    fed_put(world, (struct kernel_record){ .kind = KERNEL_UNKNOWN, .pid = PID + 1, .tid = TID },
            0);
    fed_drain(world);
    assert_int_equal(taken_count, 0);
    assert_int_equal(listings, 0);
    fed_destroy(world);
}

static void an_unknown_thread_calls_for_a_listing(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put(world, (struct kernel_record){ .kind = KERNEL_UNKNOWN, .tid = TID + 1 }, 0);
    fed_drain(world);
    assert_int_equal(listings, 1);
    fed_drain(world);
    assert_int_equal(listings, 1);
    fed_destroy(world);
}

static void threads_of_several_interpreters_are_listed_at_each_drain(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_drain(world);
    assert_int_equal(listings, 0);
    interpreters = 2;
    fed_drain(world);
    fed_drain(world);
    assert_int_equal(listings, 2);
    interpreters = 1;
    fed_destroy(world);
}

/* Every prefix of a record, and a record with each of its bytes changed: nothing but the copy's words may
 * become a sample. */
static void damaged_records_are_counted_and_harmless(void **state)
{
    struct {
        struct kernel_record record;
        struct kernel_span span;
        uint64_t word;
    } good = { { .kind = KERNEL_TICK,
                 .pid = PID,
                 .tid = TID,
                 .instants = 1,
                 .bytes = sizeof(struct kernel_span) + sizeof(uint64_t) },
               { .addr = 0x1000, .bytes = sizeof(uint64_t) },
               42 };
    (void)state;
    for (size_t bytes = 0; bytes < sizeof good; bytes++) {
        struct fed_world *const world = fed_create();
        fake_kernel_put_bytes(world->kernel, &good, bytes);
        fed_flush(world, 0);
        assert_int_equal(taken_count, 0);
        assert_int_equal(world->quality.failed_corrupt, 1);
        fed_destroy(world);
    }
    for (size_t at = 0; at < sizeof good; at++) {
        struct fed_world *const world = fed_create();
        unsigned char bytes[sizeof good];
        good.record.time_ns = begin_ns;
        memcpy(bytes, &good, sizeof good);
        bytes[at] ^= 0xff;
        fake_kernel_put_bytes(world->kernel, bytes, sizeof bytes);
        fed_flush(world, 0);
        assert_in_range(taken_count + world->quality.failed_corrupt, 0, 1);
        fed_destroy(world);
    }
}

static void a_copy_that_makes_no_sense_fails_as_often_as_it_would_count(void **state)
{
    struct fed_world *const world = fed_create();
    const struct kernel_span span = { .addr = 0x1000, .bytes = 64 };
    struct kernel_record record = {
        .kind = KERNEL_LEFT, .pid = PID, .tid = TID, .time_ns = begin_ns
    };
    (void)state;
    fake_kernel_put(world->kernel, &record, &span, sizeof span);
    fed_come_back(world, 0, 30 * PERIOD_NS);
    fed_flush(world, 31 * PERIOD_NS);
    assert_int_equal(taken_count, 0);
    assert_in_range(world->quality.failed_corrupt, 30, 31);
    fed_destroy(world);
}

static void what_happened_in_a_pause_is_not_counted(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put(world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 42);
    fed_leave(world, 1, 0);
    fed_come_back(world, 1, 50 * PERIOD_NS);
    kernel_feed_skip(world->feed);
    fed_flush(world, 51 * PERIOD_NS);
    fed_drain(world);
    fed_flush(world, 51 * PERIOD_NS);
    assert_int_equal(taken_count, 0);
    assert_int_equal(world->quality.missed_ticks, 0);
    fed_destroy(world);
}

static void a_record_of_before_the_session_is_not_counted(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    kernel_feed_begin(world->feed);
    fed_leave(world, 0, 0);
    fed_put(world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 42);
    fed_drain(world);
    assert_int_equal(taken_count, 0);
    fed_destroy(world);
}

static void a_thread_that_left_before_the_session_counts_from_its_begin_on(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    kernel_feed_begin(world->feed);
    const uint64_t until_ns = clock_now_ns() + 50 * PERIOD_NS;
    fed_leave(world, 0, 0);
    fed_come_back(world, 0, until_ns - begin_ns);
    fed_drain(world);
    assert_int_equal(taken_count, 1);
    assert_true(taken[0].instants.since_ns > begin_ns);
    assert_true(taken[0].instants.until_ns == until_ns);
    fed_destroy(world);
}

static void a_thread_that_sleeps_counts_from_its_listing_on(void **state)
{
    struct fed_world *const world = fed_create();
    struct err err = { 0 };
    (void)state;
    assert_int_equal(kernel_feed_remove(world->feed, &world->target), ERR_OK);
    while (clock_now_ns() < begin_ns + 20 * PERIOD_NS)
        continue;
    const uint64_t listed_ns = clock_now_ns();
    assert_ok(kernel_feed_add(world->feed, &world->target, &err), &err);
    fed_flush(world, listed_ns - begin_ns + 10000 * PERIOD_NS);
    assert_int_equal(taken_count, 1);
    assert_true(taken[0].is_read);
    assert_in_range(taken[0].instants.times, 9000, 10001);
    fed_destroy(world);
}

/* The engine finds threads by their numbers. */
static void a_thread_of_unknown_number_is_read_at_each_drain(void **state)
{
    struct fed_world *const world = fed_create();
    struct err err = { 0 };
    (void)state;
    assert_int_equal(kernel_feed_remove(world->feed, &world->target), ERR_OK);
    the_thread.host_tid = 0;
    const uint64_t added_ns = clock_now_ns();
    assert_ok(kernel_feed_add(world->feed, &world->target, &err), &err);
    assert_int_equal(fake_kernel_threads(world->kernel), 0);
    while (clock_now_ns() < added_ns + 20 * PERIOD_NS)
        continue;
    fed_drain(world);
    assert_int_equal(taken_count, 1);
    assert_true(taken[0].is_read);
    assert_int_equal(taken[0].instants.runs, VALUE_UNKNOWN);
    assert_true(taken[0].instants.since_ns >= added_ns);
    assert_true(taken[0].instants.times >= 18);
    const uint64_t until_ns = taken[0].instants.until_ns;
    while (clock_now_ns() < until_ns + 20 * PERIOD_NS)
        continue;
    fed_drain(world);
    assert_int_equal(taken_count, 2);
    assert_int_equal(taken[1].instants.since_ns, until_ns);
    fed_destroy(world);
}

/* On a busy host a thread may get no processor for a while. */
static void a_thread_that_has_not_run_yet_may_be_ready(void **state)
{
    (void)state;
    for (int ready = 0; ready <= 1; ready++) {
        struct fed_world *const world = fed_create();
        struct err err = { 0 };
        is_ready = ready;
        assert_int_equal(kernel_feed_remove(world->feed, &world->target), ERR_OK);
        assert_ok(kernel_feed_add(world->feed, &world->target, &err), &err);
        fed_flush(world, clock_now_ns() - begin_ns + 100 * PERIOD_NS);
        assert_int_equal(taken_count, 1);
        assert_int_equal(taken[0].instants.runs, ready ? VALUE_YES : VALUE_NO);
        assert_int_equal(taken[0].instants.runnable, ready ? VALUE_YES : VALUE_NO);
        is_ready = false;
        fed_destroy(world);
    }
}

/* A description begins with the code object; the rest is read from the process, which is gone here. */
static void a_code_object_is_learnt_from_its_description(void **state)
{
    struct fed_world *const world = fed_create();
    const struct kernel_record record = { .kind = KERNEL_CODE, .pid = PID, .tid = TID };
    const struct {
        struct kernel_span head;
        uint64_t word;
    } span = { { .addr = 0x5000, .bytes = sizeof span.word }, 42 };
    struct kernel_record copy = record;
    (void)state;
    fake_kernel_put(world->kernel, &copy, &span, sizeof span);
    fed_drain(world);
    assert_int_equal(learnt_addr, 0x5000);
    assert_int_equal(learnt_word, 42);
    assert_int_equal(checks, 0);
    assert_int_equal(taken_count, 0);
    /* A code object is learnt while nothing is counted, too: it is described only once. */
    learnt_addr = 0;
    copy = record;
    fake_kernel_put(world->kernel, &copy, &span, sizeof span);
    kernel_feed_skip(world->feed);
    assert_int_equal(learnt_addr, 0x5000);
    /* A description by a process that is no target is ignored. */
    learnt_addr = 0;
    copy = record;
    copy.pid = PID + 1;
    fake_kernel_put(world->kernel, &copy, &span, sizeof span);
    fed_drain(world);
    assert_int_equal(learnt_addr, 0);
    fed_destroy(world);
}

static void a_call_brings_the_next_drain_forward(void **state)
{
    struct fed_world *const world = fed_create();
    const uint64_t until_ns = clock_now_ns() + 1000 * NS_PER_S;
    (void)state;
    const uint64_t before_ns = clock_now_ns();
    fed_drain(world);
    const uint64_t after_ns = clock_now_ns();
    assert_true(kernel_feed_wait(world->feed, until_ns) == until_ns);
    fake_kernel_call(world->kernel);
    const uint64_t soon_ns = kernel_feed_wait(world->feed, until_ns);
    assert_true(soon_ns >= before_ns && soon_ns <= after_ns + 20 * NS_PER_MS);
    fake_kernel_call(world->kernel);
    assert_true(kernel_feed_wait(world->feed, before_ns + 1) == before_ns + 1);
    assert_true(kernel_feed_wait(world->feed, until_ns) == until_ns);
    fed_destroy(world);
}

static void a_ring_buffer_that_fills_brings_it_further_forward(void **state)
{
    struct fed_world *const world = fed_create();
    const uint64_t until_ns = clock_now_ns() + 1000 * NS_PER_S;
    (void)state;
    fed_drain(world);
    fake_kernel_call(world->kernel);
    const uint64_t soon_ns = kernel_feed_wait(world->feed, until_ns);
    fake_kernel_set_filling(world->kernel, true);
    fake_kernel_call(world->kernel);
    assert_true(kernel_feed_wait(world->feed, until_ns) < soon_ns);
    fed_destroy(world);
}

static void drains_are_rarer_once_a_session_is_not_young(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    const double first_hz = kernel_feed_drain_hz(world->feed, begin_ns);
    assert_true(kernel_feed_drain_hz(world->feed, begin_ns + NS_PER_S) < first_hz);
    fed_destroy(world);
}

static void what_was_cleared_is_described_again(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    const size_t before = fake_kernel_descriptions(world->kernel);
    fed_drain(world);
    assert_int_equal(fake_kernel_descriptions(world->kernel), before);
    clears++;
    fed_drain(world);
    fed_drain(world);
    assert_int_equal(fake_kernel_descriptions(world->kernel), before + 1);
    fed_destroy(world);
}

static void the_engine_knows_at_the_next_drain_that_native_stacks_are_wanted(void **state)
{
    struct fed_world *const world = fed_create();
    unsigned char stacks;
    (void)state;
    fed_drain(world);
    const size_t before = fake_kernel_descriptions(world->kernel);
    world->target.fold.native_stacks = (void *)&stacks;
    fed_drain(world);
    fed_drain(world);
    world->target.fold.native_stacks = NULL;
    assert_int_equal(fake_kernel_descriptions(world->kernel), before + 1);
    fed_destroy(world);
}

/* The thread is in another interpreter at the first instant, leaves its processor there, and is back at the last. */
static void a_stack_belongs_to_the_interpreter_that_the_thread_has_entered(void **state)
{
    struct fed_world *const world = fed_create();
    struct kernel_record record = { .kind = KERNEL_TICK,
                                    .time_ns = begin_ns + PERIOD_NS,
                                    .tstate = 0x7000,
                                    .interpreter = 0x9001 };
    (void)state;
    fed_put(world, record, 1);
    record.kind = KERNEL_LEFT;
    record.time_ns += PERIOD_NS;
    record.tstate = 0x7100;
    fed_put(world, record, 2);
    fed_come_back(world, 2 * PERIOD_NS, 52 * PERIOD_NS);
    fed_put(world,
            (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns + 53 * PERIOD_NS },
            3);
    fed_drain(world);
    assert_int_equal(taken_count, 3);
    assert_int_equal(taken[0].tstate, 0x7000);
    assert_int_equal(taken[1].tstate, 0x7100);
    assert_in_range(taken[1].instants.times, 50, 51);
    assert_int_equal(taken[2].tstate, the_thread.head.addr);
    fed_destroy(world);
}

TEST_GROUP(cmocka_unit_test(a_stack_belongs_to_the_interpreter_that_the_thread_has_entered),
           cmocka_unit_test(a_late_instant_is_as_many_samples_as_it_stands_for),
           cmocka_unit_test(a_thread_that_has_not_run_yet_may_be_ready),
           cmocka_unit_test(a_thread_of_unknown_number_is_read_at_each_drain),
           cmocka_unit_test(a_code_object_is_learnt_from_its_description),
           cmocka_unit_test(what_was_cleared_is_described_again),
           cmocka_unit_test(the_engine_knows_at_the_next_drain_that_native_stacks_are_wanted),
           cmocka_unit_test(a_call_brings_the_next_drain_forward),
           cmocka_unit_test(a_ring_buffer_that_fills_brings_it_further_forward),
           cmocka_unit_test(drains_are_rarer_once_a_session_is_not_young),
           cmocka_unit_test(an_instant_of_a_running_thread_is_one_sample),
           cmocka_unit_test(memory_is_as_many_samples_of_its_measure_as_it_has_pages),
           cmocka_unit_test(a_fault_whose_stack_is_not_here_has_an_unknown_one),
           cmocka_unit_test(pages_whose_records_were_lost_have_an_unknown_stack),
           cmocka_unit_test(a_switch_is_a_sample_of_its_measure_and_of_no_time),
           cmocka_unit_test(a_switch_counts_beside_the_time_that_it_takes),
           cmocka_unit_test(of_very_many_switches_some_stand_for_all),
           cmocka_unit_test(times_that_go_backwards_count_nothing),
           cmocka_unit_test(records_of_others_count_nothing),
           cmocka_unit_test(an_unknown_thread_calls_for_a_listing),
           cmocka_unit_test(threads_of_several_interpreters_are_listed_at_each_drain),
           cmocka_unit_test(damaged_records_are_counted_and_harmless),
           cmocka_unit_test(a_copy_that_makes_no_sense_fails_as_often_as_it_would_count),
           cmocka_unit_test(what_happened_in_a_pause_is_not_counted),
           cmocka_unit_test(a_record_of_before_the_session_is_not_counted),
           cmocka_unit_test(a_thread_that_left_before_the_session_counts_from_its_begin_on),
           cmocka_unit_test(a_thread_that_sleeps_counts_from_its_listing_on))
