#include "sampler/session.h"

#include <string.h>

#include "sampler/kernel/engine.h"
#include "sampler/kernel/kernel_engine_pool.h"
#include "sampler/session/local_session.h"
#include "sampler/session_ops.h"

static const struct session_provider local = { local_session_start, local_session_check_engine,
                                               kernel_engine_pool_open };

static const struct session_provider *provider(void)
{
    const struct session_provider *const other = session_provided();
    return other ? other : &local;
}

bool session_has_kernel_engine(void)
{
    return kernel_is_built();
}

enum err_code session_open_engines(size_t count, struct kernel_engine_pool **out,
                                   struct err *err)
{
    *out = NULL;
    return provider()->open_engines(count, out, err);
}

void session_close_engines(struct kernel_engine_pool *engines)
{
    kernel_engine_pool_close(engines);
}

enum err_code session_check_engine(const struct session_options *options, struct err *err)
{
    return provider()->check_engine(options, err);
}

enum err_code session_start(const struct session_options *options, struct session **out,
                            struct err *err)
{
    struct session_options completed = *options;
    /* A request of asyncio lasts while its task waits. */
    if (strcmp(options->context, CONTEXT_GUESSED) == 0 && options->async == SESSION_ASYNC_OFF)
        completed.async = SESSION_ASYNC_ALL;
    return provider()->start(&completed, out, err);
}

void session_destroy(struct session *session)
{
    if (session)
        session->ops->destroy(session);
}

void session_stop(struct session *session)
{
    session->ops->stop(session);
}

void session_pause(struct session *session, bool paused)
{
    session->ops->pause(session, paused);
}

enum err_code session_join(struct session *session, pid_t pid, struct err *err)
{
    return session->ops->join(session, pid, err);
}

enum err_code session_set_rate(struct session *session, double rate_hz, struct err *err)
{
    return session->ops->set_rate(session, rate_hz, err);
}

enum err_code session_record_native(struct session *session, struct err *err)
{
    return session->ops->record_native(session, err);
}

void session_set_max_cpu(struct session *session, double percent)
{
    session->ops->set_max_cpu(session, percent);
}

void session_status(struct session *session, struct session_status *out)
{
    session->ops->status(session, out);
}

const struct session_target *session_target(const struct session *session)
{
    return session->first_target;
}

bool session_target_at(const struct session *session, size_t index, struct session_target *out)
{
    return session->ops->target_at(session, index, out);
}

void session_processes(const struct session *session, struct session_processes *out)
{
    session->ops->processes(session, out);
}

enum err_code session_origin(struct session *session, profile_origin number,
                             struct session_origin *out, struct err *err)
{
    return session->ops->origin(session, number, out, err);
}

enum err_code session_tasks(struct session *session, struct session_tasks *out, struct err *err)
{
    return session->ops->tasks(session, out, err);
}

enum err_code session_locks(struct session *session, struct session_locks *out, struct err *err)
{
    return session->ops->locks(session, out, err);
}

enum err_code session_locals(struct session *session, struct session_locals *out,
                             struct err *err)
{
    return session->ops->locals(session, out, err);
}

const struct session_options *session_options(const struct session *session)
{
    return &session->options;
}

struct profile *session_profile(struct session *session)
{
    return session->profile;
}

int session_end_fd(const struct session *session)
{
    return session->end_fd;
}
