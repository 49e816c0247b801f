#define _GNU_SOURCE
#include "sampler/process/stopper.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/vec.h"
#include "sampler/process/process.h"
#include "sampler/process/procfs.h"
#include "sampler/process/thread_ids.h"

/* The interrupt that takes a thread from its processor arrives within this time.  A thread that has still not stopped
 * then has no processor, or is in the kernel. */
static const uint64_t STILL_NS = 50000;

void stopper_init(struct stopper *stopper)
{
    memset(stopper, 0, sizeof *stopper);
}

void stopper_deinit(struct stopper *stopper)
{
    stopper_resume(stopper);
    free(stopper->items);
    memset(stopper, 0, sizeof *stopper);
}

static const struct stopped *find_stopped(const struct stopper *stopper, int32_t tid)
{
    for (size_t i = 0; i < stopper->count; i++)
        if (stopper->items[i].tid == tid)
            return &stopper->items[i];
    return NULL;
}

/* The errno of a refusal; 0: seized.  The kernel refuses a thread that has ended as it does one that is traced. */
static int seize_thread(struct stopper *stopper, const struct process *process, int32_t tid)
{
    if (!thread_ids_has(process->pid, tid))
        return ESRCH;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
        const int refusal = errno;
        char state;
        /* Until it has been waited for, there is something left of a thread that has ended. */
        const bool has_ended = procfs_state(tid, &state, NULL) || state == 'Z' || state == 'X';
        return refusal == EPERM && has_ended ? ESRCH : refusal;
    }
    stopper->items[stopper->count++] = (struct stopped){
        .tid = tid, .pid = process->pid, .state = STOPPER_SEIZED, .ran_ns = stopper->polled_ns
    };
    return 0;
}

/* Asks the threads that have been seized to stop, those of other processes too: a thread that runs can be let go only
 * once it has stopped.  Returns how many are not of other processes. */
static size_t interrupt_threads(const struct stopper *stopper, const struct process *process)
{
    /* If it has not ended, nobody else has its pid, which is the id of its first thread. */
    const bool has_exited = process_has_exited(process);
    size_t own = 0;
    for (size_t i = 0; i < stopper->count; i++) {
        struct stopped *const item = &stopper->items[i];
        if (!item->is_late) {
            item->is_foreign = has_exited || !thread_ids_has(process->pid, item->tid);
            (void)ptrace(PTRACE_INTERRUPT, item->tid, NULL, NULL);
        }
        own += !item->is_foreign;
    }
    return own;
}

static void forget_thread(struct stopper *stopper, size_t index)
{
    stopper->items[index] = stopper->items[--stopper->count];
}

static void detach_thread(struct stopper *stopper, size_t index)
{
    const struct stopped *const item = &stopper->items[index];
    (void)ptrace(PTRACE_DETACH, item->tid, NULL, (void *)(intptr_t)item->signal);
    forget_thread(stopper, index);
}

/* The kernel reports the end of our own child once; that report is for the code that started it. */
static int is_end_of_own_child(int32_t tid)
{
    siginfo_t info = { 0 };
    struct procfs_identity identity;
    if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) ||
        info.si_pid != tid || info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED)
        return 0;
    if (procfs_identify(tid, &identity, NULL) || identity.parent != (int)getpid())
        return 0;
    /* A pidfd exists for processes only, not for threads. */
    const int pidfd = (int)syscall(SYS_pidfd_open, tid, 0);
    if (pidfd >= 0)
        close(pidfd);
    return pidfd >= 0;
}

/* false: the thread is gone.  One that calls exec takes over the id of the first thread. */
static bool poll_thread(struct stopper *stopper, size_t index)
{
    struct stopped *const item = &stopper->items[index];
    int status;
    pid_t rc = waitpid(item->tid, &status, __WALL | WNOHANG);
    if (rc < 0 && errno == ECHILD && item->tid != item->pid) {
        item->tid = item->pid;
        rc = waitpid(item->tid, &status, __WALL | WNOHANG);
    }
    if (rc != item->tid)
        return rc >= 0 || errno != ECHILD;
    if (!WIFSTOPPED(status)) {
        forget_thread(stopper, index);
        return true;
    }
    item->state = STOPPER_STOPPED;
    if (status >> 16 != PTRACE_EVENT_STOP)
        item->signal = WSTOPSIG(status);
    if (item->is_foreign)
        detach_thread(stopper, index);
    return true;
}

static void note_wait(struct stopper *stopper)
{
    for (size_t i = 0; i < stopper->count; i++)
        stopper->items[i].waits += stopper->items[i].state != STOPPER_STOPPED;
}

/* Polls each thread that has not stopped yet; returns how many of them are to be waited for. */
static size_t poll_threads(struct stopper *stopper)
{
    enum { MAX_WAITS = 6 };
    const uint64_t before_ns = stopper->polled_ns;
    size_t running = 0;
    stopper->polled_ns = clock_now_ns();
    for (size_t i = stopper->count; i-- > 0;) {
        struct stopped *const item = &stopper->items[i];
        if (item->state == STOPPER_STOPPED)
            continue;
        item->ran_ns = before_ns;
        if (is_end_of_own_child(item->tid) || !poll_thread(stopper, i))
            forget_thread(stopper, i);
    }
    /* On a busy host a thread has no processor for a while; one that sleeps in the kernel may do so for ever. */
    for (size_t i = 0; i < stopper->count; i++)
        running +=
            stopper->items[i].state != STOPPER_STOPPED && stopper->items[i].waits < MAX_WAITS;
    return running;
}

enum err_code stopper_stop(struct stopper *stopper, const struct process *process,
                           const int32_t *tids, size_t count, uint64_t deadline_ns)
{
    /* A thread on a processor stops within this time, which is shorter than the shortest sleep. */
    enum { SPIN_NS = 30000 };
    enum { FIRST_PAUSE_NS = 2000, MAX_PAUSE_NS = 200000 };
    const size_t most = count < STOPPER_MAX_THREADS ? count : STOPPER_MAX_THREADS;
    long pause_ns = FIRST_PAUSE_NS;
    int refusal = 0;
    const enum err_code rc =
        VEC_RESERVE(stopper->items, stopper->room, stopper->count + most) ? ERR_OK : ERR_NOMEM;
    if (rc)
        return rc;
    const uint64_t began_ns = stopper->polled_ns = clock_now_ns();
    stopper->refused = 0;
    for (size_t i = 0; i < stopper->count; i++)
        stopper->items[i].is_late = true;
    for (size_t i = 0; i < most; i++)
        if (tids[i] > 0 && !find_stopped(stopper, tids[i])) {
            const int sys = seize_thread(stopper, process, tids[i]);
            stopper->refused += sys && sys != ESRCH;
            refusal = sys && sys != ESRCH ? sys : refusal;
        }
    if (!interrupt_threads(stopper, process))
        return refusal ? err_code_of_errno(refusal) : ERR_GONE;
    const uint64_t still_ns = clock_now_ns() + STILL_NS;
    const uint64_t until_ns = deadline_ns > still_ns ? deadline_ns : still_ns;
    while (poll_threads(stopper) && stopper->polled_ns < until_ns) {
        if (stopper->polled_ns - began_ns < SPIN_NS)
            continue;
        nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
        pause_ns = pause_ns * 2 < MAX_PAUSE_NS ? pause_ns * 2 : MAX_PAUSE_NS;
    }
    note_wait(stopper);
    return ERR_OK;
}

bool stopper_holds(const struct stopper *stopper, int32_t tid)
{
    const struct stopped *const item = find_stopped(stopper, tid);
    return item && !item->is_foreign;
}

#if defined __x86_64__
/* An interrupted system call has the result EINTR, or one of these, which only the kernel sees before
 * it restarts the call (include/linux/errno.h). */
static bool is_interruption(int64_t result)
{
    enum { RESTART_SYS = 512, RESTART_NO_INTR, RESTART_NO_HAND, RESTART_BLOCK = 516 };
    return result == -EINTR || result == -RESTART_SYS || result == -RESTART_NO_INTR ||
           result == -RESTART_NO_HAND || result == -RESTART_BLOCK;
}

/* If the call is to be restarted, the registers may be set for that already. */
static bool has_interrupted_call(int32_t tid, const struct user_regs_struct *registers)
{
    (void)tid;
    return (int64_t)registers->orig_rax >= 0 &&
           (registers->rax == registers->orig_rax || is_interruption((int64_t)registers->rax));
}
#elif defined __aarch64__
static bool is_call_instruction(int32_t tid, uint64_t address)
{
    const uint32_t SVC_0 = 0xd4000001;
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, tid, (void *)(uintptr_t)address, NULL);
    return !errno && (uint32_t)word == SVC_0;
}

/* If the call is to be restarted, the kernel has set the thread back to the instruction that makes it, before the stop. */
static bool has_interrupted_call(int32_t tid, const struct user_regs_struct *registers)
{
    return is_call_instruction(tid, registers->pc) ||
           ((int64_t)registers->regs[0] == -EINTR &&
            is_call_instruction(tid, registers->pc - sizeof(uint32_t)));
}
#endif

#if defined __x86_64__ || defined __aarch64__
bool stopper_has_interrupted_wait(int32_t tid)
{
    struct user_regs_struct registers;
    struct iovec to = { &registers, sizeof registers };
    return !ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &to) &&
           to.iov_len == sizeof registers && has_interrupted_call(tid, &registers);
}
#else
bool stopper_has_interrupted_wait(int32_t tid)
{
    (void)tid;
    return false;
}
#endif

void stopper_resume(struct stopper *stopper)
{
    enum { PAUSE_NS = 100000, MAX_PAUSES = 100 };
    size_t running = poll_threads(stopper);
    uint64_t longest_ns = 0;
    for (unsigned i = 0;; i++) {
        uint64_t since_ns = UINT64_MAX;
        for (size_t j = stopper->count; j-- > 0;) {
            struct stopped *const item = &stopper->items[j];
            if (item->state != STOPPER_STOPPED)
                continue;
            since_ns = item->ran_ns < since_ns ? item->ran_ns : since_ns;
            detach_thread(stopper, j);
        }
        const uint64_t stop_ns = since_ns < UINT64_MAX ? clock_now_ns() - since_ns : 0;

        longest_ns = stop_ns > longest_ns ? stop_ns : longest_ns;
        if (!running || i == MAX_PAUSES)
            break;
        /* A thread that stops from now on would stand still until somebody sees it. */
        nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
        running = poll_threads(stopper);
    }
    note_wait(stopper);
    stopper->stop_ns = longest_ns;
    stopper->stopped_ns += longest_ns;
}
