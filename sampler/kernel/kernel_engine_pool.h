/*
 * kernel_engine_pool - kernel engines that sessions take turns in.
 *
 * All engines are opened at once, while the program still has its capabilities.  One without any
 * remembers why, so that each session can say it.
 *
 * Ownership: kernel_engine_pool_open makes, kernel_engine_pool_close frees; NULL is fine.  A session gives its engine
 * back before they are closed.
 * Threads: any may take and give back; open and close from one.
 * Limits: KERNEL_ENGINE_POOL_MAX engines.
 */
#ifndef SAMPLER_KERNEL_KERNEL_ENGINE_POOL_H
#define SAMPLER_KERNEL_KERNEL_ENGINE_POOL_H

#include <stddef.h>

#include "sampler/base/err.h"

enum { KERNEL_ENGINE_POOL_MAX = 8 };

struct kallsyms;
struct kernel;
struct kernel_engine_pool;

/* Succeeds with fewer engines than wanted if more would take too many descriptors, and with none if the
 * kernel refuses. */
MUST_CHECK enum err_code kernel_engine_pool_open(size_t wanted, struct kernel_engine_pool **out,
                                                 struct err *err);
void kernel_engine_pool_close(struct kernel_engine_pool *pool);

/* Checks that kernel_engine_pool_take would find an engine. ERR_LIMIT: all are in use; ERR_PERM,
 * ERR_UNSUPPORTED: there is none. The message says why. */
MUST_CHECK enum err_code kernel_engine_pool_check(struct kernel_engine_pool *pool,
                                                  struct err *err);
/* The names of the kernel's functions, which sessions read when they want them; NULL: there is no engine. */
struct kallsyms *kernel_engine_pool_kallsyms(const struct kernel_engine_pool *pool);
/* Takes an idle engine and starts it with these KERNEL_EVENT_ bits.  Errors as those of kernel_engine_pool_check. */
MUST_CHECK enum err_code kernel_engine_pool_take(struct kernel_engine_pool *pool,
                                                 double rate_hz, unsigned events,
                                                 struct kernel **out, struct err *err);
/* Makes the engine idle.  NULL is fine. */
void kernel_engine_pool_give_back(struct kernel_engine_pool *pool, struct kernel *kernel);
/* Closes a taken engine for good, so that its descriptors are free. */
void kernel_engine_pool_give_up(struct kernel_engine_pool *pool, struct kernel *kernel,
                                const char *why);

#endif /* SAMPLER_KERNEL_KERNEL_ENGINE_POOL_H */
