/*
 * pulse - whether a process takes its messages: two counters in memory that it shares with the process that starts it and
 * the process that asks it.
 *
 * Ownership: pulse_create makes it, for the life of the process and of those that are forked from it.
 * Threads: any.
 */
#ifndef SAMPLER_BASE_PULSE_H
#define SAMPLER_BASE_PULSE_H

#include <stdatomic.h>

struct pulse {
    atomic_uint lost;  /* processes that took messages before the present one */
    atomic_uint taken; /* messages, by the present one; 0: it is starting */
};

/* NULL: no memory. */
struct pulse *pulse_create(void);
/* Unmaps the counters in a process that does not use them.  NULL is fine. */
void pulse_drop(struct pulse *pulse);

/* A message was taken, or the process is ready to take one.  NULL is fine. */
void pulse_take(struct pulse *pulse);
/* Another process takes the place of the present one. */
void pulse_lose(struct pulse *pulse);

#endif /* SAMPLER_BASE_PULSE_H */
