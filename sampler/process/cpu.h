/*
 * cpu - how long one thread has run, and whether it runs, from the kernel's own accounting.
 *
 * /proc/PID/task/TID/schedstat gives the nanoseconds it has spent on a CPU.  While it runs they
 * go on only at the kernel's ticks, up to 10 ms apart: over shorter times they say nothing.
 * /proc/PID/task/TID/syscall says whether it runs at this moment; where that cannot be read, the
 * third field of stat does.  Read through descriptors that stay open the first two cost about a
 * microsecond, stat three.
 *
 * Ownership: the caller's storage; cpu_meter_close accepts one that is not open.
 * Depends on: libc.
 */
#ifndef SAMPLER_PROCESS_CPU_H
#define SAMPLER_PROCESS_CPU_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_meter {
    int run_fd;      /* schedstat; -1: not open */
    int call_fd;     /* syscall; less than -1: not needed yet */
    int state_fd;    /* stat; -1: not needed yet */
    uint64_t run_ns; /* at the last reading */
};

/* false: there is no such thread, or the kernel does not account (CONFIG_SCHED_INFO). */
bool cpu_meter_open(struct cpu_meter *meter, int pid, int tid);
void cpu_meter_close(struct cpu_meter *meter);

/* Nanoseconds on a CPU since the reading before (the first one: since opening). */
bool cpu_meter_read(struct cpu_meter *meter, uint64_t *ran_ns_out);

/* Is it running or ready to run at this moment? */
bool cpu_meter_is_runnable(struct cpu_meter *meter, int pid, int tid, bool *runnable_out);

#endif /* SAMPLER_PROCESS_CPU_H */
