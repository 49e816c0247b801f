/*
 * thread_queue - the time that a thread was ready to run, but without a processor.
 *
 * The kernel says how long that was once the thread has a processor again.  What samples of it are runnable is taken from that
 * time.  A thread that often lacks a processor is crowded: its processors are never free.
 *
 * Ownership: the caller's storage, zeroed at first.
 * Threads: the profile's writer.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_SESSION_FOLD_THREAD_QUEUE_H
#define SAMPLER_SESSION_FOLD_THREAD_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/process/cpu.h"

/* The kernel updates the account of a thread that runs in steps of some milliseconds. */
#define THREAD_QUEUE_ACCOUNT_NS 12000000ull

struct thread_queue {
    bool is_known;       /* the kernel says how long the thread was without a processor */
    uint64_t asked_ns;   /* when it was last asked for that alone */
    uint64_t queued_ns;  /* without a processor, not counted as runnable yet */
    uint64_t noted_ns;   /* when the kernel last said how long it was without one */
    uint64_t lacked_ns;  /* since then, without a processor */
    uint64_t held_ns;    /* of that, for the profiler had it */
    uint64_t crowded_ns; /* when it last turned out to lack one often */
};

/* The kernel has said that the thread lacked a processor for so long since it was asked before. */
void thread_queue_note(struct thread_queue *queue, uint64_t queued_ns, uint64_t now_ns);
/* So much is to be counted as runnable. */
void thread_queue_add(struct thread_queue *queue, uint64_t queued_ns);
/* Asks the kernel.  meter NULL: it cannot be asked. */
void thread_queue_read(struct thread_queue *queue, struct cpu_meter *meter, uint64_t now_ns);
/* The same, no more often than the kernel updates the account of a thread that runs. */
void thread_queue_read_at_times(struct thread_queue *queue, struct cpu_meter *meter,
                                uint64_t now_ns);
/* Takes from the time so much as `samples` of step_ns stand for; returns how many those are. */
uint32_t thread_queue_take(uint64_t *queued_ns, uint64_t step_ns, uint32_t samples);

/* Has the thread lacked a processor often of late, not counting held_ns? */
bool thread_queue_is_crowded(const struct thread_queue *queue, uint64_t now_ns);

#endif /* SAMPLER_SESSION_FOLD_THREAD_QUEUE_H */
