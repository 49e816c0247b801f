#include "server/command/process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/scoped.h"
#include "server/command/process/limits.h"
#include "server/command/process/signals.h"

enum { EXEC_FAILED = 127, ORPHANS_AT_ONCE = 256 };

static void become(char *const *argv, const struct signals *signals, int report_fd)
{
    signals_reset_in_child(signals);
    limits_restore();
    execvp(argv[0], argv);
    const int sys = errno;
    if (write(report_fd, &sys, sizeof sys) < 0)
        _exit(EXEC_FAILED);
    _exit(EXEC_FAILED);
}

/* Returns the errno of a failed exec; 0: exec succeeded and closed the pipe. */
static int read_report(int fd)
{
    int sys = 0;
    ssize_t bytes = 0;
    do
        bytes = read(fd, &sys, sizeof sys);
    while (bytes < 0 && errno == EINTR);
    return bytes == (ssize_t)sizeof sys ? sys : 0;
}

enum err_code child_start(struct child *child, char *const *argv, const struct signals *signals,
                          struct err *err)
{
    int ends[2];
    memset(child, 0, sizeof *child);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot make a pipe");
    SCOPED_FD int report_in = ends[0];
    SCOPED_FD int report_out = ends[1];
    const pid_t pid = fork();
    if (pid < 0)
        return err_sys(err, errno, "cannot fork");
    if (pid == 0)
        become(argv, signals, report_out);
    close(scoped_take_fd(&report_out));
    const int sys = read_report(report_in);
    if (sys != 0) {
        waitpid(pid, NULL, 0);
        err_sys(err, sys, "cannot run '%s'", argv[0]);
        return ERR_SYS;
    }
    child->pid = pid;
    return ERR_OK;
}

void child_adopt_orphans(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Does not collect the status.  If the sampling thread has stopped a child, the first
 * thread that waits collects that report, which must be the sampling thread. */
static bool has_exited(pid_t pid)
{
    siginfo_t info = { 0 };
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid &&
           (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
            info.si_code == CLD_DUMPED);
}

/* Collects adopted children that have ended, but not `child`, which child_reap collects. */
static void collect_orphans(const struct child *child)
{
    for (int i = 0; i < ORPHANS_AT_ONCE; i++) {
        siginfo_t info = { 0 };
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 ||
            info.si_pid == child->pid || !has_exited(info.si_pid))
            return;
        (void)waitpid(info.si_pid, NULL, WNOHANG);
    }
}

bool child_reap(struct child *child)
{
    int adopts = 0;
    (void)prctl(PR_GET_CHILD_SUBREAPER, &adopts);
    if (child->pid != 0 && !child->has_ended && has_exited(child->pid))
        child->has_ended = waitpid(child->pid, &child->wait_status, WNOHANG) == child->pid;
    if (adopts)
        collect_orphans(child);
    return child->has_ended;
}

/* false: the child still runs after CHILD_GRACE_MS, or the user has sent another signal. */
static bool wait_for_end(struct child *child, struct signals *signals)
{
    const uint64_t end_ns = clock_now_ns() + CHILD_GRACE_MS * NS_PER_MS;
    while (!child_reap(child)) {
        const uint64_t now_ns = clock_now_ns();
        if (now_ns >= end_ns)
            return false;
        const int left_ms = (int)((end_ns - now_ns) / NS_PER_MS) + 1;
        if (signals_wait(signals, -1, left_ms) == SIGNALS_STOP)
            return false;
    }
    return true;
}

void child_end(struct child *child, struct signals *signals)
{
    if (child->pid == 0 || child_reap(child))
        return;
    if (signals->by_terminal && wait_for_end(child, signals))
        return;
    kill(child->pid, SIGTERM);
    if (wait_for_end(child, signals))
        return;
    kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &child->wait_status, 0) == child->pid &&
           WIFSTOPPED(child->wait_status)) {
    }
    child->has_ended = true;
}

int child_exit_status(const struct child *child)
{
    if (WIFSIGNALED(child->wait_status))
        return 128 + WTERMSIG(child->wait_status);
    return WEXITSTATUS(child->wait_status);
}

/* Reads until the pipe is closed.  false: the argument is empty or too long. */
static bool read_argument(int fd, char argument[CHILD_MAX_ARGUMENT])
{
    size_t length = 0;
    while (length < CHILD_MAX_ARGUMENT) {
        const ssize_t bytes = read(fd, argument + length, CHILD_MAX_ARGUMENT - length);
        if (bytes == 0)
            break;
        if (bytes < 0 && errno != EINTR)
            return false;
        length += bytes > 0 ? (size_t)bytes : 0;
    }
    if (length == 0 || length == CHILD_MAX_ARGUMENT)
        return false;
    argument[length] = '\0';
    return true;
}

/* Starts a session without a terminal, so that Ctrl-C does not reach the process. */
static void wait_and_become(const char *program, const struct signals *signals,
                            const int ends[2])
{
    char argument[CHILD_MAX_ARGUMENT], name[64];
    char *const argv[] = { name, argument, NULL };
    const int null = open("/dev/null", O_RDWR);
    signals_reset_in_child(signals);
    setsid();
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    close(ends[1]);
    /* Closes our other descriptors, such as the listening socket. */
    if (ends[0] > STDERR_FILENO + 1)
        (void)syscall(SYS_close_range, STDERR_FILENO + 1, ends[0] - 1, 0);
    (void)syscall(SYS_close_range, ends[0] + 1, ~0u, 0);
    if (!read_argument(ends[0], argument))
        _exit(EXEC_FAILED);
    limits_restore();
    snprintf(name, sizeof name, "%s", program);
    execvp(name, argv);
    _exit(EXEC_FAILED);
}

/* Adoption is off meanwhile, so that the process does not become our child. */
void child_prepare(struct prepared_child *child, const char *program,
                   const struct signals *signals)
{
    int ends[2], adopts = 0;
    child->is_waiting = false;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    (void)prctl(PR_GET_CHILD_SUBREAPER, &adopts);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0);
    const pid_t middle = fork();
    if (middle == 0) {
        /* The grandchild becomes a child of init, which collects it. */
        if (fork() == 0)
            wait_and_become(program, signals, ends);
        _exit(0);
    }
    close(ends[0]);
    if (middle > 0)
        waitpid(middle, NULL, 0);
    *child = (struct prepared_child){ .is_waiting = true, .fd = ends[1] };
    (void)prctl(PR_SET_CHILD_SUBREAPER, (unsigned long)adopts);
}

void child_run_prepared(struct prepared_child *child, const char *argument)
{
    if (!child->is_waiting)
        return;
    if (argument)
        (void)!write(child->fd, argument, strlen(argument));
    close(child->fd);
    child->is_waiting = false;
}
