/* Rights of a confined process, tried in children. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/source/confine.h"
#include "tests/support/test.h"

/* Runs it in a confined child, whose input is this file; what it sends, and how it ends. */
static ssize_t run_to_end(void (*work)(void), char *out, size_t room, int *status_out)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const int input = open("/proc/self/exe", O_RDONLY);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !confine(input, ends[1]))
            _exit(2);
        work();
        _exit(0);
    }
    close(ends[1]);
    const ssize_t got = read(ends[0], out, room);
    close(ends[0]);
    assert_int_equal(waitpid(pid, status_out, 0), pid);
    return got;
}

static ssize_t run(void (*work)(void), char *out, size_t room)
{
    int status;
    const ssize_t got = run_to_end(work, out, room, &status);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return got;
}

static void send_some(void)
{
    char *const bytes = malloc(1 << 20);
    if (!bytes || pread(CONFINE_INPUT, bytes, 4, 0) != 4)
        _exit(3);
    (void)!write(CONFINE_OUTPUT, bytes, 4);
}

static void it_reads_allocates_and_answers(void **state)
{
    char answer[16] = "";
    (void)state;
    assert_int_equal(run(send_some, answer, sizeof answer), 4);
    assert_memory_equal(answer, "\177ELF", 4);
}

static void try_everything(void)
{
    int ends[2];
    char refused[6] = { 0 };
    refused[0] = open("/dev/null", O_RDONLY) < 0 && errno == EPERM;
    refused[1] = socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM;
    refused[2] = fork() < 0 && errno == EPERM;
    refused[3] = pipe(ends) < 0 && errno == EPERM;
    refused[4] = kill(getppid(), 0) < 0 && errno == EPERM;
    refused[5] = write(CONFINE_FIRST_FREE, "x", 1) < 0 && errno == EBADF;
    (void)!write(CONFINE_OUTPUT, refused, sizeof refused);
}

static void it_opens_and_starts_nothing(void **state)
{
    static const char all[6] = { 1, 1, 1, 1, 1, 1 };
    char answer[16] = "";
    (void)state;
    assert_int_equal(run(try_everything, answer, sizeof answer), sizeof all);
    assert_memory_equal(answer, all, sizeof all);
}

static void never_end(void)
{
    for (;;)
        (void)!pread(CONFINE_INPUT, &(char){ 0 }, 1, 0);
}

static void it_does_not_outlast_its_time(void **state)
{
    char answer[16];
    int status;
    (void)state;
    assert_int_equal(run_to_end(never_end, answer, sizeof answer, &status), 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGALRM);
}

TEST_GROUP(cmocka_unit_test(it_reads_allocates_and_answers),
           cmocka_unit_test(it_opens_and_starts_nothing),
           cmocka_unit_test(it_does_not_outlast_its_time))
