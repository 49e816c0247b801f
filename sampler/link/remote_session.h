/*
 * remote_session - a session that runs in the sampling process, and whose profile is here.
 *
 * A thread of its own reads the live capture of the session into the profile, and passes samples on to the sink of the
 * options.
 */
#ifndef SAMPLER_LINK_REMOTE_SESSION_H
#define SAMPLER_LINK_REMOTE_SESSION_H

#include <stdint.h>

#include "sampler/base/err.h"

struct session;
struct session_options;

/* As session_start. */
MUST_CHECK enum err_code remote_session_start(const struct session_options *options,
                                              struct session **out, struct err *err);
/* The number by which the sampling process knows it. */
uint64_t remote_session_number(const struct session *session);

#endif /* SAMPLER_LINK_REMOTE_SESSION_H */
