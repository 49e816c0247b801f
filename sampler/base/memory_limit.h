/*
 * memory_limit - keeps this process within the memory of its control group.
 *
 * Where a container or a service has less memory than the machine, the kernel kills a process that needs more.
 * memory_limit_find finds the limit, and caches then have a part of their usual size.  A process that calls
 * memory_limit_begin, before it limits the files that it may open, can let allocations fail while there is
 * still a reserve.  Without a limit, these functions do nothing.
 *
 * Ownership: the limit is that of the process, and its two descriptors stay open.
 * Threads: memory_limit_find and memory_limit_begin come before other threads start; then any.
 * Limits: MEMORY_LIMIT_RESERVE of the limit stays free.
 */
#ifndef SAMPLER_BASE_MEMORY_LIMIT_H
#define SAMPLER_BASE_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MEMORY_LIMIT_RESERVE = 8,           /* one in so many bytes */
    MEMORY_LIMIT_USUAL_BYTES = 1 << 30, /* with so much, everything has its usual size */
};

/* The file with the control group of this process; another one is for tests. */
#define MEMORY_LIMIT_OWN "/proc/self/cgroup"

/* folder: MEMORY_GROUP_FOLDER (memory_group.h). */
void memory_limit_find(const char *folder, const char *own);
/* Opens the files that tell how much is left; memory_limit_left and the calls after it know it from now on. */
void memory_limit_begin(void);

/* A usual size, reduced to what suits the limit; at least 1. */
size_t memory_limit_scale(size_t usual);

/* The memory that the group has left for all of its processes, without the reserve; UINT64_MAX: there is no limit,
 * or memory_limit_begin was not called. */
uint64_t memory_limit_left(void);

/* Lets allocations fail that exceed what is left now.  may_raise: memory that this process has taken is in
 * use; otherwise some of it may not count yet, and only less can be allowed than before. */
void memory_limit_renew(bool may_raise);
/* Raises what allocations may take, for address space that is about to be mapped but hardly used. */
void memory_limit_add(size_t bytes);

#endif /* SAMPLER_BASE_MEMORY_LIMIT_H */
