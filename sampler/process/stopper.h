/*
 * stopper - stops threads of another process for a short time (ptrace).
 *
 * Each stop is complete in itself: SEIZE, INTERRUPT, wait, and DETACH at the end.  So the target is
 * not traced between two stops, and its signals are delivered as usual.  If we are killed during a
 * stop, the kernel detaches us and the threads go on.
 *
 * A thread that runs stops within microseconds.  One that has no processor, or is in the kernel, stops only
 * when it goes on, but before it executes any of its program: from when it was asked, it stands still as well.
 * stopper_resume detaches it once it has stopped.
 *
 * A thread is seized only if it is one of the process, and examined again after that: while it is traced, nobody else
 * gets its id.  If another process's thread got the id in between, that thread is let go, and nothing of it is read.
 *
 * Ownership: the caller's storage; stopper_deinit resumes all threads.
 * Threads: all calls from one thread, as ptrace demands.
 * Limits: STOPPER_MAX_THREADS; threads beyond are not stopped.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_PROCESS_STOPPER_H
#define SAMPLER_PROCESS_STOPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { STOPPER_MAX_THREADS = 4096 };

struct process;

struct stopper {
    struct stopped {
        int32_t tid, pid;
        int signal; /* to deliver when the thread is resumed; 0: none */
        enum { STOPPER_SEIZED, STOPPER_STOPPED } state;
        bool is_foreign; /* another process got its id; to be let go */
        bool is_late;    /* an earlier stop's, which has not stopped yet */
        unsigned waits;  /* how often it was waited for in vain */
        uint64_t ran_ns; /* it had not stopped yet */
    } * items;
    size_t count, room;
    size_t refused; /* of the last stop: threads that the kernel did not let us stop */
    uint64_t polled_ns;
    uint64_t stop_ns;    /* the last stop, of the thread that stood still longest */
    uint64_t stopped_ns; /* sum over all stops */
};

void stopper_init(struct stopper *stopper);
void stopper_deinit(struct stopper *stopper);

/* Stops threads of a process; returns when all stand still.  Until the deadline it also waits for those that have not
 * stopped: only the registers of a thread that has can be read.  Skips threads that are gone, are another process's, or
 * have another tracer.  ERR_PERM, ERR_GONE: no thread was stopped, for that reason. */
MUST_CHECK enum err_code stopper_stop(struct stopper *stopper, const struct process *process,
                                      const int32_t *tids, size_t count, uint64_t deadline_ns);

/* Does the thread execute none of its code until stopper_resume? */
bool stopper_holds(const struct stopper *stopper, int32_t tid);

/* Did the stop interrupt a system call that the thread waited in?  The thread must run briefly to
 * wait again, so /proc reports it as running at the next tick.  false: no, or unknown (on processors
 * other than x86-64 and ARM64). */
bool stopper_has_interrupted_wait(int32_t tid);

/* Resumes all threads.  Waits a while for those that have not stopped yet, but not for one that was waited for a few times:
 * others would wait with it.  If one still has not, it is in `count`, and may stop at any time: call again soon. */
void stopper_resume(struct stopper *stopper);

#endif /* SAMPLER_PROCESS_STOPPER_H */
