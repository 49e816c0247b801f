/*
 * stored_engine - the engine of a process that no longer runs, and was stored in a core file.
 *
 * Nothing moves, so each tick reads all threads, and exactly.  The kernel cannot be asked whether a thread ran: its registers
 * say if it waited in a system call, and otherwise that is unknown.  Native stacks are made from the registers, too.
 */
#ifndef SAMPLER_SESSION_STORED_STORED_ENGINE_H
#define SAMPLER_SESSION_STORED_STORED_ENGINE_H

#include "sampler/session/engine.h"

extern const struct engine_ops stored_engine_ops;

#endif /* SAMPLER_SESSION_STORED_STORED_ENGINE_H */
