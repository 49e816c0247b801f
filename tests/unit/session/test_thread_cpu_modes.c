#include "tests/support/test.h"
#include "tests/unit/session/cpu_world.h"

/* A mode keeps samples of its state, and those whose state is unknown. */
static void a_mode_keeps_what_it_asks_for_and_what_is_unknown(void **state)
{
    static const struct {
        enum cpu cpu;
        state_bits state;
        bool kept[4]; /* wall, cpu, gil, exception */
    } rows[] = {
        { CPU_OFF, 0, { true, false, false, false } },
        { CPU_UNKNOWN, 0, { true, true, false, false } },
        { CPU_OFF, STATE_HAS_GIL, { true, false, true, false } },
        { CPU_OFF, STATE_UNKNOWN_HAS_GIL, { true, false, true, false } },
        { CPU_OFF, STATE_WAITS_GIL, { true, false, false, false } },
        { CPU_OFF, STATE_HAS_EXCEPTION, { true, false, false, true } },
        { CPU_OFF, STATE_UNKNOWN_HAS_EXCEPTION, { true, false, false, true } },
        { CPU_OFF, STATE_IN_GC | STATE_IN_NATIVE, { true, false, false, false } },
        { CPU_UNKNOWN, STATE_HAS_GIL | STATE_HAS_EXCEPTION, { true, true, true, true } },
    };
    static const enum session_mode modes[] = { SESSION_MODE_WALL, SESSION_MODE_CPU,
                                               SESSION_MODE_GIL, SESSION_MODE_EXCEPTION };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            struct cpu_world world;
            cpu_world_begin(&world, modes[m]);
            cpu_world_take(&world, cpu_world_tid(rows[i].cpu), STATE_ALL_UNKNOWN, false);
            const struct quality before = *cpu_world_quality(&world);
            cpu_world_move(&world, rows[i].cpu, rows[i].state);
            const struct quality *const now = cpu_world_quality(&world);
            assert_int_equal(now->samples - before.samples, rows[i].kept[m]);
            assert_int_equal(now->exact - before.exact, rows[i].kept[m]);
            assert_int_equal(now->filtered - before.filtered, !rows[i].kept[m]);
            cpu_world_end(&world);
        }
}

static void a_thread_that_ran_all_the_time_is_kept_by_cpu(void **state)
{
    struct cpu_world world;
    (void)state;
    cpu_world_begin(&world, SESSION_MODE_CPU);
    cpu_world_take(&world, cpu_world_tid(CPU_ON), 0, false);
    const uint64_t before = cpu_world_quality(&world)->samples;
    for (int i = 0; i < 5; i++)
        cpu_world_move(&world, CPU_ON, 0);
    assert_int_equal(cpu_world_quality(&world)->samples, before + 5);
    const struct state_sums sums = cpu_world_sums(&world);
    assert_int_equal(sums.yes[STATE_FLAG_ON_CPU], sums.samples);
    cpu_world_end(&world);
}

/* The mode applies to waiting samples once it is known how long the thread ran meanwhile. */
static void samples_that_waited_are_filtered_too(void **state)
{
    enum { STILL = 10 };
    (void)state;
    for (int runs = 0; runs < 2; runs++) {
        struct cpu_world world;
        const int32_t tid = cpu_world_tid(runs ? CPU_ON : CPU_OFF);
        cpu_world_begin(&world, SESSION_MODE_CPU);
        cpu_world_take(&world, tid, 0, false);
        const struct quality before = *cpu_world_quality(&world);
        for (int i = 0; i < STILL; i++) {
            world.now_ns++;
            cpu_world_take(&world, tid, 0, true);
        }
        assert_int_equal(cpu_world_quality(&world)->samples, before.samples);
        world.now_ns += runs ? 1 : 1ull << 60;
        assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
        assert_int_equal(cpu_world_quality(&world)->samples - before.samples, runs ? STILL : 0);
        assert_int_equal(cpu_world_quality(&world)->filtered - before.filtered,
                         runs ? 0 : STILL);
        cpu_world_end(&world);
    }
}

/* The mode keeps one of two threads: the profile has nothing of the other. */
static void what_is_filtered_is_nowhere(void **state)
{
    struct cpu_world world;
    (void)state;
    cpu_world_begin(&world, SESSION_MODE_GIL);
    for (int i = 0; i < 10; i++) {
        world.now_ns++;
        cpu_world_take(&world, 0, i % 2 ? STATE_HAS_GIL : STATE_WAITS_GIL, false);
    }
    assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
    const struct state_sums sums = cpu_world_sums(&world);
    assert_int_equal(sums.samples, 5);
    assert_int_equal(sums.yes[STATE_FLAG_HAS_GIL], 5);
    assert_int_equal(sums.yes[STATE_FLAG_WAITS_GIL], 0);
    assert_int_equal(cpu_world_quality(&world)->filtered, 5);
    cpu_world_end(&world);
}

/* Before the kernel is asked, only samples that the mode cannot keep are dropped. */
static void what_may_be_kept_is_known_before_the_cpu_is(void **state)
{
    struct cpu_world world;
    (void)state;
    cpu_world_begin(&world, SESSION_MODE_CPU);
    assert_true(thread_cpus_may_keep(&world.cpus, 0));
    world.cpus.mode = SESSION_MODE_GIL;
    assert_false(thread_cpus_may_keep(&world.cpus, 0));
    assert_true(thread_cpus_may_keep(&world.cpus, STATE_HAS_GIL));
    assert_true(thread_cpus_may_keep(&world.cpus, STATE_UNKNOWN_HAS_GIL));
    world.cpus.mode = SESSION_MODE_EXCEPTION;
    assert_false(thread_cpus_may_keep(&world.cpus, STATE_HAS_GIL));
    assert_true(thread_cpus_may_keep(&world.cpus, STATE_HAS_EXCEPTION));
    world.cpus.mode = SESSION_MODE_WALL;
    assert_true(thread_cpus_may_keep(&world.cpus, 0));
    cpu_world_end(&world);
}

/* So they are a share of the samples in every mode. */
static void stopped_samples_that_are_filtered_are_not_counted_as_stopped(void **state)
{
    struct cpu_world world;
    (void)state;
    cpu_world_begin(&world, SESSION_MODE_CPU);
    for (unsigned i = 0; i < 10; i++) {
        world.now_ns++;
        struct sample sample = cpu_world_sample(&world, cpu_world_tid(CPU_OFF), 1);
        sample.is_asked = true;
        sample.runs = i % 2 ? VALUE_YES : VALUE_NO;
        sample.motion = &profile_quality(world.profile)->stopped;
        assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
    }
    assert_int_equal(cpu_world_quality(&world)->samples, 5);
    assert_int_equal(cpu_world_quality(&world)->stopped, 5);
    cpu_world_end(&world);
}

TEST_GROUP(cmocka_unit_test(a_mode_keeps_what_it_asks_for_and_what_is_unknown),
           cmocka_unit_test(a_thread_that_ran_all_the_time_is_kept_by_cpu),
           cmocka_unit_test(samples_that_waited_are_filtered_too),
           cmocka_unit_test(what_is_filtered_is_nowhere),
           cmocka_unit_test(what_may_be_kept_is_known_before_the_cpu_is),
           cmocka_unit_test(stopped_samples_that_are_filtered_are_not_counted_as_stopped))
