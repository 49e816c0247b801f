#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/session.h"
#include "tests/support/test.h"

static pid_t start_sleeper(void)
{
    char *argv[] = { (char[]){ PYTHON }, (char[]){ "-c" },
                     (char[]){ "import time; print(flush=True); time.sleep(100)" }, NULL };
    char byte;
    int output[2];
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(output[1], STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    close(output[1]);
    assert_int_equal(read(output[0], &byte, 1), 1);
    close(output[0]);
    return pid;
}

/* The ticks of a session that is stopped at once. */
static uint64_t ticks_of(pid_t pid, uint32_t least_ticks)
{
    const struct session_options options = { .pids = { pid },
                                             .pid_count = 1,
                                             .rate_hz = 50,
                                             .engine = SESSION_ENGINE_REMOTE,
                                             .all_threads = true,
                                             .least_ticks = least_ticks };
    struct session *session = NULL;
    struct profile_snapshot snapshot;
    struct err err = { 0 };
    assert_ok(session_start(&options, &session, &err), &err);
    session_stop(session);
    struct pollfd end = { .fd = session_end_fd(session), .events = POLLIN };
    assert_int_equal(poll(&end, 1, -1), 1);
    assert_ok(profile_snapshot(session_profile(session), &snapshot, &err), &err);
    const uint64_t ticks = snapshot.quality.ticks;
    profile_snapshot_release(&snapshot);
    session_destroy(session);
    return ticks;
}

static void a_stopped_session_makes_the_ticks_that_it_owes(void **state)
{
    const pid_t pid = start_sleeper();
    (void)state;
    assert_true(ticks_of(pid, 20) >= 20);
    assert_true(ticks_of(pid, 0) < 20);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void it_does_not_wait_for_ever_for_them(void **state)
{
    const pid_t pid = start_sleeper();
    (void)state;
    assert_true(ticks_of(pid, UINT32_MAX) < 200);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST_GROUP(cmocka_unit_test(a_stopped_session_makes_the_ticks_that_it_owes),
           cmocka_unit_test(it_does_not_wait_for_ever_for_them))
