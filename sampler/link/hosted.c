#define _GNU_SOURCE
#include "sampler/link/hosted.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/thread.h"
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
    uint64_t ended;          /* its number among those that have ended; 0: it has not */
    size_t processes, bytes; /* that it holds since then */
    double wants_cpu_percent, cpu_percent; /* what it may use, alone and beside the others */
    size_t users;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t released;
    struct hosted *items[READER_MAX_SESSIONS];
    size_t count;
    uint64_t ended; /* sessions so far */
    int change_fd;  /* readable: another session has ended */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER,
            .released = PTHREAD_COND_INITIALIZER,
            .change_fd = -1 };

enum err_code hosted_open(struct err *err)
{
    table.change_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return table.change_fd >= 0 ? ERR_OK
                                : err_sys(err, errno, "cannot create an event descriptor");
}

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
        running += !table.items[i]->ended;
    if (table.count == READER_MAX_SESSIONS || running >= hosted->settings->max_running)
        rc = err_set(err, ERR_LIMIT, "the sampling process runs %zu sessions: stop one",
                     running);
    else
        table.items[table.count++] = hosted;
    pthread_mutex_unlock(&table.lock);
    return rc;
}

/* Takes a session out of the table.  The lock is held. */
static void take_out(const struct hosted *hosted)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.items[i] == hosted)
            table.items[i] = table.items[--table.count];
}

/* The CPU time that the settings permit is for all sessions together, and as much again for continuous sampling. */
static void share_cpu(const struct reader_process *settings)
{
    const double most = 2 * settings->max_cpu_percent;
    double sum = 0;
    if (most <= 0)
        return;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count; i++)
        if (!table.items[i]->ended)
            sum += table.items[i]->wants_cpu_percent;
    for (size_t i = 0; i < table.count; i++) {
        struct hosted *const hosted = table.items[i];
        const double percent = hosted->wants_cpu_percent * (sum > most ? most / sum : 1);
        if (!hosted->sampler || hosted->ended ||
            (percent >= hosted->cpu_percent && percent <= hosted->cpu_percent))
            continue;
        hosted->cpu_percent = percent;
        sampler_set_max_cpu(hosted->sampler, percent);
    }
    pthread_mutex_unlock(&table.lock);
}

/* The CPU budget of a session, within what the settings permit. */
static double restrict_cpu(const struct reader_process *settings, double percent)
{
    const double most = settings->max_cpu_percent;
    return most > 0 && (percent <= 0 || percent > most) ? most : percent;
}

void hosted_set_cpu(struct hosted *hosted, double percent)
{
    const double wanted = restrict_cpu(hosted->settings, percent);
    if (hosted->settings->max_cpu_percent <= 0) {
        sampler_set_max_cpu(hosted->sampler, wanted);
        return;
    }
    pthread_mutex_lock(&table.lock);
    hosted->wants_cpu_percent = wanted;
    pthread_mutex_unlock(&table.lock);
    share_cpu(hosted->settings);
}

/* Destroys a session once nobody uses it. */
static void drop(struct hosted *hosted)
{
    pthread_mutex_lock(&table.lock);
    take_out(hosted);
    while (hosted->users > 0)
        pthread_cond_wait(&table.released, &table.lock);
    pthread_mutex_unlock(&table.lock);
}

static bool samples(const struct sampler *sampler, pid_t pid)
{
    struct sampler_target target;
    for (size_t i = 0; sampler_target_at(sampler, i, &target); i++)
        if (target.pid == pid && !target.to_ns)
            return true;
    return false;
}

/* A process of the only session that is wanted, or one that it has found. */
static bool is_of_session(const struct sampler_options *only, pid_t pid)
{
    bool is_found = only->all;
    for (size_t i = 0; i < only->pid_count; i++)
        is_found |= only->pids[i] == pid;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count && !is_found; i++)
        is_found = table.items[i]->sampler && samples(table.items[i]->sampler, pid);
    pthread_mutex_unlock(&table.lock);
    return is_found;
}

enum err_code hosted_admits(const struct reader_process *settings, pid_t pid, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (settings->launcher)
        rc = processes_descends(pid, settings->launcher, err);
    else if (settings->only && !is_of_session(settings->only, pid))
        rc = err_set(err, ERR_PERM, "process %d is not one of those that this program samples",
                     (int)pid);
    return rc ? rc : permission_ask(pid, NULL, err);
}

static enum err_code check_processes(const struct hosted *hosted, struct err *err)
{
    const struct reader_process *const settings = hosted->settings;
    const struct sampler_options *const options = &hosted->options;
    enum err_code rc = ERR_OK;
    const bool may_all = !settings->launcher && (!settings->only || settings->only->all);
    if (options->all && !may_all)
        return err_set(err, ERR_PERM,
                       "\"all\" is not permitted on this server: list processes in \"pids\"");
    for (size_t i = 0; i < options->pid_count && !rc; i++)
        rc = hosted_admits(settings, options->pids[i], err);
    return rc;
}

static enum err_code restrict_stops(const struct reader_process *settings,
                                    struct sampler_options *options, struct err *err)
{
    const double most = settings->max_stop_percent;
    const double wanted =
        options->max_stop_percent > 0 ? options->max_stop_percent : SAMPLER_MAX_STOP_PERCENT;
    if (most <= 0)
        return ERR_OK;
    if (options->stop == SAMPLER_STOP_ALWAYS || options->max_stop_percent > most)
        return err_set(err, ERR_INVALID,
                       "threads may be stopped for at most %g %% of their time on this server",
                       most);
    options->max_stop_percent = wanted < most ? wanted : most;
    return ERR_OK;
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
    options->max_cpu_percent = restrict_cpu(settings, options->max_cpu_percent);
    options->engines = settings->engines;
    options->adopter = options->subprocesses ? settings->launcher : 0;
    options->sink = live_capture_sink(hosted->live);
    options->drops_samples = true;
    options->is_cancelled = &hosted->is_cancelled;
    const enum err_code rc = restrict_stops(settings, options, err);
    return rc ? rc : check_processes(hosted, err);
}

static void put_state(void *context, const struct live_capture_seal *seal, struct buffer *out)
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
    hosted->wants_cpu_percent = hosted->cpu_percent = hosted->options.max_cpu_percent;
    pthread_mutex_unlock(&table.lock);
    share_cpu(hosted->settings);
    return ERR_OK;
}

static void send_started(const struct hosted *hosted)
{
    struct sampler_status status;
    struct buffer contents = { 0 };
    sampler_status(hosted->sampler, &status);
    const struct link_started started = {
        .session = hosted->session,
        .created_ns = clock_now_ns() - status.elapsed_ns,
        .engine = sampler_options(hosted->sampler)->engine,
    };
    buffer_append(&contents, &started, sizeof started);
    answer_send(hosted->pipe_fd, ERR_OK, &contents, NULL);
    buffer_deinit(&contents);
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
}

/* Stops a session whose samples would no longer reach the HTTP process. */
static void stop_unsent(void *context, const struct err *err)
{
    struct hosted *const hosted = context;
    (void)err;
    sampler_stop(hosted->sampler);
}

/* Writes the capture and the state that follow the answer in the pipe.  false: they are not whole, because the HTTP process has
 * ended or wants no more, or there is no memory for them. */
static bool stream(struct hosted *hosted)
{
    const struct capture_metadata nothing = { .pid = 0 };
    if (live_capture_begin_live(hosted->live, hosted->pipe_fd, sampler_profile(hosted->sampler),
                                &nothing, put_state, stop_unsent, hosted, NULL) != ERR_OK)
        return false;
    wait_for_end(hosted);
    return live_capture_finish(hosted->live, &nothing, NULL, NULL) == ERR_OK;
}

static void free_stream(struct hosted *hosted)
{
    live_capture_destroy(hosted->live);
    state_writer_deinit(&hosted->states);
    hosted->live = NULL;
}

static void destroy(struct hosted *hosted)
{
    drop(hosted);
    share_cpu(hosted->settings);
    sampler_destroy(hosted->sampler);
    free_stream(hosted);
    close(hosted->pipe_fd);
    free(hosted);
}

static void *run_destroy(void *context)
{
    destroy(context);
    return NULL;
}

/* The one that ended first, if those that have ended hold more than they may; it is no longer in the table.  NULL: they do
 * not.  The last one stays. */
static struct hosted *take_excess(const struct reader_process *settings)
{
    struct hosted *first = NULL;
    size_t count = 0, processes = 0, bytes = 0;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count; i++) {
        struct hosted *const hosted = table.items[i];
        if (!hosted->ended)
            continue;
        count++;
        processes += hosted->processes;
        bytes += hosted->bytes;
        if (!first || hosted->ended < first->ended)
            first = hosted;
    }
    const bool is_over = count > READER_MAX_ENDED || processes > SAMPLER_MAX_PROCESSES ||
                         (settings->memory_bytes && bytes > settings->memory_bytes);
    if (is_over && count > 1)
        take_out(first);
    else
        first = NULL;
    pthread_mutex_unlock(&table.lock);
    eventfd_write(table.change_fd, 1);
    return first;
}

/* A session that has ended stays, without a thread, for the source files of its processes. */
static void keep(struct hosted *hosted)
{
    const struct reader_process *const settings = hosted->settings;
    struct sampler_processes processes;
    struct profile_snapshot snapshot = { .bytes = 0 };
    struct hosted *excess;
    free_stream(hosted);
    sampler_processes(hosted->sampler, &processes);
    if (profile_snapshot(sampler_profile(hosted->sampler), &snapshot, NULL) == ERR_OK)
        profile_snapshot_release(&snapshot);
    pthread_mutex_lock(&table.lock);
    hosted->processes = (size_t)processes.running;
    hosted->bytes = snapshot.bytes;
    hosted->ended = ++table.ended;
    pthread_mutex_unlock(&table.lock);
    share_cpu(settings);
    while ((excess = take_excess(settings)))
        destroy(excess);
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
    if (rc)
        answer_send(hosted->pipe_fd, rc, NULL, &err);
    else
        send_started(hosted);
    if (!rc && stream(hosted))
        keep(hosted);
    else
        destroy(hosted);
    return NULL;
}

size_t hosted_watch(struct pollfd out[HOSTED_WATCHED])
{
    size_t count = 0;
    out[count++] = (struct pollfd){ .fd = table.change_fd, .events = POLLIN };
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count && count < HOSTED_WATCHED; i++)
        if (table.items[i]->ended)
            out[count++] = (struct pollfd){ .fd = table.items[i]->pipe_fd };
    pthread_mutex_unlock(&table.lock);
    return count;
}

/* NULL: there is none. */
static struct hosted *take_closed(void)
{
    struct hosted *found = NULL;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count && !found; i++)
        if (table.items[i]->ended && is_closed(table.items[i]->pipe_fd))
            found = table.items[i];
    if (found)
        take_out(found);
    pthread_mutex_unlock(&table.lock);
    return found;
}

/* A session that somebody still uses is waited for, so each has a thread again. */
void hosted_let_go(void)
{
    eventfd_t ignored;
    struct hosted *hosted;
    (void)!eventfd_read(table.change_fd, &ignored);
    while ((hosted = take_closed()))
        if (thread_start(NULL, run_destroy, hosted))
            destroy(hosted);
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
