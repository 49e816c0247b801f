#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "server/sessions/leave.h"
#include "tests/support/test.h"

enum { STATUS = 7, SOON_MS = 50, LATER_MS = 300 };

static void sleep_ms(unsigned milliseconds)
{
    const struct timespec time = clock_timespec(milliseconds * NS_PER_MS);
    nanosleep(&time, NULL);
}

/* The exit code of a child that does this, and how long it took. */
static int run_child(void (*body)(void), uint64_t *took_ns_out)
{
    int status = 0;
    const uint64_t began_ns = clock_now_ns();
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        body();
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    *took_ns_out = clock_now_ns() - began_ns;
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void hang(void)
{
    leave_within(SOON_MS, STATUS);
    for (;;)
        pause();
}

static void who_hangs_ends_all_the_same(void **state)
{
    uint64_t took_ns;
    (void)state;
    assert_int_equal(run_child(hang, &took_ns), STATUS);
    assert_true(took_ns >= SOON_MS * NS_PER_MS);
}

static void finish_a_file(void)
{
    leave_hold();
    leave_within(SOON_MS, STATUS);
    sleep_ms(LATER_MS);
    leave_release();
    for (;;)
        pause();
}

static void what_is_being_finished_is_waited_for(void **state)
{
    uint64_t took_ns;
    (void)state;
    assert_int_equal(run_child(finish_a_file, &took_ns), STATUS);
    assert_true(took_ns >= LATER_MS * NS_PER_MS);
}

static void end_first(void)
{
    leave_within(60 * 1000, STATUS);
    _exit(3);
}

static void who_ends_by_himself_ends_then(void **state)
{
    uint64_t took_ns;
    (void)state;
    assert_int_equal(run_child(end_first, &took_ns), 3);
}

TEST_GROUP(cmocka_unit_test(who_hangs_ends_all_the_same),
           cmocka_unit_test(what_is_being_finished_is_waited_for),
           cmocka_unit_test(who_ends_by_himself_ends_then))
