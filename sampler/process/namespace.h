/*
 * namespace - numbers of threads across pid namespaces.
 *
 * A program in a container knows its threads by other numbers than this host does.
 *
 * Depends on: procfs.
 */
#ifndef SAMPLER_PROCESS_NAMESPACE_H
#define SAMPLER_PROCESS_NAMESPACE_H

#include <stdint.h>

/* The number by which this host knows the thread that process `pid` itself calls `tid`.
 * 0: it has none (any more). */
int32_t namespace_host_tid(int pid, int32_t tid);

/* The number by which process `pid` knows itself: that of its own pid namespace. */
int32_t namespace_inside(int pid);

#endif /* SAMPLER_PROCESS_NAMESPACE_H */
