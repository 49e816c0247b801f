/*
 * limits - how many files we may have open: each process and thread that is sampled takes some.
 *
 * Threads: the main one, before others start; limits_restore also in a child after fork.
 * Depends on: err.
 */
#ifndef SERVER_COMMAND_PROCESS_LIMITS_H
#define SERVER_COMMAND_PROCESS_LIMITS_H

#include "sampler/base/err.h"

/* What it has open by itself, a session, and some connections. */
enum { LIMITS_LEAST_SERVING = 40 };

/* Raises the limit to what we may have. */
void limits_raise(void);
/* ERR_LIMIT: there may be fewer than a server needs to answer anybody. */
MUST_CHECK enum err_code limits_check_serving(struct err *err);
/* For a program that we start: it gets the limit that we were given. */
void limits_restore(void);

#endif /* SERVER_COMMAND_PROCESS_LIMITS_H */
