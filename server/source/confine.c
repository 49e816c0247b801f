#include "server/source/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#else
#define MACHINE 0 /* no process is of it */
#endif

/* A sanitizer reserves more address space than there is memory. */
#define LIMITS_MEMORY (!PYROMETER_IS_SANITIZED)

#define LOAD(field)         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(what)        BPF_STMT(BPF_RET | BPF_K, what)
#define UNLESS(value, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0), RETURN(what)
#define ALLOW(call)         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), RETURN(SECCOMP_RET_ALLOW)

bool confine(int input, int output)
{
    /* First out of the way of each other. */
    const int from = fcntl(input, F_DUPFD, CONFINE_FIRST_FREE);
    const int to = fcntl(output, F_DUPFD, CONFINE_FIRST_FREE);
    if (from < 0 || to < 0 || dup2(from, CONFINE_INPUT) != CONFINE_INPUT ||
        dup2(to, CONFINE_OUTPUT) != CONFINE_OUTPUT ||
        syscall(SYS_close_range, CONFINE_FIRST_FREE, ~0u, 0) != 0)
        return false;

    const struct rlimit memory = { CONFINE_MEMORY_BYTES, CONFINE_MEMORY_BYTES };
    const struct itimerval end = { .it_value.tv_sec = CONFINE_TIME_MS / 1000,
                                   .it_value.tv_usec = CONFINE_TIME_MS % 1000 * 1000 };
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || setitimer(ITIMER_REAL, &end, NULL) != 0 ||
        (LIMITS_MEMORY && setrlimit(RLIMIT_AS, &memory) != 0))
        return false;

    struct sock_filter rows[] = {
        LOAD(arch),
        UNLESS(MACHINE, SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
        ALLOW(SYS_pread64),
        ALLOW(SYS_write),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_brk),
        ALLOW(SYS_futex),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_sigaltstack), /* sanitizers read it before the end */
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        RETURN(SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog program = { sizeof rows / sizeof *rows, rows };
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
