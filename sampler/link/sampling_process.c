#define _GNU_SOURCE
#include "sampler/sampling_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/channel.h"
#include "sampler/base/pulse.h"
#include "sampler/base/thread.h"
#include "sampler/base/usage.h"
#include "sampler/link/answer.h"
#include "sampler/link/request.h"
#include "sampler/link/served_session.h"
#include "sampler/process_tree.h"
#include "sampler/processes.h"
#include "sampler/session.h"

enum { STARTING_POLL_MS = 50 };

/* Command lines beyond so many bytes are left out, the hosts of which have other cares. */
enum { LIST_BYTES = LINK_MAX_ANSWER_BYTES / 2 };

/* Descriptors that no session gets: without a free one the pipe for the answer would be lost, and with it what is wrong. */
enum { RESERVED = 4 };

struct service {
    const struct sampling_process *settings;
    struct processes *processes;
    atomic_size_t requests;
    atomic_size_t answer_bytes; /* that wait to be read */
    int reserve[RESERVED];      /* -1: in use by others */
};

/* A request on a thread of its own. */
struct job {
    struct service *service;
    int answer_fd;
    struct link_request request; /* points into the message */
    unsigned char message[LINK_MAX_REQUEST_BYTES];
};

static void put_process(void *context, const struct process_info *info)
{
    struct buffer *const out = context;
    if (out->length < LIST_BYTES)
        link_process_encode(info, out);
}

static enum err_code answer_session(const struct service *service,
                                    struct served_session *served,
                                    const struct link_request *request, struct buffer *out,
                                    struct err *err)
{
    const struct sampling_process *const settings = service->settings;
    struct session *const session = served_session_sampler(served);
    enum err_code rc;
    switch (request->kind) {
    case LINK_STOP: session_stop(session); return ERR_OK;
    case LINK_PAUSE: session_pause(session, request->paused); return ERR_OK;
    case LINK_SET_RATE:
        if (request->value > settings->max_rate_hz)
            return err_set(err, ERR_INVALID,
                           "the sampling rate is at most %g Hz on this server",
                           settings->max_rate_hz);
        return session_set_rate(session, request->value, err);
    case LINK_RECORD_NATIVE: return session_record_native(session, err);
    case LINK_SET_CPU: served_session_set_cpu(served, request->value); return ERR_OK;
    case LINK_JOIN:
        rc = served_session_admits(settings, request->pid, err);
        return rc ? rc : session_join(session, request->pid, err);
    case LINK_READ:
        if (!settings->read)
            return err_set(err, ERR_NOT_FOUND, "this server shows no source files");
        return settings->read(settings->context, session, request->source,
                              request->source_bytes, out, err);
    case LINK_START:
    case LINK_CHECK_ENGINE:
    case LINK_ADMIT:
    case LINK_FACTS:
    case LINK_LIST:
    case LINK_USAGE:
    case LINK_NONE:
    case LINK_PING:
    case LINK_KINDS: break;
    }
    return err_set(err, ERR_INVALID, "the request is invalid");
}

static enum err_code answer(struct service *service, const struct link_request *request,
                            struct buffer *out, struct err *err)
{
    if (request->kind == LINK_LIST) {
        struct buffer rows = { 0 };
        struct processes_summary summary;
        if (service->settings->only)
            return err_set(err, ERR_PERM,
                           "this program lists no processes: start pyrometer serve");
        const enum err_code rc =
            processes_visit(service->processes, put_process, &rows, &summary, err);
        if (!rc) {
            buffer_append(out, &summary, sizeof summary);
            buffer_append(out, rows.data, rows.length);
            out->failed |= rows.failed;
        }
        buffer_deinit(&rows);
        return rc;
    }
    if (request->kind == LINK_CHECK_ENGINE) {
        struct session_options options = request->options;
        options.engines = service->settings->engines;
        return session_check_engine(&options, err);
    }
    if (request->kind == LINK_ADMIT)
        return served_session_admits(service->settings, request->pid, err);
    if (request->kind == LINK_FACTS) {
        struct process_facts facts = { .rank = -1 };
        enum err_code rc = served_session_admits(service->settings, request->pid, err);
        if (!rc && (rc = process_facts_read(request->pid, &facts)))
            rc = err_set(err, rc, "no process %d", (int)request->pid);
        buffer_append(out, &facts, sizeof facts);
        return rc;
    }
    if (request->kind == LINK_USAGE) {
        struct process_usage used;
        process_usage_read(&used);
        buffer_append(out, &used, sizeof used);
        return ERR_OK;
    }
    struct served_session *const served = served_session_find(request->session);
    if (!served)
        return err_set(err, ERR_GONE, "the sampling process does not run this session");
    const enum err_code rc = answer_session(service, served, request, out, err);
    served_session_release(served);
    return rc;
}

static void free_job(struct job *job)
{
    if (job->answer_fd >= 0)
        close(job->answer_fd);
    free(job);
}

static void *run_job(void *context)
{
    struct job *const job = context;
    struct service *const service = job->service;
    struct buffer contents = { 0 };
    struct err err = { 0 };
    enum err_code rc = answer(service, &job->request, &contents, &err);
    const size_t bytes = contents.length;
    if (atomic_fetch_add(&service->answer_bytes, bytes) + bytes > LINK_MAX_ANSWER_BYTES &&
        !rc) {
        rc = err_set(&err, ERR_LIMIT, "too many answers wait to be read: try again");
        buffer_deinit(&contents);
    }
    if (job->answer_fd >= 0)
        answer_send(job->answer_fd, rc, &contents, &err);
    buffer_deinit(&contents);
    atomic_fetch_sub(&service->answer_bytes, bytes);
    free_job(job);
    atomic_fetch_sub(&service->requests, 1);
    return NULL;
}

static void refuse(struct job *job, enum err_code code, const struct err *err)
{
    if (job->answer_fd >= 0)
        answer_send(job->answer_fd, code, NULL, err);
    free_job(job);
}

static void start_job(struct job *job)
{
    struct service *const service = job->service;
    struct err err = { 0 };
    enum err_code rc = ERR_OK;
    if (atomic_fetch_add(&service->requests, 1) >= READER_MAX_REQUESTS)
        rc = err_set(&err, ERR_LIMIT, "the sampling process is busy: try again");
    const int sys = rc ? 0 : thread_start(NULL, run_job, job);
    if (sys)
        rc = err_sys(&err, sys, "cannot start a thread");
    if (!rc)
        return;
    atomic_fetch_sub(&service->requests, 1);
    refuse(job, rc, &err);
}

/* false: the HTTP process has ended. */
static bool receive(struct service *service)
{
    int fds[CHANNEL_MAX_FDS];
    int *const reserve = service->reserve;
    size_t count, got;
    bool has_descriptors = true;
    struct job *const job = malloc(sizeof *job);
    if (!job)
        return true;
    /* The reserve is free while descriptors arrive. */
    for (size_t i = 0; i < RESERVED; i++) {
        if (reserve[i] >= 0)
            close(reserve[i]);
        reserve[i] = -1;
    }
    const bool goes_on =
        channel_receive(service->settings->socket, job->message, sizeof job->message, &got, fds,
                        CHANNEL_MAX_FDS, &count);
    for (size_t i = 0; i < RESERVED; i++) {
        if (reserve[i] < 0)
            reserve[i] = fcntl(service->settings->socket, F_DUPFD_CLOEXEC, 0);
        has_descriptors &= reserve[i] >= 0;
    }
    if (got == 0) {
        free(job);
        return goes_on;
    }
    pulse_take(service->settings->pulse);
    job->service = service;
    job->answer_fd = -1;
    /* One descriptor is kept, which must be a pipe: this process writes into nothing else. */
    for (size_t i = 0; i < count; i++) {
        struct stat status;
        if (job->answer_fd < 0 && fstat(fds[i], &status) == 0 && S_ISFIFO(status.st_mode))
            job->answer_fd = fds[i];
        else
            close(fds[i]);
    }
    struct err err = { 0 };
    enum err_code rc = link_request_decode(job->message, got, &job->request, &err);
    /* Requests that start or ask something come with descriptors; those that end or change a session do not. */
    const enum link_kind kind = rc ? LINK_NONE : job->request.kind;
    const bool needs_descriptors = kind == LINK_START || kind == LINK_JOIN ||
                                   kind == LINK_ADMIT || kind == LINK_FACTS ||
                                   kind == LINK_LIST || kind == LINK_READ;
    if (!rc && !has_descriptors && needs_descriptors)
        rc = err_sys(&err, EMFILE, "cannot take the request");
    if (rc) {
        refuse(job, rc, &err);
    } else if (kind == LINK_PING) {
        free_job(job);
    } else if (kind != LINK_START) {
        start_job(job);
    } else if (job->answer_fd >= 0) {
        served_session_start(job->service->settings, &job->request, job->answer_fd);
        free(job);
    } else {
        free_job(job);
    }
    return true;
}

enum err_code sampling_process_serve(const struct sampling_process *settings, struct err *err)
{
    struct service service = { .settings = settings };
    for (size_t i = 0; i < RESERVED; i++)
        service.reserve[i] = -1;
    enum err_code rc = served_session_open(err);
    if (!rc)
        rc = processes_create(&service.processes, err);
    if (rc)
        return rc;
    if (settings->hides_arguments)
        processes_hide_arguments(service.processes);
    struct pollfd wanted[1 + HOSTED_WATCHED] = { { .fd = settings->socket, .events = POLLIN } };
    bool goes_on = true;
    pulse_take(settings->pulse);
    while (goes_on) {
        const int wait_ms = served_session_check_starting() ? STARTING_POLL_MS : -1;
        const int ready = poll(wanted, 1 + served_session_watch(&wanted[1]), wait_ms);
        const bool has_request = ready > 0 && wanted[0].revents;
        if (has_request)
            goes_on = receive(&service);
        else if (ready < 0 && errno != EINTR)
            return err_sys(err, errno, "cannot wait for requests");
        if (ready > has_request)
            served_session_let_go();
    }
    return ERR_OK;
}
