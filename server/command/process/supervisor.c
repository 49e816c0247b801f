#include "server/command/process/supervisor.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/children.h"
#include "sampler/base/clock.h"
#include "sampler/base/pulse.h"
#include "sampler/sampling_link.h"
#include "server/access/admission.h"
#include "server/access/identity.h"
#include "server/command/options/options.h"
#include "server/command/process/descriptors.h"
#include "server/command/process/exit.h"
#include "server/command/process/file_process.h"
#include "server/command/process/limits.h"
#include "server/command/process/privilege.h"
#include "server/command/process/process_launcher.h"
#include "server/command/process/process_reader.h"
#include "server/files/files.h"
#include "server/files/folders.h"
#include "server/source/helper.h"

/* A process that has ended sooner after its start than that has a fault that may end the next one too: that one waits,
 * each time longer. */
static const uint64_t EARLY_NS = NS_PER_S;
enum { PAUSE_MS = 400, MOST_PAUSE_MS = 6400 };

/* Descriptors of the supervisor.  It holds the ends of sockets for the processes that it starts, so that each may be started
 * again without the others, and behind them the folders of the file process. */
enum { SOCKET = DESCRIPTORS_FIRST, SOURCE_ASKS, SOURCE_ANSWERS, FILES, CHILDREN, FOLDERS };
enum { KEPT = FOLDERS - SOCKET };

/* Standard error stays, for what ends a reader; so does the session, because the kernel gives each one its own share of
 * the processors. */
static void leave_everything(const int kept[KEPT])
{
    int all[KEPT + FOLDERS_MAX];
    const size_t count = folders_count();
    memcpy(all, kept, KEPT * sizeof *kept);
    for (size_t i = 0; i < count; i++)
        all[KEPT + i] = folders_at(i)->fd;
    if (!descriptors_keep(all, KEPT + count) || !children_watch(CHILDREN))
        _exit(EXIT_FAILED);
    for (size_t i = 0; i < count; i++)
        folders_move(i, FOLDERS + (int)i);
}

/* How often a process is checked that is stopped, or has not taken what it was sent, and how many checks in a row may find it so.
 * Checks count, not time: this process may have been stopped meanwhile itself. */
enum { CHECK_MS = 250, MOST_STOPPED = 4, MOST_PENDING = 20, MOST_STARTING = 240 };
/* Killed ones that the kernel still holds: with so many, no further one is started. */
enum { MOST_HELD = 8 };

/* A process that the supervisor starts, and starts again. */
struct kept {
    const char *what; /* its name in messages */
    enum identity_role role;
    int socket;          /* where it takes what it is sent */
    struct pulse *pulse; /* that it does */
    pid_t pid;           /* 0: it does not run */
    uint64_t began_ns, due_ns;
    unsigned pause_ms;
    bool is_stopped, is_watched;
    unsigned taken;            /* at the last check */
    unsigned stopped, pending; /* checks in a row that found it so */
};

/* No process descends from it. */
enum { LAUNCHER_LOST = -1 };

struct supervisor {
    const struct options *options;
    size_t engines;
    bool launches; /* the user's program, which the first reader may read and no other one */
    struct kept reader, source, files;
    uint64_t checked_ns;
    size_t held; /* that were killed and have not ended */
};

/* launcher: a child of this process; 0: none. */
static noreturn void read_others(const struct supervisor *supervisor, pid_t launcher)
{
    sigset_t nothing;
    close(SOURCE_ANSWERS);
    (void)syscall(SYS_close_range, FILES, ~0u, 0);
    sigemptyset(&nothing);
    sigprocmask(SIG_SETMASK, &nothing, NULL);
    process_reader_run(&(struct process_reader){ .options = supervisor->options,
                                                 .engines = supervisor->engines,
                                                 .launcher = launcher,
                                                 .socket = SOCKET,
                                                 .pulse = supervisor->reader.pulse,
                                                 .source_socket = SOURCE_ASKS });
}

static bool has_program(void)
{
    struct pollfd program = { .fd = SOCKET, .events = 0 };
    return poll(&program, 1, 0) == 0;
}

/* Notes that a process has ended, and when another one takes its place. */
static void lose_process(struct kept *kept)
{
    const uint64_t now_ns = clock_now_ns();
    if (now_ns - kept->began_ns >= EARLY_NS)
        kept->pause_ms = 0;
    else if (kept->pause_ms < MOST_PAUSE_MS)
        kept->pause_ms = kept->pause_ms ? kept->pause_ms * 2 : PAUSE_MS;
    kept->due_ns = now_ns + kept->pause_ms * NS_PER_MS;
    kept->pid = 0;
    kept->is_stopped = kept->is_watched = false;
    kept->stopped = kept->pending = 0;
    pulse_lose(kept->pulse);
}

/* Notes how a child has changed.  false: the child is another process. */
static bool note_change(struct kept *kept, pid_t pid, int status)
{
    if (kept->pid != pid)
        return false;
    kept->is_stopped = WIFSTOPPED(status);
    kept->is_watched |= kept->is_stopped;
    if (WIFSTOPPED(status) || WIFCONTINUED(status))
        return true;
    lose_process(kept);
    /* One that ends well does so because the program ends, whose other sockets may be open for a
     * moment yet. */
    if (status && has_program()) {
        if (WIFSIGNALED(status))
            say("the %s was ended by signal %d: another one takes its place", kept->what,
                WTERMSIG(status));
        else
            say("the %s ended with status %d: another one takes its place", kept->what,
                WEXITSTATUS(status));
    }
    return true;
}

static void collect_children(struct supervisor *supervisor)
{
    pid_t pid;
    int status;
    while ((pid = children_take_change(CHILDREN, &status)) != 0) {
        const bool is_kept = note_change(&supervisor->reader, pid, status) ||
                             note_change(&supervisor->source, pid, status) ||
                             note_change(&supervisor->files, pid, status);
        supervisor->held -=
            !is_kept && supervisor->held > 0 && !WIFSTOPPED(status) && !WIFCONTINUED(status);
    }
}

/* Kills a process and does not wait for it: one that the kernel holds ends later, or never. */
static void give_up(struct supervisor *supervisor, struct kept *kept, const char *why)
{
    say("the %s %s: another one takes its place", kept->what, why);
    identity_kill(kept->role, kept->pid);
    supervisor->held++;
    lose_process(kept);
}

static void check_kept(struct supervisor *supervisor, struct kept *kept)
{
    const unsigned taken = atomic_load(&kept->pulse->taken);
    if (!kept->pid || !kept->is_watched)
        return;
    struct pollfd message = { .fd = kept->socket, .events = POLLIN };
    const bool has_message = poll(&message, 1, 0) > 0 && message.revents & POLLIN;
    kept->stopped = kept->is_stopped ? kept->stopped + 1 : 0;
    kept->pending = has_message && taken == kept->taken ? kept->pending + 1 : 0;
    kept->taken = taken;
    kept->is_watched = kept->is_stopped || has_message;
    if (kept->stopped >= MOST_STOPPED)
        give_up(supervisor, kept, "was stopped");
    else if (kept->pending >= (unsigned)(taken ? MOST_PENDING : MOST_STARTING))
        give_up(supervisor, kept, "does not answer");
}

static bool is_due(const struct supervisor *supervisor, struct kept *kept)
{
    const uint64_t now_ns = clock_now_ns();
    if (kept->pid || now_ns < kept->due_ns || supervisor->held >= MOST_HELD)
        return false;
    kept->began_ns = now_ns;
    kept->due_ns = now_ns + PAUSE_MS * NS_PER_MS;
    return true;
}

/* If there can be no more processes now, it is tried again. */
static void start_due(struct supervisor *supervisor)
{
    if (!supervisor->options->report.no_source && is_due(supervisor, &supervisor->source)) {
        const pid_t pid = source_helper_fork(SOURCE_ANSWERS, supervisor->source.pulse);
        supervisor->source.pid = pid > 0 ? pid : 0;
    }
    if (file_process_is_needed() && is_due(supervisor, &supervisor->files)) {
        const pid_t pid = fork();
        if (pid == 0) {
            for (int fd = SOCKET; fd < FILES; fd++)
                close(fd);
            close(CHILDREN);
            file_process_run(FILES, supervisor->files.pulse);
        }
        supervisor->files.pid = pid > 0 ? pid : 0;
    }
    if (is_due(supervisor, &supervisor->reader)) {
        const pid_t pid = fork();
        if (pid == 0)
            read_others(supervisor, supervisor->launches ? LAUNCHER_LOST : 0);
        supervisor->reader.pid = pid > 0 ? pid : 0;
    }
}

static int wait_ms(const struct supervisor *supervisor)
{
    const bool is_whole = supervisor->reader.pid &&
                          (supervisor->source.pid || supervisor->options->report.no_source) &&
                          (supervisor->files.pid || !file_process_is_needed());
    const bool is_watched = supervisor->reader.is_watched || supervisor->source.is_watched ||
                            supervisor->files.is_watched;
    return !is_whole ? PAUSE_MS / 4 : is_watched ? CHECK_MS : -1;
}

/* Waits until a child has changed, the program has ended or there is something to do; a message for a process begins a watch. */
static void wait_for_something(struct supervisor *supervisor)
{
    struct kept *const kept[] = { &supervisor->reader, &supervisor->source,
                                  &supervisor->files };
    enum { COUNT = sizeof kept / sizeof *kept };
    struct pollfd events[COUNT + 1] = { [COUNT] = { CHILDREN, POLLIN, 0 } };
    for (size_t i = 0; i < COUNT; i++) {
        const bool begins = kept[i]->pid && !kept[i]->is_watched;
        events[i] =
            (struct pollfd){ begins || kept[i] == &supervisor->reader ? kept[i]->socket : -1,
                             begins ? POLLIN : 0, 0 };
    }
    if (poll(events, COUNT + 1, wait_ms(supervisor)) < 0 && errno != EINTR)
        _exit(EXIT_FAILED);
    for (size_t i = 0; i < COUNT; i++)
        if (events[i].revents & POLLIN) {
            kept[i]->is_watched = true;
            kept[i]->taken = atomic_load(&kept[i]->pulse->taken);
        }
}

/* Descriptors that the supervisor has from the program that starts it. */
struct inherited {
    int socket, files;
    int launcher;        /* of the launcher; -1: there is none */
    struct pulse *pulse; /* of the reader */
    sigset_t mask;
};

/* The launcher has all rights of the user, and the reader is its parent: both come before any right is given up. */
static pid_t start_first_reader(const struct supervisor *supervisor,
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
        for (size_t i = 0; i < folders_count(); i++)
            close(folders_at(i)->fd);
        process_launcher_run(supervisor->options, inherited->launcher, &inherited->mask);
    }
    leave_everything(kept);
    read_others(supervisor, launcher);
}

static noreturn void keep_processes(const struct options *options, size_t engines,
                                    const struct inherited *inherited)
{
    struct supervisor supervisor = {
        .options = options,
        .engines = engines,
        .launches = inherited->launcher >= 0,
        .reader = { .what = "sampling process", .role = IDENTITY_READER, .socket = SOCKET },
        .source = { .what = "source process",
                    .role = IDENTITY_SOURCE,
                    .socket = SOURCE_ANSWERS },
        .files = { .what = "file process", .role = IDENTITY_FILES, .socket = FILES }
    };
    supervisor.reader.pulse = inherited->pulse;
    supervisor.source.pulse = pulse_create();
    supervisor.files.pulse = pulse_create();
    if (!supervisor.source.pulse || !supervisor.files.pulse)
        _exit(EXIT_FAILED);
    int source[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, source) != 0)
        _exit(EXIT_FAILED);
    /* The fifth descriptor is replaced at once. */
    const int kept[KEPT] = { inherited->socket, source[0], source[1], inherited->files,
                             inherited->files };
    if (supervisor.launches) {
        supervisor.reader.pid = start_first_reader(&supervisor, inherited, kept);
        supervisor.reader.began_ns = clock_now_ns();
        if (supervisor.reader.pid < 0)
            _exit(EXIT_FAILED);
    }
    leave_everything(kept);
    prctl(PR_SET_NAME, "pyrometer-keep", 0, 0, 0);
    if (!privilege_keep_reader())
        _exit(EXIT_FAILED);
    while (has_program()) {
        start_due(&supervisor);
        wait_for_something(&supervisor);
        collect_children(&supervisor);

        const uint64_t now_ns = clock_now_ns();
        if (now_ns - supervisor.checked_ns < CHECK_MS * NS_PER_MS)
            continue;
        supervisor.checked_ns = now_ns;
        check_kept(&supervisor, &supervisor.reader);
        check_kept(&supervisor, &supervisor.source);
        check_kept(&supervisor, &supervisor.files);
    }
    /* The kernel ends the other processes when this one ends. */
    _exit(EXIT_DONE);
}

/* The sockets to the sampling process, the file process and the launcher. */
struct sockets {
    int reader[2], files[2], launch[2];
};

static void close_pair(const int ends[2])
{
    for (size_t i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

static enum err_code open_sockets(struct sockets *sockets, bool launches, struct err *err)
{
    const int kind = SOCK_SEQPACKET | SOCK_CLOEXEC;
    *sockets = (struct sockets){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
    if (socketpair(AF_UNIX, kind, 0, sockets->reader) == 0 &&
        socketpair(AF_UNIX, kind, 0, sockets->files) == 0 &&
        (!launches || socketpair(AF_UNIX, kind, 0, sockets->launch) == 0))
        return ERR_OK;
    const int sys = errno;
    close_pair(sockets->reader);
    close_pair(sockets->files);
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

static pid_t supervisor_pid; /* 0: none runs */

enum err_code supervisor_check(struct err *err)
{
    if (!supervisor_pid || waitpid(supervisor_pid, NULL, WNOHANG) == 0)
        return ERR_OK;
    supervisor_pid = 0;
    return err_set(err, ERR_SYS, "the supervisor has ended: start pyrometer again");
}

enum err_code supervisor_start(const struct options *options, size_t engines, int *launcher_out,
                               struct err *err)
{
    struct sockets sockets;
    struct pulse *const pulse = pulse_create();
    enum err_code rc = pulse ? limits_check_serving(err) : err_nomem(err);
    if (!rc)
        rc = privilege_prepare(options, err);
    if (!rc)
        rc = open_sockets(&sockets, launcher_out != NULL, err);
    if (rc)
        return rc;
    give_memory_back();
    /* A signal meant for the program must not end the supervisor before it has come to ignore it.
     * */
    struct inherited inherited = { .socket = sockets.reader[1],
                                   .files = sockets.files[1],
                                   .launcher = sockets.launch[1],
                                   .pulse = pulse };
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &inherited.mask);
    const pid_t pid = fork();
    if (pid == 0) {
        close(sockets.reader[0]);
        close(sockets.files[0]);
        if (launcher_out)
            close(sockets.launch[0]);
        keep_processes(options, engines, &inherited);
    }
    const int sys = errno;
    sigprocmask(SIG_SETMASK, &inherited.mask, NULL);
    if (pid < 0) {
        close_pair(sockets.reader);
        close_pair(sockets.files);
        close_pair(sockets.launch);
        return err_sys(err, sys, "cannot start the sampling process");
    }
    supervisor_pid = pid;
    close(sockets.reader[1]);
    close(sockets.files[1]);
    if (launcher_out) {
        close(sockets.launch[1]);
        *launcher_out = sockets.launch[0];
    }
    sampling_link_use(sockets.reader[0], pulse);
    admission_ask(&options->access.admission, sampling_link_admits);
    if (file_process_is_needed())
        files_use(sockets.files[0]);
    else
        close(sockets.files[0]);
    return ERR_OK;
}
