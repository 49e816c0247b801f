/*
 * pthread_tid - the kernel's number of a thread, from what the C library keeps of it.
 *
 * Until 3.10 the interpreter knows its threads only by their pthread_t, which with glibc and musl is
 * the address of a structure that holds the number.  Where in it, is found out from the main
 * thread, whose number is that of the process.
 *
 * Depends on: memory, namespace.
 */
#ifndef SAMPLER_CPYTHON_THREADS_PTHREAD_TID_H
#define SAMPLER_CPYTHON_THREADS_PTHREAD_TID_H

#include <stdint.h>

#include "sampler/process/memory.h"

/* Zeroed: nothing is known yet. */
struct pthread_tids {
    uint32_t offset; /* of the number; 0: not found yet */
};

/* The number by which process `pid` itself knows the thread; 0: it cannot be told. */
int32_t pthread_tids_find(struct pthread_tids *tids, struct memory *memory, int pid,
                          uint64_t main_pthread, uint64_t pthread);

#endif /* SAMPLER_CPYTHON_THREADS_PTHREAD_TID_H */
