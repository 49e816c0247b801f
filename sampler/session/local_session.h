/*
 * local_session - a session whose session runs in this process.
 */
#ifndef SAMPLER_SESSION_LOCAL_SESSION_H
#define SAMPLER_SESSION_LOCAL_SESSION_H

#include "sampler/session_ops.h"

/* As those of session.h. */
MUST_CHECK enum err_code local_session_start(const struct session_options *options,
                                             struct session **out, struct err *err);
MUST_CHECK enum err_code local_session_check_engine(const struct session_options *options,
                                                    struct err *err);

#endif /* SAMPLER_SESSION_LOCAL_SESSION_H */
