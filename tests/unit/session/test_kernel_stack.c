/* Stacks of the kernel engine: kept, repeated, and with their native part. */
#include <string.h>

#include "sampler/session/kernel/kernel_feed.h"
#include "tests/unit/session/fed_world.h"

static void a_native_stack_comes_with_the_samples_of_its_record(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_native(world, KERNEL_TICK, 0, 42, false);
    fed_put(world, (struct kernel_record){ .kind = KERNEL_TICK, .time_ns = begin_ns }, 1);
    fed_put_native(world, KERNEL_LEFT, 7, 43, false);
    fake_kernel_set_left_ns(world->kernel, begin_ns + 7);
    fed_flush(world, 7 + 20 * PERIOD_NS);
    fed_come_back(world, 7, 7 + 50 * PERIOD_NS);
    fed_drain(world);
    assert_int_equal(taken_count, 4);
    assert_int_equal(taken[0].native_word, 42);
    assert_int_equal(taken[1].native_word, 0);
    assert_int_equal(taken[2].native_word, 43);
    assert_int_equal(taken[3].native_word, 43);
    assert_int_equal(taken[3].word, 7);
    fed_destroy(world);
}

static void a_damaged_native_stack_fails_the_sample(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_native(world, KERNEL_TICK, 0, 42, true);
    fed_flush(world, PERIOD_NS);
    assert_int_equal(taken_count, 0);
    assert_int_equal(world->quality.failed_corrupt, 1);
    fed_destroy(world);
}

static void a_stack_that_was_counted_is_repeated_from_the_thread(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_whole(world, KERNEL_TICK, 5, 42);
    fed_put_same(world, KERNEL_TICK, 10, 5, 1);
    fed_put_same(world, KERNEL_LEFT, 20, 5, 2);
    fed_come_back(world, 20, 20 + 50 * PERIOD_NS);
    fed_put_same(world, KERNEL_TICK, 60 * PERIOD_NS, 5, 3);
    fed_drain(world);
    assert_int_equal(taken_count, 4);
    assert_false(taken[0].is_repeated);
    for (size_t i = 1; i < taken_count; i++) {
        assert_true(taken[i].is_repeated);
        assert_int_equal(taken[i].word, i);
    }
    assert_in_range(taken[2].instants.times, 50, 51);
    assert_int_equal(taken[2].instants.since_ns, begin_ns + 20);
    assert_int_equal(taken[2].instants.runs, VALUE_NO);
    assert_int_equal(taken[3].instants.runs, VALUE_YES);
    assert_int_equal(fake_kernel_forgets(world->kernel), 0);
    fed_destroy(world);
}

/* Nobody has counted the record that it repeats, because the absence was short. */
static void a_stack_that_was_kept_is_counted_when_it_is_repeated(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_whole(world, KERNEL_LEFT, 5, 42);
    fed_put_same(world, KERNEL_LEFT, 10, 5, 1);
    fed_put_same(world, KERNEL_TICK, 20, 5, 2);
    fed_put_same(world, KERNEL_TICK, 30, 5, 3);
    fed_drain(world);
    assert_int_equal(taken_count, 2);
    assert_false(taken[0].is_repeated);
    assert_int_equal(taken[0].word, 42);
    assert_true(taken[1].is_repeated);
    assert_int_equal(taken[1].word, 3);
    fed_destroy(world);
}

static void a_stack_that_was_lost_is_unknown_where_it_is_repeated(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_whole(world, KERNEL_TICK, 5, 42);
    fed_put_same(world, KERNEL_TICK, 20, 10, 1); /* of a record that did not arrive */
    fed_put_same(world, KERNEL_TICK, 30, 5, 1);  /* the older one is no longer right either */
    fed_put_same(world, KERNEL_LEFT, 40, 5, 1);
    fed_come_back(world, 40, 40 + 50 * PERIOD_NS);
    fed_put_whole(world, KERNEL_TICK, 60 * PERIOD_NS, 43);
    fed_put_same(world, KERNEL_TICK, 61 * PERIOD_NS, 60 * PERIOD_NS, 1);
    fed_flush(world, 62 * PERIOD_NS);
    assert_int_equal(taken_count, 3);
    assert_int_equal(taken[1].word, 43);
    assert_true(taken[2].is_repeated);
    assert_int_equal(unknown_running, 2);
    assert_in_range(unknown_waiting, 50, 51);
    assert_int_equal(fake_kernel_forgets(world->kernel), 3);
    fed_destroy(world);
}

static void repeated_stacks_of_unknown_threads_count_nothing(void **state)
{
    struct fed_world *const world = fed_create();
    struct err err = { 0 };
    (void)state;
    fed_put_whole(world, KERNEL_TICK, 5, 42);
    fed_drain(world);
    assert_int_equal(kernel_feed_remove(world->feed, &world->target), ERR_OK);
    fed_put_same(world, KERNEL_TICK, 10, 5, 1);
    fed_drain(world);
    /* The engine begins again with a thread that comes again; older records may still arrive. */
    assert_ok(kernel_feed_add(world->feed, &world->target, &err), &err);
    fed_put_same(world, KERNEL_TICK, 20, 5, 1);
    fed_flush(world, PERIOD_NS);
    assert_int_equal(taken_count, 1);
    assert_int_equal(unknown_running, 1);
    fed_destroy(world);
}

/* A stack that could not be read may be readable later: a code object may be known by then. */
static void a_stack_that_failed_is_read_again_when_it_is_repeated(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    is_failing = true;
    fed_put_whole(world, KERNEL_TICK, 5, 42);
    fed_put_same(world, KERNEL_TICK, 10, 5, 1);
    fed_drain(world);
    is_failing = false;
    fed_put_same(world, KERNEL_TICK, 20, 5, 1);
    fed_put_same(world, KERNEL_TICK, 30, 5, 1);
    fed_drain(world);
    assert_int_equal(taken_count, 4);
    for (size_t i = 0; i < 3; i++) {
        assert_false(taken[i].is_repeated);
        assert_int_equal(taken[i].word, 42);
    }
    assert_true(taken[3].is_repeated);
    fed_destroy(world);
}

static void a_stack_that_was_cleared_is_unknown_where_it_is_repeated(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_whole(world, KERNEL_TICK, 5, 42);
    fed_put_whole(world, KERNEL_TICK, 6, 42);
    fed_drain(world);
    the_thread.stack.is_placed = false;
    fed_put_same(world, KERNEL_TICK, 10, 6, 1);
    fed_flush(world, PERIOD_NS);
    assert_int_equal(taken_count, 2);
    assert_int_equal(unknown_running, 1);
    assert_int_equal(fake_kernel_forgets(world->kernel), 1);
    fed_destroy(world);
}

static void a_stack_of_a_pause_is_known_after_it(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_whole(world, KERNEL_TICK, 5, 42);
    fed_put_same(world, KERNEL_TICK, 10, 5, 1);
    kernel_feed_skip(world->feed);
    fed_put_same(world, KERNEL_TICK, NS_PER_S, 5, 1);
    fed_drain(world);
    assert_int_equal(taken_count, 1);
    assert_int_equal(taken[0].word, 42);
    assert_int_equal(fake_kernel_forgets(world->kernel), 0);
    fed_destroy(world);
}

/* It has no state of the thread, before which windows would be. */
static void a_repeated_stack_that_makes_no_sense_is_unknown(void **state)
{
    struct fed_world *const world = fed_create();
    unsigned char zeros[256] = { 0 };
    struct kernel_record record = {
        .kind = KERNEL_LEFT, .pid = PID, .tid = TID, .time_ns = begin_ns + 5
    };
    (void)state;
    fake_kernel_put(world->kernel, &record, zeros, sizeof zeros);
    fed_put_same(world, KERNEL_LEFT, 10, 5, 1);
    fed_come_back(world, 10, 10 + 50 * PERIOD_NS);
    fed_flush(world, 60 * PERIOD_NS);
    assert_int_equal(taken_count, 0);
    assert_in_range(unknown_waiting, 50, 51);
    fed_destroy(world);
}

/* The way to the value of a ContextVar is among the windows, and may have become longer or
 * shorter. */
static void windows_of_another_length_take_the_place_of_older_ones(void **state)
{
    struct fed_world *const world = fed_create();
    const struct {
        struct kernel_span window;
        uint64_t word;
        struct kernel_span context;
        uint64_t words[3];
    } more = {
        { .addr = FED_WINDOW, .bytes = 8 }, 1, { .addr = 0x7770, .bytes = 24 }, { 2, 3, 4 }
    };
    struct kernel_record record = { .kind = KERNEL_LEFT,
                                    .pid = PID,
                                    .tid = TID,
                                    .time_ns = begin_ns + 10,
                                    .same_ns = begin_ns + 5 };
    (void)state;
    fed_put_whole(world, KERNEL_LEFT, 5, 42);
    fake_kernel_put(world->kernel, &record, &more, sizeof more);
    fed_come_back(world, 10, 10 + 50 * PERIOD_NS);
    fed_put_whole(world, KERNEL_LEFT, 60 * PERIOD_NS, 43);
    record.time_ns = begin_ns + 61 * PERIOD_NS;
    record.same_ns = begin_ns + 60 * PERIOD_NS;
    fake_kernel_put(world->kernel, &record, &more, sizeof more);
    fed_put_same(world, KERNEL_LEFT, 62 * PERIOD_NS, 60 * PERIOD_NS, 1);
    fed_come_back(world, 62 * PERIOD_NS, 112 * PERIOD_NS);
    fed_flush(world, 113 * PERIOD_NS);
    assert_int_equal(taken_count, 2);
    assert_false(taken[0].is_repeated);
    assert_int_equal(taken[0].word, 42);
    assert_false(taken[1].is_repeated);
    assert_int_equal(taken[1].word, 43);
    assert_int_equal(world->quality.failed_corrupt, 0);
    fed_destroy(world);
}

/* A record of a deep stack: it has the outer part, whose last word is that, or that part is the one of an earlier
 * record. */
static void put_deep(struct fed_world *world, unsigned kind, uint64_t at_ns, uint64_t base_word,
                     uint64_t outer_ns)
{
    struct {
        struct kernel_record record;
        struct kernel_span head;
        uint64_t state;
        struct kernel_native native;
        struct kernel_span stack_head;
        uint64_t words[512];
    } all = {
        .record = { .kind = kind,
                    .pid = PID,
                    .tid = TID,
                    .instants = 1,
                    .time_ns = begin_ns + at_ns,
                    .bytes = sizeof all.head + sizeof all.state },
        .head = { .addr = the_thread.head.addr, .bytes = sizeof all.state },
        .native = the_native,
        .stack_head = { .addr = the_native.sp },
        .words = { at_ns },
    };
    const size_t words = outer_ns ? 2 : 512;
    all.native.outer_from = the_native.sp + 16;
    all.native.outer_ns = outer_ns ? begin_ns + outer_ns : 0;
    all.stack_head.bytes = (unsigned)(words * sizeof *all.words);
    all.native.base = the_native.sp + sizeof all.words;
    all.record.native_bytes =
        (unsigned)(sizeof all.native + sizeof all.stack_head + words * sizeof *all.words);
    if (!outer_ns)
        all.words[511] = base_word;
    fake_kernel_put_bytes(world->kernel, &all,
                          sizeof all.record + all.record.bytes + all.record.native_bytes);
}

static void the_outer_part_of_a_stack_is_that_of_an_earlier_record(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    put_deep(world, KERNEL_TICK, 5, 42, 0);
    put_deep(world, KERNEL_TICK, 10, 0, 5);
    put_deep(world, KERNEL_LEFT, 20, 0, 5);
    fed_come_back(world, 20, 20 + 50 * PERIOD_NS);
    put_deep(world, KERNEL_TICK, 60 * PERIOD_NS, 43, 0);
    put_deep(world, KERNEL_TICK, 61 * PERIOD_NS, 0, 60 * PERIOD_NS);
    fed_drain(world);
    assert_int_equal(taken_count, 5);
    for (size_t i = 0; i < taken_count; i++)
        assert_int_equal(taken[i].base_word, i < 3 ? 42 : 43);
    assert_int_equal(taken[1].native_word, 10);
    assert_int_equal(taken[2].native_word, 20);
    assert_int_equal(fake_kernel_forgets(world->kernel), 0);
    fed_destroy(world);
}

/* It is kept without the outer part, which the thread has. */
static void a_stack_that_is_kept_has_its_outer_part(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    put_deep(world, KERNEL_LEFT, 5, 42, 0);
    fake_kernel_set_left_ns(world->kernel, begin_ns + 5);
    fed_flush(world, 5 + 20 * PERIOD_NS);
    fed_come_back(world, 5, 5 + 50 * PERIOD_NS);
    put_deep(world, KERNEL_TICK, 60 * PERIOD_NS, 0, 5);
    fed_drain(world);
    assert_int_equal(taken_count, 3);
    for (size_t i = 0; i < taken_count; i++)
        assert_int_equal(taken[i].base_word, 42);
    assert_int_equal(taken[0].native_word, 5);
    assert_int_equal(taken[1].native_word, 5);
    fed_destroy(world);
}

static void an_outer_part_that_was_lost_has_to_be_sent_again(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    put_deep(world, KERNEL_TICK, 5, 42, 0);
    put_deep(world, KERNEL_TICK, 20, 0, 10);
    fed_drain(world);
    assert_int_equal(taken_count, 2);
    assert_int_equal(taken[1].native_word, 20);
    assert_int_equal(taken[1].base_word, 0);
    assert_int_equal(fake_kernel_forgets(world->kernel), 1);
    fed_drain(world);
    assert_int_equal(fake_kernel_forgets(world->kernel), 1);
    fed_destroy(world);
}

static void expect_tail(const struct fed_sample *sample, uint64_t word, uint64_t at_ns,
                        uint64_t tail_ns)
{
    assert_int_equal(sample->word, at_ns);
    assert_int_equal(sample->tail_word, word);
    assert_int_equal(sample->tail_ns, begin_ns + tail_ns);
    assert_int_equal(sample->tail_from, FED_TAIL + sizeof word);
}

static void a_tail_comes_with_the_samples_that_have_it(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_tail(world, KERNEL_TICK, 5, 42);
    fed_put_same_tail(world, KERNEL_TICK, 10, 5);
    fed_put_whole(world, KERNEL_TICK, 20, 20);
    fed_put_same_tail(world, KERNEL_TICK, 30, 5);
    fed_put_tail(world, KERNEL_TICK, 40, 43);
    fed_put_same_tail(world, KERNEL_TICK, 50, 40);
    fed_drain(world);
    assert_int_equal(taken_count, 6);
    expect_tail(&taken[0], 42, 5, 5);
    expect_tail(&taken[1], 42, 10, 5);
    assert_int_equal(taken[2].tail_ns, 0);
    assert_int_equal(taken[2].tail_word, 0);
    expect_tail(&taken[3], 42, 30, 5);
    expect_tail(&taken[4], 43, 40, 40);
    expect_tail(&taken[5], 43, 50, 40);
    assert_int_equal(fake_kernel_forgets(world->kernel), 0);
    fed_destroy(world);
}

static void a_stack_that_is_kept_has_its_tail_later(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_tail(world, KERNEL_LEFT, 5, 42);
    fed_come_back(world, 5, 5 + 20 * PERIOD_NS);
    fed_put_same_tail(world, KERNEL_LEFT, 30 * PERIOD_NS, 5);
    fed_come_back(world, 30 * PERIOD_NS, 60 * PERIOD_NS);
    fed_put_same_tail(world, KERNEL_TICK, 61 * PERIOD_NS, 5);
    fed_put_same(world, KERNEL_TICK, 62 * PERIOD_NS, 61 * PERIOD_NS, 1);
    fed_drain(world);
    assert_int_equal(taken_count, 4);
    expect_tail(&taken[0], 42, 5, 5);
    expect_tail(&taken[1], 42, 30 * PERIOD_NS, 5);
    expect_tail(&taken[2], 42, 61 * PERIOD_NS, 5);
    assert_true(taken[3].is_repeated);
    fed_destroy(world);
}

static void a_tail_that_was_lost_makes_the_stack_unknown(void **state)
{
    struct fed_world *const world = fed_create();
    (void)state;
    fed_put_tail(world, KERNEL_TICK, 5, 42);
    fed_put_same_tail(world, KERNEL_TICK, 20, 10); /* of a record that did not arrive */
    fed_put_same_tail(world, KERNEL_LEFT, 30, 10);
    fed_come_back(world, 30, 30 + 50 * PERIOD_NS);
    fed_put_tail(world, KERNEL_TICK, 60 * PERIOD_NS, 43);
    fed_put_same_tail(world, KERNEL_TICK, 61 * PERIOD_NS, 60 * PERIOD_NS);
    fed_flush(world, 62 * PERIOD_NS);
    assert_int_equal(taken_count, 3);
    expect_tail(&taken[2], 43, 61 * PERIOD_NS, 60 * PERIOD_NS);
    assert_int_equal(unknown_running, 1);
    assert_in_range(unknown_waiting, 50, 51);
    assert_int_equal(fake_kernel_forgets(world->kernel), 2);
    fed_destroy(world);
}

TEST_GROUP(cmocka_unit_test(a_tail_comes_with_the_samples_that_have_it),
           cmocka_unit_test(a_stack_that_is_kept_has_its_tail_later),
           cmocka_unit_test(a_tail_that_was_lost_makes_the_stack_unknown),
           cmocka_unit_test(the_outer_part_of_a_stack_is_that_of_an_earlier_record),
           cmocka_unit_test(a_stack_that_is_kept_has_its_outer_part),
           cmocka_unit_test(an_outer_part_that_was_lost_has_to_be_sent_again),
           cmocka_unit_test(a_native_stack_comes_with_the_samples_of_its_record),
           cmocka_unit_test(a_damaged_native_stack_fails_the_sample),
           cmocka_unit_test(a_stack_that_was_counted_is_repeated_from_the_thread),
           cmocka_unit_test(a_stack_that_was_kept_is_counted_when_it_is_repeated),
           cmocka_unit_test(a_stack_that_was_lost_is_unknown_where_it_is_repeated),
           cmocka_unit_test(repeated_stacks_of_unknown_threads_count_nothing),
           cmocka_unit_test(a_stack_that_failed_is_read_again_when_it_is_repeated),
           cmocka_unit_test(a_stack_that_was_cleared_is_unknown_where_it_is_repeated),
           cmocka_unit_test(a_stack_of_a_pause_is_known_after_it),
           cmocka_unit_test(a_repeated_stack_that_makes_no_sense_is_unknown),
           cmocka_unit_test(windows_of_another_length_take_the_place_of_older_ones))
