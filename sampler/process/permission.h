/*
 * permission - what the kernel asks before it lets one process read another's memory.
 *
 * The gates of ptrace(2), "Ptrace access mode checking", one after the other: the user ids, whether
 * the process is dumpable, its capabilities, Yama, and seccomp for ourselves.  CAP_SYS_PTRACE in
 * the process's user namespace leads past most of them.  The real reading decides; this says why.
 *
 * Depends on: base (err, gate), procfs.
 */
#ifndef SAMPLER_PROCESS_PERMISSION_H
#define SAMPLER_PROCESS_PERMISSION_H

#include "sampler/base/err.h"
#include "sampler/process/access_check.h"

/* The gates between us and a process.  ERR_GONE: there is no such process. */
MUST_CHECK enum err_code permission_of_process(int pid, struct access_checks *out,
                                               struct err *err);
/* Those of this host for any process. */
void permission_of_host(struct access_checks *out);

/* After a reading that was refused: the gate that did it, as one line with what opens it.
 * ERR_PERM, or ERR_GONE. */
MUST_CHECK enum err_code permission_explain(int pid, struct err *err);

#endif /* SAMPLER_PROCESS_PERMISSION_H */
