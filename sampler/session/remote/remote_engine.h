/*
 * remote_engine - the engine that reads the memory of its targets from outside, at the instants at which it is ticked.
 *
 * If there are more than PYTHON_MAX_THREADS_PER_TICK threads in all, a tick reads a random part of the targets, each with the same
 * chance.  That part stands for the rest.
 *
 * Ownership: as engine.h.
 */
#ifndef SAMPLER_SESSION_REMOTE_REMOTE_ENGINE_H
#define SAMPLER_SESSION_REMOTE_REMOTE_ENGINE_H

#include "sampler/session/engine.h"

extern const struct engine_ops remote_engine_ops;

#endif /* SAMPLER_SESSION_REMOTE_REMOTE_ENGINE_H */
