/*
 * local_sampler - a sampler whose session runs in this process.
 */
#ifndef SAMPLER_SESSION_LOCAL_SAMPLER_H
#define SAMPLER_SESSION_LOCAL_SAMPLER_H

#include "sampler/sampler_ops.h"

/* As those of sampler.h. */
MUST_CHECK enum err_code local_sampler_start(const struct sampler_options *options,
                                             struct sampler **out, struct err *err);
MUST_CHECK enum err_code local_sampler_check_engine(const struct sampler_options *options,
                                                    struct err *err);

#endif /* SAMPLER_SESSION_LOCAL_SAMPLER_H */
