#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/remote/beside.h"
#include "tests/support/test.h"

/* A process that runs all the time, on one processor, and what beside knows of its thread. */
struct runner {
    pid_t pid;
    atomic_ullong *turns;
    struct thread_cpu account;
    struct thread_cpus cpus;
    struct thread thread;
    struct thread *threads[1];
    struct beside beside;
    struct random random;
    cpu_set_t allowed;
};

static void run_on(atomic_ullong *turns, size_t processor)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    if (sched_setaffinity(0, sizeof only, &only))
        _exit(1);
    for (;;)
        atomic_fetch_add(turns, 1);
}

static void begin(struct runner *runner)
{
    size_t processor = 0;
    *runner = (struct runner){ 0 };
    assert_int_equal(sched_getaffinity(0, sizeof runner->allowed, &runner->allowed), 0);
    while (!CPU_ISSET(processor, &runner->allowed))
        processor++;
    runner->turns = mmap(NULL, sizeof *runner->turns, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(runner->turns, MAP_FAILED);
    runner->pid = fork();
    if (!runner->pid)
        run_on(runner->turns, processor);
    while (!atomic_load(runner->turns))
        sched_yield();
    runner->account = (struct thread_cpu){ .is_open = true,
                                           .has_meter = true,
                                           .pid = runner->pid,
                                           .tid = runner->pid,
                                           .queue.crowded_ns = clock_now_ns() };
    assert_true(cpu_meter_open(&runner->account.meter, runner->pid, runner->pid));
    runner->cpus = (struct thread_cpus){ .items = &runner->account, .count = 1 };
    runner->thread.tag = 1;
    runner->threads[0] = &runner->thread;
    random_init(&runner->random, 1);
}

static void end(struct runner *runner)
{
    cpu_meter_close(&runner->account.meter);
    assert_int_equal(kill(runner->pid, SIGKILL), 0);
    assert_int_equal(waitpid(runner->pid, NULL, 0), runner->pid);
    munmap(runner->turns, sizeof *runner->turns);
}

static size_t go(struct runner *runner)
{
    runner->account.queue.crowded_ns = clock_now_ns();
    return beside_begin(&runner->beside, &runner->cpus, runner->pid, runner->threads, 1,
                        &runner->random);
}

static bool has_held(const struct runner *runner)
{
    return beside_has_held(&runner->beside, &runner->cpus, &runner->thread);
}

static void a_thread_that_is_held_does_not_run(void **state)
{
    enum { TIMES = 50, WORK = 20000 };
    struct runner runner;
    unsigned held = 0;
    (void)state;
    begin(&runner);
    for (int i = 0; i < TIMES; i++) {
        if (!go(&runner)) {
            beside_end(&runner.beside, &runner.cpus);
            continue;
        }
        const unsigned long long before = atomic_load(runner.turns);
        for (volatile int work = 0; work < WORK; work++) {
        }
        const unsigned long long after = atomic_load(runner.turns);
        /* The scheduler may let it run meanwhile; then that is said. */
        if (has_held(&runner)) {
            assert_int_equal(before, after);
            held++;
        }
        beside_end(&runner.beside, &runner.cpus);
    }
    assert_true(held > 0);
    end(&runner);
}

static void a_thread_that_got_the_processor_is_held_no_longer(void **state)
{
    struct runner runner;
    (void)state;
    begin(&runner);
    while (!go(&runner))
        beside_end(&runner.beside, &runner.cpus);
    const unsigned long long before = atomic_load(runner.turns);
    while (atomic_load(runner.turns) == before)
        usleep(1000);
    assert_false(has_held(&runner));
    beside_end(&runner.beside, &runner.cpus);
    end(&runner);
}

static void afterwards_the_profiler_may_run_where_it_could_before(void **state)
{
    struct runner runner;
    cpu_set_t meanwhile, after;
    (void)state;
    begin(&runner);
    (void)go(&runner);
    assert_int_equal(sched_getaffinity(0, sizeof meanwhile, &meanwhile), 0);
    assert_int_equal(CPU_COUNT(&meanwhile), 1);
    beside_end(&runner.beside, &runner.cpus);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&after, &runner.allowed));
    assert_true(runner.account.queue.held_ns > 0 || !runner.beside.count);
    end(&runner);
}

/* A real-time thread, or a crowd that the target makes there, would keep it from all other targets. */
static void a_processor_that_it_took_long_to_get_is_left_alone_for_a_while(void **state)
{
    struct runner runner;
    (void)state;
    begin(&runner);
    runner.beside.rests_until_ns = clock_now_ns() + NS_PER_S;
    assert_int_equal(go(&runner), 0);
    assert_false(runner.beside.is_there);
    end(&runner);
}

/* A thread would only be moved about where processors are free. */
static void a_thread_that_lacks_no_processor_is_left_alone(void **state)
{
    struct runner runner;
    cpu_set_t meanwhile;
    (void)state;
    begin(&runner);
    runner.account.queue.crowded_ns = 0;
    assert_int_equal(beside_begin(&runner.beside, &runner.cpus, runner.pid, runner.threads, 1,
                                  &runner.random),
                     0);
    assert_int_equal(sched_getaffinity(0, sizeof meanwhile, &meanwhile), 0);
    assert_true(CPU_EQUAL(&meanwhile, &runner.allowed));
    beside_end(&runner.beside, &runner.cpus);
    end(&runner);
}

static void a_processor_that_the_profiler_may_not_use_is_left_alone(void **state)
{
    struct runner runner;
    cpu_set_t others;
    (void)state;
    begin(&runner);
    others = runner.allowed;
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &runner.allowed)) {
            CPU_CLR(i, &others);
            break;
        }
    if (CPU_COUNT(&others)) {
        assert_int_equal(sched_setaffinity(0, sizeof others, &others), 0);
        assert_int_equal(go(&runner), 0);
        beside_end(&runner.beside, &runner.cpus);
        assert_int_equal(sched_setaffinity(0, sizeof runner.allowed, &runner.allowed), 0);
    }
    end(&runner);
}

TEST_GROUP(cmocka_unit_test(a_thread_that_is_held_does_not_run),
           cmocka_unit_test(a_thread_that_got_the_processor_is_held_no_longer),
           cmocka_unit_test(afterwards_the_profiler_may_run_where_it_could_before),
           cmocka_unit_test(a_processor_that_it_took_long_to_get_is_left_alone_for_a_while),
           cmocka_unit_test(a_thread_that_lacks_no_processor_is_left_alone),
           cmocka_unit_test(a_processor_that_the_profiler_may_not_use_is_left_alone))
