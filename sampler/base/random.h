/*
 * random - pseudo-random numbers, for choosing when and what to sample.  Not for secrets: those come
 * from the kernel.
 *
 * The generator is splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
 * generators", 2014): any seed is good, also 0, and its period is 2^64.
 *
 * Ownership: the caller's storage.
 * Threads: none; each has a generator of its own.
 */
#ifndef SAMPLER_BASE_RANDOM_H
#define SAMPLER_BASE_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

/* Starts a sequence that is equal for equal seeds. */
void random_init(struct random *random, uint64_t seed);
/* Seeds from the kernel, so that each start has other numbers. */
void random_init_any(struct random *random);

uint64_t random_u64(struct random *random);
/* In [0, 1). */
double random_fraction(struct random *random);
/* In [0, count), each as likely as any other; 0 if count is 0. */
uint64_t random_below(struct random *random, uint64_t count);

#endif /* SAMPLER_BASE_RANDOM_H */
