/*
 * thread_cpu - thread CPU accounting: what the kernel says a thread did between samples, and the
 * samples that wait for it.
 *
 * The kernel is asked at each sample of a thread that moves whether it is on a CPU (or runnable),
 * unless it was on one less than THREAD_CPUS_FRESH_NS ago.  It is not
 * asked at each sample of a thread that does not move.  The samples of such a thread wait until its
 * account is read, and are then divided by the share of time that the thread ran.  All of them show
 * the same stack, so nothing is lost.  The account is too coarse for a few milliseconds: for so
 * long, a thread that was ready when its samples began to wait is asked at each of them.
 *
 * A thread that is ready to run may be without a processor.  How long it was, the kernel says once it has one
 * again.  That time is divided by what a sample stands for, and so many samples of a thread that is ready
 * count as runnable.  Samples that wait take only what is of their own time.  A thread that often
 * lacks a processor is asked for its account at each sample; it is up to date where the thread is held (beside.h).
 *
 * The same reading says in which system call a thread waits.  Samples that wait count below a mark that says
 * why (thread_wait.h), as do those that wait for the GIL or a processor.
 *
 * The recording mode is applied here, because only here the whole state of a sample is known: a
 * sample that the mode does not keep is counted as filtered.  A sample whose state is unknown is
 * kept.
 *
 * The threads of all processes of a session are here, by their ids in the profile.
 *
 * Ownership: the caller's storage; thread_cpus_deinit accepts a zeroed one.
 * Threads: the profile's writer.
 * Limits: the account of a thread that is unused for THREAD_CPUS_IDLE_NS is closed.
 */
#ifndef SAMPLER_SESSION_FOLD_THREAD_CPU_H
#define SAMPLER_SESSION_FOLD_THREAD_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/three_valued.h"
#include "sampler/process/cpu.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"
#include "sampler/session.h"
#include "sampler/session/fold/sample.h"
#include "sampler/session/fold/thread_queue.h"
#include "sampler/session/fold/thread_wait.h"

enum { THREAD_CPUS_MAX_WAITING = 256 };

#define THREAD_CPUS_IDLE_NS 2000000000ull
/* The kernel is not asked again about a thread that was on a CPU this recently and has moved
 * since. */
#define THREAD_CPUS_FRESH_NS 20000ull

struct thread_cpu {
    bool is_open, has_meter;
    bool is_metered;   /* the account has been read since the stack last changed */
    bool is_watched;   /* watched_ns is known */
    bool was_runnable; /* when the waiting samples began to wait */
    bool is_runnable;  /* when the kernel was last asked about the waiting samples */
    int pid;           /* of its process */
    int32_t tid;       /* on this host */
    struct cpu_meter meter;
    uint64_t opened_ns;  /* when the meter was, or was tried to be */
    uint64_t watched_ns; /* on a CPU, when thread_cpus_sleeps was last asked */
    uint64_t ran_ns;     /* when it was last known to be on a CPU */
    uint64_t metered_ns; /* when the account was last read */
    uint64_t since_ns;   /* the first sample that is not counted yet */
    uint64_t used_ns;    /* the last sample */
    uint32_t waiting;    /* samples */
    uint32_t
        ready;    /* of these, of a thread that was runnable, as far as the kernel was asked */
    node_id node; /* of the waiting samples */
    state_bits state; /* of the waiting samples, without the CPU */
    state_bits cpu;   /* the CPU of the last sample, if it did not wait */
    bool has_waited;  /* the last sample was, or is, a waiting one */
    node_id spot_node;
    spot_id spot;
    uint64_t *certainty, *motion;
    struct native_outcome native;
    bool is_overflowed, in_request; /* of the waiting samples */
    struct thread_wait wait;        /* why they wait */
    double owed;                    /* samples on a CPU that are not counted as such yet */
    uint64_t first_ns;              /* the first sample since the account was opened */
    uint64_t taken;                 /* samples after it */
    struct thread_queue queue;
};

struct thread_cpus {
    struct profile *profile;
    uint64_t created_ns; /* CLOCK_MONOTONIC, when the profile was created */
    enum session_mode mode;
    const struct sink *sink;  /* NULL: none */
    struct waits *waits;      /* NULL: not wanted */
    struct thread_cpu *items; /* by thread_id */
    size_t count;
};

void thread_cpus_init(struct thread_cpus *cpus, struct profile *profile);
void thread_cpus_deinit(struct thread_cpus *cpus);

/* May the mode keep a sample of this state (without the CPU)?  If not, its node does not matter. */
bool thread_cpus_may_keep(const struct thread_cpus *cpus, state_bits state);

/* Is the thread on a CPU or runnable now?  thread: its id, or UINT32_MAX if it has
 * none yet.  *call_out: if not, where it waits; may be NULL. */
enum three_valued thread_cpus_ask(struct thread_cpus *cpus, thread_id thread, int pid,
                                  int32_t tid, struct system_call *call_out);

/* Has the thread lacked a processor often of late, not counting thread_cpus_note_hold? */
bool thread_cpus_is_crowded(const struct thread_cpus *cpus, thread_id thread, uint64_t now_ns);
/* The profiler had the thread's processor for so long. */
void thread_cpus_note_hold(struct thread_cpus *cpus, thread_id thread, uint64_t held_ns);
/* As cpu_processor_of and cpu_meter_arrivals, of a thread that has an account. */
bool thread_cpus_processor(struct thread_cpus *cpus, thread_id thread, int *processor_out);
uint64_t thread_cpus_arrivals(const struct thread_cpus *cpus, thread_id thread);

/* The node of the last sample, without the mark of its wait. */
node_id thread_cpus_node(const struct thread_cpus *cpus, thread_id thread);

/* Counts one sample, now or later. */
MUST_CHECK enum err_code thread_cpus_add(struct thread_cpus *cpus, const struct sample *sample);

/* Has the thread waited ever since the last such question, and does it now, in a system call?  false also: unknown. */
bool thread_cpus_sleeps(struct thread_cpus *cpus, thread_id thread,
                        struct system_call *call_out);
/* Counts samples of a waiting task, taken since since_ns; its thread is only a name. */
MUST_CHECK enum err_code thread_cpus_add_waiting(struct thread_cpus *cpus,
                                                 const struct sample *sample, uint32_t samples,
                                                 uint64_t since_ns);

/* Counts the last samples of a process again, those from sampled_ns on: they stand for ticks that were
 * skipped after them, too.  A thread that has a sample after first_ns has been counted for them. */
struct repetition {
    int pid;
    uint64_t sampled_ns;
    uint64_t first_ns, last_ns; /* of the ticks; later than sampled_ns */
    uint32_t ticks;             /* 1 or more */
    double weight;              /* threads that each sampled one stands for */
};
MUST_CHECK enum err_code thread_cpus_repeat(struct thread_cpus *cpus,
                                            const struct repetition *repetition);

/* Counts all waiting samples; call before a window is sealed. */
MUST_CHECK enum err_code thread_cpus_flush(struct thread_cpus *cpus, uint64_t now_ns);

/* Counts the waiting samples of a process that has ended, and closes its accounts. */
MUST_CHECK enum err_code thread_cpus_drop(struct thread_cpus *cpus, int pid, uint64_t now_ns);

#endif /* SAMPLER_SESSION_FOLD_THREAD_CPU_H */
