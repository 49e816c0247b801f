#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/base/random.h"
#include "sampler/session/target.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { PID = 1 };
static const uint64_t WINDOW_NS = 250 * NS_PER_MS;

/* A target with one thread, whose ticks are read or skipped as a test says. */
struct world {
    struct target *target;
    struct thread_cpus cpus;
    struct sink sink;
    uint64_t heard, heard_ns; /* samples, and the time of the last one */
    thread_id thread;
    node_id node;
    uint64_t now_ns, tick_ns, ticks;
    struct random random;
};

static void hear(void *context, const struct run *run)
{
    struct world *const world = context;
    assert_true(run->first_ns > world->heard_ns);
    world->heard += run->count;
    world->heard_ns = run->first_ns + (run->count - 1) * run->step_ns;
    assert_true(world->heard_ns <= world->now_ns);
}

static void begin(struct world *world)
{
    *world = (struct world){ .now_ns = NS_PER_S, .tick_ns = NS_PER_MS };
    world->sink = (struct sink){ .context = world, .count = hear };
    world->target = calloc(1, sizeof *world->target);
    assert_non_null(world->target);
    struct profile *const profile = made_profile();
    thread_cpus_init(&world->cpus, profile);
    world->cpus.sink = &world->sink;
    world->thread = made_thread(profile, PID, 0);
    world->node = made_node(profile, "main;work");
    world->target->fold.profile = profile;
    world->target->fold.cpus = &world->cpus;
    world->target->process.pid = PID;
    random_init(&world->random, 1);
}

static void end(struct world *world)
{
    struct profile *const profile = world->target->fold.profile;
    thread_cpus_deinit(&world->cpus);
    free(world->target);
    profile_destroy(profile);
}

static const struct quality *quality_of(const struct world *world)
{
    return profile_quality(world->target->fold.profile);
}

static void pass(struct world *world)
{
    world->now_ns += world->tick_ns;
    world->ticks++;
    stops_skip(&world->target->stops, world->now_ns);
}

enum found { FOUND_STOPPED, FOUND_MOVING, FOUND_STILL, FOUND_KINDS };

/* Reads the thread, for all ticks that were skipped too. */
static void read_thread(struct world *world, enum found found)
{
    struct target *const target = world->target;
    const struct stops_skipped skipped = target->stops.skipped;
    world->now_ns += world->tick_ns;
    world->ticks++;
    const struct sample sample = { .thread = world->thread,
                                   .pid = PID,
                                   .node = world->node,
                                   .spot = PROFILE_NO_SPOT,
                                   .certainty = &profile_quality(target->fold.profile)->exact,
                                   .is_still = found == FOUND_STILL,
                                   .is_stopped = found == FOUND_STOPPED,
                                   .runs = VALUE_YES,
                                   .times = skipped.ticks + 1,
                                   .since_ns = skipped.first_ns,
                                   .now_ns = world->now_ns };
    assert_int_equal(thread_cpus_add(&world->cpus, &sample), ERR_OK);
    stops_stood(&target->stops);
    target->last = (struct reading){ .now_ns = world->now_ns, .weight = 1 };
}

static void repeat(struct world *world)
{
    assert_int_equal(target_repeat(world->target, world->now_ns), ERR_OK);
}

static void seal(struct world *world)
{
    repeat(world);
    assert_int_equal(thread_cpus_flush(&world->cpus, world->now_ns), ERR_OK);
}

/* So no window has a sample more or less, whatever comes after it: another rate, a pause, the end. */
static void every_window_has_a_sample_for_each_of_its_ticks(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    read_thread(&world, FOUND_STOPPED);
    for (unsigned window = 0; window < 200; window++) {
        const uint64_t ends_ns = world.now_ns + WINDOW_NS;
        world.tick_ns = NS_PER_MS << random_below(&world.random, 4);
        while (world.now_ns < ends_ns)
            if (random_below(&world.random, 1 + window % 100))
                pass(&world);
            else
                read_thread(&world, (enum found)random_below(&world.random, FOUND_KINDS));
        seal(&world);
        assert_int_equal(quality_of(&world)->samples, world.ticks);
        assert_int_equal(world.heard, world.ticks);
        if (window % 10 == 9)
            world.now_ns += NS_PER_S;
    }
    end(&world);
}

static void a_target_that_ends_has_a_sample_for_each_tick(void **state)
{
    (void)state;
    for (enum found found = FOUND_STOPPED; found < FOUND_KINDS; found++) {
        struct world world;
        begin(&world);
        read_thread(&world, FOUND_STOPPED);
        read_thread(&world, found);
        for (unsigned i = 0; i < 9; i++)
            pass(&world);
        repeat(&world);
        assert_int_equal(thread_cpus_drop(&world.cpus, PID, world.now_ns), ERR_OK);
        assert_int_equal(quality_of(&world)->samples, 11);
        repeat(&world);
        assert_int_equal(quality_of(&world)->samples, 11);
        end(&world);
    }
}

/* The state of the repeated sample is that of the sample. */
static void what_is_repeated_was_running_if_the_thread_was(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    world.cpus.mode = SAMPLER_MODE_CPU;
    read_thread(&world, FOUND_STOPPED);
    pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->samples, 2);
    assert_int_equal(quality_of(&world)->filtered, 0);
    end(&world);
}

static void ticks_before_the_first_reading_wait_for_it(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->samples, 0);
    read_thread(&world, FOUND_STOPPED);
    assert_int_equal(quality_of(&world)->samples, 2);
    end(&world);
}

/* What was not found by the last reading was not there. */
static void a_thread_that_had_ended_is_not_repeated(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    read_thread(&world, FOUND_STOPPED);
    world.thread = made_thread(world.target->fold.profile, PID, 1);
    read_thread(&world, FOUND_STOPPED);
    pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->samples, 3);
    world.target->process.pid = PID + 1;
    pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->samples, 3);
    end(&world);
}

static void failures_and_tasks_are_repeated_too(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    read_thread(&world, FOUND_STOPPED);
    world.target->fold.tasks = &world.target->tasks;
    world.target->last.failures[ERR_FAULT] = 2;
    for (unsigned i = 0; i < 3; i++)
        pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->failed_fault, 6);
    assert_int_equal(quality_of(&world)->failed_gone, 0);
    assert_int_equal(world.target->tasks.owed, 3);
    end(&world);
}

/* Of many threads each sampled one stands for some. */
static void what_a_reading_stands_for_is_repeated(void **state)
{
    struct world world;
    (void)state;
    begin(&world);
    read_thread(&world, FOUND_STOPPED);
    world.target->last.weight = 2.5;
    for (unsigned i = 0; i < 4; i++)
        pass(&world);
    seal(&world);
    assert_int_equal(quality_of(&world)->samples, 1 + 10);
    assert_int_equal(quality_of(&world)->extrapolated, 6);
    end(&world);
}

TEST_MAIN(cmocka_unit_test(every_window_has_a_sample_for_each_of_its_ticks),
          cmocka_unit_test(a_target_that_ends_has_a_sample_for_each_tick),
          cmocka_unit_test(what_is_repeated_was_running_if_the_thread_was),
          cmocka_unit_test(ticks_before_the_first_reading_wait_for_it),
          cmocka_unit_test(a_thread_that_had_ended_is_not_repeated),
          cmocka_unit_test(failures_and_tasks_are_repeated_too),
          cmocka_unit_test(what_a_reading_stands_for_is_repeated))
