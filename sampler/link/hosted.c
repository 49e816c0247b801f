#define _GNU_SOURCE
#include "sampler/link/hosted.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/thread.h"
#include "sampler/capture/bytes.h"
#include "sampler/capture/live_capture.h"
#include "sampler/capture/metadata.h"
#include "sampler/link/answer.h"
#include "sampler/link/request.h"
#include "sampler/link/state.h"
#include "sampler/permission.h"
#include "sampler/processes.h"
#include "sampler/reader_process.h"
#include "sampler/sampler.h"

struct hosted {
    const struct reader_process *settings;
    struct sampler_options options;
    int pipe_fd;
    atomic_bool is_cancelled;
    struct live_capture *live;
    struct state_writer states;

    uint64_t session;        /* guarded by the table, like what follows */
    struct sampler *sampler; /* NULL: it is starting */
    bool has_ended;
    size_t users;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t released;
    struct hosted *items[READER_MAX_SESSIONS];
    size_t count;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER };

static bool is_closed(int pipe_fd)
{
    struct pollfd end = { .fd = pipe_fd, .events = 0 };
    return poll(&end, 1, 0) > 0;
}

bool hosted_check_starting(void)
{
    bool is_starting = false;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count; i++) {
        struct hosted *const hosted = table.items[i];
        if (hosted->sampler)
            continue;
        is_starting = true;
        if (is_closed(hosted->pipe_fd))
            atomic_store(&hosted->is_cancelled, true);
    }
    pthread_mutex_unlock(&table.lock);
    return is_starting;
}

struct hosted *hosted_find(uint64_t session)
{
    struct hosted *found = NULL;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count && !found; i++)
        if (table.items[i]->sampler && table.items[i]->session == session)
            found = table.items[i];
    if (found)
        found->users++;
    pthread_mutex_unlock(&table.lock);
    return found;
}

struct sampler *hosted_sampler(const struct hosted *hosted)
{
    return hosted->sampler;
}

void hosted_release(struct hosted *hosted)
{
    pthread_mutex_lock(&table.lock);
    if (--hosted->users == 0)
        pthread_cond_broadcast(&table.released);
    pthread_mutex_unlock(&table.lock);
}

static enum err_code add(struct hosted *hosted, struct err *err)
{
    enum err_code rc = ERR_OK;
    size_t running = 0;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count; i++)
        running += !table.items[i]->has_ended;
    if (table.count == READER_MAX_SESSIONS || running >= hosted->settings->max_running)
        rc = err_set(err, ERR_LIMIT, "the reader process runs %zu sessions: stop one", running);
    else
        table.items[table.count++] = hosted;
    pthread_mutex_unlock(&table.lock);
    return rc;
}

/* Once nobody uses it. */
static void drop(struct hosted *hosted)
{
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count; i++)
        if (table.items[i] == hosted)
            table.items[i] = table.items[--table.count];
    while (hosted->users > 0)
        pthread_cond_wait(&table.released, &table.lock);
    pthread_mutex_unlock(&table.lock);
}

enum err_code hosted_admits(const struct reader_process *settings, pid_t pid, struct err *err)
{
    if (settings->launcher && !processes_descends(pid, settings->launcher))
        return err_set(err, ERR_PERM, "process %d is no descendant of the program", (int)pid);
    return permission_ask(pid, NULL, err);
}

static enum err_code check_processes(const struct hosted *hosted, struct err *err)
{
    const struct reader_process *const settings = hosted->settings;
    const struct sampler_options *const options = &hosted->options;
    enum err_code rc = ERR_OK;
    if (options->all && settings->launcher)
        return err_set(err, ERR_PERM,
                       "\"all\" is not permitted on this server: list processes in \"pids\"");
    for (size_t i = 0; i < options->pid_count && !rc; i++)
        rc = hosted_admits(settings, options->pids[i], err);
    return rc;
}

/* Within the settings, whatever was asked for. */
static enum err_code restrict_options(struct hosted *hosted, struct err *err)
{
    const struct reader_process *const settings = hosted->settings;
    struct sampler_options *const options = &hosted->options;
    if (options->rate_hz > settings->max_rate_hz)
        return err_set(err, ERR_INVALID, "the sampling rate is at most %g Hz on this server",
                       settings->max_rate_hz);
    options->hides_arguments |= settings->hides_arguments;
    if (settings->memory_bytes &&
        (!options->memory_bytes || options->memory_bytes > settings->memory_bytes))
        options->memory_bytes = settings->memory_bytes;
    if (settings->max_cpu_percent > 0 &&
        (options->max_cpu_percent <= 0 || options->max_cpu_percent > settings->max_cpu_percent))
        options->max_cpu_percent = settings->max_cpu_percent;
    options->engines = settings->engines;
    options->adopter = options->subprocesses ? settings->launcher : 0;
    options->sink = live_capture_sink(hosted->live);
    options->drops_samples = true;
    options->is_cancelled = &hosted->is_cancelled;
    return check_processes(hosted, err);
}

static void put_state(void *context, const struct live_capture_seal *seal, struct bytes *out)
{
    struct hosted *const hosted = context;
    state_encode(&hosted->states, hosted->sampler, seal, out);
}

static enum err_code make(struct hosted *hosted, struct sampler **out, struct err *err)
{
    enum err_code rc = live_capture_create(&hosted->live, err);
    if (!rc)
        rc = restrict_options(hosted, err);
    return rc ? rc : sampler_start(&hosted->options, out, err);
}

static enum err_code register_sampler(struct hosted *hosted, struct sampler *sampler,
                                      struct err *err)
{
    uint64_t session;
    if (getrandom(&session, sizeof session, 0) != (ssize_t)sizeof session)
        return err_sys(err, errno, "random bytes are unavailable");
    pthread_mutex_lock(&table.lock);
    hosted->session = session;
    hosted->sampler = sampler;
    pthread_mutex_unlock(&table.lock);
    return ERR_OK;
}

static void send_started(const struct hosted *hosted)
{
    struct sampler_status status;
    struct bytes contents = { 0 };
    sampler_status(hosted->sampler, &status);
    const struct link_started started = {
        .session = hosted->session,
        .created_ns = clock_now_ns() - status.elapsed_ns,
        .engine = sampler_options(hosted->sampler)->engine,
    };
    link_started_encode(&started, &contents);
    answer_send(hosted->pipe_fd, ERR_OK, &contents, NULL);
    bytes_deinit(&contents);
}

/* Until sampling has ended, or the HTTP process has closed the pipe. */
static void wait_for_end(struct hosted *hosted)
{
    struct pollfd events[] = { { sampler_end_fd(hosted->sampler), POLLIN, 0 },
                               { hosted->pipe_fd, 0, 0 } };
    while (poll(events, 2, -1) < 0 && errno == EINTR) {
    }
    if (!events[0].revents)
        sampler_stop(hosted->sampler);
    while (!events[0].revents)
        (void)poll(events, 1, -1);
    /* Its lock orders what the sampling thread has done before what follows here. */
    struct sampler_status status;
    sampler_status(hosted->sampler, &status);
    pthread_mutex_lock(&table.lock);
    hosted->has_ended = true;
    pthread_mutex_unlock(&table.lock);
}

static void wait_for_close(const struct hosted *hosted)
{
    struct pollfd end = { .fd = hosted->pipe_fd, .events = 0 };
    while (poll(&end, 1, -1) < 0 && errno == EINTR) {
    }
}

/* What follows the answer in the pipe.  If the HTTP process does not read it, that has ended or wants no more. */
static void stream(struct hosted *hosted)
{
    const struct capture_metadata nothing = { .pid = 0 };
    if (live_capture_begin_live(hosted->live, hosted->pipe_fd, sampler_profile(hosted->sampler),
                                &nothing, put_state, hosted, NULL) == ERR_OK) {
        wait_for_end(hosted);
        (void)!live_capture_finish(hosted->live, &nothing, NULL);
    }
    wait_for_close(hosted);
}

static void destroy(struct hosted *hosted)
{
    drop(hosted);
    sampler_destroy(hosted->sampler);
    live_capture_destroy(hosted->live);
    state_writer_deinit(&hosted->states);
    close(hosted->pipe_fd);
    free(hosted);
}

static void *run(void *context)
{
    struct hosted *const hosted = context;
    struct sampler *sampler = NULL;
    struct err err = { 0 };
    pthread_setname_np(pthread_self(), "session");
    enum err_code rc = make(hosted, &sampler, &err);
    if (!rc && (rc = register_sampler(hosted, sampler, &err)))
        sampler_destroy(sampler);
    if (rc) {
        answer_send(hosted->pipe_fd, rc, NULL, &err);
    } else {
        send_started(hosted);
        stream(hosted);
    }
    destroy(hosted);
    return NULL;
}

void hosted_start(const struct reader_process *settings, const struct link_request *request,
                  int pipe_fd)
{
    struct err err = { 0 };
    struct hosted *const hosted = calloc(1, sizeof *hosted);
    enum err_code rc = hosted ? ERR_OK : err_nomem(&err);
    if (!rc) {
        hosted->settings = settings;
        hosted->options = request->options;
        hosted->pipe_fd = pipe_fd;
        atomic_init(&hosted->is_cancelled, false);
        rc = add(hosted, &err);
    }
    const int sys = rc ? 0 : thread_start(NULL, run, hosted);
    if (sys) {
        drop(hosted);
        rc = err_sys(&err, sys, "cannot start a thread");
    }
    if (!rc)
        return;
    answer_send(pipe_fd, rc, NULL, &err);
    close(pipe_fd);
    free(hosted);
}
