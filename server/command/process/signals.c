#include "server/command/process/signals.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "sampler/base/clock.h"

enum { ECHO_MS = 50 };

/* nohup starts programs with SIGHUP ignored; it must stay ignored. */
static bool is_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

enum err_code signals_init(struct signals *signals, struct err *err)
{
    sigset_t set;
    memset(signals, 0, sizeof *signals);
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    if (!is_ignored(SIGHUP))
        sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    /* Watches children that end. A thread that the session stops would be one that has been
     * stopped, a thousand times a second. */
    const struct sigaction action = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP };
    (void)sigaction(SIGCHLD, &action, NULL);
    pthread_sigmask(SIG_BLOCK, &set, &signals->before);
    signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd < 0 ? err_sys(err, errno, "cannot watch for signals") : ERR_OK;
}

void signals_deinit(struct signals *signals)
{
    if (signals->fd >= 0)
        close(signals->fd);
    signals->fd = -1;
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}

bool signals_are_pending(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
            sigismember(&pending, SIGHUP) == 1);
}

void signals_forget(struct signals *signals)
{
    struct signalfd_siginfo info;
    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info)
        continue;
}

void signals_reset_in_child(const struct signals *signals)
{
    signal(SIGPIPE, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
}

/* true: a signal was pending; *event_out is its event. */
static bool take_signal(struct signals *signals, enum signals_event *event_out)
{
    struct signalfd_siginfo info;
    if (read(signals->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    *event_out = info.ssi_signo == SIGCHLD ? SIGNALS_CHILD : SIGNALS_STOP;
    if (*event_out == SIGNALS_STOP && signals->stopped_by == 0) {
        signals->stopped_by = (int)info.ssi_signo;
        signals->by_terminal = info.ssi_code == SI_KERNEL;

        /* Whoever ends a process and its group, as timeout(1) does, sends the signal to us twice.
         * The second one does not mean that somebody has lost patience. */
        const int signal = signals->stopped_by;
        const struct timespec longest = clock_timespec(ECHO_MS * NS_PER_MS);
        sigset_t same;
        sigemptyset(&same);
        sigaddset(&same, signal);
        (void)sigtimedwait(&same, NULL, &longest);
    }
    return true;
}

enum signals_event signals_wait(struct signals *signals, int fd, int timeout_ms)
{
    struct pollfd wanted[] = { { signals->fd, POLLIN, 0 }, { fd, POLLIN, 0 } };
    enum signals_event event = SIGNALS_TIMEOUT;
    int ready = 0;
    do
        ready = poll(wanted, 2, timeout_ms);
    while (ready < 0 && errno == EINTR);
    if (take_signal(signals, &event))
        return event;
    return ready > 0 && wanted[1].revents != 0 ? SIGNALS_READABLE : SIGNALS_TIMEOUT;
}
