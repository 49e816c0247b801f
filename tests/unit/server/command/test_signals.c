#include <sys/wait.h>
#include <unistd.h>

#include "server/command/process/signals.h"
#include "tests/support/test.h"

/* A child that does nothing. */
static pid_t start_child(const struct signals *signals)
{
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signals_reset_in_child(signals);
        for (;;)
            pause();
    }
    return pid;
}

static void await(pid_t pid, int what)
{
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, what | WNOWAIT), 0);
}

/* The session stops threads a thousand times a second. */
static void a_child_that_stops_or_goes_on_wakes_nobody(void **state)
{
    struct signals signals;
    struct err err = { 0 };
    (void)state;
    assert_ok(signals_init(&signals, &err), &err);
    const pid_t pid = start_child(&signals);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    await(pid, WSTOPPED);
    assert_int_equal(signals_wait(&signals, -1, 0), SIGNALS_TIMEOUT);
    assert_int_equal(kill(pid, SIGCONT), 0);
    await(pid, WCONTINUED);
    assert_int_equal(signals_wait(&signals, -1, 0), SIGNALS_TIMEOUT);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(signals_wait(&signals, -1, -1), SIGNALS_CHILD);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    signals_deinit(&signals);
}

static void a_signal_to_stop_comes_before_other_events(void **state)
{
    struct signals signals;
    struct err err = { 0 };
    int ends[2];
    (void)state;
    assert_ok(signals_init(&signals, &err), &err);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(signals_wait(&signals, ends[0], -1), SIGNALS_READABLE);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    assert_true(signals_are_pending());
    assert_int_equal(signals_wait(&signals, ends[0], -1), SIGNALS_STOP);
    assert_int_equal(signals.stopped_by, SIGTERM);
    assert_false(signals_are_pending());
    close(ends[0]);
    close(ends[1]);
    signals_deinit(&signals);
}

TEST_GROUP(cmocka_unit_test(a_child_that_stops_or_goes_on_wakes_nobody),
           cmocka_unit_test(a_signal_to_stop_comes_before_other_events))
