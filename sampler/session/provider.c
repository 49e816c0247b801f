#include "sampler/sampler_ops.h"

static const struct sampler_provider *provider;

void sampler_provide(const struct sampler_provider *other)
{
    provider = other;
}

const struct sampler_provider *sampler_provided(void)
{
    return provider;
}
