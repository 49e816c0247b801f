#include "sampler/process/system_call.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>

/* The file shows so many. */
enum { CALL_ARGUMENTS = 6, FUTEX_TIMEOUT = 3 };

/* By number.  Calls that the machine does not have are left out: new machines have fewer. */
static const unsigned char kinds[] = {
    [SYS_nanosleep] = CALL_SLEEP,
    [SYS_clock_nanosleep] = CALL_SLEEP,
    [SYS_rt_sigsuspend] = CALL_SLEEP,
    [SYS_rt_sigtimedwait] = CALL_SLEEP,
    [SYS_epoll_pwait] = CALL_EVENTS,
    [SYS_ppoll] = CALL_POLL,
    [SYS_pselect6] = CALL_SELECT,
    [SYS_read] = CALL_READ,
    [SYS_readv] = CALL_READ,
    [SYS_write] = CALL_WRITE,
    [SYS_writev] = CALL_WRITE,
    [SYS_sendfile] = CALL_WRITE,
    [SYS_recvfrom] = CALL_RECEIVE,
    [SYS_recvmsg] = CALL_RECEIVE,
    [SYS_recvmmsg] = CALL_RECEIVE,
    [SYS_sendto] = CALL_SEND,
    [SYS_sendmsg] = CALL_SEND,
    [SYS_sendmmsg] = CALL_SEND,
    [SYS_connect] = CALL_SEND,
    [SYS_accept] = CALL_ACCEPT,
    [SYS_accept4] = CALL_ACCEPT,
    [SYS_fsync] = CALL_DISK,
    [SYS_fdatasync] = CALL_DISK,
    [SYS_sync] = CALL_DISK,
    [SYS_syncfs] = CALL_DISK,
    [SYS_sync_file_range] = CALL_DISK,
    [SYS_msync] = CALL_DISK,
    [SYS_openat] = CALL_OPEN,
    [SYS_close] = CALL_DISK,
    [SYS_pread64] = CALL_DISK,
    [SYS_preadv] = CALL_DISK,
    [SYS_pwrite64] = CALL_DISK,
    [SYS_pwritev] = CALL_DISK,
    [SYS_copy_file_range] = CALL_DISK,
    [SYS_getdents64] = CALL_DISK,
    [SYS_newfstatat] = CALL_DISK,
    [SYS_fstat] = CALL_DISK,
    [SYS_statx] = CALL_DISK,
    [SYS_unlinkat] = CALL_DISK,
    [SYS_renameat2] = CALL_DISK,
    [SYS_mkdirat] = CALL_DISK,
    [SYS_ftruncate] = CALL_DISK,
    [SYS_fallocate] = CALL_DISK,
    [SYS_io_getevents] = CALL_DISK,
    [SYS_io_uring_enter] = CALL_EVENTS,
    [SYS_preadv2] = CALL_DISK,
    [SYS_pwritev2] = CALL_DISK,
    [SYS_flock] = CALL_LOCK,
    [SYS_fcntl] = CALL_LOCK,
    [SYS_semop] = CALL_LOCK,
    [SYS_semtimedop] = CALL_LOCK,
    [SYS_msgrcv] = CALL_QUEUE,
    [SYS_mq_timedreceive] = CALL_QUEUE,
    [SYS_wait4] = CALL_CHILD,
    [SYS_waitid] = CALL_CHILD,
    [SYS_ioctl] = CALL_CONTROL,
    [SYS_futex] = CALL_FUTEX,
#ifdef SYS_poll
    [SYS_poll] = CALL_POLL,
    [SYS_select] = CALL_SELECT,
    [SYS_epoll_wait] = CALL_EVENTS,
    [SYS_pause] = CALL_SLEEP,
    [SYS_open] = CALL_OPEN,
    [SYS_stat] = CALL_DISK,
    [SYS_lstat] = CALL_DISK,
    [SYS_unlink] = CALL_DISK,
    [SYS_rename] = CALL_DISK,
    [SYS_mkdir] = CALL_DISK,
#endif
#ifdef SYS_epoll_pwait2
    [SYS_epoll_pwait2] = CALL_EVENTS,
#endif
#ifdef SYS_futex_wait
    [SYS_futex_wait] = CALL_FUTEX,
#endif
};

bool system_call_ends_by_a_stop(int32_t number)
{
    static const int32_t calls[] = {
#ifdef SYS_epoll_wait
        SYS_epoll_wait,
#endif
#ifdef SYS_epoll_pwait2
        SYS_epoll_pwait2,
#endif
#ifdef SYS_io_pgetevents
        SYS_io_pgetevents,
#endif
        SYS_epoll_pwait,     SYS_semop,  SYS_semtimedop,
        SYS_rt_sigtimedwait, SYS_msgrcv, SYS_io_getevents,
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == number)
            return true;
    return false;
}

enum call_kind system_call_kind(int32_t number)
{
    return number >= 0 && (size_t)number < sizeof kinds ? (enum call_kind)kinds[number]
                                                        : CALL_OTHER;
}

void system_call_read(const char *text, struct system_call *out)
{
    char *end;
    const long number = strtol(text, &end, 10);
    *out = (struct system_call){ 0 };
    if (end == text || number < 0 || number > INT32_MAX)
        return;
    out->number = (int32_t)number;
    out->is_known = true;
    for (size_t i = 0; i < sizeof out->args / sizeof *out->args; i++)
        out->args[i] = strtoull(end, &end, 16);
    for (size_t i = sizeof out->args / sizeof *out->args; i < CALL_ARGUMENTS; i++)
        if (strtoull(end, &end, 16) && i == FUTEX_TIMEOUT)
            out->is_timed = system_call_kind(out->number) == CALL_FUTEX;
    out->sp = strtoull(end, &end, 16);
    out->ip = strtoull(end, &end, 16);
}
