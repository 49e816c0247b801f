/*
 * startup - starts a sampler on a thread of its own, so that nobody has to wait for it.
 *
 * Finding an interpreter may take long, and the process may see to it that it takes for ever.  What was
 * cancelled is over in no time, unless it hangs in the kernel; then it is left behind with all that it
 * uses, never samples, and reports nothing to the sink of the options.
 *
 * Ownership: startup_begin makes; startup_end takes, whatever has become of it.
 * Threads: one that calls everything here.
 * Depends on: sampler.h.
 */
#ifndef SERVER_SESSIONS_STARTUP_H
#define SERVER_SESSIONS_STARTUP_H

#include <stdbool.h>

#include "sampler/base/err.h"

struct sampler;
struct sampler_options;
struct startup;

/* The options are copied.  Signals that the caller blocks are blocked in its thread. */
MUST_CHECK enum err_code startup_begin(const struct sampler_options *options,
                                       struct startup **out, struct err *err);
/* Readable once it is done. */
int startup_fd(const struct startup *startup);
void startup_cancel(struct startup *startup);
/* Errors as of sampler_start.  ERR_SYS where it is not done: it is cancelled and left behind. */
MUST_CHECK enum err_code startup_end(struct startup *startup, struct sampler **out,
                                     struct err *err);

#endif /* SERVER_SESSIONS_STARTUP_H */
