/*
 * remote_target - how the remote engine reads the threads of one target at a tick: as they are, or stopped.
 *
 * Threads that wait stand still; those that run are stopped where stops.h says so, or read while they move.  A reading stands
 * for the ticks that were skipped before it, too; what was skipped after the last one is repeated.
 *
 * Ownership: the caller's storage; borrows the target.
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_REMOTE_REMOTE_TARGET_H
#define SAMPLER_SESSION_REMOTE_REMOTE_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/random.h"
#include "sampler/process/stopper.h"
#include "sampler/session/native/native_copies.h"
#include "sampler/session/remote/beside.h"
#include "sampler/session/remote/stops.h"

struct ending;
struct target;

/* How many page faults a process has while its threads are stopped to be read; zeroed: nothing has been counted.
 *
 * A thread that is asked to stop while it runs goes on for some microseconds, or stops sooner because it enters the
 * kernel.  So stopped samples are at page faults too often; how often depends on how many there are. */
struct page_faults {
    uint64_t count; /* of the process, when it was last asked */
    uint64_t due_ns;
};

/* After a stop: how many faults there were since the last call that asked; 0 on the first call, within 0.2 s of
 * that call, or if the process cannot be asked. */
uint64_t page_faults_since(struct page_faults *faults, int pid, uint64_t now_ns);

struct remote_target {
    struct target *target;
    struct stops stops;
    struct page_faults faults;
    uint64_t failing_since_ns; /* 0: the last tick succeeded */
    /* Results of the last tick that was read, and did not fail, for the ticks after it. */
    struct remote_reading {
        uint64_t now_ns;                       /* 0: there was none */
        double weight;                         /* threads that each sampled one stood for */
        uint32_t failures[ERR_NOT_PYTHON + 1]; /* threads that could not be read, by error */
    } last;
};

/* The part that the targets share at a tick. */
struct remote_tick {
    struct stopper stopper;
    struct beside beside;
    struct native_copies stopped,
        asleep;    /* of threads that are stopped, and of one that sleeps */
    double weight; /* targets that each sampled one stands for, 1 or more */
    struct random random;
    uint64_t now_ns; /* of the last target */
};

void remote_target_init(struct remote_target *remote, struct target *target);

/* ERR_OK also if threads failed: they are counted.  Call once at each tick, or call remote_target_skip or
 * remote_target_pass. */
MUST_CHECK enum err_code remote_target_sample(struct remote_target *remote,
                                              struct remote_tick *tick);
/* Passes a tick before stops_idle_until. */
void remote_target_skip(struct remote_target *remote, uint64_t now_ns);
/* A tick at which other targets stand for this one.  Its tasks are read seldom anyway: what they wait is counted
 * for all ticks. */
void remote_target_pass(struct remote_target *remote);
/* Counts what the last reading found once more, for the ticks that were skipped since. */
MUST_CHECK enum err_code remote_target_repeat(struct remote_target *remote, uint64_t now_ns);
/* After remote_target_sample has failed.  false: the target has ended, *out says how. */
bool remote_target_survives(struct remote_target *remote, enum err_code rc, uint64_t now_ns,
                            struct ending *out);

#endif /* SAMPLER_SESSION_REMOTE_REMOTE_TARGET_H */
