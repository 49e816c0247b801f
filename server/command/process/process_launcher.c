#include "server/command/process/process_launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/base/channel.h"
#include "sampler/base/children.h"
#include "sampler/base/scoped.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/limits.h"
#include "server/command/process/privilege.h"
#include "server/files/folders.h"

enum { EXEC_FAILED = 127 };

struct launcher {
    const struct options *options;
    const sigset_t *mask;
    int socket;
    pid_t program;        /* 0: it does not run */
    int go_fd, report_fd; /* of the program that waits to be started; -1: none does */
    int sys;              /* why none does, an errno */
};

static void send_message(const struct launcher *launcher, enum launch_kind kind, int value)
{
    const struct launch_message message = { kind, value };
    (void)!send(launcher->socket, &message, sizeof message, MSG_NOSIGNAL);
}

const char *process_launcher_program(const struct options *options)
{
    const char *const python = options->python ? options->python : "python3";
    return options->runs_command ? options->target[0] : python;
}

/* The user's command, or an interpreter with the user's script or module.  NULL: no memory. */
static char **make_command(const struct options *options)
{
    static char module[] = "-m";
    size_t count = 0, at = 0;
    while (options->target[count])
        count++;
    char **const argv = calloc(count + 3, sizeof *argv);
    if (!argv)
        return NULL;
    if (!options->runs_command)
        argv[at++] = (char *)(uintptr_t)process_launcher_program(options);
    if (options->runs_module)
        argv[at++] = module;
    for (size_t i = 0; i < count; i++)
        argv[at++] = options->target[i];
    return argv;
}

static noreturn void become_program(const struct launcher *launcher, char **argv, int go_fd,
                                    int report_fd)
{
    close(launcher->socket);
    /* The child waits until it shall become the program, or nobody is left to ask for it. */
    char byte;
    if (channel_read(go_fd, &byte, 1) != 1)
        _exit(EXEC_FAILED);
    sigprocmask(SIG_SETMASK, launcher->mask, NULL);
    limits_restore();
    execvp(argv[0], argv);
    const int sys = errno;
    (void)!write(report_fd, &sys, sizeof sys);
    _exit(EXEC_FAILED);
}

/* Returns the errno of a failed exec; 0: exec succeeded and closed the pipe. */
static int read_report(int fd)
{
    int sys = 0;
    return channel_read(fd, &sys, sizeof sys) == (ssize_t)sizeof sys ? sys : 0;
}

/* Returns an errno. */
static int fork_program(struct launcher *launcher, char **argv)
{
    int go[2], report[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        return errno;
    SCOPED_FD int go_in = go[0];
    SCOPED_FD int go_out = go[1];
    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    SCOPED_FD int report_in = report[0];
    SCOPED_FD int report_out = report[1];
    const pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0) {
        close(go_out);
        become_program(launcher, argv, go_in, report_out);
    }
    launcher->program = pid;
    launcher->go_fd = scoped_take_fd(&go_out);
    launcher->report_fd = scoped_take_fd(&report_in);
    return 0;
}

/* Returns an errno. */
static int let_go(struct launcher *launcher)
{
    SCOPED_FD int go_fd = launcher->go_fd;
    SCOPED_FD int report_fd = launcher->report_fd;
    launcher->go_fd = launcher->report_fd = -1;
    const int sys = write(go_fd, "", 1) == 1 ? read_report(report_fd) : errno;
    if (sys != 0) {
        (void)waitpid(launcher->program, NULL, 0);
        launcher->program = 0;
    }
    return sys;
}

/* Starts the program, once. */
static void start_program(struct launcher *launcher)
{
    if (launcher->go_fd < 0 && !launcher->sys)
        return;
    const pid_t program = launcher->program;
    const int sys = launcher->sys ? launcher->sys : let_go(launcher);
    launcher->sys = 0;
    if (sys)
        send_message(launcher, LAUNCH_FAILED, sys);
    else
        send_message(launcher, LAUNCH_STARTED, program);
}

/* false: nobody is left to ask. */
static bool take_message(struct launcher *launcher)
{
    struct launch_message message;
    const ssize_t bytes = recv(launcher->socket, &message, sizeof message, MSG_DONTWAIT);
    if (bytes < 0)
        return errno == EAGAIN || errno == EINTR;
    if (bytes == 0)
        return false;
    if (bytes != (ssize_t)sizeof message)
        return true;
    if (message.kind == LAUNCH_START)
        start_program(launcher);
    else if (message.kind == LAUNCH_SIGNAL && launcher->program &&
             (message.value == SIGTERM || message.value == SIGKILL))
        (void)kill(launcher->program, message.value);
    return true;
}

/* The program's status, and whatever else has become a child of this process. */
static void collect_children(struct launcher *launcher, int children_fd)
{
    pid_t pid;
    int status;
    while ((pid = children_take(children_fd, &status)) != 0) {
        /* The end of a child that has not become the program yet is noticed when it should. */
        if (pid != launcher->program || launcher->go_fd >= 0)
            continue;
        launcher->program = 0;
        send_message(launcher, LAUNCH_ENDED, status);
    }
}

noreturn void process_launcher_run(const struct options *options, int socket,
                                   const sigset_t *mask)
{
    struct launcher launcher = { .options = options, .mask = mask, .socket = socket };

    /* Signals of the terminal to the whole process group are for the program: here all are blocked.
     * */
    sigset_t all, children;
    sigfillset(&all);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    signal(SIGCHLD, SIG_DFL);
    sigprocmask(SIG_SETMASK, &all, NULL);
    const int children_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);

    if (children_fd < 0)
        _exit(EXIT_FAILED);
    prctl(PR_SET_NAME, "pyrometer-run", 0, 0, 0);
    if (options->sampling.subprocesses)
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);

    /* A child that has all rights of the user, which this process need not have then. */
    char **const argv = make_command(launcher.options);
    launcher.go_fd = launcher.report_fd = -1;
    launcher.sys = argv ? fork_program(&launcher, argv) : ENOMEM;
    free(argv);

    if (!privilege_keep_launcher())
        _exit(EXIT_FAILED);
    bool goes_on = true;
    while (goes_on) {
        struct pollfd events[] = { { socket, POLLIN, 0 }, { children_fd, POLLIN, 0 } };
        if (poll(events, 2, -1) < 0 && errno != EINTR)
            break;
        if (events[1].revents)
            collect_children(&launcher, children_fd);
        if (events[0].revents)
            goes_on = take_message(&launcher);
    }
    _exit(EXIT_DONE);
}

enum err_code process_launcher_start(const struct options *options, int *socket_out,
                                     pid_t *pid_out, struct err *err)
{
    int ends[2];
    sigset_t all, mask;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return err_sys(err, errno, "cannot make a socket");
    /* A signal meant for the program must not end the launcher before it has come to ignore it. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    const pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        for (size_t i = 0; i < folders_count(); i++)
            close(folders_at(i)->fd);
        process_launcher_run(options, ends[1], &mask);
    }
    const int sys = errno;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return err_sys(err, sys, "cannot start the process that starts the program");
    }
    *socket_out = ends[0];
    *pid_out = pid;
    return ERR_OK;
}
