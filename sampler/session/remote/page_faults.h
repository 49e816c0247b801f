/*
 * page_faults - how many page faults a process has while its threads are stopped to be read.
 *
 * A thread that is asked to stop while it runs goes on for some microseconds, or stops sooner because it enters the
 * kernel.  So stopped samples are at page faults too often; how often depends on how many there are.
 */
#ifndef SAMPLER_SESSION_REMOTE_PAGE_FAULTS_H
#define SAMPLER_SESSION_REMOTE_PAGE_FAULTS_H

#include <stdint.h>

/* Zeroed: nothing has been counted. */
struct page_faults {
    uint64_t count; /* of the process, when it was last asked */
    uint64_t due_ns;
};

/* After a stop: how many faults there were since the last call that asked; 0 on the first call, within 0.2 s of
 * that call, or if the process cannot be asked.  now_ns: of clock_now_ns. */
uint64_t page_faults_since(struct page_faults *faults, int pid, uint64_t now_ns);

#endif /* SAMPLER_SESSION_REMOTE_PAGE_FAULTS_H */
