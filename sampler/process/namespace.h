/*
 * namespace - translates thread and process ids between pid namespaces.
 *
 * Inside a container, threads have other ids than on this host.
 *
 * Depends on: procfs.
 */
#ifndef SAMPLER_PROCESS_NAMESPACE_H
#define SAMPLER_PROCESS_NAMESPACE_H

#include <stdint.h>

/* The id on this host of the thread whose id is `tid` in the pid namespace of process `pid`.
 * 0: the process has no such thread, or no longer. */
int32_t namespace_host_tid(int pid, int32_t tid);

/* The id of process `pid` in its innermost pid namespace. */
int32_t namespace_inner_pid(int pid);

#endif /* SAMPLER_PROCESS_NAMESPACE_H */
