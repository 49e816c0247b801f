/*
 * fault_events - the events of page faults of all processors, which run the BPF program.
 *
 * They are of all processes, as the clocks are (clocks.h), and each costs the thread something even where the program does
 * nothing: a microsecond or so, which is why there are at most some thousand a second.  So only one of several faults is an event where there are many.  What a sample stands for does not depend on
 * that: the program takes the kernel's own count of the faults of its thread (fault.bpf.h).
 *
 * Ownership: fault_events_init needs no memory; fault_events_close closes what fault_events_open has opened.
 * Threads: none.
 * Limits: KERNEL_MAX_CPUS processors.
 * Units: nanoseconds of CLOCK_MONOTONIC; faults.
 */
#ifndef SAMPLER_KERNEL_FAULT_EVENTS_H
#define SAMPLER_KERNEL_FAULT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/kernel/record.h"

struct fault_events {
    size_t processors;
    int events[KERNEL_MAX_CPUS]; /* -1: none */
    uint32_t period;             /* faults of a processor from one event to the next */
    uint64_t count, counted_ns; /* events up to the last fault_events_pace, and when that was */
};

void fault_events_init(struct fault_events *faults, size_t processors);
/* They stand still at first.  NULL, or what the kernel refuses: errno says why. */
const char *fault_events_open(struct fault_events *faults, int program);
void fault_events_close(struct fault_events *faults);

/* count: events so far.  false: one of them refuses. */
bool fault_events_run(struct fault_events *faults, uint64_t count, uint64_t now_ns);
void fault_events_halt(const struct fault_events *faults);

/* The period for so many events in so much time with this one. */
uint32_t fault_events_period(uint32_t period, uint64_t events, uint64_t ns);
/* Changes the period if there are too many events, or few. */
void fault_events_pace(struct fault_events *faults, uint64_t count, uint64_t now_ns);

/* The pages of a huge one, and whether memory gets such pages unasked. */
struct huge_pages {
    uint32_t pages; /* 0: the host has none */
    bool is_everywhere;
};
struct huge_pages fault_events_huge(uint32_t page_bytes);

#endif /* SAMPLER_KERNEL_FAULT_EVENTS_H */
