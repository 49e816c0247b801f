#include "server/command/process/process_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/children.h"
#include "sampler/base/clock.h"
#include "sampler/reader_link.h"
#include "server/access/admission.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/limits.h"
#include "server/command/process/privilege.h"
#include "server/command/process/process_launcher.h"
#include "server/command/process/process_reader.h"
#include "server/source/helper.h"

/* A process that has ended sooner after its start than that has a fault that may end the next one too: that one waits,
 * each time longer. */
static const uint64_t EARLY_NS = NS_PER_S;
enum { PAUSE_MS = 400, MOST_PAUSE_MS = 6400, GRACE_MS = 300 };

/* Descriptors of the keeper behind those of the C library.  It holds the ends of sockets for the processes that it starts, so
 * that each may be started again without the others. */
enum { SOCKET = 3, SOURCE_ASKS, SOURCE_ANSWERS, CHILDREN };
enum { KEPT = CHILDREN - SOCKET };

/* Moves descriptors to SOCKET and those behind it, by way of places that none of them has. */
static void place(const int from[KEPT])
{
    int above[KEPT];
    for (int i = 0; i < KEPT; i++)
        above[i] = fcntl(from[i], F_DUPFD_CLOEXEC, CHILDREN + 1);
    for (int i = 0; i < KEPT; i++)
        if (above[i] < 0 || dup3(above[i], SOCKET + i, O_CLOEXEC) < 0)
            _exit(EXIT_FAILED);
}

/* Standard error stays, for what ends a reader; so does the session, because the kernel gives each one its own share of
 * the processors. */
static void leave_everything(const int kept[KEPT])
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    /* A container of one file may have no /dev: a folder can neither be read from nor written to. */
    if (nothing < 0)
        nothing = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0)
        _exit(EXIT_FAILED);
    place(kept);
    if (syscall(SYS_close_range, CHILDREN, ~0u, 0) != 0)
        for (int fd = CHILDREN; fd < (int)sysconf(_SC_OPEN_MAX); fd++)
            close(fd);
    if (chdir("/") != 0 || !children_watch(CHILDREN))
        _exit(EXIT_FAILED);
}

/* A process that the keeper starts, and starts again. */
struct kept {
    const char *what;
    pid_t pid; /* 0: it does not run */
    uint64_t began_ns, due_ns;
    unsigned pause_ms;
};

/* No process descends from it. */
enum { LAUNCHER_LOST = -1 };

struct process_keeper {
    const struct options *options;
    size_t engines;
    bool launches; /* the user's program, which the first reader may read and no other one */
    struct kept reader, source;
};

/* launcher: a child of this process; 0: none. */
static noreturn void read_others(const struct process_keeper *keeper, pid_t launcher)
{
    sigset_t nothing;
    close(CHILDREN);
    close(SOURCE_ANSWERS);
    sigemptyset(&nothing);
    sigprocmask(SIG_SETMASK, &nothing, NULL);
    process_reader_run(&(struct process_reader){ .options = keeper->options,
                                                 .engines = keeper->engines,
                                                 .launcher = launcher,
                                                 .socket = SOCKET,
                                                 .source_socket = SOURCE_ASKS });
}

static void say_end(const struct kept *kept, int status)
{
    if (WIFSIGNALED(status))
        say("the process that reads %s was ended by signal %d: another one takes its place",
            kept->what, WTERMSIG(status));
    else
        say("the process that reads %s ended with status %d: another one takes its place",
            kept->what, WEXITSTATUS(status));
}

static bool has_program(void)
{
    struct pollfd program = { .fd = SOCKET, .events = 0 };
    return poll(&program, 1, 0) == 0;
}

static void note_end(struct kept *kept, pid_t pid, int status)
{
    const uint64_t now_ns = clock_now_ns();
    if (kept->pid != pid)
        return;
    if (now_ns - kept->began_ns >= EARLY_NS)
        kept->pause_ms = 0;
    else if (kept->pause_ms < MOST_PAUSE_MS)
        kept->pause_ms = kept->pause_ms ? kept->pause_ms * 2 : PAUSE_MS;
    kept->due_ns = now_ns + kept->pause_ms * NS_PER_MS;
    kept->pid = 0;
    if (has_program())
        say_end(kept, status);
}

static void collect(struct process_keeper *keeper)
{
    pid_t pid;
    int status;
    while ((pid = children_take(CHILDREN, &status)) != 0) {
        note_end(&keeper->reader, pid, status);
        note_end(&keeper->source, pid, status);
    }
}

static bool is_due(struct kept *kept)
{
    const uint64_t now_ns = clock_now_ns();
    if (kept->pid || now_ns < kept->due_ns)
        return false;
    kept->began_ns = now_ns;
    kept->due_ns = now_ns + PAUSE_MS * NS_PER_MS;
    return true;
}

/* If there can be no more processes now, it is tried again. */
static void start_due(struct process_keeper *keeper)
{
    if (!keeper->options->report.no_source && is_due(&keeper->source)) {
        const pid_t pid = source_helper_fork(SOURCE_ANSWERS);
        keeper->source.pid = pid > 0 ? pid : 0;
    }
    if (is_due(&keeper->reader)) {
        const pid_t pid = fork();
        if (pid == 0)
            read_others(keeper, keeper->launches ? LAUNCHER_LOST : 0);
        keeper->reader.pid = pid > 0 ? pid : 0;
    }
}

static int wait_ms(const struct process_keeper *keeper)
{
    const bool is_whole =
        keeper->reader.pid && (keeper->source.pid || keeper->options->report.no_source);
    return is_whole ? -1 : PAUSE_MS / 4;
}

/* The reader ends when it sees that the program has; one that hangs is ended.  The source helper ends when nobody is left
 * to ask it. */
static noreturn void end_all(struct process_keeper *keeper)
{
    const uint64_t end_ns = clock_now_ns() + GRACE_MS * NS_PER_MS;
    close(SOURCE_ASKS);
    while (keeper->reader.pid && clock_now_ns() < end_ns) {
        struct pollfd children = { .fd = CHILDREN, .events = POLLIN };
        (void)poll(&children, 1, GRACE_MS / 10);
        collect(keeper);
    }
    if (keeper->reader.pid)
        (void)kill(keeper->reader.pid, SIGKILL);
    _exit(EXIT_DONE);
}

/* What the keeper has from the program that starts it. */
struct inherited {
    int socket;
    int launcher; /* of the launcher; -1: there is none */
    sigset_t mask;
};

/* The launcher has all rights of the user, and the reader is its parent: both come before any right is given up. */
static pid_t start_first_reader(const struct process_keeper *keeper,
                                const struct inherited *inherited, const int kept[KEPT])
{
    const pid_t reader = fork();
    if (reader != 0)
        return reader;
    const pid_t launcher = fork();
    if (launcher < 0)
        _exit(EXIT_FAILED);
    if (launcher == 0) {
        for (int i = 0; i < KEPT; i++)
            close(kept[i]);
        process_launcher_run(keeper->options, inherited->launcher, &inherited->mask);
    }
    leave_everything(kept);
    read_others(keeper, launcher);
}

static noreturn void keep(const struct options *options, size_t engines,
                          const struct inherited *inherited)
{
    struct process_keeper keeper = { .options = options,
                                     .engines = engines,
                                     .launches = inherited->launcher >= 0,
                                     .reader.what = "other processes",
                                     .source.what = "source files" };
    int source[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, source) != 0)
        _exit(EXIT_FAILED);
    const int kept[KEPT] = { inherited->socket, source[0], source[1] };
    if (keeper.launches) {
        keeper.reader.pid = start_first_reader(&keeper, inherited, kept);
        keeper.reader.began_ns = clock_now_ns();
        if (keeper.reader.pid < 0)
            _exit(EXIT_FAILED);
    }
    leave_everything(kept);
    prctl(PR_SET_NAME, "pyrometer-keep", 0, 0, 0);
    if (!privilege_keep_reader())
        _exit(EXIT_FAILED);
    for (;;) {
        start_due(&keeper);
        struct pollfd events[] = { { SOCKET, 0, 0 }, { CHILDREN, POLLIN, 0 } };
        if (poll(events, 2, wait_ms(&keeper)) < 0 && errno != EINTR)
            _exit(EXIT_FAILED);
        collect(&keeper);
        if (events[0].revents)
            end_all(&keeper);
    }
}

static enum err_code open_sockets(int ends[2], int launch[2], bool launches, struct err *err)
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_sys(err, errno, "cannot make a socket");
    if (!launches || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, launch) == 0)
        return ERR_OK;
    const int sys = errno;
    close(ends[0]);
    close(ends[1]);
    return err_sys(err, sys, "cannot make a socket");
}

/* Servers run for weeks, and most of what they free was needed once.  Other C libraries give it back by themselves.
 * With much less than KEPT_BYTES, each answer to a page would take its memory from the kernel again. */
static void give_memory_back(void)
{
#ifdef __GLIBC__
    enum { HEAPS = 2, KEPT_BYTES = 1 << 19, PAD_BYTES = 1 << 14 };
    (void)mallopt(M_ARENA_MAX, HEAPS);
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    (void)mallopt(M_TOP_PAD, PAD_BYTES);
#endif
}

enum err_code process_keeper_start(const struct options *options, size_t engines,
                                   int *launcher_out, struct err *err)
{
    int ends[2], launch[2] = { -1, -1 };
    enum err_code rc = limits_check_serving(err);
    if (rc == ERR_OK)
        rc = open_sockets(ends, launch, launcher_out != NULL, err);
    if (rc != ERR_OK)
        return rc;
    give_memory_back();
    /* A signal meant for the program must not end the keeper before it has come to ignore it. */
    struct inherited inherited = { .socket = ends[1], .launcher = launch[1] };
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &inherited.mask);
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        if (launcher_out)
            close(launch[0]);
        keep(options, engines, &inherited);
    }
    const int sys = errno;
    sigprocmask(SIG_SETMASK, &inherited.mask, NULL);
    close(ends[1]);
    if (launcher_out) {
        close(launch[1]);
        *launcher_out = launch[0];
    }
    if (pid < 0) {
        close(ends[0]);
        return err_sys(err, sys, "cannot start the process that reads other processes");
    }
    reader_link_use(ends[0]);
    admission_ask(&options->access.admission, reader_link_admits);
    return ERR_OK;
}
