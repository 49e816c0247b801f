/*
 * refusal - why the kernel does not run the engine's program.
 *
 * libbpf warns before a call fails.  Its first warning says most; if the verifier has refused a program, a later one has
 * the verifier's log, whose last line before the numbers is the verdict.  Without rights the kernel refuses before the
 * verifier has seen anything, so a verdict distinguishes an old kernel from missing rights.
 *
 * Threads: what is noted is the calling thread's.
 * Source: 5.19 is the oldest kernel of the manual (web/docs/permissions.md); 5.10 refuses the program, 6.1 runs it.
 */
#ifndef SAMPLER_KERNEL_REFUSAL_H
#define SAMPLER_KERNEL_REFUSAL_H

#include <stdarg.h>
#include <stdbool.h>

#include "sampler/base/err.h"

void refusal_forget(void);
/* A warning of libbpf, as its printer has it. */
PRINTF_LIKE(1, 0) void refusal_note(const char *format, va_list arguments);

/* Sets and returns the error for a call that failed.  sys: its errno; what: what the kernel refused. */
enum err_code refusal_explain(struct err *err, int sys, const char *what);
/* Is a kernel of this release ("5.10.0-32-amd64") too old for the engine?  Others may lack what it needs as well. */
bool refusal_is_too_old(const char *release);

#endif /* SAMPLER_KERNEL_REFUSAL_H */
