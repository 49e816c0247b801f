/*
 * startup - starts a session on a thread of its own, so that its caller need not wait for it.
 *
 * Finding an interpreter may take long; a hostile process can make it take for ever.  A cancelled
 * startup ends at once, unless its thread hangs in the kernel.  Such a thread is left behind with all
 * that it uses; it never samples, and never calls the sink of the options.
 *
 * Ownership: startup_begin allocates; startup_end frees, whatever the result.
 * Threads: one that calls everything here.
 */
#ifndef SERVER_SESSIONS_STARTUP_H
#define SERVER_SESSIONS_STARTUP_H

#include <stdbool.h>

#include "sampler/base/err.h"

struct session;
struct session_options;
struct startup;

/* The options are copied.  Signals that the caller blocks are blocked in its thread. */
MUST_CHECK enum err_code startup_begin(const struct session_options *options,
                                       struct startup **out, struct err *err);
/* Readable once the session has started or failed. */
int startup_fd(const struct startup *startup);
void startup_cancel(struct startup *startup);
/* Errors as of session_start.  ERR_SYS: it is not done, and was cancelled and left behind. */
MUST_CHECK enum err_code startup_end(struct startup *startup, struct session **out,
                                     struct err *err);

#endif /* SERVER_SESSIONS_STARTUP_H */
