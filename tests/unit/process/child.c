#include "tests/unit/process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

static _Noreturn void run_child(const int order[2], const int ready[2], int (*then)(void *),
                                void *context)
{
    char byte = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(order[1]);
    close(ready[0]);
    if (write(ready[1], &byte, 1) != 1 || read(order[0], &byte, 1) != 1)
        _exit(1);
    _exit(then(context));
}

void child_start(struct child *child, int (*then)(void *), void *context)
{
    int order[2], ready[2];
    char byte;
    assert_int_equal(pipe2(order, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0)
        run_child(order, ready, then, context);
    close(order[0]);
    close(ready[1]);
    child->order_fd = order[1];
    child->ready_fd = ready[0];
    assert_int_equal(read(child->ready_fd, &byte, 1), 1);
}

void child_go_on(const struct child *child)
{
    const char byte = 1;
    assert_int_equal(write(child->order_fd, &byte, 1), 1);
}

void child_await_zombie(const struct child *child)
{
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOWAIT), 0);
}

void child_reap(const struct child *child)
{
    assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

void child_end(struct child *child)
{
    /* A failure means that the child has been reaped already: then the pid is no longer ours. */
    if (waitpid(child->pid, NULL, WNOHANG) == 0) {
        kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
    }
    close(child->order_fd);
    close(child->ready_fd);
}
