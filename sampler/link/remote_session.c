#define _GNU_SOURCE
#include "sampler/link/remote_session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/base/clock.h"
#include "sampler/base/thread.h"
#include "sampler/capture/format.h"
#include "sampler/capture/growing.h"
#include "sampler/link/link.h"
#include "sampler/link/request.h"
#include "sampler/link/state.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"
#include "sampler/session_ops.h"

static const char *const LOST_READER =
    "the sampling process ended or ran out of memory: samples after that are lost";

/* More than a second of samples of a busy host, if the kernel permits it. */
enum { PIPE_BYTES = 1 << 20 };

struct remote_session {
    struct session base;
    uint64_t number;
    uint64_t created_ns; /* CLOCK_MONOTONIC */
    int stream_fd;
    unsigned lost; /* link_lost, when it was started */
    int cancel_fd;
    pthread_t thread;
    bool has_thread;

    /* Used by the thread only, once it runs. */
    struct growing growing;
    struct state state; /* the last record */
    bool has_state;
    bool has_passed; /* the window of the record had samples */

    pthread_mutex_t mutex; /* guards what follows */
    struct session_status status;
    bool paused;         /* as was asked for last */
    double requested_hz; /* likewise; 0: that of the options */
    bool records_native; /* likewise */
    bool has_ended;
    struct session_processes processes;
    struct target_record targets[SESSION_MAX_LISTED]; /* the first never moves or changes */
    size_t target_count;
    struct session_tasks tasks;
    struct session_locks locks;
    struct session_locals locals;
};

static struct remote_session *of(struct session *session)
{
    return (struct remote_session *)(void *)session;
}

static const struct remote_session *of_const(const struct session *session)
{
    return (const struct remote_session *)(const void *)session;
}

/* Readers have a const remote and lock it too. */
static pthread_mutex_t *lock_of(const struct remote_session *remote)
{
    return (pthread_mutex_t *)(uintptr_t)&remote->mutex;
}

static void free_session(struct remote_session *remote)
{
    for (size_t i = 0; i < remote->target_count; i++) {
        struct target_record *const record = &remote->targets[i];
        free((char *)(uintptr_t)record->target.reason);
        for (size_t w = 0; w < SESSION_WARNINGS; w++)
            free((char *)(uintptr_t)record->target.warnings[w]);
        target_record_deinit(record);
    }
    session_tasks_deinit(&remote->tasks);
    session_locks_deinit(&remote->locks);
    session_locals_deinit(&remote->locals);
    state_deinit(&remote->state);
    growing_deinit(&remote->growing);
    profile_destroy(remote->base.profile);
    if (remote->stream_fd >= 0)
        close(remote->stream_fd);
    if (remote->cancel_fd >= 0)
        close(remote->cancel_fd);
    if (remote->base.end_fd >= 0)
        close(remote->base.end_fd);
    pthread_mutex_destroy(&remote->mutex);
    free(remote);
}

static enum err_code allocate(const struct session_options *options,
                              struct remote_session **out, struct err *err)
{
    struct remote_session *const remote = calloc(1, sizeof *remote);
    if (!remote)
        return err_nomem(err);
    pthread_mutex_init(&remote->mutex, NULL);
    remote->base.options = *options;
    remote->stream_fd = -1;
    remote->base.end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    remote->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum err_code rc = ERR_OK;
    if (remote->base.end_fd < 0 || remote->cancel_fd < 0)
        rc = err_sys(err, errno, "cannot create an event descriptor");
    if (rc)
        link_name_files(err, "HTTP process");
    if (!rc)
        rc = profile_create(&remote->base.profile, err);
    if (rc) {
        free_session(remote);
        return rc;
    }
    profile_set_memory(remote->base.profile, options->memory_bytes);
    growing_init(&remote->growing, remote->base.profile, options->memory_bytes);
    *out = remote;
    return ERR_OK;
}

static enum err_code fill(void *context, void *out, size_t bytes, struct err *err)
{
    struct remote_session *const remote = context;
    const struct link_patience patience = { .cancel_fd = remote->cancel_fd,
                                            .is_cancelled = remote->base.options.is_cancelled,
                                            .lost = remote->lost,
                                            .is_stream = true };
    return link_receive(remote->stream_fd, out, bytes, &patience, err);
}

/* To the sink, once the profile has published the rows. */
static void pass_on(void *context, const struct capture_window *window)
{
    struct remote_session *const remote = context;
    const struct sink *const sink = remote->base.options.sink;
    for (size_t i = 0; i < window->run_count && sink; i++)
        sink->count(sink->context, &window->runs[i]);
    if (window->measure != MEASURE_TIME)
        return;
    remote->has_passed = true;
    if (sink && !window->is_open)
        sink->seal(sink->context, window->end_ns, window->period_ns, &window->quality);
}

/* The texts that a target gets later are copies, because readers may hold those that are there. */
static void copy_once(const char *text, const char **out)
{
    if (text && !*out)
        *out = strdup(text);
}

static void end_target(struct session_target *target, uint64_t to_ns, const char *reason)
{
    copy_once(reason, &target->reason);
    target->to_ns = to_ns;
}

static enum err_code take_target(struct remote_session *remote, const struct state_target *row,
                                 struct err *err)
{
    struct target_record record;
    struct target_record *const known = &remote->targets[row->index];
    if (row->index > remote->target_count)
        return err_set(err, ERR_CORRUPT, "a process of the session is missing");
    const enum err_code rc = target_record_decode(row->record, NULL, &record, err);
    if (rc)
        return rc;
    const struct session_target now = record.target;
    if (row->index == remote->target_count) {
        *known = record;
        known->target.to_ns = 0;
        known->target.reason = NULL;
        memset(known->target.warnings, 0, sizeof known->target.warnings);
        remote->target_count++;
        record.memory = NULL;
    }
    if (now.to_ns)
        end_target(&known->target, now.to_ns, now.reason);
    for (size_t i = 0; i < SESSION_WARNINGS; i++)
        copy_once(now.warnings[i], &known->target.warnings[i]);
    target_record_deinit(&record);
    return ERR_OK;
}

/* Publishes the records' state to readers of the session. */
static enum err_code publish(struct remote_session *remote, struct err *err)
{
    struct state *const state = &remote->state;
    pthread_mutex_lock(&remote->mutex);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < state->target_count && !rc; i++)
        rc = take_target(remote, &state->targets[i], err);
    if (state->has_tasks) {
        session_tasks_deinit(&remote->tasks);
        remote->tasks = state->tasks;
        state->tasks = (struct session_tasks){ 0 };
    }
    if (state->has_locks) {
        session_locks_deinit(&remote->locks);
        remote->locks = state->locks;
        state->locks = (struct session_locks){ 0 };
    }
    if (state->has_locals) {
        session_locals_deinit(&remote->locals);
        remote->locals = state->locals;
        state->locals = (struct session_locals){ 0 };
    }
    remote->processes = state->processes;
    /* Requests since this record was written count. */
    remote->status = state->status;
    if (remote->status.state == SESSION_RUNNING || remote->status.state == SESSION_PAUSED)
        remote->status.state = remote->paused ? SESSION_PAUSED : SESSION_RUNNING;
    if (remote->requested_hz > 0)
        remote->status.requested_hz = remote->requested_hz;
    remote->status.records_native = remote->records_native;
    pthread_mutex_unlock(&remote->mutex);
    return rc;
}

static enum err_code take_state(struct remote_session *remote, struct err *err)
{
    struct growing *const growing = &remote->growing;
    const struct memory_log *const memory = &growing->memory;
    const struct sink *const sink = remote->base.options.sink;
    struct state *const state = &remote->state;
    struct byte_reader in = byte_reader_over(&growing->raw);
    state_deinit(state);
    enum err_code rc = state_decode(&in, &growing->sizes, state, err);
    if (rc)
        return rc;
    state->quality.undelivered = state->lost;
    for (size_t i = 0; i < state->origin_count; i++) {
        const struct state_origin *const row = &state->origins[i];
        profile_set_origin(remote->base.profile, row->function, row->origin);
        profile_set_entry(remote->base.profile, row->function, row->entry);
    }
    remote->has_passed = false;
    for (size_t i = 0; i < memory->step_count && sink && sink->memory; i++)
        sink->memory(sink->context, &memory->steps[i],
                     memory_log_uses(memory, &memory->steps[i]));
    rc = growing_seal(growing, &state->quality, state->end_ns, pass_on, remote, err);
    if (!rc && sink && !remote->has_passed && state->end_ns)
        sink->seal(sink->context, state->end_ns, 0, &state->quality);
    return rc ? rc : publish(remote, err);
}

/* Up to the next state; *ended_out: the session has ended. */
static enum err_code take_blocks(struct remote_session *remote, bool *ended_out,
                                 struct err *err)
{
    enum capture_kind kind = CAPTURE_METADATA;
    enum err_code rc = ERR_OK;
    while (!rc && kind != CAPTURE_STATE && kind != CAPTURE_END) {
        rc = growing_read(&remote->growing, fill, remote, &kind, err);
        if (!rc && kind == CAPTURE_STATE)
            rc = take_state(remote, err);
    }
    *ended_out = kind == CAPTURE_END;
    if (rc || !*ended_out)
        return rc;
    /* The last block says if the sampling process could not send all. */
    struct byte_reader in = byte_reader_over(&remote->growing.raw);
    struct capture_metadata end = { .has_failed = 0 };
    rc = metadata_decode(&end, &in, err);
    if (!rc && end.has_failed)
        rc = err_set(err, ERR_SYS, "the sampling process could not send its samples: %.200s",
                     end.reason);
    metadata_deinit(&end);
    return rc;
}

static void stop(struct session *session)
{
    const struct link_request request = { .kind = LINK_STOP, .session = of(session)->number };
    /* A request that does not reach the sampling process finds the session ended with it. */
    (void)!link_send(&request, NULL, NULL);
}

static void *run(void *context)
{
    struct remote_session *const remote = context;
    struct err err = { 0 };
    bool has_ended = false;
    enum err_code rc = ERR_OK;
    pthread_setname_np(pthread_self(), "session");
    while (!rc && !has_ended)
        rc = take_blocks(remote, &has_ended, &err);
    pthread_mutex_lock(&remote->mutex);
    if (rc) {
        /* The session ends here as failed, because nothing more is known of it. */
        const char *const reason =
            rc == ERR_NOT_FOUND || rc == ERR_GONE ? LOST_READER : err.message;
        const uint64_t elapsed_ns = clock_now_ns() - remote->created_ns;
        struct session_status *const status = &remote->status;
        status->state = SESSION_FAILED;
        snprintf(status->reason, sizeof status->reason, "%.200s", reason);
        status->elapsed_ns = elapsed_ns;
        status->ended_at_ns = status->started_at_ns + elapsed_ns;
        for (size_t i = 0; i < remote->target_count; i++)
            if (!remote->targets[i].target.to_ns)
                end_target(&remote->targets[i].target, elapsed_ns, reason);
        remote->processes.running = 0;
    }
    remote->has_ended = true;
    pthread_mutex_unlock(&remote->mutex);
    eventfd_write(remote->base.end_fd, 1);
    /* Further samples would reach nobody. */
    if (rc)
        stop(&remote->base);
    return NULL;
}

static void destroy(struct session *session)
{
    struct remote_session *const remote = of(session);
    stop(session);
    eventfd_write(remote->cancel_fd, 1);
    if (remote->has_thread)
        pthread_join(remote->thread, NULL);
    free_session(remote);
}

static enum err_code ask(const struct link_request *request, struct err *err)
{
    struct buffer answer = { 0 };
    const enum err_code rc = link_ask(request, -1, LINK_WAIT_MS, &answer, err);
    buffer_deinit(&answer);
    return rc;
}

static void set_paused(struct session *session, bool paused)
{
    struct remote_session *const remote = of(session);
    const struct link_request request = { .kind = LINK_PAUSE,
                                          .session = remote->number,
                                          .paused = paused };
    if (ask(&request, NULL))
        return;
    pthread_mutex_lock(&remote->mutex);
    remote->paused = paused;
    if (remote->status.state == SESSION_RUNNING || remote->status.state == SESSION_PAUSED)
        remote->status.state = paused ? SESSION_PAUSED : SESSION_RUNNING;
    pthread_mutex_unlock(&remote->mutex);
}

static enum err_code join(struct session *session, pid_t pid, struct err *err)
{
    const struct link_request request = { .kind = LINK_JOIN,
                                          .session = of(session)->number,
                                          .pid = pid };
    return ask(&request, err);
}

static enum err_code set_rate(struct session *session, double rate_hz, struct err *err)
{
    struct remote_session *const remote = of(session);
    const struct link_request request = { .kind = LINK_SET_RATE,
                                          .session = remote->number,
                                          .value = rate_hz };
    const enum err_code rc = ask(&request, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&remote->mutex);
    remote->requested_hz = remote->status.requested_hz = rate_hz;
    pthread_mutex_unlock(&remote->mutex);
    return ERR_OK;
}

static enum err_code record_native(struct session *session, struct err *err)
{
    struct remote_session *const remote = of(session);
    const struct link_request request = { .kind = LINK_RECORD_NATIVE,
                                          .session = remote->number };
    const enum err_code rc = ask(&request, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&remote->mutex);
    remote->records_native = remote->status.records_native = true;
    pthread_mutex_unlock(&remote->mutex);
    return ERR_OK;
}

static void set_max_cpu(struct session *session, double percent)
{
    const struct link_request request = { .kind = LINK_SET_CPU,
                                          .session = of(session)->number,
                                          .value = percent };
    (void)!link_send(&request, NULL, NULL);
}

static void status(struct session *session, struct session_status *out)
{
    struct remote_session *const remote = of(session);
    pthread_mutex_lock(&remote->mutex);
    *out = remote->status;
    if (out->state != SESSION_ENDED && out->state != SESSION_FAILED)
        out->elapsed_ns = clock_now_ns() - remote->created_ns;
    pthread_mutex_unlock(&remote->mutex);
}

static bool target_at(const struct session *session, size_t index, struct session_target *out)
{
    const struct remote_session *const remote = of_const(session);
    pthread_mutex_lock(lock_of(remote));
    const bool is_there = index < remote->target_count;
    if (is_there)
        *out = remote->targets[index].target;
    pthread_mutex_unlock(lock_of(remote));
    return is_there;
}

static void processes(const struct session *session, struct session_processes *out)
{
    const struct remote_session *const remote = of_const(session);
    pthread_mutex_lock(lock_of(remote));
    *out = remote->processes;
    pthread_mutex_unlock(lock_of(remote));
}

static enum err_code origin(struct session *session, profile_origin number,
                            struct session_origin *out, struct err *err)
{
    (void)session;
    (void)number;
    (void)out;
    return err_set(err, ERR_PERM, "only the sampling process holds other processes");
}

static enum err_code tasks(struct session *session, struct session_tasks *out, struct err *err)
{
    struct remote_session *const remote = of(session);
    pthread_mutex_lock(&remote->mutex);
    const enum err_code rc = session_tasks_copy(&remote->tasks, out, err);
    pthread_mutex_unlock(&remote->mutex);
    return rc;
}

static enum err_code locks(struct session *session, struct session_locks *out, struct err *err)
{
    struct remote_session *const remote = of(session);
    pthread_mutex_lock(&remote->mutex);
    const enum err_code rc = session_locks_copy(&remote->locks, out, err);
    pthread_mutex_unlock(&remote->mutex);
    return rc;
}

static enum err_code locals(struct session *session, struct session_locals *out,
                            struct err *err)
{
    struct remote_session *const remote = of(session);
    pthread_mutex_lock(&remote->mutex);
    const enum err_code rc = session_locals_copy(&remote->locals, out, err);
    pthread_mutex_unlock(&remote->mutex);
    return rc;
}

static const struct session_ops ops = {
    .destroy = destroy,
    .stop = stop,
    .pause = set_paused,
    .join = join,
    .set_rate = set_rate,
    .record_native = record_native,
    .set_max_cpu = set_max_cpu,
    .status = status,
    .target_at = target_at,
    .processes = processes,
    .origin = origin,
    .tasks = tasks,
    .locks = locks,
    .locals = locals,
};

uint64_t remote_session_number(const struct session *session)
{
    return of_const(session)->number;
}

enum err_code remote_session_start(const struct session_options *options, struct session **out,
                                   struct err *err)
{
    struct remote_session *remote = NULL;
    enum err_code rc = allocate(options, &remote, err);
    if (rc)
        return rc;
    remote->base.ops = &ops;
    remote->base.first_target = &remote->targets[0].target;
    const struct link_request request = { .kind = LINK_START, .options = remote->base.options };
    const struct link_patience patience = { .cancel_fd = -1,
                                            .is_cancelled = remote->base.options.is_cancelled,
                                            .lost = link_lost() };
    struct buffer answer = { 0 };
    struct link_started started = { .session = 0 };
    bool has_ended = false;
    rc = link_send(&request, &remote->stream_fd, err);
    if (!rc) {
        (void)fcntl(remote->stream_fd, F_SETPIPE_SZ, PIPE_BYTES);
        rc = link_receive_answer(remote->stream_fd, &patience, &answer, err);
    }
    if (!rc)
        rc = link_take(&answer, &started, sizeof started, err);
    if (!rc && (started.engine > SESSION_ENGINE_REMOTE || started.created_ns > clock_now_ns()))
        rc = err_set(err, ERR_CORRUPT, "the sampling process sent a session of the future");
    buffer_deinit(&answer);
    if (!rc) {
        remote->lost = link_lost();
        remote->number = started.session;
        remote->created_ns = started.created_ns;
        remote->base.options.engine = (enum session_engine)started.engine;
        rc = take_blocks(remote, &has_ended, err);
        if (rc == ERR_NOT_FOUND || rc == ERR_GONE)
            rc = err_set(err, ERR_SYS, "%s", LOST_READER);
        if (!rc && (has_ended || remote->target_count == 0))
            rc = err_set(err, ERR_CORRUPT,
                         "the sampling process sent a session without processes");
    }

    remote->base.options.is_cancelled = NULL;
    if (!rc) {
        const int sys = thread_start(&remote->thread, run, remote);
        remote->has_thread = sys == 0;
        if (sys)
            rc = err_sys(err, sys, "cannot start a thread");
    }
    if (rc)
        free_session(remote);
    else
        *out = &remote->base;
    return rc;
}
