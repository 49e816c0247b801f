#include "sampler/sampler.h"

#include <stdlib.h>

#include "sampler/session/loop.h"

struct sampler {
    struct loop *loop;
};

enum err_code sampler_start(const struct sampler_options *options, struct sampler **out,
                            struct err *err)
{
    struct sampler *const sampler = malloc(sizeof *sampler);
    if (!sampler)
        return err_nomem(err);
    const enum err_code rc = loop_create(options, &sampler->loop, err);
    if (rc)
        free(sampler);
    else
        *out = sampler;
    return rc;
}

void sampler_destroy(struct sampler *sampler)
{
    if (!sampler)
        return;
    loop_destroy(sampler->loop);
    free(sampler);
}

void sampler_stop(struct sampler *sampler)
{
    loop_stop(sampler->loop);
}

void sampler_pause(struct sampler *sampler, bool paused)
{
    loop_pause(sampler->loop, paused);
}

enum err_code sampler_join(struct sampler *sampler, pid_t pid, struct err *err)
{
    return loop_join(sampler->loop, (int)pid, err);
}

enum err_code sampler_set_rate(struct sampler *sampler, double rate_hz, struct err *err)
{
    return loop_set_rate(sampler->loop, rate_hz, err);
}

void sampler_set_max_cpu(struct sampler *sampler, double percent)
{
    loop_set_max_cpu(sampler->loop, percent);
}

void sampler_status(struct sampler *sampler, struct sampler_status *out)
{
    loop_status(sampler->loop, out);
}

const struct sampler_target *sampler_target(const struct sampler *sampler)
{
    return loop_target(sampler->loop);
}

bool sampler_target_at(const struct sampler *sampler, size_t index, struct sampler_target *out)
{
    return loop_target_at(sampler->loop, index, out);
}

void sampler_processes(const struct sampler *sampler, struct sampler_processes *out)
{
    loop_processes(sampler->loop, out);
}

enum err_code sampler_origin(struct sampler *sampler, profile_origin number,
                             struct sampler_origin *out, struct err *err)
{
    return loop_origin(sampler->loop, number, out, err);
}

const struct sampler_options *sampler_options(const struct sampler *sampler)
{
    return loop_options(sampler->loop);
}

struct profile *sampler_profile(struct sampler *sampler)
{
    return loop_profile(sampler->loop);
}

enum err_code sampler_tasks(struct sampler *sampler, struct sampler_tasks *out, struct err *err)
{
    return loop_tasks(sampler->loop, out, err);
}

int sampler_end_fd(const struct sampler *sampler)
{
    return loop_end_fd(sampler->loop);
}
