/*
 * ptrace_checks - the access checks that the kernel makes before one process may read another's memory.
 *
 * They are those of ptrace(2), "Ptrace access mode checking", in that order: the user ids, whether
 * the process is dumpable, its capabilities and Yama; then seccomp for ourselves.  CAP_SYS_PTRACE in
 * the process's user namespace bypasses most of them.  Whether a read is allowed, only the read
 * itself shows: after one that was, no check blocks, and after one that was refused, this module
 * explains why.
 */
#ifndef SAMPLER_PROCESS_PTRACE_CHECKS_H
#define SAMPLER_PROCESS_PTRACE_CHECKS_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/process/access_check.h"

/* The access checks for one process.  is_read: its memory was read, so what would block is BYPASSED.
 * ERR_GONE: no such process. */
MUST_CHECK enum err_code ptrace_checks_of_process(int pid, bool is_read,
                                                  struct access_checks *out, struct err *err);
/* The access checks that do not depend on a process. */
void ptrace_checks_of_host(struct access_checks *out);

/* After a refused read: one line that names the access check that blocks, and the remedy.
 * Returns ERR_PERM, or ERR_GONE. */
MUST_CHECK enum err_code ptrace_checks_explain(int pid, struct err *err);

#endif /* SAMPLER_PROCESS_PTRACE_CHECKS_H */
