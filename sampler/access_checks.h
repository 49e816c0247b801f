/*
 * gates - everything that must be so before a process can be sampled, walked one by one.
 *
 * For people who want to know why it does not work: the process exists and has memory, the kernel
 * lets us read it, there is an interpreter of a version we know, its stacks can be read.
 *
 * Depends on: base, target, cpython.
 */
#ifndef SAMPLER_ACCESS_CHECKS_H
#define SAMPLER_ACCESS_CHECKS_H

#include "sampler/base/err.h"
#include "sampler/process/access_check.h"

/* Ends at the first gate that nothing leads past; the answer and *err are then what sampler_start says
 * of this process. */
MUST_CHECK enum err_code access_checks_of_process(int pid, struct access_checks *out,
                                                  struct err *err);

/* Those of this host, for any process.  ERR_PERM: nothing can be sampled here. */
MUST_CHECK enum err_code access_checks_of_host(struct access_checks *out, struct err *err);

#endif /* SAMPLER_ACCESS_CHECKS_H */
