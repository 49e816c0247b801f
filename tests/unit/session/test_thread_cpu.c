#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/threads/threads.h"
#include "tests/support/test.h"
#include "tests/unit/session/cpu_world.h"

/* A stopped thread does not run: what it did before counts, whatever the kernel says now. */
static void a_stopped_thread_is_counted_as_it_was_before(void **state)
{
    static const enum three_valued info[] = { VALUE_YES, VALUE_NO, VALUE_UNKNOWN };
    static const enum cpu now[] = { CPU_ON, CPU_OFF };
    (void)state;
    for (size_t i = 0; i < sizeof info / sizeof *info; i++)
        for (size_t j = 0; j < sizeof now / sizeof *now; j++) {
            struct cpu_world world;
            cpu_world_begin(&world, SESSION_MODE_WALL);
            for (unsigned n = 0; n < 100; n++) {
                world.now_ns += NS_PER_MS;
                const struct sample sample = { .thread = world.thread,
                                               .pid = getpid(),
                                               .tid = cpu_world_tid(now[j]),
                                               .node = world.node,
                                               .spot = PROFILE_NO_SPOT,
                                               .certainty =
                                                   &profile_quality(world.profile)->exact,
                                               .is_still = n > 0,
                                               .is_asked = true,
                                               .runs = info[i],
                                               .times = 1,
                                               .now_ns = world.now_ns };
                assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
            }
            const struct state_sums sums = cpu_world_sums(&world);
            assert_int_equal(sums.samples, 100);
            /* On a busy machine it has had no processor now and then. */
            assert_int_equal(sums.yes[STATE_FLAG_ON_CPU] + sums.yes[STATE_FLAG_RUNNABLE],
                             info[i] == VALUE_YES ? 100 : 0);
            assert_int_equal(sums.unknown[STATE_FLAG_ON_CPU],
                             info[i] == VALUE_UNKNOWN ? 100 : 0);
            cpu_world_end(&world);
        }
}

/* With an open account and without one. */
static void a_thread_is_asked_before_it_is_stopped(void **state)
{
    struct cpu_world world;
    (void)state;
    cpu_world_begin(&world, SESSION_MODE_WALL);
    for (unsigned i = 0; i < 2; i++) {
        const int32_t off = cpu_world_tid(CPU_OFF), on = cpu_world_tid(CPU_ON);
        assert_int_equal(thread_cpus_ask(&world.cpus, world.thread, getpid(), off, NULL),
                         VALUE_NO);
        assert_int_equal(thread_cpus_ask(&world.cpus, UINT32_MAX, getpid(), on, NULL),
                         VALUE_YES);
        assert_int_equal(thread_cpus_ask(&world.cpus, UINT32_MAX, getpid(), 0, NULL),
                         VALUE_UNKNOWN);
        cpu_world_take(&world, off, 0, false);
    }
    cpu_world_end(&world);
}

/* Before 3.15 the interpreter does not say who waits for the GIL, but its word is what the thread waits at. */
static void the_word_that_a_thread_waits_at_says_whether_it_waits_for_the_gil(void **state)
{
    enum { GIL = 0x5000, LOCKED = 0x100 };
    static const struct {
        enum three_valued runs;
        bool is_known;
        long number;
        remote_addr word;
        state_bits said; /* by the interpreter */
        enum three_valued expected;
    } rows[] = {
        { VALUE_NO, true, SYS_futex, GIL + LOCKED + 16, STATE_UNKNOWN_WAITS_GIL, VALUE_YES },
        { VALUE_NO, true, SYS_futex, GIL + LOCKED + 150, STATE_UNKNOWN_WAITS_GIL, VALUE_YES },
        { VALUE_NO, true, SYS_futex, GIL + LOCKED - 4, STATE_UNKNOWN_WAITS_GIL, VALUE_UNKNOWN },
        { VALUE_NO, true, SYS_futex, GIL + 0x1000, STATE_UNKNOWN_WAITS_GIL, VALUE_UNKNOWN },
        { VALUE_NO, true, SYS_futex, GIL + LOCKED + 16, 0, VALUE_NO },
        { VALUE_NO, true, SYS_epoll_pwait, GIL + LOCKED + 16, STATE_UNKNOWN_WAITS_GIL,
          VALUE_NO },
        { VALUE_NO, false, 0, 0, STATE_UNKNOWN_WAITS_GIL, VALUE_UNKNOWN },
        { VALUE_YES, false, 0, 0, STATE_UNKNOWN_WAITS_GIL, VALUE_NO },
        { VALUE_UNKNOWN, false, 0, 0, STATE_UNKNOWN_WAITS_GIL, VALUE_UNKNOWN },
    };
    const struct runtime runtime = { .addr = GIL, .layout = { .runtime_gil_locked = LOCKED } };
    const struct thread_list list = { .runtime = &runtime };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cpu_world world;
        cpu_world_begin(&world, SESSION_MODE_WALL);
        const struct sample sample = { .thread = world.thread,
                                       .pid = getpid(),
                                       .tid = gettid(),
                                       .node = world.node,
                                       .spot = PROFILE_NO_SPOT,
                                       .state = rows[i].said,
                                       .certainty = &profile_quality(world.profile)->exact,
                                       .is_asked = true,
                                       .runs = rows[i].runs,
                                       .runnable = VALUE_NO,
                                       .call = { .is_known = rows[i].is_known,
                                                 .number = (int32_t)rows[i].number,
                                                 .args = { rows[i].word } },
                                       .threads = &list,
                                       .times = 3,
                                       .now_ns = 5 };
        assert_int_equal(thread_cpus_add(&world.cpus, &sample), ERR_OK);
        const struct state_sums sums = cpu_world_sums(&world);
        assert_int_equal(sums.samples, 3);
        assert_int_equal(sums.yes[STATE_FLAG_WAITS_GIL], rows[i].expected == VALUE_YES ? 3 : 0);
        assert_int_equal(sums.unknown[STATE_FLAG_WAITS_GIL],
                         rows[i].expected == VALUE_UNKNOWN ? 3 : 0);
        cpu_world_end(&world);
    }
}

/* The time is too short for the account, but the kernel says whether they run. */
static void what_waits_shortly_is_as_it_was_at_first(void **state)
{
    enum { STILL = 5 };
    (void)state;
    for (enum cpu cpu = CPU_ON; cpu <= CPU_OFF; cpu++) {
        struct cpu_world world;
        cpu_world_begin(&world, SESSION_MODE_WALL);
        for (int i = 0; i <= STILL; i++) {
            world.now_ns += 1000;
            cpu_world_take(&world, cpu_world_tid(cpu), 0, i > 0);
        }
        assert_int_equal(thread_cpus_flush(&world.cpus, world.now_ns), ERR_OK);
        const struct state_sums sums = cpu_world_sums(&world);
        assert_int_equal(sums.samples, STILL + 1);
        /* On a busy machine it may be without a processor meanwhile. */
        assert_int_equal(sums.yes[STATE_FLAG_ON_CPU] + sums.yes[STATE_FLAG_RUNNABLE],
                         cpu == CPU_ON ? STILL + 1 : 0);
        cpu_world_end(&world);
    }
}

TEST_GROUP(cmocka_unit_test(a_stopped_thread_is_counted_as_it_was_before),
           cmocka_unit_test(a_thread_is_asked_before_it_is_stopped),
           cmocka_unit_test(the_word_that_a_thread_waits_at_says_whether_it_waits_for_the_gil),
           cmocka_unit_test(what_waits_shortly_is_as_it_was_at_first))
