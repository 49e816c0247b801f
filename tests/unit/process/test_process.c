#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/process/process.h"
#include "tests/support/test.h"
#include "tests/unit/process/child.h"

static char landmark; /* mapped here, and in a child until it calls exec */

static remote_addr anchor(void)
{
    return (remote_addr)(uintptr_t)&landmark;
}

static int end_at_once(void *context)
{
    (void)context;
    return 0;
}

static int become(void *context)
{
    char *const *const argv = context;
    execv(argv[0], argv);
    return 1;
}

static void our_own_process_is_open_to_us(void **state)
{
    struct process process;
    struct err err = { 0 };
    (void)state;
    assert_ok(process_open(&process, getpid(), &err), &err);
    assert_int_equal(process.pid, getpid());
    assert_true(process.argc >= 1);
    assert_non_null(strstr(process.argv[0], "test_process"));
    assert_null(process.argv[process.argc]);
    assert_non_null(strstr(process.executable, "test_process"));
    assert_true(process.start_time > 0);
    assert_int_equal(process_fate(&process, anchor()), PROCESS_RUNS);
    process_close(&process);
}

static void a_pid_without_a_process_is_gone(void **state)
{
    struct process process;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(process_open(&process, INT32_MAX, &err), ERR_GONE);
    assert_non_null(strstr(err.message, "2147483647"));
    process_close(&process);
}

static void a_process_may_be_closed_twice(void **state)
{
    struct process process;
    (void)state;
    assert_int_equal(process_open(&process, getpid(), NULL), ERR_OK);
    process_close(&process);
    process_close(&process);
    assert_int_not_equal(fcntl(0, F_GETFD), -1);
}

static void a_process_that_was_reaped_is_gone(void **state)
{
    struct child child;
    struct process process;
    (void)state;
    child_start(&child, end_at_once, NULL);
    child_go_on(&child);
    child_reap(&child);
    assert_int_equal(process_open(&process, child.pid, NULL), ERR_GONE);
    child_end(&child);
}

static void a_zombie_is_gone_and_said_to_be_one(void **state)
{
    struct child child;
    struct process process;
    struct err err = { 0 };
    (void)state;
    child_start(&child, end_at_once, NULL);
    child_go_on(&child);
    child_await_zombie(&child);
    assert_int_equal(process_open(&process, child.pid, &err), ERR_GONE);
    assert_non_null(strstr(err.message, "zombie"));
    child_end(&child);
}

static void a_child_runs_until_it_exits(void **state)
{
    struct child child;
    struct process process;
    struct err err = { 0 };
    (void)state;
    child_start(&child, end_at_once, NULL);
    assert_ok(process_open(&process, child.pid, &err), &err);
    assert_int_equal(process_fate(&process, anchor()), PROCESS_RUNS);
    child_go_on(&child);
    child_await_zombie(&child);
    assert_int_equal(process_fate(&process, anchor()), PROCESS_EXITED);
    child_reap(&child);
    assert_int_equal(process_fate(&process, anchor()), PROCESS_EXITED);
    process_close(&process);
    child_end(&child);
}

static void without_a_pidfd_the_start_time_decides(void **state)
{
    struct child child;
    struct process process;
    struct err err = { 0 };
    (void)state;
    child_start(&child, end_at_once, NULL);
    assert_ok(process_open(&process, child.pid, &err), &err);
    close(process.pidfd);
    process.pidfd = -1;
    assert_int_equal(process_fate(&process, anchor()), PROCESS_RUNS);
    process.start_time++;
    assert_int_equal(process_fate(&process, anchor()), PROCESS_EXITED);
    process.start_time--;
    child_go_on(&child);
    child_await_zombie(&child);
    assert_int_equal(process_fate(&process, anchor()), PROCESS_EXITED);
    process_close(&process);
    child_end(&child);
}

static void a_child_that_calls_exec_is_replaced(void **state)
{
    static char path[] = "/bin/sleep", time[] = "60";
    static char *argv[] = { path, time, NULL };
    struct child child;
    struct process process;
    struct err err = { 0 };
    (void)state;
    child_start(&child, become, argv);
    assert_ok(process_open(&process, child.pid, &err), &err);
    assert_int_equal(process_fate(&process, anchor()), PROCESS_RUNS);
    child_go_on(&child);
    enum process_fate fate = PROCESS_RUNS;
    for (int i = 0; i < 500 && fate == PROCESS_RUNS; i++) {
        usleep(10000);
        fate = process_fate(&process, anchor());
    }
    assert_int_equal(fate, PROCESS_REPLACED);
    process_close(&process);
    child_end(&child);
}

static void a_command_line_is_split_into_words(void **state)
{
    /* The program waits for input that never comes. */
    static char shell[] = "/bin/sh", option[] = "-c", script[] = "read x; exit 0", empty[] = "",
                words[] = "two words";
    static char *argv[] = { shell, option, script, empty, words, NULL };
    struct child child;
    struct process process;
    int input[2];
    (void)state;
    assert_int_equal(pipe(input), 0);
    const int before = dup(0);
    dup2(input[0], 0);
    child_start(&child, become, argv);
    dup2(before, 0);
    close(before);
    child_go_on(&child);
    for (int i = 0; i < 500; i++) {
        assert_int_equal(process_open(&process, child.pid, NULL), ERR_OK);
        if (process.argc == 5 && strcmp(process.argv[0], shell) == 0)
            break;
        process_close(&process);
        usleep(10000);
    }
    assert_int_equal(process.argc, 5);
    assert_string_equal(process.argv[2], script);
    assert_string_equal(process.argv[3], "");
    assert_string_equal(process.argv[4], words);
    assert_null(process.argv[5]);
    process_close(&process);
    child_end(&child);
    close(input[0]);
    close(input[1]);
}

/* As setproctitle does: over the command line and the environment. */
static int write_title(void *context)
{
    enum { ARGUMENTS_START = 48, ENVIRONMENT_END = 51 };
    char text[4096];
    const int fd = open("/proc/self/stat", O_RDONLY);
    const ssize_t bytes = read(fd, text, sizeof text - 1);
    uintptr_t places[ENVIRONMENT_END + 1] = { 0 };
    text[bytes > 0 ? bytes : 0] = '\0';
    size_t field = 2;
    for (char *rest = NULL, *word = strtok_r(strrchr(text, ')') + 1, " ", &rest);
         word && field < ENVIRONMENT_END; word = strtok_r(NULL, " ", &rest))
        places[++field] = strtoull(word, NULL, 10);
    char *const start = (char *)places[ARGUMENTS_START];
    memset(start, 0, places[ENVIRONMENT_END] - places[ARGUMENTS_START]);
    strcpy(start, context);
    return pause();
}

static void a_title_is_recognized(void **state)
{
    static char title[] = "title of it";
    struct child child;
    struct process process;
    (void)state;
    assert_int_equal(process_open(&process, getpid(), NULL), ERR_OK);
    process_find_service(&process);
    assert_false(process.has_title);
    process_close(&process);
    child_start(&child, write_title, title);
    child_go_on(&child);
    for (int i = 0; i < 500; i++) {
        assert_int_equal(process_open(&process, child.pid, NULL), ERR_OK);
        if (strcmp(process.argv[0], title) == 0)
            break;
        process_close(&process);
        usleep(10000);
    }
    assert_string_equal(process.argv[0], title);
    assert_int_equal(process.argc, 1);
    process_find_service(&process);
    assert_true(process.has_title);
    process_hide_arguments(&process);
    assert_int_equal(process.argc, 1);
    assert_string_equal(process.argv[0], process.executable);
    process_close(&process);
    child_end(&child);
}

TEST_GROUP(cmocka_unit_test(our_own_process_is_open_to_us),
           cmocka_unit_test(a_pid_without_a_process_is_gone),
           cmocka_unit_test(a_process_may_be_closed_twice),
           cmocka_unit_test(a_process_that_was_reaped_is_gone),
           cmocka_unit_test(a_zombie_is_gone_and_said_to_be_one),
           cmocka_unit_test(a_child_runs_until_it_exits),
           cmocka_unit_test(without_a_pidfd_the_start_time_decides),
           cmocka_unit_test(a_child_that_calls_exec_is_replaced),
           cmocka_unit_test(a_command_line_is_split_into_words),
           cmocka_unit_test(a_title_is_recognized))
