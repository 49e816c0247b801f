/*
 * sampler_ops - what a sampler is made of: a session of this process, or one of the sampling process.
 *
 * sampler_provide makes the functions of sampler.h ask another process; before, they sample in this one.
 *
 * Threads: sampler_provide before any other function of sampler.h.
 */
#ifndef SAMPLER_SAMPLER_OPS_H
#define SAMPLER_SAMPLER_OPS_H

#include "sampler/sampler.h"

/* Each is the function of sampler.h of that name; destroy never gets NULL. */
struct sampler_ops {
    void (*destroy)(struct sampler *sampler);
    void (*stop)(struct sampler *sampler);
    void (*pause)(struct sampler *sampler, bool paused);
    enum err_code (*join)(struct sampler *sampler, pid_t pid, struct err *err);
    enum err_code (*set_rate)(struct sampler *sampler, double rate_hz, struct err *err);
    enum err_code (*record_native)(struct sampler *sampler, struct err *err);
    void (*set_max_cpu)(struct sampler *sampler, double percent);
    void (*status)(struct sampler *sampler, struct sampler_status *out);
    bool (*target_at)(const struct sampler *sampler, size_t index, struct sampler_target *out);
    void (*processes)(const struct sampler *sampler, struct sampler_processes *out);
    enum err_code (*origin)(struct sampler *sampler, profile_origin number,
                            struct sampler_origin *out, struct err *err);
    enum err_code (*tasks)(struct sampler *sampler, struct sampler_tasks *out, struct err *err);
    enum err_code (*locks)(struct sampler *sampler, struct sampler_locks *out, struct err *err);
};

/* The first member of every sampler. */
struct sampler {
    const struct sampler_ops *ops;
    struct sampler_options options;
    struct profile *profile;
    const struct sampler_target *first_target;
    int end_fd;
};

struct sampler_provider {
    enum err_code (*start)(const struct sampler_options *options, struct sampler **out,
                           struct err *err);
    enum err_code (*check_engine)(const struct sampler_options *options, struct err *err);
};

/* Borrowed. */
void sampler_provide(const struct sampler_provider *provider);
/* NULL: this process samples. */
const struct sampler_provider *sampler_provided(void);

#endif /* SAMPLER_SAMPLER_OPS_H */
