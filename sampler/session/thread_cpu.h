/*
 * lanes - what is kept of each thread from sample to sample: its time on a CPU, and samples that
 * wait for it.
 *
 * Whether a thread is on a CPU (or ready for one) is asked of the kernel at each sample of a
 * thread that moves, but for one that was on it less than THREAD_CPUS_FRESH_NS ago.  A thread that does not move is not asked at every sample: its samples wait,
 * and are divided when the account is read, by the share of the time that it has run; all of them
 * show the same stack, so nothing is lost.  The account is too coarse for a few milliseconds: what
 * waited so shortly is as it was when it began to wait.
 *
 * Only here is all known of a sample, so the mode of recording is applied here: what it does not
 * want is counted as filtered and not kept.  What is not known is kept.
 *
 * The threads of all processes of a session have their lanes here, by their ids in the profile.
 *
 * Ownership: the caller's storage; thread_cpus_deinit accepts a zeroed one.
 * Threads: the profile's writer.
 * Limits: a lane not used for THREAD_CPUS_IDLE_NS is closed.
 * Depends on: profile (sink too), cpython/fact, target/cpu, sampler.h (modes).
 */
#ifndef SAMPLER_SESSION_THREAD_CPU_H
#define SAMPLER_SESSION_THREAD_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/three_valued.h"
#include "sampler/process/cpu.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"
#include "sampler/sampler.h"

enum { THREAD_CPUS_MAX_WAITING = 64 };

#define THREAD_CPUS_IDLE_NS 2000000000ull
/* A thread that was on a CPU so shortly ago, and has moved since, is not asked about again. */
#define THREAD_CPUS_FRESH_NS 20000ull

struct thread_cpu {
    bool is_open, has_meter;
    bool is_metered;   /* the account was read when the thread was as it is */
    bool was_runnable; /* when the waiting ones began to wait */
    int pid;           /* the process it is of */
    int32_t tid;       /* on this host */
    struct cpu_meter meter;
    uint64_t ran_ns;     /* when it was last known to be on a CPU */
    uint64_t metered_ns; /* when the account was last read */
    uint64_t since_ns;   /* the first sighting that is not counted yet */
    uint64_t used_ns;    /* the last sighting */
    uint32_t waiting;    /* samples */
    node_id node;        /* of the waiting ones */
    state_bits state;    /* of the waiting ones, without the CPU */
    node_id spot_node;
    spot_id spot;
    uint64_t *certainty;
    bool is_folded; /* the waiting ones */
    double owed;    /* samples on a CPU not counted as such yet */
};

struct thread_cpus {
    struct profile *profile;
    uint64_t created_ns; /* on the clock of sightings, when the profile was created */
    enum sampler_mode mode;
    const struct sink *sink;  /* NULL: none */
    struct thread_cpu *items; /* by thread_id */
    size_t count;
};

/* What is seen of a thread at one instant. */
struct sample {
    thread_id thread;
    int pid;     /* of its process */
    int32_t tid; /* on this host; 0: unknown */
    node_id node;
    node_id spot_node;      /* of the frame the spot is in */
    spot_id spot;           /* PROFILE_NO_SPOT: not asked for, or unknown */
    state_bits state;       /* all facts but the CPU */
    uint64_t *certainty;    /* the counter of the profile's quality for stacks like this one */
    bool is_folded;         /* the node is a caller: memory has no room for the place itself */
    bool is_still;          /* its stack is as it was at the last sighting */
    bool is_stopped;        /* by us: it does not tell any more whether it runs */
    enum three_valued runs; /* of one that is stopped: thread_cpus_ask, before it was */
    uint64_t now_ns;
};

void thread_cpus_init(struct thread_cpus *cpus, struct profile *profile);
void thread_cpus_deinit(struct thread_cpus *cpus);

/* May a sample of this state (all facts but the CPU) be kept?  If not, its node does not matter. */
bool thread_cpus_may_keep(const struct thread_cpus *cpus, state_bits state);

/* Does the thread run, or is it ready to, at this moment?  thread: its id, or UINT32_MAX where it has
 * none yet. */
enum three_valued thread_cpus_ask(struct thread_cpus *cpus, thread_id thread, int pid,
                                  int32_t tid);

/* Counts one sample, now or later. */
MUST_CHECK enum err_code thread_cpus_add(struct thread_cpus *cpus, const struct sample *sample);

/* Counts samples of something that waits and is no thread, seen since then; its thread is only a
 * name. */
MUST_CHECK enum err_code thread_cpus_add_waiting(struct thread_cpus *cpus,
                                                 const struct sample *sample, uint32_t samples,
                                                 uint64_t since_ns);

/* Counts everything that waits.  To be called before a window is sealed. */
MUST_CHECK enum err_code thread_cpus_flush(struct thread_cpus *cpus, uint64_t now_ns);

/* Counts what waits of a process that has ended, and closes its lanes. */
MUST_CHECK enum err_code thread_cpus_drop(struct thread_cpus *cpus, int pid, uint64_t now_ns);

#endif /* SAMPLER_SESSION_THREAD_CPU_H */
