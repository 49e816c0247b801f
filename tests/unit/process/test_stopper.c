#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/scoped.h"
#include "sampler/process/cpu.h"
#include "sampler/process/process.h"
#include "sampler/process/procfs.h"
#include "sampler/process/stopper.h"
#include "tests/support/test.h"
#include "tests/unit/process/child.h"

enum { DEADLINE_S = 5 };

static volatile uint64_t *counter; /* shared with the children */
static volatile uint64_t *waits;   /* likewise: not 0 once a child is about to wait for good */

static uint64_t deadline(void)
{
    return clock_now_ns() + DEADLINE_S * NS_PER_S;
}

static int count_for_ever(void *context)
{
    (void)context;
    while (getppid() > 0)
        (*counter)++;
    return 0;
}

static int end_politely(void *context)
{
    (void)context;
    signal(SIGTERM, SIG_DFL);
    *waits = 1;
    while (getppid() > 0)
        pause();
    return 0;
}

static struct child start(int (*then)(void *), void *context)
{
    struct child child;
    child_start(&child, then, context);
    child_go_on(&child);
    return child;
}

static bool counts(void)
{
    const uint64_t before = *counter;
    for (int i = 0; i < 500 && *counter == before; i++)
        usleep(1000);
    return *counter != before;
}

static enum err_code stop(struct stopper *stopper, int32_t tid, uint64_t deadline_ns)
{
    struct process process;
    enum err_code rc = process_open(&process, tid, NULL);
    if (!rc)
        rc = stopper_stop(stopper, &process, &tid, 1, deadline_ns);
    process_close(&process);
    return rc;
}

/* Stops a thread; the test is skipped where ptrace is forbidden. */
static void stop_or_skip(struct stopper *stopper, int32_t tid)
{
    const enum err_code rc = stop(stopper, tid, deadline());
    if (rc == ERR_PERM) {
        puts("skipped: ptrace is not permitted here");
        skip();
    }
    assert_int_equal(rc, ERR_OK);
}

static int map_counter(void **state)
{
    (void)state;
    void *const page = mmap(NULL, 2 * sizeof *counter, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    counter = page;
    waits = counter + 1;
    return page == MAP_FAILED;
}

static void a_stopped_process_stands_still_and_goes_on(void **state)
{
    struct stopper stopper;
    struct child child = start(count_for_ever, NULL);
    (void)state;
    assert_true(counts());
    stopper_init(&stopper);
    stop_or_skip(&stopper, child.pid);
    const uint64_t before = *counter;
    usleep(20000);
    assert_int_equal(*counter, before);
    stopper_resume(&stopper);
    assert_true(counts());
    assert_true(stopper.stopped_ns >= 20 * NS_PER_MS);
    assert_int_equal(stopper.count, 0);
    stopper_deinit(&stopper);
    child_end(&child);
}

static void await_sleep(int pid)
{
    struct cpu_meter meter;
    bool runs = true;
    assert_true(cpu_meter_open(&meter, pid, pid));
    while (*waits == 0 || runs) {
        usleep(1000);
        assert_true(cpu_meter_is_runnable(&meter, pid, pid, &runs, NULL));
    }
    cpu_meter_close(&meter);
}

/* A thread that has not run since it was resumed counts, too. */
static void an_interrupted_wait_is_distinguished_from_running(void **state)
{
    enum { TIMES = 50 };
    struct child running = start(count_for_ever, NULL), waiting = start(end_politely, NULL);
    (void)state;
    assert_true(counts());
    await_sleep(waiting.pid);
    for (unsigned i = 0; i < TIMES; i++) {
        struct stopper stopper;
        stopper_init(&stopper);
        stop_or_skip(&stopper, waiting.pid);
        stop_or_skip(&stopper, running.pid);
        assert_true(stopper_has_interrupted_wait(waiting.pid));
        assert_false(stopper_has_interrupted_wait(running.pid));
        stopper_deinit(&stopper);
    }
    assert_false(stopper_has_interrupted_wait(waiting.pid));
    child_end(&running);
    child_end(&waiting);
}

/* The code that started the child waits for it; the stopper must not reap it. */
static void the_stopper_does_not_reap_our_child(void **state)
{
    struct stopper stopper;
    int status = 0;
    struct child child = start(count_for_ever, NULL);
    (void)state;
    assert_true(counts());
    stopper_init(&stopper);
    stop_or_skip(&stopper, child.pid);
    assert_int_equal(kill(child.pid, SIGKILL), 0);
    child_await_zombie(&child);
    /* As if the child had ended before the stopper saw it stop. */
    stopper.items[0].state = STOPPER_SEIZED;
    stopper_resume(&stopper);
    assert_int_equal(stopper.count, 0);
    stopper_deinit(&stopper);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_true(WIFSIGNALED(status));
    close(child.order_fd);
    close(child.ready_fd);
}

static void a_signal_during_a_stop_is_delivered(void **state)
{
    struct stopper stopper;
    int status;
    struct child child = start(end_politely, NULL);
    (void)state;
    stopper_init(&stopper);
    stop_or_skip(&stopper, child.pid);
    assert_int_equal(kill(child.pid, SIGTERM), 0);
    stopper_resume(&stopper);
    assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    stopper_deinit(&stopper);
}

static void a_missing_process_is_gone(void **state)
{
    struct stopper stopper;
    struct child child = start(end_politely, NULL);
    (void)state;
    struct process process;
    const int32_t gone = child.pid;
    assert_int_equal(process_open(&process, gone, NULL), ERR_OK);
    child_end(&child);
    stopper_init(&stopper);
    assert_int_equal(stopper_stop(&stopper, &process, &gone, 1, deadline()), ERR_GONE);
    stopper_resume(&stopper);
    stopper_deinit(&stopper);
    process_close(&process);
}

static void what_has_ended_and_is_not_waited_for_is_gone(void **state)
{
    struct stopper stopper;
    struct process process;
    struct child child = start(end_politely, NULL);
    const int32_t ended = child.pid;
    (void)state;
    assert_int_equal(process_open(&process, ended, NULL), ERR_OK);
    assert_int_equal(kill(ended, SIGKILL), 0);
    child_await_zombie(&child);
    stopper_init(&stopper);
    assert_int_equal(stopper_stop(&stopper, &process, &ended, 1, deadline()), ERR_GONE);
    assert_int_equal(stopper.refused, 0);
    stopper_deinit(&stopper);
    process_close(&process);
    child_reap(&child);
}

static int stop_and_die(void *context)
{
    struct stopper stopper;
    const int32_t tid = *(const int32_t *)context;
    stopper_init(&stopper);
    if (stop(&stopper, tid, deadline()))
        return 1;
    raise(SIGKILL);
    return 2;
}

static void a_target_goes_on_when_its_stopper_is_killed(void **state)
{
    int status;
    struct stopper trial;
    struct child target = start(count_for_ever, NULL);
    int32_t tid = target.pid;
    (void)state;
    stopper_init(&trial);
    stop_or_skip(&trial, tid);
    stopper_resume(&trial);
    const struct child stopping = start(stop_and_die, &tid);
    assert_int_equal(waitpid(stopping.pid, &status, 0), stopping.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(counts());
    stopper_deinit(&trial);
    child_end(&target);
}

/* A thread that calls vfork sleeps uninterruptibly until its child ends. */
static int wait_for_vforked(void *context)
{
    (void)context;
    if (vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        *counter = (uint64_t)getpid();
        for (;;)
            pause();
    }
    for (;;)
        pause();
    return 0;
}

static long count_sleeps(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_nvcsw;
}

static void a_thread_that_does_not_stop_counts_nothing(void **state)
{
    enum { TRIES = 5000, FEW_WAITS = 6, FEW_SLEEPS = 20 };
    struct stopper stopper;
    (void)state;
    *counter = 0;
    struct child child = start(wait_for_vforked, NULL);
    while (!*counter)
        usleep(1000);
    await_sleep(child.pid);
    stopper_init(&stopper);
    const int32_t tid = child.pid;
    const enum err_code rc = stop(&stopper, tid, clock_now_ns() + NS_PER_MS);
    assert_true(rc == ERR_OK || rc == ERR_PERM);
    /* It returns to its code only by way of the stop. */
    assert_int_equal(stopper_holds(&stopper, tid), rc == ERR_OK);
    stopper_resume(&stopper);
    assert_int_equal(stopper.stop_ns, 0);
    assert_int_equal(stopper.stopped_ns, 0);
    assert_int_equal(stopper.count, rc == ERR_OK);
    for (unsigned i = 0; i < FEW_WAITS; i++)
        stopper_resume(&stopper);
    /* It is not waited for again: others would wait with it. */
    const long sleeps = count_sleeps();
    stopper_resume(&stopper);
    assert_in_range(count_sleeps(), sleeps, sleeps + FEW_SLEEPS);
    assert_int_equal(stopper.count, rc == ERR_OK);
    assert_int_equal(kill((pid_t)*counter, SIGKILL), 0);
    for (unsigned i = 0; i < TRIES && stopper.count; i++) {
        usleep(1000);
        stopper_resume(&stopper);
    }
    assert_int_equal(stopper.count, 0);
    stopper_deinit(&stopper);
    child_end(&child);
}

/* Not from when it was asked to stop. */
static void a_stop_counts_from_when_the_thread_was_last_seen_running(void **state)
{
    struct stopper stopper;
    struct child child = start(count_for_ever, NULL);
    (void)state;
    assert_true(counts());
    stopper_init(&stopper);
    stop_or_skip(&stopper, child.pid);
    const uint64_t ran_ns = clock_now_ns() - 5 * NS_PER_S;
    stopper.items[0].ran_ns = ran_ns;
    stopper_resume(&stopper);
    assert_in_range(stopper.stop_ns, 5 * NS_PER_S, clock_now_ns() - ran_ns);
    assert_int_equal(stopper.stopped_ns, stopper.stop_ns);
    stopper_deinit(&stopper);
    child_end(&child);
}

static bool is_traced(int pid)
{
    SCOPED_FREE char *status = NULL;
    size_t bytes;
    assert_int_equal(procfs_read(pid, "status", &status, &bytes, NULL), ERR_OK);
    return !strstr(status, "\nTracerPid:\t0\n");
}

/* Whatever a target says its threads are. */
static void a_thread_of_another_process_is_not_stopped(void **state)
{
    struct stopper stopper;
    struct process process;
    struct child target = start(end_politely, NULL), other = start(count_for_ever, NULL);
    const int32_t tids[] = { other.pid, (int32_t)getpid(), 1, INT32_MAX };
    (void)state;
    assert_true(counts());
    assert_int_equal(process_open(&process, target.pid, NULL), ERR_OK);
    stopper_init(&stopper);
    assert_int_equal(stopper_stop(&stopper, &process, tids, 4, deadline()), ERR_GONE);
    assert_int_equal(stopper.count, 0);
    assert_int_equal(stopper.refused, 0);
    assert_false(is_traced(other.pid));
    assert_true(counts());
    stopper_deinit(&stopper);
    process_close(&process);
    child_end(&target);
    child_end(&other);
}

/* As if the target had ended, and another process had got its pid, just before the thread was seized. */
static void a_process_that_got_the_pid_of_the_target_is_let_go(void **state)
{
    enum { TRIES = 5000 };
    struct stopper stopper;
    struct process process;
    struct child ended = start(end_politely, NULL), other = start(count_for_ever, NULL);
    const int32_t tid = other.pid;
    (void)state;
    assert_true(counts());
    assert_int_equal(process_open(&process, ended.pid, NULL), ERR_OK);
    child_end(&ended);
    process.pid = other.pid;
    stopper_init(&stopper);
    const enum err_code rc = stopper_stop(&stopper, &process, &tid, 1, deadline());
    assert_true(rc == ERR_GONE || rc == ERR_PERM);
    assert_false(stopper_holds(&stopper, tid));
    for (unsigned i = 0; i < TRIES && stopper.count; i++) {
        usleep(1000);
        stopper_resume(&stopper);
    }
    assert_int_equal(stopper.count, 0);
    assert_int_equal(stopper.stopped_ns, 0);
    assert_false(is_traced(other.pid));
    assert_true(counts());
    stopper_deinit(&stopper);
    process_close(&process);
    child_end(&other);
}

static int trace(void *context)
{
    const int tid = *(const int *)context;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
        return 1;
    *waits = 1;
    while (getppid() > 0)
        pause();
    return 0;
}

static void a_thread_that_another_traces_is_refused(void **state)
{
    struct stopper stopper;
    struct child target = start(count_for_ever, NULL);
    (void)state;
    assert_true(counts());
    stopper_init(&stopper);
    stop_or_skip(&stopper, target.pid);
    stopper_resume(&stopper);
    *waits = 0;
    struct child tracer = start(trace, &target.pid);
    while (*waits == 0)
        usleep(1000);
    assert_int_equal(stop(&stopper, target.pid, deadline()), ERR_PERM);
    assert_int_equal(stopper.refused, 1);
    assert_int_equal(stopper.count, 0);
    child_end(&tracer);
    assert_int_equal(stop(&stopper, target.pid, deadline()), ERR_OK);
    assert_int_equal(stopper.refused, 0);
    stopper_deinit(&stopper);
    child_end(&target);
}

TEST_GROUP_WITHIN(map_counter, NULL,
                  cmocka_unit_test(a_stopped_process_stands_still_and_goes_on),
                  cmocka_unit_test(an_interrupted_wait_is_distinguished_from_running),
                  cmocka_unit_test(the_stopper_does_not_reap_our_child),
                  cmocka_unit_test(a_signal_during_a_stop_is_delivered),
                  cmocka_unit_test(a_missing_process_is_gone),
                  cmocka_unit_test(what_has_ended_and_is_not_waited_for_is_gone),
                  cmocka_unit_test(a_target_goes_on_when_its_stopper_is_killed),
                  cmocka_unit_test(a_thread_that_does_not_stop_counts_nothing),
                  cmocka_unit_test(a_stop_counts_from_when_the_thread_was_last_seen_running),
                  cmocka_unit_test(a_thread_of_another_process_is_not_stopped),
                  cmocka_unit_test(a_process_that_got_the_pid_of_the_target_is_let_go),
                  cmocka_unit_test(a_thread_that_another_traces_is_refused))
