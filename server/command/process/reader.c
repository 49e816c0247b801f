#include "server/command/process/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/reader_link.h"
#include "sampler/reader_process.h"
#include "sampler/sampler.h"
#include "server/access/admission.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/limits.h"
#include "server/command/process/privilege.h"
#include "server/sessions/continuous.h"
#include "server/sessions/dashboard.h"
#include "server/source/helper.h"
#include "server/source/relay.h"

/* Dumps and the profiles of pprof are sessions for a moment, besides those of users. */
enum { MOMENTARY_SESSIONS = 32 };
/* A reader that has ended sooner after its start than that has a fault that would end the next one too. */
static const uint64_t EARLY_NS = NS_PER_S;
enum { PAUSE_MS = 400, GRACE_MS = 300 };

/* Its descriptors behind those of the C library. */
enum { SOCKET = 3, CHILDREN, FIRST_FREE };

static enum err_code admit(void *context, pid_t pid, struct err *err)
{
    const struct options *const options = context;
    const struct sampler_options *const named = &options->sampling;
    /* Whoever wrote the command line may name any process. */
    for (size_t i = 0; i < named->pid_count; i++)
        if (named->pids[i] == pid)
            return ERR_OK;
    return admission_check(&options->access.admission, pid, err);
}

static enum err_code serve(const struct options *options, size_t engines, struct err *err)
{
    struct reader_process settings = {
        .socket = SOCKET,
        .max_rate_hz = options->command->bit == COMMAND_ATTACH ? SAMPLER_MAX_RATE_HZ
                                                               : options->serve.max_rate_hz,
        .max_running = options->serve.max_sessions + MOMENTARY_SESSIONS,
        .memory_bytes = options->sampling.memory_bytes,
        .max_cpu_percent = options->sampling.max_cpu_percent,
        .hides_arguments = options->sampling.hides_arguments,
        .admits_all = options->sampling.all || admission_is_open(&options->access.admission),
        .admit = admit,
        .read = options->report.no_source ? NULL : relay_answer,
        .context = (void *)(uintptr_t)options,
    };
    enum err_code rc = options->report.no_source ? ERR_OK : source_helper_start(err);
    if (rc == ERR_OK && options->sampling.engine != SAMPLER_ENGINE_REMOTE)
        rc = sampler_open_engines(engines, &settings.engines, err);
    if (rc == ERR_OK)
        rc = privilege_drop_reader(options, err);
    return rc == ERR_OK ? reader_process_serve(&settings, err) : rc;
}

/* The sessions go on until the process ends, so nothing is freed. */
static noreturn void read_others(const struct options *options, size_t engines)
{
    struct err err = { 0 };
    sigset_t nothing;
    close(CHILDREN);
    sigemptyset(&nothing);
    sigprocmask(SIG_SETMASK, &nothing, NULL);
    prctl(PR_SET_NAME, "pyrometer-read", 0, 0, 0);
    const enum err_code rc = serve(options, engines, &err);
    if (rc != ERR_OK)
        say("the process that reads other processes: %s", err.message);
    _exit(rc == ERR_OK ? EXIT_DONE : EXIT_FAILED);
}

static void heed_signals(void)
{
    static const int of_the_program[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE };
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    for (size_t i = 0; i < sizeof of_the_program / sizeof *of_the_program; i++)
        signal(of_the_program[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &children, NULL);
    const int fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0 || (fd != CHILDREN && dup3(fd, CHILDREN, O_CLOEXEC) < 0))
        _exit(EXIT_FAILED);
    if (fd != CHILDREN)
        close(fd);
}

/* Standard error stays, for what ends a reader; so does the session, because the kernel gives each one its own share of
 * the processors. */
static void leave_everything(int socket)
{
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (socket != SOCKET && dup3(socket, SOCKET, O_CLOEXEC) < 0)
        _exit(EXIT_FAILED);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0)
        _exit(EXIT_FAILED);
    if (syscall(SYS_close_range, SOCKET + 1, ~0u, 0) != 0)
        for (int fd = SOCKET + 1; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
            close(fd);
    if (chdir("/") != 0)
        _exit(EXIT_FAILED);
    prctl(PR_SET_NAME, "pyrometer-keep", 0, 0, 0);
}

/* true: the reader has ended. */
static bool collect(pid_t reader, int *status_out)
{
    struct signalfd_siginfo info;
    pid_t pid;
    bool has_ended = false;
    while (read(CHILDREN, &info, sizeof info) > 0)
        continue;
    while ((pid = waitpid(-1, status_out, WNOHANG)) > 0)
        has_ended |= pid == reader;
    return has_ended;
}

/* true: the reader has ended; false: the program has, or the time is over. */
static bool wait_for_end(pid_t reader, int wait_ms, bool heeds_program, int *status_out)
{
    for (;;) {
        struct pollfd events[] = { { CHILDREN, POLLIN, 0 },
                                   { heeds_program ? SOCKET : -1, 0, 0 } };
        const int ready = poll(events, 2, wait_ms);
        if (ready < 0 && errno != EINTR)
            return false;
        if (events[0].revents && collect(reader, status_out))
            return true;
        if (ready == 0 || events[1].revents)
            return false;
    }
}

static void say_end(int status)
{
    if (WIFSIGNALED(status))
        say("the process that reads other processes was ended by signal %d: another one takes its "
            "place; sessions that it sampled have failed",
            WTERMSIG(status));
    else
        say("the process that reads other processes ended with status %d: another one takes its "
            "place; sessions that it sampled have failed",
            WEXITSTATUS(status));
}

/* false: the program has ended. */
static bool pause_early(uint64_t began_ns)
{
    struct pollfd program = { .fd = SOCKET, .events = 0 };
    return clock_now_ns() - began_ns >= EARLY_NS || poll(&program, 1, PAUSE_MS) == 0;
}

static bool has_program(void)
{
    struct pollfd program = { .fd = SOCKET, .events = 0 };
    return poll(&program, 1, 0) == 0;
}

static noreturn void keep(const struct options *options, size_t engines, int socket)
{
    int status = 0;
    leave_everything(socket);
    heed_signals();
    if (!privilege_keep_reader())
        _exit(EXIT_FAILED);
    for (;;) {
        const uint64_t began_ns = clock_now_ns();
        const pid_t reader = fork();
        if (reader == 0)
            read_others(options, engines);
        if (reader > 0 && !wait_for_end(reader, -1, true, &status)) {
            /* It ends when it sees that the program has; one that hangs is ended. */
            if (!wait_for_end(reader, GRACE_MS, false, &status))
                (void)kill(reader, SIGKILL);
            _exit(EXIT_DONE);
        }
        if (!has_program())
            _exit(EXIT_DONE);
        if (reader > 0)
            say_end(status);
        if (!pause_early(began_ns))
            _exit(EXIT_DONE);
    }
}

enum err_code reader_start(const struct options *options, size_t engines, struct err *err)
{
    int ends[2];
    const enum err_code rc = limits_check_serving(err);
    if (rc != ERR_OK)
        return rc;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_sys(err, errno, "cannot make a socket");
    /* A signal meant for the program must not end the keeper before it has come to ignore it. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid == 0)
        keep(options, engines, ends[1]);
    const int sys = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_sys(err, sys, "cannot start the process that reads other processes");
    }
    reader_link_use(ends[0]);
    admission_use(reader_link_admits);
    return ERR_OK;
}
