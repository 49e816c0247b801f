#include "server/command/process/command_runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/channel.h"
#include "server/command/process/limits.h"
#include "server/command/process/signals.h"

enum { EXEC_FAILED = 127 };

_Static_assert(sizeof(struct command_event) <= PIPE_BUF, "an event is written whole");

/* The signals' mask is restored already.  Ends when nobody is left to send events. */
static _Noreturn void serve_events(int fd, const char *command)
{
    struct command_event event;
    while (channel_read(fd, (char *)&event, sizeof event) == (ssize_t)sizeof event) {
        const pid_t child = fork();
        if (child == 0) {
            event.kind[sizeof event.kind - 1] = event.pid[sizeof event.pid - 1] = '\0';
            event.dump[sizeof event.dump - 1] = event.capture[sizeof event.capture - 1] = '\0';
            setenv("PYROMETER_EVENT", event.kind, 1);
            setenv("PYROMETER_PID", event.pid, 1);
            setenv("PYROMETER_DUMP", event.dump, 1);
            setenv("PYROMETER_CAPTURE", event.capture, 1);
            limits_restore();
            execl("/bin/sh", "sh", "-c", command, (char *)NULL);
            _exit(EXEC_FAILED);
        }
        while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    _exit(0);
}

enum err_code command_runner_start(const char *command, const struct signals *signals,
                                   int *fd_out, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_sys(err, errno, "cannot prepare --exec");
    const pid_t middle = fork();
    if (middle < 0) {
        close(ends[0]);
        close(ends[1]);
        return err_sys(err, errno, "cannot prepare --exec");
    }
    if (middle == 0) {
        /* The grandchild becomes a child of init, which collects it. */
        if (fork() != 0)
            _exit(0);
        /* It has a session without a terminal, so that Ctrl-C does not reach the command. */
        const int null = open("/dev/null", O_RDONLY);
        signals_reset_in_child(signals);
        setsid();
        if (null >= 0)
            dup2(null, STDIN_FILENO);
        close(ends[1]);
        if (ends[0] > STDERR_FILENO + 1)
            (void)syscall(SYS_close_range, STDERR_FILENO + 1, ends[0] - 1, 0);
        (void)syscall(SYS_close_range, ends[0] + 1, ~0u, 0);
        serve_events(ends[0], command);
    }
    close(ends[0]);
    waitpid(middle, NULL, 0);
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    *fd_out = ends[1];
    return ERR_OK;
}

enum err_code command_runner_run(int fd, const struct command_event *event, struct err *err)
{
    if (write(fd, event, sizeof *event) == (ssize_t)sizeof *event)
        return ERR_OK;
    if (errno == EAGAIN)
        return err_set(err, ERR_LIMIT,
                       "the command of --exec still runs, and many events wait");
    return err_sys(err, errno, "cannot run the command of --exec");
}

void command_runner_stop(int fd)
{
    if (fd >= 0)
        close(fd);
}
