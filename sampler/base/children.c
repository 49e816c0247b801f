#define _GNU_SOURCE
#include "sampler/base/children.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

bool children_watch(int as)
{
    static const int of_the_program[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                          SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU };
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    for (size_t i = 0; i < sizeof of_the_program / sizeof *of_the_program; i++)
        signal(of_the_program[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &children, NULL);
    const int fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0 || (fd != as && dup3(fd, as, O_CLOEXEC) < 0))
        return false;
    if (fd != as)
        close(fd);
    return true;
}

static pid_t take_child(int fd, int flags, int *status_out)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof info) > 0)
        continue;
    const pid_t pid = waitpid(-1, status_out, WNOHANG | flags);
    return pid > 0 ? pid : 0;
}

pid_t children_take(int fd, int *status_out)
{
    return take_child(fd, 0, status_out);
}

pid_t children_take_change(int fd, int *status_out)
{
    return take_child(fd, WUNTRACED | WCONTINUED, status_out);
}
