/*
 * link_sampler - a sampler whose session runs in the sampling process, and whose profile is here.
 *
 * A thread of its own reads the live capture of the session into the profile, and passes samples on to the sink of the
 * options.
 */
#ifndef SAMPLER_LINK_LINK_SAMPLER_H
#define SAMPLER_LINK_LINK_SAMPLER_H

#include <stdint.h>

#include "sampler/base/err.h"

struct sampler;
struct sampler_options;

/* As sampler_start. */
MUST_CHECK enum err_code link_sampler_start(const struct sampler_options *options,
                                            struct sampler **out, struct err *err);
/* The number by which the sampling process knows it. */
uint64_t link_sampler_session(const struct sampler *sampler);

#endif /* SAMPLER_LINK_LINK_SAMPLER_H */
