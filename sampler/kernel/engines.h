/*
 * engines - kernel engines that sessions take turns in.
 *
 * All engines are opened at once, while the program still has its capabilities.  One without any
 * remembers why, so that each session can say it.
 *
 * Ownership: engines_open makes, engines_close frees; NULL is fine.  A session gives its engine
 * back before they are closed.
 * Threads: any may take and give back; open and close from one.
 * Limits: ENGINES_MAX engines.
 */
#ifndef SAMPLER_KERNEL_ENGINES_H
#define SAMPLER_KERNEL_ENGINES_H

#include <stddef.h>

#include "sampler/base/err.h"

enum { ENGINES_MAX = 8 };

struct kallsyms;
struct kernel;
struct engines;

/* Succeeds with fewer engines than wanted if more would take too many descriptors, and with none if the
 * kernel refuses. */
MUST_CHECK enum err_code engines_open(size_t wanted, struct engines **out, struct err *err);
void engines_close(struct engines *engines);

/* Checks that engines_take would find an engine. ERR_LIMIT: all are in use; ERR_PERM,
 * ERR_UNSUPPORTED: there is none. The message says why. */
MUST_CHECK enum err_code engines_check(struct engines *engines, struct err *err);
/* The names of the kernel's functions, which sessions read when they want them; NULL: there is no engine. */
struct kallsyms *engines_kallsyms(const struct engines *engines);
/* Takes an idle engine and starts it with these KERNEL_EVENT_ bits.  Errors as those of engines_check. */
MUST_CHECK enum err_code engines_take(struct engines *engines, double rate_hz, unsigned events,
                                      struct kernel **out, struct err *err);
/* Makes the engine idle.  NULL is fine. */
void engines_give_back(struct engines *engines, struct kernel *kernel);
/* Closes a taken engine for good, so that its descriptors are free. */
void engines_give_up(struct engines *engines, struct kernel *kernel, const char *why);

#endif /* SAMPLER_KERNEL_ENGINES_H */
