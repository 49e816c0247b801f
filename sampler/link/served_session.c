#define _GNU_SOURCE
#include "sampler/link/served_session.h"

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
#include "sampler/sampling_process.h"
#include "sampler/session.h"

struct served_session {
    const struct sampling_process *settings;
    struct session_options options;
    int pipe_fd;
    atomic_bool is_cancelled;
    struct live_capture *live;
    struct state_writer states;

    uint64_t number;         /* guarded by the table, like what follows */
    struct session *session; /* NULL: it is starting */
    uint64_t ended;          /* its number among those that have ended; 0: it has not */
    size_t processes, bytes; /* that it holds since then */
    double wants_cpu_percent, cpu_percent; /* what it may use, alone and beside the others */
    size_t users;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t released;
    struct served_session *items[READER_MAX_SESSIONS];
    size_t count;
    uint64_t ended; /* sessions so far */
    int change_fd;  /* readable: another session has ended */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER,
            .released = PTHREAD_COND_INITIALIZER,
            .change_fd = -1 };

enum err_code served_session_open(struct err *err)
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

bool served_session_check_starting(void)
{
    bool is_starting = false;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count; i++) {
        struct served_session *const served = table.items[i];
        if (served->session)
            continue;
        is_starting = true;
        if (is_closed(served->pipe_fd))
            atomic_store(&served->is_cancelled, true);
    }
    pthread_mutex_unlock(&table.lock);
    return is_starting;
}

struct served_session *served_session_find(uint64_t number)
{
    struct served_session *found = NULL;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count && !found; i++)
        if (table.items[i]->session && table.items[i]->number == number)
            found = table.items[i];
    if (found)
        found->users++;
    pthread_mutex_unlock(&table.lock);
    return found;
}

struct session *served_session_sampler(const struct served_session *served)
{
    return served->session;
}

void served_session_release(struct served_session *served)
{
    pthread_mutex_lock(&table.lock);
    if (--served->users == 0)
        pthread_cond_broadcast(&table.released);
    pthread_mutex_unlock(&table.lock);
}

/* Takes a session out of the table.  The lock is held. */
static void take_out(const struct served_session *served)
{
    for (size_t i = 0; i < table.count; i++)
        if (table.items[i] == served)
            table.items[i] = table.items[--table.count];
}

/* The CPU time that the settings permit is for all sessions together, and as much again for continuous sampling. */
static void share_cpu(const struct sampling_process *settings)
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
        struct served_session *const served = table.items[i];
        const double percent = served->wants_cpu_percent * (sum > most ? most / sum : 1);
        if (!served->session || served->ended ||
            (percent >= served->cpu_percent && percent <= served->cpu_percent))
            continue;
        served->cpu_percent = percent;
        session_set_max_cpu(served->session, percent);
    }
    pthread_mutex_unlock(&table.lock);
}

/* The CPU budget of a session, within what the settings permit. */
static double restrict_cpu(const struct sampling_process *settings, double percent)
{
    const double most = settings->max_cpu_percent;
    return most > 0 && (percent <= 0 || percent > most) ? most : percent;
}

void served_session_set_cpu(struct served_session *served, double percent)
{
    const double wanted = restrict_cpu(served->settings, percent);
    if (served->settings->max_cpu_percent <= 0) {
        session_set_max_cpu(served->session, wanted);
        return;
    }
    pthread_mutex_lock(&table.lock);
    served->wants_cpu_percent = wanted;
    pthread_mutex_unlock(&table.lock);
    share_cpu(served->settings);
}

/* Destroys a session once nobody uses it. */
static void drop(struct served_session *served)
{
    pthread_mutex_lock(&table.lock);
    take_out(served);
    while (served->users > 0)
        pthread_cond_wait(&table.released, &table.lock);
    pthread_mutex_unlock(&table.lock);
}

/* A process of the only session that is wanted, or one that it has found. */
static bool is_of_session(const struct session_options *only, pid_t pid)
{
    bool is_found = only->all;
    for (size_t i = 0; i < only->pid_count; i++)
        is_found |= only->pids[i] == pid;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count && !is_found; i++) {
        struct session_target target;
        for (size_t k = 0; table.items[i]->session && !is_found &&
                           session_target_at(table.items[i]->session, k, &target);
             k++)
            is_found = target.pid == pid && !target.to_ns;
    }
    pthread_mutex_unlock(&table.lock);
    return is_found;
}

enum err_code served_session_admits(const struct sampling_process *settings, pid_t pid,
                                    struct err *err)
{
    enum err_code rc = ERR_OK;
    if (settings->launcher)
        rc = processes_descends(pid, settings->launcher, err);
    else if (settings->only && !is_of_session(settings->only, pid))
        rc = err_set(err, ERR_PERM, "process %d is not one of those that this program samples",
                     (int)pid);
    return rc ? rc : permission_ask(pid, NULL, err);
}

/* Within the settings, whatever was asked for. */
static enum err_code restrict_options(struct served_session *served, struct err *err)
{
    const struct sampling_process *const settings = served->settings;
    struct session_options *const options = &served->options;
    if (options->rate_hz > settings->max_rate_hz)
        return err_set(err, ERR_INVALID, "the sampling rate is at most %g Hz on this server",
                       settings->max_rate_hz);
    if (options->locals && !settings->allows_locals)
        return err_set(err, ERR_PERM,
                       "the server shows no variables: start it with --allow-locals");
    options->hides_arguments |= settings->hides_arguments;
    if (settings->memory_bytes &&
        (!options->memory_bytes || options->memory_bytes > settings->memory_bytes))
        options->memory_bytes = settings->memory_bytes;
    options->max_cpu_percent = restrict_cpu(settings, options->max_cpu_percent);
    options->engines = settings->engines;
    options->adopter = options->subprocesses ? settings->launcher : 0;
    options->sink = live_capture_sink(served->live);
    options->drops_samples = true;
    options->is_cancelled = &served->is_cancelled;
    const double most = settings->max_stop_percent;
    const double wanted =
        options->max_stop_percent > 0 ? options->max_stop_percent : SESSION_MAX_STOP_PERCENT;
    if (most > 0 && (options->stop == SESSION_STOP_ALWAYS || options->max_stop_percent > most))
        return err_set(err, ERR_INVALID,
                       "threads may be stopped for at most %g %% of their time on this server",
                       most);
    if (most > 0)
        options->max_stop_percent = wanted < most ? wanted : most;
    const bool may_all = !settings->launcher && (!settings->only || settings->only->all);
    if (options->all && !may_all)
        return err_set(err, ERR_PERM,
                       "\"all\" is not permitted on this server: list processes in \"pids\"");
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < options->pid_count && !rc; i++)
        rc = served_session_admits(settings, options->pids[i], err);
    return rc;
}

static void put_state(void *context, const struct live_capture_seal *seal, struct buffer *out)
{
    struct served_session *const served = context;
    state_encode(&served->states, served->session, seal, out);
}

/* Stops a session whose samples would no longer reach the HTTP process. */
static void stop_unsent(void *context, const struct err *err)
{
    struct served_session *const served = context;
    (void)err;
    session_stop(served->session);
}

/* Writes the capture and the state that follow the answer in the pipe.  false: they are not whole, because the HTTP process has
 * ended or wants no more, or there is no memory for them. */
static bool stream(struct served_session *served)
{
    const struct capture_metadata nothing = { .pid = 0 };
    if (live_capture_begin_live(served->live, served->pipe_fd, session_profile(served->session),
                                &nothing, put_state, stop_unsent, served, NULL))
        return false;
    struct pollfd events[] = { { session_end_fd(served->session), POLLIN, 0 },
                               { served->pipe_fd, 0, 0 } };
    while (poll(events, 2, -1) < 0 && errno == EINTR) {
    }
    /* The HTTP process has closed the pipe. */
    if (!events[0].revents)
        session_stop(served->session);
    while (!events[0].revents)
        (void)poll(events, 1, -1);
    /* Its lock orders what the sampling thread has done before what follows here. */
    struct session_status status;
    session_status(served->session, &status);
    return !live_capture_finish(served->live, &nothing, NULL, NULL);
}

static void free_stream(struct served_session *served)
{
    live_capture_destroy(served->live);
    state_writer_deinit(&served->states);
    served->live = NULL;
}

static void destroy(struct served_session *served)
{
    drop(served);
    share_cpu(served->settings);
    session_destroy(served->session);
    free_stream(served);
    close(served->pipe_fd);
    free(served);
}

static void *run_destroy(void *context)
{
    destroy(context);
    return NULL;
}

/* The one that ended first, if those that have ended hold more than they may; it is no longer in the table.  NULL: they do
 * not.  The last one stays. */
static struct served_session *take_excess(const struct sampling_process *settings)
{
    struct served_session *first = NULL;
    size_t count = 0, processes = 0, bytes = 0;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count; i++) {
        struct served_session *const served = table.items[i];
        if (!served->ended)
            continue;
        count++;
        processes += served->processes;
        bytes += served->bytes;
        if (!first || served->ended < first->ended)
            first = served;
    }
    const bool is_over = count > READER_MAX_ENDED || processes > SESSION_MAX_PROCESSES ||
                         (settings->memory_bytes && bytes > settings->memory_bytes);
    if (is_over && count > 1)
        take_out(first);
    else
        first = NULL;
    pthread_mutex_unlock(&table.lock);
    eventfd_write(table.change_fd, 1);
    return first;
}

static void *run(void *context)
{
    struct served_session *const served = context;
    struct session *session = NULL;
    struct err err = { 0 };
    pthread_setname_np(pthread_self(), "session");
    enum err_code rc = live_capture_create(&served->live, &err);
    if (!rc)
        rc = restrict_options(served, &err);
    uint64_t number = 0;
    if (!rc && getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        rc = err_sys(&err, errno, "random bytes are unavailable");
    if (!rc)
        rc = session_start(&served->options, &session, &err);
    if (rc) {
        answer_send(served->pipe_fd, rc, NULL, &err);
    } else {
        pthread_mutex_lock(&table.lock);
        served->number = number;
        served->session = session;
        served->wants_cpu_percent = served->cpu_percent = served->options.max_cpu_percent;
        pthread_mutex_unlock(&table.lock);
        share_cpu(served->settings);
        struct session_status status;
        struct buffer contents = { 0 };
        session_status(served->session, &status);
        const struct link_started started = {
            .session = served->number,
            .created_ns = clock_now_ns() - status.elapsed_ns,
            .engine = session_options(served->session)->engine,
        };
        buffer_append(&contents, &started, sizeof started);
        answer_send(served->pipe_fd, ERR_OK, &contents, NULL);
        buffer_deinit(&contents);
    }
    if (!rc && stream(served)) {
        /* A session that has ended stays, without a thread, for the source files of its processes. */
        const struct sampling_process *const settings = served->settings;
        struct session_processes processes;
        struct profile_snapshot snapshot = { .bytes = 0 };
        struct served_session *excess;
        free_stream(served);
        session_processes(served->session, &processes);
        if (!profile_snapshot(session_profile(served->session), &snapshot, NULL))
            profile_snapshot_release(&snapshot);
        pthread_mutex_lock(&table.lock);
        served->processes = (size_t)processes.running;
        served->bytes = snapshot.bytes;
        served->ended = ++table.ended;
        pthread_mutex_unlock(&table.lock);
        share_cpu(settings);
        while ((excess = take_excess(settings)))
            destroy(excess);
    } else {
        destroy(served);
    }
    return NULL;
}

size_t served_session_watch(struct pollfd out[HOSTED_WATCHED])
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
static struct served_session *take_closed(void)
{
    struct served_session *found = NULL;
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
void served_session_let_go(void)
{
    eventfd_t ignored;
    struct served_session *served;
    (void)!eventfd_read(table.change_fd, &ignored);
    while ((served = take_closed()))
        if (thread_start(NULL, run_destroy, served))
            destroy(served);
}

void served_session_start(const struct sampling_process *settings,
                          const struct link_request *request, int pipe_fd)
{
    struct err err = { 0 };
    struct served_session *const served = calloc(1, sizeof *served);
    enum err_code rc = served ? ERR_OK : err_nomem(&err);
    if (!rc) {
        served->settings = settings;
        served->options = request->options;
        served->pipe_fd = pipe_fd;
        atomic_init(&served->is_cancelled, false);
        size_t running = 0;
        pthread_mutex_lock(&table.lock);
        for (size_t i = 0; i < table.count; i++)
            running += !table.items[i]->ended;
        if (table.count == READER_MAX_SESSIONS || running >= served->settings->max_running)
            rc = err_set(&err, ERR_LIMIT, "the sampling process runs %zu sessions: stop one",
                         running);
        else
            table.items[table.count++] = served;
        pthread_mutex_unlock(&table.lock);
    }
    const int sys = rc ? 0 : thread_start(NULL, run, served);
    if (sys) {
        drop(served);
        rc = err_sys(&err, sys, "cannot start a thread");
    }
    if (!rc)
        return;
    answer_send(pipe_fd, rc, NULL, &err);
    close(pipe_fd);
    free(served);
}
