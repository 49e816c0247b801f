/*
 * thread - starts threads that block all signals; the main thread receives them.  Their stacks have the
 * same size whatever limit the user has set.
 */
#ifndef SAMPLER_BASE_THREAD_H
#define SAMPLER_BASE_THREAD_H

#include <pthread.h>

enum { THREAD_STACK_BYTES = 8 << 20 };

/* Returns 0 or an errno.  out: NULL for a detached thread. */
int thread_start(pthread_t *out, void *(*run)(void *context), void *context);

#endif /* SAMPLER_BASE_THREAD_H */
