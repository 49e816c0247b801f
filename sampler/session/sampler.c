#include "sampler/sampler.h"

#include "sampler/kernel/engine.h"
#include "sampler/kernel/engines.h"
#include "sampler/sampler_ops.h"
#include "sampler/session/local_sampler.h"

static const struct sampler_provider local = { local_sampler_start,
                                               local_sampler_check_engine };

static const struct sampler_provider *provider(void)
{
    const struct sampler_provider *const other = sampler_provided();
    return other ? other : &local;
}

bool sampler_has_kernel_engine(void)
{
    return kernel_is_built();
}

enum err_code sampler_open_engines(size_t count, struct engines **out, struct err *err)
{
    *out = NULL;
    return sampler_provided() ? ERR_OK : engines_open(count, out, err);
}

void sampler_close_engines(struct engines *engines)
{
    engines_close(engines);
}

enum err_code sampler_check_engine(const struct sampler_options *options, struct err *err)
{
    return provider()->check_engine(options, err);
}

enum err_code sampler_start(const struct sampler_options *options, struct sampler **out,
                            struct err *err)
{
    return provider()->start(options, out, err);
}

void sampler_destroy(struct sampler *sampler)
{
    if (sampler)
        sampler->ops->destroy(sampler);
}

void sampler_stop(struct sampler *sampler)
{
    sampler->ops->stop(sampler);
}

void sampler_pause(struct sampler *sampler, bool paused)
{
    sampler->ops->pause(sampler, paused);
}

enum err_code sampler_join(struct sampler *sampler, pid_t pid, struct err *err)
{
    return sampler->ops->join(sampler, pid, err);
}

enum err_code sampler_set_rate(struct sampler *sampler, double rate_hz, struct err *err)
{
    return sampler->ops->set_rate(sampler, rate_hz, err);
}

enum err_code sampler_record_native(struct sampler *sampler, struct err *err)
{
    return sampler->ops->record_native(sampler, err);
}

void sampler_set_max_cpu(struct sampler *sampler, double percent)
{
    sampler->ops->set_max_cpu(sampler, percent);
}

void sampler_status(struct sampler *sampler, struct sampler_status *out)
{
    sampler->ops->status(sampler, out);
}

const struct sampler_target *sampler_target(const struct sampler *sampler)
{
    return sampler->first_target;
}

bool sampler_target_at(const struct sampler *sampler, size_t index, struct sampler_target *out)
{
    return sampler->ops->target_at(sampler, index, out);
}

void sampler_processes(const struct sampler *sampler, struct sampler_processes *out)
{
    sampler->ops->processes(sampler, out);
}

enum err_code sampler_origin(struct sampler *sampler, profile_origin number,
                             struct sampler_origin *out, struct err *err)
{
    return sampler->ops->origin(sampler, number, out, err);
}

enum err_code sampler_tasks(struct sampler *sampler, struct sampler_tasks *out, struct err *err)
{
    return sampler->ops->tasks(sampler, out, err);
}

enum err_code sampler_locks(struct sampler *sampler, struct sampler_locks *out, struct err *err)
{
    return sampler->ops->locks(sampler, out, err);
}

const struct sampler_options *sampler_options(const struct sampler *sampler)
{
    return &sampler->options;
}

struct profile *sampler_profile(struct sampler *sampler)
{
    return sampler->profile;
}

int sampler_end_fd(const struct sampler *sampler)
{
    return sampler->end_fd;
}
