#include "server/command/process/prepared_child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/channel.h"
#include "server/command/process/limits.h"
#include "server/command/process/signals.h"

enum { EXEC_FAILED = 127 };

void prepared_child_start(struct prepared_child *child, const char *program,
                          const struct signals *signals)
{
    int ends[2];
    child->is_waiting = false;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    const pid_t middle = fork();
    if (middle == 0) {
        /* The grandchild becomes a child of init, which collects it. */
        if (fork() == 0) {
            /* A session without a terminal: Ctrl-C does not reach the process. */
            char argument[PREPARED_MAX_ARGUMENT], name[64];
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
            /* Our other descriptors, such as the listening socket, are not for it. */
            if (ends[0] > STDERR_FILENO + 1)
                (void)syscall(SYS_close_range, STDERR_FILENO + 1, ends[0] - 1, 0);
            (void)syscall(SYS_close_range, ends[0] + 1, ~0u, 0);

            /* The pipe is closed behind the argument, which may be empty or too long. */
            const ssize_t length = channel_read((ends[0]), argument, PREPARED_MAX_ARGUMENT);
            if (length <= 0 || length == PREPARED_MAX_ARGUMENT)
                _exit(EXEC_FAILED);
            argument[length] = '\0';

            limits_restore();
            snprintf(name, sizeof name, "%s", program);
            execvp(name, argv);
            _exit(EXEC_FAILED);
        }
        _exit(0);
    }
    close(ends[0]);
    if (middle > 0)
        waitpid(middle, NULL, 0);
    *child = (struct prepared_child){ .is_waiting = true, .fd = ends[1] };
}

void prepared_child_run(struct prepared_child *child, const char *argument)
{
    if (!child->is_waiting)
        return;
    if (argument)
        (void)!write(child->fd, argument, strlen(argument));
    close(child->fd);
    child->is_waiting = false;
}
