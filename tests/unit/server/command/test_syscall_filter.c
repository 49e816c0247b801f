/* System calls that the filter refuses, tried by a child that has taken it on. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/command/process/syscall_filter.h"
#include "tests/support/test.h"

enum { SKIPPED = 77, ALL = SYSCALLS_ANY | SYSCALLS_SERVE | SYSCALLS_READ };

/* errno of a call, 0: it was done. */
#define SAYS(call) ((call) < 0 ? errno : 0)

static int listener = -1;

static int run_program(void)
{
    char name[] = "/bin/true";
    char *const argv[] = { name, NULL };
    return SAYS(execv(name, argv));
}

static int run_program_at(void)
{
    return SAYS((int)syscall(SYS_execveat, AT_FDCWD, "/bin/true", NULL, NULL, 0));
}

static int make_process(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return SAYS(pid);
}

static int make_process_by_clone(void)
{
    return SAYS((int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static int make_network_socket(void)
{
    return SAYS(socket(AF_INET, SOCK_STREAM, 0));
}

static int bind_socket(void)
{
    const struct sockaddr_in any = { .sin_family = AF_INET };
    return SAYS(bind(listener, (const struct sockaddr *)(const void *)&any, sizeof any));
}

static int listen_again(void)
{
    return SAYS(listen(listener, 1));
}

static int stop_process(void)
{
    return SAYS((int)ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
}

static int write_registers(void)
{
    return SAYS((int)ptrace(PTRACE_POKEDATA, getppid(), NULL, NULL));
}

static int write_process(void)
{
    char byte = 0;
    const struct iovec here = { &byte, 1 };
    return SAYS((int)process_vm_writev(getppid(), &here, 1, &here, 1, 0));
}

static int ask_for_thread(void)
{
    return SAYS((int)syscall(SYS_tgkill, getppid(), getppid(), 0));
}

static int signal_thread(void)
{
    return SAYS((int)syscall(SYS_tgkill, getppid(), getppid(), SIGCONT));
}

static int become_root(void)
{
    return SAYS((int)syscall(SYS_setuid, 0));
}

static int become_group(void)
{
    return SAYS((int)syscall(SYS_setresgid, 0, 0, 0));
}

static int mount_folder(void)
{
    return SAYS(mount("none", "/", NULL, MS_REMOUNT, NULL));
}

static int load_bpf(void)
{
    return SAYS((int)syscall(SYS_bpf, 0, NULL, 0));
}

static int make_namespace(void)
{
    return SAYS((int)syscall(SYS_unshare, 0x10000000));
}

static int make_code(void)
{
    void *const page =
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? errno : 0;
}

static int turn_into_code(void)
{
    static _Alignas(4096) char page[4096];
    return SAYS(mprotect(page, sizeof page, PROT_READ | PROT_EXEC));
}

static int be_dumpable(void)
{
    return SAYS(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int limit_another(void)
{
    return SAYS((int)syscall(SYS_prlimit64, getppid(), 7, NULL, NULL));
}

static void *do_nothing(void *argument)
{
    return argument;
}

static int make_thread(void)
{
    pthread_t thread;
    const int rc = pthread_create(&thread, NULL, do_nothing, NULL);
    return rc ? rc : pthread_join(thread, NULL);
}

static int use_memory(void)
{
    void *const room = malloc(1 << 22);
    free(room);
    return room ? 0 : ENOMEM;
}

static int open_file(void)
{
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return fd < 0 ? errno : SAYS(close(fd));
}

static int read_process(void)
{
    char byte = 1, copy = 0;
    const struct iovec here = { &copy, 1 }, there = { &byte, 1 };
    return SAYS((int)process_vm_readv(getpid(), &here, 1, &there, 1, 0));
}

static int signal_ourselves(void)
{
    return SAYS(raise(0));
}

/* The result of the call in a child that may make those groups. */
static int try_with(unsigned groups, int (*call)(void))
{
    int status = 0;
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct err err = { 0 };
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
            _exit(254);
        const enum err_code rc = syscall_filter_install(groups, &err);
        _exit(rc == ERR_UNSUPPORTED ? 253 : rc == ERR_OK ? call() : 254);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 254);
    if (WEXITSTATUS(status) == 253) {
        puts("skipped: this kernel has no filters of system calls");
        exit(SKIPPED);
    }
    return WEXITSTATUS(status);
}

static void what_no_command_needs_is_refused(void **state)
{
    static const struct {
        const char *name;
        int (*call)(void);
    } rows[] = {
        { "execve", run_program },
        { "execveat", run_program_at },
        { "fork", make_process },
        { "clone", make_process_by_clone },
        { "socket", make_network_socket },
        { "bind", bind_socket },
        { "listen", listen_again },
        { "ptrace", stop_process },
        { "process_vm_writev", write_process },
        { "setuid", become_root },
        { "setresgid", become_group },
        { "mount", mount_folder },
        { "bpf", load_bpf },
        { "unshare", make_namespace },
        { "mmap", make_code },
        { "mprotect", turn_into_code },
        { "prctl", be_dumpable },
        { "prlimit64", limit_another },
    };
    (void)state;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int sys = try_with(ALL, rows[i].call);
        if (sys != EPERM)
            fail_msg("%s: %d instead of EPERM", rows[i].name, sys);
    }
    close(listener);
}

static void what_all_commands_need_is_done(void **state)
{
    (void)state;
    assert_int_equal(try_with(SYSCALLS_ANY, make_thread), 0);
    assert_int_equal(try_with(SYSCALLS_ANY, use_memory), 0);
    assert_int_equal(try_with(SYSCALLS_ANY, open_file), 0);
    assert_int_equal(try_with(SYSCALLS_ANY, signal_ourselves), 0);
}

static void groups_are_apart(void **state)
{
    (void)state;
    assert_int_equal(try_with(SYSCALLS_READ, read_process), 0);
    assert_int_equal(try_with(SYSCALLS_SERVE, read_process), EPERM);
    assert_int_equal(try_with(SYSCALLS_STOP, write_registers), EPERM);
    assert_int_equal(try_with(SYSCALLS_READ, ask_for_thread), 0);
    assert_int_equal(try_with(SYSCALLS_SERVE, ask_for_thread), EPERM);
    assert_int_equal(try_with(ALL, signal_thread), EPERM);
    assert_int_equal(try_with(SYSCALLS_PUSH, make_network_socket), 0);
    assert_int_equal(try_with(ALL | SYSCALLS_PUSH, listen_again), EPERM);
}

static int begin(void **state)
{
    (void)state;
    if (!syscall_filter_is_built()) {
        puts("skipped: a build with a sanitizer has no list of system calls");
        exit(SKIPPED);
    }
    return unsetenv("PYROMETER_DENIED_CALL");
}

TEST_GROUP_WITHIN(begin, NULL, cmocka_unit_test(what_no_command_needs_is_refused),
                  cmocka_unit_test(what_all_commands_need_is_done),
                  cmocka_unit_test(groups_are_apart))
