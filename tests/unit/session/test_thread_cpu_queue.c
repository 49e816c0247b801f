#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/process/cpu.h"
#include "tests/support/test.h"
#include "tests/unit/session/cpu_world.h"

/* From now on the kernel is asked about another thread. */
static void become(struct cpu_world *world, enum cpu cpu)
{
    struct thread_cpu *const thread_cpu = &world->cpus.items[0];
    thread_cpu->tid = cpu_world_tid(cpu);
    cpu_meter_close(&thread_cpu->meter);
    assert_true(cpu_meter_open(&thread_cpu->meter, getpid(), thread_cpu->tid));
}

/* A thread that lets the GIL go is often ready for a moment, and waits then. */
static void what_was_ready_at_first_only_counts_as_ready_once(void **state)
{
    enum { STILL = 5 };
    struct cpu_world world;
    (void)state;
    cpu_world_begin(&world, SESSION_MODE_WALL);
    for (int i = 0; i <= STILL; i++) {
        if (i == 2)
            become(&world, CPU_OFF);
        world.now_ns += THREAD_CPUS_FRESH_NS;
        cpu_world_take(&world, cpu_world_tid(CPU_ON), 0, i > 0);
    }
    assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
    const struct state_sums sums = cpu_world_sums(&world);
    assert_int_equal(sums.samples, STILL + 1);
    assert_int_equal(sums.yes[STATE_FLAG_ON_CPU] + sums.yes[STATE_FLAG_RUNNABLE], 2);
    cpu_world_end(&world);
}

/* The samples that moved before have waited for a processor, not those that wait. */
static void time_without_a_processor_is_of_the_samples_then(void **state)
{
    enum { STILL = 20, QUEUED_MS = 5 };
    struct cpu_world world;
    (void)state;
    cpu_world_begin(&world, SESSION_MODE_WALL);
    for (int i = 0; i <= STILL; i++) {
        world.now_ns += NS_PER_MS;
        cpu_world_take(&world, cpu_world_tid(CPU_OFF), 0, i > 0);
        if (i == 0) {
            world.cpus.items[0].queue.is_known = true;
            world.cpus.items[0].queue.queued_ns = QUEUED_MS * NS_PER_MS;
        }
    }
    assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
    /* It stands for what the thread does next. */
    assert_int_equal(world.cpus.items[0].queue.queued_ns, QUEUED_MS * NS_PER_MS);
    const struct state_sums sums = cpu_world_sums(&world);
    assert_int_equal(sums.samples, STILL + 1);
    assert_int_equal(sums.yes[STATE_FLAG_RUNNABLE] + sums.yes[STATE_FLAG_ON_CPU], 0);
    cpu_world_end(&world);
}

/* The kernel is not asked about a thread that ran very recently and has moved since. */
static void what_ran_just_now_runs(void **state)
{
    struct cpu_world world;
    (void)state;
    cpu_world_begin(&world, SESSION_MODE_WALL);
    cpu_world_move(&world, CPU_ON, 0);
    become(&world, CPU_OFF);
    cpu_world_move(&world, CPU_ON, 0);
    world.now_ns += THREAD_CPUS_FRESH_NS;
    cpu_world_move(&world, CPU_ON, 0);
    const struct state_sums sums = cpu_world_sums(&world);
    assert_int_equal(sums.samples, 3);
    assert_int_equal(sums.yes[STATE_FLAG_ON_CPU], 2);
    cpu_world_end(&world);
}

/* Two threads that share a processor, which run forever. */
static int32_t start_rivals(void)
{
    static atomic_int tids[2];
    cpu_set_t before, one;
    pthread_t thread;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread, NULL, cpu_world_spin, &tids[i]), 0);
        assert_int_equal(pthread_detach(thread), 0);
        while (!atomic_load(&tids[i]))
            sched_yield();
        assert_int_equal(sched_setaffinity(atomic_load(&tids[i]), sizeof one, &one), 0);
    }
    return atomic_load(&tids[0]);
}

static struct state_sums sums_of_300_samples(int32_t tid, bool is_still)
{
    struct cpu_world world;
    cpu_world_begin(&world, SESSION_MODE_WALL);
    world.cpus.created_ns = clock_now_ns();
    for (int i = 0; i < 300; i++) {
        const struct timespec pause = { .tv_nsec = (long)NS_PER_MS };
        nanosleep(&pause, NULL);
        world.now_ns = clock_now_ns();
        cpu_world_take(&world, tid, 0, is_still);
    }
    assert_int_equal(thread_cpus_flush(&world.cpus, clock_now_ns()), ERR_OK);
    const struct state_sums sums = cpu_world_sums(&world);
    cpu_world_end(&world);
    return sums;
}

/* A thread that lacks a processor is runnable whether its stack moves or not. On a busy machine
 * it may be without one, or have one, all the time. */
static void a_thread_without_a_processor_is_runnable(void **state)
{
    enum { TRIES = 20 };
    const int32_t tid = start_rivals();
    (void)state;
    for (int still = 0; still <= 1; still++) {
        struct state_sums sums = { 0 };
        bool has_both = false;
        for (int i = 0; i < TRIES && !has_both; i++) {
            sums = sums_of_300_samples(tid, still);
            assert_int_equal(sums.samples, 300);
            has_both = sums.yes[STATE_FLAG_RUNNABLE] > sums.samples / 8 &&
                       sums.yes[STATE_FLAG_ON_CPU] > 0;
        }
        assert_true(has_both);
        assert_true(sums.unknown[STATE_FLAG_RUNNABLE] <= sums.samples / 8);
    }
}

/* The kernel engine says whether a thread that runs has a processor; else the account does. */
static void a_runnable_thread_is_not_on_a_cpu(void **state)
{
    static const struct {
        enum three_valued runs, runnable;
        state_bits state;
    } rows[] = {
        { VALUE_YES, VALUE_NO, STATE_ON_CPU },
        { VALUE_YES, VALUE_YES, STATE_RUNNABLE },
        { VALUE_YES, VALUE_UNKNOWN, STATE_ON_CPU },
        { VALUE_NO, VALUE_NO, 0 },
        { VALUE_UNKNOWN, VALUE_UNKNOWN, STATE_UNKNOWN_ON_CPU | STATE_UNKNOWN_RUNNABLE },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (unsigned mode = SESSION_MODE_WALL; mode <= SESSION_MODE_CPU; mode++) {
            struct cpu_world world;
            cpu_world_begin(&world, (enum session_mode)mode);
            const struct sample sample = { .thread = world.thread,
                                           .pid = getpid(),
                                           .tid = gettid(),
                                           .node = world.node,
                                           .spot = PROFILE_NO_SPOT,
                                           .certainty = &profile_quality(world.profile)->exact,
                                           .is_asked = true,
                                           .runs = rows[i].runs,
                                           .runnable = rows[i].runnable,
                                           .times = 3,
                                           .now_ns = world.now_ns };
            assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
            const bool is_kept = mode == SESSION_MODE_WALL ||
                                 (rows[i].state & (STATE_ON_CPU | STATE_UNKNOWN_ON_CPU));
            const struct state_sums sums = cpu_world_sums(&world);
            assert_int_equal(sums.samples, is_kept ? 3 : 0);
            for (unsigned flag = 0; flag < STATE_FLAG_COUNT && is_kept; flag++) {
                const state_bits yes = state_flag_yes((enum state_flag)flag);
                const state_bits unknown = state_flag_unknown((enum state_flag)flag);
                assert_int_equal(sums.yes[flag], rows[i].state & yes ? 3 : 0);
                assert_int_equal(sums.unknown[flag], rows[i].state & unknown ? 3 : 0);
            }
            cpu_world_end(&world);
        }
}

/* The last one leaves two threads behind that run forever. */
TEST_GROUP(cmocka_unit_test(a_runnable_thread_is_not_on_a_cpu),
           cmocka_unit_test(what_ran_just_now_runs),
           cmocka_unit_test(what_was_ready_at_first_only_counts_as_ready_once),
           cmocka_unit_test(time_without_a_processor_is_of_the_samples_then),
           cmocka_unit_test(a_thread_without_a_processor_is_runnable))
