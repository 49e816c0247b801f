#include "server/command/process/syscall_filter.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/nsfs.h>
#include <linux/perf_event.h>
#include <linux/prctl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* In musl a macro, which would replace the name of the system call. */
#undef prlimit64

enum { END = INT32_MIN };

/* Allowed with any arguments.  Calls that the machine does not have are skipped. */
static const int any_calls[] = {
    /* files */
    SCMP_SYS(access), SCMP_SYS(close), SCMP_SYS(close_range), SCMP_SYS(copy_file_range),
    SCMP_SYS(dup), SCMP_SYS(dup2), SCMP_SYS(dup3), SCMP_SYS(faccessat), SCMP_SYS(faccessat2),
    SCMP_SYS(fadvise64), SCMP_SYS(fallocate), SCMP_SYS(fchmod), SCMP_SYS(fcntl),
    SCMP_SYS(fdatasync), SCMP_SYS(flock), SCMP_SYS(fstat), SCMP_SYS(fstatfs), SCMP_SYS(fsync),
    SCMP_SYS(ftruncate), SCMP_SYS(getcwd), SCMP_SYS(getdents), SCMP_SYS(getdents64),
    SCMP_SYS(link), SCMP_SYS(linkat), SCMP_SYS(lseek), SCMP_SYS(lstat), SCMP_SYS(mkdir),
    SCMP_SYS(mkdirat), SCMP_SYS(newfstatat), SCMP_SYS(open), SCMP_SYS(openat),
    SCMP_SYS(openat2), SCMP_SYS(pread64), SCMP_SYS(preadv), SCMP_SYS(preadv2),
    SCMP_SYS(pwrite64), SCMP_SYS(pwritev), SCMP_SYS(pwritev2), SCMP_SYS(read),
    SCMP_SYS(readahead), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(readv),
    SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(rmdir), SCMP_SYS(stat),
    SCMP_SYS(statfs), SCMP_SYS(statx), SCMP_SYS(sync_file_range), SCMP_SYS(umask),
    SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(utimensat), SCMP_SYS(write),
    SCMP_SYS(writev),
    /* memory */
    SCMP_SYS(brk), SCMP_SYS(madvise), SCMP_SYS(membarrier), SCMP_SYS(memfd_create),
    SCMP_SYS(mincore), SCMP_SYS(mlock), SCMP_SYS(mremap), SCMP_SYS(msync), SCMP_SYS(munlock),
    SCMP_SYS(munmap),
    /* waiting */
    SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2),
    SCMP_SYS(epoll_wait), SCMP_SYS(eventfd2), SCMP_SYS(pause), SCMP_SYS(pipe), SCMP_SYS(pipe2),
    SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(pselect6), SCMP_SYS(select), SCMP_SYS(signalfd4),
    SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_gettime), SCMP_SYS(timerfd_settime),
    /* time */
    SCMP_SYS(clock_getres), SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(getitimer), SCMP_SYS(gettimeofday), SCMP_SYS(nanosleep), SCMP_SYS(time),
    SCMP_SYS(times),
    /* threads and signals of this process */
    SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(futex), SCMP_SYS(futex_waitv),
    SCMP_SYS(get_robust_list), SCMP_SYS(getcpu), SCMP_SYS(gettid), SCMP_SYS(restart_syscall),
    SCMP_SYS(rseq), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigpending), SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigsuspend), SCMP_SYS(rt_sigtimedwait),
    SCMP_SYS(sched_get_priority_max), SCMP_SYS(sched_get_priority_min),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getattr), SCMP_SYS(sched_getparam),
    SCMP_SYS(sched_getscheduler), SCMP_SYS(sched_setattr), SCMP_SYS(sched_yield),
    SCMP_SYS(set_robust_list), SCMP_SYS(set_tid_address), SCMP_SYS(sigaltstack),
    SCMP_SYS(tkill),
    /* properties of this process and machine */
    SCMP_SYS(capget), SCMP_SYS(getegid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
    SCMP_SYS(getgroups), SCMP_SYS(getpgid), SCMP_SYS(getpgrp), SCMP_SYS(getpid),
    SCMP_SYS(getppid), SCMP_SYS(getpriority), SCMP_SYS(getrandom), SCMP_SYS(getresgid),
    SCMP_SYS(getresuid), SCMP_SYS(getrlimit), SCMP_SYS(getrusage), SCMP_SYS(getsid),
    SCMP_SYS(getuid), SCMP_SYS(sysinfo), SCMP_SYS(uname),
    /* Descriptors from and to helpers, user names, messages to systemd: see `socket`. */
    SCMP_SYS(connect), SCMP_SYS(getpeername), SCMP_SYS(getsockname), SCMP_SYS(getsockopt),
    SCMP_SYS(recvfrom), SCMP_SYS(recvmsg), SCMP_SYS(recvmmsg), SCMP_SYS(sendmmsg),
    SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(shutdown), SCMP_SYS(socketpair), END
};

static const int serve_calls[] = { SCMP_SYS(accept), SCMP_SYS(accept4), SCMP_SYS(sendfile),
                                   SCMP_SYS(setsockopt), END };

static const int read_calls[] = { SCMP_SYS(process_vm_readv), SCMP_SYS(pidfd_open),
                                  SCMP_SYS(kcmp), END };

/* For threads stopped by ptrace. */
static const int wait_calls[] = { SCMP_SYS(wait4), SCMP_SYS(waitid), END };

/* `bind` is of the socket that asks the kernel for its addresses, while a name is resolved. */
static const int push_calls[] = { SCMP_SYS(bind), SCMP_SYS(setsockopt), END };

static const int file_calls[] = { SCMP_SYS(setfsgid), SCMP_SYS(setfsuid), END };

static const struct {
    unsigned groups; /* a command that has any of these may make the calls */
    const int *calls;
} whole_calls[] = {
    { SYSCALLS_ANY, any_calls },   { SYSCALLS_SERVE, serve_calls },
    { SYSCALLS_READ, read_calls }, { SYSCALLS_READ | SYSCALLS_STOP, wait_calls },
    { SYSCALLS_PUSH, push_calls }, { SYSCALLS_FILES, file_calls }
};

#define IS(value)     SCMP_CMP_EQ, (scmp_datum_t)(value), 0
#define NONE_OF(bits) SCMP_CMP_MASKED_EQ, (scmp_datum_t)(bits), 0
#define HAS(bits)     SCMP_CMP_MASKED_EQ, (scmp_datum_t)(bits), (scmp_datum_t)(bits)
#define OUR_PID       SCMP_CMP_EQ, OUR_PID_MARK, 0
#define OUR_PID_MARK  UINT64_MAX
#define ONLY(group, name, argument, ...) \
    {                                    \
        group, SCMP_SYS(name),           \
        {                                \
            argument, __VA_ARGS__        \
        }                                \
    }

/* TCGETS2 (0), TCSETS2, TCSETSW2, TCSETSF2: how glibc 2.42 and later ask and set a terminal. The kernel's struct
 * termios2 of 44 bytes is in no header of the C library. */
#define TERMIOS2(direction, number) _IOC(direction, 'T', 0x2a + (number), 44)

/* Allowed with this argument only. */
static const struct row {
    unsigned groups;
    int call;
    struct scmp_arg_cmp argument;
} rows[] = {
    /* No executable memory. */
    ONLY(SYSCALLS_ANY, mmap, 2, NONE_OF(PROT_EXEC)),
    ONLY(SYSCALLS_ANY, mprotect, 2, NONE_OF(PROT_EXEC)),
    ONLY(SYSCALLS_ANY, clone, 0, HAS(CLONE_THREAD)),
    ONLY(SYSCALLS_ANY, prlimit64, 0, IS(0)),
    ONLY(SYSCALLS_ANY, tgkill, 0, OUR_PID),
    ONLY(SYSCALLS_ANY, setpriority, 0, IS(PRIO_PROCESS)),
    ONLY(SYSCALLS_ANY, rt_sigqueueinfo, 0, OUR_PID),
    ONLY(SYSCALLS_ANY, socket, 0, IS(AF_UNIX)),
    ONLY(SYSCALLS_PUSH, socket, 0, IS(AF_INET)),
    ONLY(SYSCALLS_PUSH, socket, 0, IS(AF_INET6)),
    ONLY(SYSCALLS_PUSH, socket, 0, IS(AF_NETLINK)),
    ONLY(SYSCALLS_ANY, prctl, 0, IS(PR_SET_NAME)),
    ONLY(SYSCALLS_ANY, prctl, 0, IS(PR_GET_NAME)),
    ONLY(SYSCALLS_ANY, prctl, 0, IS(PR_GET_DUMPABLE)),
    ONLY(SYSCALLS_ANY, prctl, 0, IS(PR_GET_TIMERSLACK)),
    ONLY(SYSCALLS_ANY, prctl, 0, IS(PR_SET_TIMERSLACK)),
    ONLY(SYSCALLS_ANY, prctl, 0, IS(PR_CAPBSET_READ)),
    ONLY(SYSCALLS_ANY, prctl, 0, IS(PR_GET_NO_NEW_PRIVS)),
    ONLY(SYSCALLS_ANY, prctl, 0, IS(PR_GET_SECCOMP)),
    ONLY(SYSCALLS_ANY, prctl, 0, IS(PR_GET_CHILD_SUBREAPER)),
    /* PR_SET_VMA: newer C libraries name their memory in maps. */
    ONLY(SYSCALLS_ANY, prctl, 0, IS(0x53564d41)),
    ONLY(SYSCALLS_ANY, ioctl, 1, IS(TCGETS)),
    ONLY(SYSCALLS_ANY, ioctl, 1, IS(TERMIOS2(_IOC_READ, 0))),
    ONLY(SYSCALLS_ANY, ioctl, 1, IS(TIOCGWINSZ)),
    ONLY(SYSCALLS_ANY, ioctl, 1, IS(FIONREAD)),
    ONLY(SYSCALLS_ANY, ioctl, 1, IS(FIONBIO)),
    ONLY(SYSCALLS_READ, ioctl, 1, IS(NS_GET_PARENT)),
    ONLY(SYSCALLS_READ, ioctl, 1, IS(NS_GET_USERNS)),
    /* The calling thread: it goes to the processor of a thread that it reads. */
    ONLY(SYSCALLS_READ, sched_setaffinity, 0, IS(0)),
    /* No signal: whether a thread is one of a process. */
    ONLY(SYSCALLS_READ, tgkill, 2, IS(0)),
    /* Nothing writes registers or memory of a target. */
    ONLY(SYSCALLS_STOP, ptrace, 0, IS(PTRACE_SEIZE)),
    ONLY(SYSCALLS_STOP, ptrace, 0, IS(PTRACE_INTERRUPT)),
    ONLY(SYSCALLS_STOP, ptrace, 0, IS(PTRACE_LISTEN)),
    ONLY(SYSCALLS_STOP, ptrace, 0, IS(PTRACE_CONT)),
    ONLY(SYSCALLS_STOP, ptrace, 0, IS(PTRACE_DETACH)),
    ONLY(SYSCALLS_STOP, ptrace, 0, IS(PTRACE_GETREGSET)),
    ONLY(SYSCALLS_STOP, ptrace, 0, IS(PTRACE_GETSIGINFO)),
    ONLY(SYSCALLS_STOP, ptrace, 0, IS(PTRACE_PEEKTEXT)),
    ONLY(SYSCALLS_STOP, ptrace, 0, IS(PTRACE_GET_SYSCALL_INFO)),
    /* The maps of the kernel engine, and attaching the program that follows memory; it makes no program and no map once it
     * runs. */
    ONLY(SYSCALLS_KERNEL, bpf, 0, IS(BPF_MAP_LOOKUP_ELEM)),
    ONLY(SYSCALLS_KERNEL, bpf, 0, IS(BPF_MAP_UPDATE_ELEM)),
    ONLY(SYSCALLS_KERNEL, bpf, 0, IS(BPF_MAP_DELETE_ELEM)),
    ONLY(SYSCALLS_KERNEL, bpf, 0, IS(BPF_MAP_GET_NEXT_KEY)),
    ONLY(SYSCALLS_KERNEL, bpf, 0, IS(BPF_OBJ_GET_INFO_BY_FD)),
    ONLY(SYSCALLS_KERNEL, bpf, 0, IS(BPF_LINK_CREATE)),
    ONLY(SYSCALLS_KERNEL, ioctl, 1, IS(PERF_EVENT_IOC_PERIOD)),
    ONLY(SYSCALLS_KERNEL, ioctl, 1, IS(PERF_EVENT_IOC_ENABLE)),
    ONLY(SYSCALLS_KERNEL, ioctl, 1, IS(PERF_EVENT_IOC_DISABLE)),
    ONLY(SYSCALLS_TERMINAL, ioctl, 1, IS(TCSETS)),
    ONLY(SYSCALLS_TERMINAL, ioctl, 1, IS(TCSETSW)),
    ONLY(SYSCALLS_TERMINAL, ioctl, 1, IS(TCSETSF)),
    ONLY(SYSCALLS_TERMINAL, ioctl, 1, IS(TERMIOS2(_IOC_WRITE, 1))),
    ONLY(SYSCALLS_TERMINAL, ioctl, 1, IS(TERMIOS2(_IOC_WRITE, 2))),
    ONLY(SYSCALLS_TERMINAL, ioctl, 1, IS(TERMIOS2(_IOC_WRITE, 3))),
    ONLY(SYSCALLS_TERMINAL, kill, 0, OUR_PID),
    /* Has the process ended that starts the others? */
    ONLY(SYSCALLS_SERVE, wait4, 2, IS(WNOHANG)),
    ONLY(SYSCALLS_FILES, prctl, 0, IS(PR_SET_PDEATHSIG)),
};

bool syscall_filter_is_built(void)
{
    return !PYROMETER_IS_SANITIZED;
}

static int fill_filter(scmp_filter_ctx filter, unsigned groups)
{
    int rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    /* A binary tree: the calls of every tick take few comparisons. */
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);

    for (size_t i = 0; i < sizeof whole_calls / sizeof *whole_calls && rc == 0; i++)
        for (const int *call = whole_calls[i].calls; *call != END && rc == 0; call++)
            if (whole_calls[i].groups & groups)
                rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, *call, 0);

    for (size_t i = 0; i < sizeof rows / sizeof *rows && rc == 0; i++) {
        struct scmp_arg_cmp argument = rows[i].argument;
        if (argument.op == SCMP_CMP_EQ && argument.datum_a == OUR_PID_MARK)
            argument.datum_a = (scmp_datum_t)getpid();
        if (rows[i].groups & groups)
            rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rows[i].call, 1, &argument);
    }
    return rc == 0 ? seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) : rc;
}

/* Refused in the filter that allows all else.  Calls that the machine does not have are skipped. */
static const int refused_calls[] = { SCMP_SYS(execve),
                                     SCMP_SYS(execveat),
                                     SCMP_SYS(bind),
                                     SCMP_SYS(listen),
                                     SCMP_SYS(accept),
                                     SCMP_SYS(accept4),
                                     SCMP_SYS(mount),
                                     SCMP_SYS(umount2),
                                     SCMP_SYS(move_mount),
                                     SCMP_SYS(open_tree),
                                     SCMP_SYS(fsopen),
                                     SCMP_SYS(pivot_root),
                                     SCMP_SYS(chroot),
                                     SCMP_SYS(unshare),
                                     SCMP_SYS(setns),
                                     SCMP_SYS(init_module),
                                     SCMP_SYS(finit_module),
                                     SCMP_SYS(delete_module),
                                     SCMP_SYS(kexec_load),
                                     SCMP_SYS(kexec_file_load),
                                     SCMP_SYS(reboot),
                                     SCMP_SYS(swapon),
                                     SCMP_SYS(swapoff),
                                     SCMP_SYS(add_key),
                                     SCMP_SYS(request_key),
                                     SCMP_SYS(keyctl),
                                     SCMP_SYS(io_uring_setup),
                                     SCMP_SYS(process_vm_writev),
                                     SCMP_SYS(open_by_handle_at),
                                     SCMP_SYS(pidfd_getfd),
                                     END };

static int fill_wide(scmp_filter_ctx filter, uint32_t refusal)
{
    const struct scmp_arg_cmp is_network = { 0, SCMP_CMP_NE, AF_UNIX, 0 };
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    int rc = seccomp_rule_add_array(filter, refusal, SCMP_SYS(socket), 1, &is_network);
    for (const int *call = refused_calls; *call != END && rc == 0; call++)
        rc = seccomp_rule_add(filter, refusal, *call, 0);
    return rc;
}

/* libseccomp 2.5 does not check all that it allocates. */
static bool has_room(void)
{
    enum { FILTER_BYTES = 1 << 20 };
    void *const room = malloc(FILTER_BYTES);
    free(room);
    return room != NULL;
}

static uint32_t refusal_action(void)
{
    const char *const denied = getenv("PYROMETER_DENIED_CALL");
    return denied && strcmp(denied, "kill") == 0 ? SCMP_ACT_KILL_PROCESS
                                                 : SCMP_ACT_ERRNO(EPERM);
}

/* groups 0: the filter that allows all but refused_calls. */
static enum err_code install_filter(unsigned groups, struct err *err)
{
    if (PYROMETER_IS_SANITIZED)
        return ERR_OK;
    if (!has_room())
        return err_nomem(err);
    const scmp_filter_ctx filter = seccomp_init(groups ? refusal_action() : SCMP_ACT_ALLOW);
    if (!filter)
        return err_nomem(err);
    int rc = groups ? fill_filter(filter, groups) : fill_wide(filter, refusal_action());
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    if (rc == -EINVAL || rc == -ENOSYS || rc == -ECANCELED || rc == -EOPNOTSUPP)
        return err_set(err, ERR_UNSUPPORTED, "this kernel has no filters of system calls");
    return rc == 0 ? ERR_OK : err_sys(err, -rc, "cannot limit the system calls");
}

enum err_code syscall_filter_install(unsigned groups, struct err *err)
{
    return install_filter(groups | SYSCALLS_ANY, err);
}

enum err_code syscall_filter_install_wide(struct err *err)
{
    return install_filter(0, err);
}
