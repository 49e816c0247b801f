/* The marks that samples of threads that do not run count at. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/leaf.h"
#include "sampler/cpython/stack/stack.h"
#include "sampler/profile/series.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"
#include "tests/unit/session/cpu_world.h"

static const struct code_table no_codes;
static const struct stack no_stack;
static const struct leaf no_leaf;

static void begin(struct cpu_world *world)
{
    struct err err = { 0 };
    cpu_world_begin(world, SESSION_MODE_WALL);
    assert_ok(waits_create(world->profile, true, &world->cpus.waits, &err), &err);
}

static void end(struct cpu_world *world)
{
    waits_destroy(world->cpus.waits);
    world->cpus.waits = NULL;
    cpu_world_end(world);
}

/* Counts `times` samples of 1 ms of a thread that does not run; number: of its system call, 0: none. */
static void take(struct cpu_world *world, enum three_valued runs, enum three_valued runnable,
                 state_bits state, long number, uint32_t times)
{
    const uint64_t since_ns = world->now_ns;
    world->now_ns += times * NS_PER_MS;
    struct sample sample = cpu_world_sample(world, gettid(), times);
    sample.since_ns = since_ns;
    sample.state = state;
    sample.is_asked = true;
    sample.runs = runs;
    sample.runnable = runnable;
    sample.codes = &no_codes;
    sample.stack = &no_stack;
    sample.leaf = &no_leaf;
    sample.call = (struct system_call){ .number = (int32_t)number, .is_known = number != 0 };
    assert_int_equal(thread_cpus_add(&world->cpus, &sample), ERR_OK);
}

/* The samples below a mark; "": at the stack itself. */
static uint64_t samples_at(struct cpu_world *world, const char *mark)
{
    char stack[WAIT_MAX_NAME + 16];
    struct err err = { 0 };
    struct view view;
    uint64_t samples = 0;
    snprintf(stack, sizeof stack, "main;work%s%s", *mark ? ";" : "", mark);
    const node_id node = made_node(world->profile, stack);
    made_seal(world->profile, world->now_ns / NS_PER_S + 1);
    struct profile_snapshot snapshot = made_snapshot(world->profile);
    assert_ok(view_init(&view, &snapshot, &(struct view_query){ 0 }, &err), &err);
    for (size_t i = 0; i < view.count; i++)
        samples += view.node[i] == node ? view.self[i] : 0;
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    return samples;
}

static void what_a_thread_needs_is_a_leaf_of_its_stack(void **state)
{
    static const struct {
        enum three_valued runs, runnable;
        state_bits state;
        long number;
        const char *mark;
    } rows[] = {
        { VALUE_YES, VALUE_NO, STATE_HAS_GIL, 0, "" },
        { VALUE_YES, VALUE_YES, STATE_HAS_GIL, 0, "<waits: processor>" },
        { VALUE_NO, VALUE_NO, STATE_WAITS_GIL, 0, "<waits: GIL>" },
        { VALUE_YES, VALUE_YES, STATE_WAITS_GIL, 0, "<waits: GIL>" },
        { VALUE_NO, VALUE_NO, 0, SYS_fsync, "<waits: disk>" },
        { VALUE_NO, VALUE_NO, STATE_HAS_GIL, SYS_fsync, "<waits: disk>" },
        /* The stack has no frames: an idle native thread. */
        { VALUE_NO, VALUE_NO, 0, SYS_futex, "<waits: idle worker>" },
        { VALUE_NO, VALUE_NO, 0, 0, "" },
        { VALUE_UNKNOWN, VALUE_UNKNOWN, 0, SYS_fsync, "" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cpu_world world;
        begin(&world);
        take(&world, rows[i].runs, rows[i].runnable, rows[i].state, rows[i].number, 3);
        assert_int_equal(samples_at(&world, rows[i].mark), 3);
        end(&world);
    }
}

static void a_sleep_is_a_pause_in_a_thread_that_does_more(void **state)
{
    static const struct {
        uint32_t sleeps, runs, needs;
        bool in_request;
        const char *mark;
    } rows[] = {
        { 95, 5, 0, false, "<waits: sleep>" },
        { 80, 20, 0, false, "<waits: pause>" },
        /* Somebody waits for the answer. */
        { 95, 5, 0, true, "<waits: pause>" },
        /* A lack of processors is not what the thread does. */
        { 48, 2, 50, false, "<waits: sleep>" },
        { 40, 10, 50, false, "<waits: pause>" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cpu_world world;
        begin(&world);
        world.in_request = rows[i].in_request;
        for (unsigned n = 0; n < 50; n++) {
            take(&world, VALUE_YES, VALUE_NO, STATE_HAS_GIL, 0, rows[i].runs);
            if (rows[i].needs)
                take(&world, VALUE_YES, VALUE_YES, STATE_HAS_GIL, 0, rows[i].needs);
            take(&world, VALUE_NO, VALUE_NO, 0, SYS_clock_nanosleep, rows[i].sleeps);
        }
        assert_int_equal(samples_at(&world, rows[i].mark), 50 * rows[i].sleeps);
        end(&world);
    }
}

/* A worker that sleeps from some time on becomes idle, and is busy again as soon as it works. */
static void what_a_thread_did_long_ago_does_not_count(void **state)
{
    struct cpu_world world;
    (void)state;
    begin(&world);
    for (unsigned n = 0; n < 20; n++)
        take(&world, VALUE_YES, VALUE_NO, STATE_HAS_GIL, 0, 1000);
    for (unsigned n = 0; n < 60; n++)
        take(&world, VALUE_NO, VALUE_NO, 0, SYS_clock_nanosleep, 1000);
    const uint64_t pauses = samples_at(&world, "<waits: pause>");
    assert_in_range(pauses, 1000, 40000);
    assert_int_equal(samples_at(&world, "<waits: sleep>"), 60000 - pauses);
    end(&world);
}

static uint64_t ticks_of(struct profile *profile, enum part part, uint64_t second)
{
    struct series series;
    struct err err = { 0 };
    uint64_t total = 0;
    assert_ok(profile_copy_series(profile, second, second + 1, &series, &err), &err);
    for (size_t bin = 0; bin < SERIES_BINS_PER_SECOND; bin++)
        total += series_second_at(&series, second)->bins[bin].parts[part];
    series_deinit(&series);
    return total;
}

/* A view has such samples in the part of a wait without a cause. */
static void without_room_for_a_mark_the_series_has_the_part_of_the_views(void **state)
{
    struct cpu_world world;
    struct err err = { 0 };
    (void)state;
    begin(&world);
    const uint64_t second = world.now_ns / NS_PER_S;
    take(&world, VALUE_NO, VALUE_NO, 0, SYS_fsync, 1);
    take(&world, VALUE_NO, VALUE_NO, 0, SYS_clock_nanosleep, 1);
    profile_set_memory(world.profile, 1);
    assert_ok(profile_seal(world.profile, world.now_ns + 1, &err), &err);
    world.node = made_node(world.profile, "main");
    take(&world, VALUE_NO, VALUE_NO, 0, SYS_clock_nanosleep, 20);
    const struct state_sums sums = cpu_world_sums(&world);
    assert_int_equal(sums.parts[PART_BLOCKED], 22);
    assert_int_equal(ticks_of(world.profile, PART_BLOCKED, second), 22);
    end(&world);
}

TEST_GROUP(cmocka_unit_test(what_a_thread_needs_is_a_leaf_of_its_stack),
           cmocka_unit_test(a_sleep_is_a_pause_in_a_thread_that_does_more),
           cmocka_unit_test(what_a_thread_did_long_ago_does_not_count),
           cmocka_unit_test(without_room_for_a_mark_the_series_has_the_part_of_the_views))
