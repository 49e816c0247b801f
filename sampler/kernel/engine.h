/*
 * engine - the kernel engine: a BPF program that copies Python stacks where they run.
 *
 * The program runs at instants of each processor's clock and whenever a thread leaves or gets a
 * processor.  It knows the processes and threads that it is given, and copies a thread's stack in one
 * instant, in which nothing of it can move.  The instants are not periodic: see clocks.h.
 *
 * An open engine is idle: its events are disabled, its ring buffer is not mapped, and a switch of threads
 * costs it a few instructions.  kernel_start makes it sample for one session, kernel_stop makes it idle
 * again and forgets all of that session.  Only kernel_open needs capabilities.
 *
 * Ownership: kernel_open makes, kernel_close frees; NULL is fine.
 * Threads: none.
 * Limits: record.h; KERNEL_MAX_RATE_HZ, above which the instants are late and samples wrong.
 * Units: nanoseconds of CLOCK_MONOTONIC.  Processes and threads are numbered as in our pid namespace.
 */
#ifndef SAMPLER_KERNEL_ENGINE_H
#define SAMPLER_KERNEL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/kernel/record.h"

#define KERNEL_MAX_RATE_HZ 20000.0

struct kernel;

struct kernel_counts {
    uint64_t ticks;    /* instants at which a known process ran */
    uint64_t lost;     /* records of known threads for which the ring buffer had no room */
    uint64_t faulted;  /* instants at which a thread's state could not be read */
    uint64_t damaged;  /* records that make no sense */
    uint64_t taken_ns; /* of the processes, by the interrupts and by the program; 0: unknown */
};

/* Was the program built with the engine? */
bool kernel_is_built(void);

/* lender: shares the room in which the processors make records; NULL: none.  ERR_UNSUPPORTED: this kernel
 * or this build has no such engine.  ERR_PERM: we lack a capability.  The message says what is missing. */
MUST_CHECK enum err_code kernel_open(const struct kernel *lender, struct kernel **out,
                                     struct err *err);
void kernel_close(struct kernel *kernel);
/* events: KERNEL_EVENT_ bits. */
MUST_CHECK enum err_code kernel_start(struct kernel *kernel, double rate_hz, unsigned events,
                                      struct err *err);
void kernel_stop(struct kernel *kernel);

/* Describes a process that was added already again, and all of its code objects too. */
MUST_CHECK enum err_code kernel_add_process(struct kernel *kernel, int pid,
                                            const struct kernel_process *process);
void kernel_remove_process(struct kernel *kernel, int pid);
MUST_CHECK enum err_code kernel_add_thread(struct kernel *kernel, int tid,
                                           const struct kernel_thread *thread);
void kernel_remove_thread(struct kernel *kernel, int tid);
/* When the thread left its processor, if it has not come back; 0: it has, or has not left yet. */
uint64_t kernel_left_ns(const struct kernel *kernel, int tid);
/* When it was woken up since; 0: it has not been. */
uint64_t kernel_woken_ns(const struct kernel *kernel, int tid);
/* Records of a thread that were lost since it was added: the instants at which it ran that they stood for, and the time
 * that it was away. */
struct kernel_losses {
    uint64_t instants, away_ns;
    struct kernel_pages pages;
};
struct kernel_losses kernel_losses(const struct kernel *kernel, int tid);

/* The pages that the process has given back since it was added, sampled or not. */
uint64_t kernel_returned_pages(const struct kernel *kernel, int pid);

/* The next record of every thread has its whole stack, whatever was sent before. */
void kernel_forget(struct kernel *kernel);

void kernel_set_rate(struct kernel *kernel, double rate_hz);
/* The mean period of the instants. */
uint64_t kernel_period_ns(const struct kernel *kernel);
/* Shorter absences may go unreported. */
uint64_t kernel_min_away_ns(const struct kernel *kernel);

/* `bytes` of spans follow the record.  An error ends kernel_drain. */
typedef enum err_code (*kernel_record_fn)(void *context, const struct kernel_record *record,
                                          const void *spans);
/* Takes the records that have come since the last call, in their order; after 100 ms it leaves the rest to the
 * next call. */
MUST_CHECK enum err_code kernel_drain(struct kernel *kernel, kernel_record_fn on_record,
                                      void *context);
/* Has the last kernel_drain left records, because it took too long? */
bool kernel_is_behind(const struct kernel *kernel);
/* Sleeps until the instant, to about a millisecond.  true: the program has called before it, because the ring
 * buffer fills or a thread is unknown; it calls once for each of them and kernel_drain. */
bool kernel_wait(struct kernel *kernel, uint64_t until_ns);
/* Has the program called because the ring buffer fills, since the last kernel_drain? */
bool kernel_is_filling(const struct kernel *kernel);
/* Since kernel_start. */
void kernel_count(const struct kernel *kernel, struct kernel_counts *out);

#endif /* SAMPLER_KERNEL_ENGINE_H */
