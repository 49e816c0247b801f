/*
 * cpu - the CPU time of one thread, and whether the thread runs, from the kernel's accounting.
 *
 * /proc/PID/task/TID/schedstat gives the nanoseconds that the thread has spent on a CPU.  While the thread runs,
 * the kernel updates them at its timer interrupts only, up to 10 ms apart, so differences over shorter times
 * mean nothing.  It also gives the nanoseconds that the thread was ready to run without a processor; these are
 * updated when it gets one.  /proc/PID/task/TID/syscall says whether the thread runs now, and if not, in which
 * system call it waits; where it cannot be read, the third field of stat says whether it runs.  stat also says on which
 * processor the thread runs or is to run, and schedstat how often it got one.  The descriptors
 * stay open: a read of schedstat or syscall takes about a microsecond, one of stat three.
 *
 * Ownership: the caller's storage; cpu_meter_close accepts a meter that is not open.
 */
#ifndef SAMPLER_PROCESS_CPU_H
#define SAMPLER_PROCESS_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/process/system_call.h"

struct cpu_meter {
    int run_fd;         /* schedstat; -1: not open */
    int call_fd;        /* syscall; -1: cannot be opened; less: not opened yet */
    int state_fd;       /* stat; -1: not open */
    uint64_t run_ns;    /* at the last reading */
    uint64_t queued_ns; /* the same */
};

/* false: the thread does not exist, or the kernel lacks CONFIG_SCHED_INFO. */
bool cpu_meter_open(struct cpu_meter *meter, int pid, int tid);
void cpu_meter_close(struct cpu_meter *meter);

/* Nanoseconds on a CPU since the previous reading (the first time: since opening), and those without a
 * processor since the previous reading of these.  ran_ns_out: NULL leaves its reading as it was. */
bool cpu_meter_read(struct cpu_meter *meter, uint64_t *ran_ns_out, uint64_t *queued_ns_out);

/* Is the thread running or ready to run now?  false: unknown.  *call_out: if not, where it waits;
 * may be NULL. */
bool cpu_meter_is_runnable(struct cpu_meter *meter, int pid, int tid, bool *runnable_out,
                           struct system_call *call_out);

/* The processor that the thread runs on, or ran on last; false: unknown.  Keeps no file open. */
bool cpu_processor_of(int pid, int tid, int *processor_out);
/* How often the thread has got a processor, 1 or more; 0: unknown.  Unless this number changes, a thread that is on
 * none stays on none. */
uint64_t cpu_meter_arrivals(const struct cpu_meter *meter);

#endif /* SAMPLER_PROCESS_CPU_H */
