/*
 * kernel_engine - the engine whose samples come from a program in the kernel (sampler/kernel/engine.h).
 *
 * Ownership: as engine.h; it holds one of the engines of the options until it is destroyed.
 */
#ifndef SAMPLER_SESSION_KERNEL_KERNEL_ENGINE_H
#define SAMPLER_SESSION_KERNEL_KERNEL_ENGINE_H

#include "sampler/session/engine.h"

/* `create` fails as kernel_engine_pool_take. */
extern const struct engine_ops kernel_engine_ops;

/* Why another engine is the better one for its targets; NULL: none is. */
const char *kernel_engine_unfit(struct engine *engine);
/* Destroys it, and closes what it holds for all sessions, so that its descriptors are free. */
void kernel_engine_give_up(struct engine *engine, const char *why);

#endif /* SAMPLER_SESSION_KERNEL_KERNEL_ENGINE_H */
