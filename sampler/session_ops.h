/*
 * session_ops - what a session is made of: a session of this process, or one of the sampling process.
 *
 * session_provide makes the functions of session.h ask another process; before, they sample in this one.
 *
 * Threads: session_provide before any other function of session.h.
 */
#ifndef SAMPLER_SESSION_OPS_H
#define SAMPLER_SESSION_OPS_H

#include "sampler/session.h"

/* Each is the function of session.h of that name; destroy never gets NULL. */
struct session_ops {
    void (*destroy)(struct session *session);
    void (*stop)(struct session *session);
    void (*pause)(struct session *session, bool paused);
    enum err_code (*join)(struct session *session, pid_t pid, struct err *err);
    enum err_code (*set_rate)(struct session *session, double rate_hz, struct err *err);
    enum err_code (*record_native)(struct session *session, struct err *err);
    void (*set_max_cpu)(struct session *session, double percent);
    void (*status)(struct session *session, struct session_status *out);
    bool (*target_at)(const struct session *session, size_t index, struct session_target *out);
    void (*processes)(const struct session *session, struct session_processes *out);
    enum err_code (*origin)(struct session *session, profile_origin number,
                            struct session_origin *out, struct err *err);
    enum err_code (*tasks)(struct session *session, struct session_tasks *out, struct err *err);
    enum err_code (*locks)(struct session *session, struct session_locks *out, struct err *err);
    enum err_code (*locals)(struct session *session, struct session_locals *out,
                            struct err *err);
};

/* The first member of every sampler. */
struct session {
    const struct session_ops *ops;
    struct session_options options;
    struct profile *profile;
    const struct session_target *first_target;
    int end_fd;
};

struct session_provider {
    enum err_code (*start)(const struct session_options *options, struct session **out,
                           struct err *err);
    enum err_code (*check_engine)(const struct session_options *options, struct err *err);
    enum err_code (*open_engines)(size_t count, struct kernel_engine_pool **out,
                                  struct err *err);
};

/* Borrowed. */
void session_provide(const struct session_provider *provider);
/* NULL: this process samples. */
const struct session_provider *session_provided(void);

#endif /* SAMPLER_SESSION_OPS_H */
