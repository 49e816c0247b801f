/*
 * access_checks - checks one by one what must hold before a process can be profiled.
 *
 * The checks: the process exists and has memory, the kernel permits to read it, it has an interpreter
 * of a supported version, and its stacks can be read.
 */
#ifndef SAMPLER_ACCESS_CHECKS_H
#define SAMPLER_ACCESS_CHECKS_H

#include "sampler/base/err.h"
#include "sampler/process/access_check.h"

/* Ends at the first BLOCKED check; the result and *err are then those of session_start. */
MUST_CHECK enum err_code access_checks_of_process(int pid, struct access_checks *out,
                                                  struct err *err);

/* The checks of this host, for any process.  ERR_PERM: no process can be profiled. */
MUST_CHECK enum err_code access_checks_of_host(struct access_checks *out, struct err *err);

#endif /* SAMPLER_ACCESS_CHECKS_H */
