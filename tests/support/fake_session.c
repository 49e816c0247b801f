#include "tests/support/fake_session.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/session.h"

enum { TICK_MS = 20, ELAPSED_PER_SEAL_MS = 1000, STARTED_AT_S = 1769853600 };

struct session {
    struct session_options options;
    struct session_target target;
    struct profile *profile;
    pthread_mutex_t lock;
    struct session_status status;
    int stop_fd, end_fd;
    pid_t process; /* 0: none */
    uint64_t now_ns;
    bool has_thread;
    pthread_t thread;
};

static const struct fake_frame stacks[FAKE_STACK_COUNT][3] = {
    { { "/srv/app.py", "main", 10, 14 }, { "/srv/app.py", "work", 20, 22 }, { 0 } },
    { { "/srv/app.py", "main", 10, 14 },
      { "/srv/app.py", "work", 20, 23 },
      { "~", "<native>", 0, 0 } },
    { { "/srv/app.py", "main", 10, 15 },
      { "/srv/lib/deep.py", "Tree.walk.<locals>.<lambda>", 5, 6 },
      { 0 } },
    { { "/usr/lib/python3/threading.py", "Thread.run", 900, 910 },
      { "/srv/app.py", "</script><img src=x onerror=alert(1)>", 30, 31 },
      { 0 } },
};
static const int32_t stack_tids[FAKE_STACK_COUNT] = { 4711, 4711, 4711, 4712 };
static const uint32_t stack_counts[FAKE_STACK_COUNT] = { 50, 30, 15, 5 };
static const state_bits stack_states[FAKE_STACK_COUNT] = {
    STATE_UNKNOWN_IN_NATIVE | STATE_ON_CPU | STATE_HAS_GIL,
    STATE_UNKNOWN_IN_NATIVE | STATE_ON_CPU,
    STATE_UNKNOWN_IN_NATIVE | STATE_WAITS_GIL | STATE_HAS_EXCEPTION,
    STATE_UNKNOWN_IN_NATIVE | STATE_UNKNOWN_ON_CPU,
};

/* A fake that cannot continue has no caller to report to. */
static void must(enum err_code code)
{
    if (code != ERR_OK)
        abort();
}

static str_id intern(struct session *session, const char *text)
{
    str_id id = 0;
    must(strtab_intern(profile_strings(session->profile), text, strlen(text), &id, NULL));
    return id;
}

static node_id add_frame(struct session *session, node_id parent, const struct fake_frame *row)
{
    function_id function = 0;
    frame_id frame = 0;
    node_id node = 0;
    const str_id file = intern(session, row->file), name = intern(session, row->name);
    must(profile_function(session->profile, name, file, row->first_line, &function, NULL));
    must(profile_frame(session->profile, function, row->line, &frame, NULL));
    must(profile_node(session->profile, parent, frame, &node, NULL));
    return node;
}

static thread_id add_thread(struct session *session, int32_t tid)
{
    struct profile_thread thread = { .tid = tid, .ident = (uint64_t)tid };
    thread_id id = 0;
    char name[32];
    snprintf(name, sizeof name, "Thread-%d", (int)tid);
    thread.is_main = tid == 4711;
    thread.name = intern(session, thread.is_main ? "MainThread" : name);
    must(profile_process(session->profile, session->target.pid, intern(session, "python3"),
                         &thread.process, NULL));
    must(profile_thread(session->profile, &thread, &id, NULL));
    return id;
}

void fake_session_add(struct session *session, int32_t tid, const struct fake_frame *frames,
                      size_t depth, state_bits state, uint32_t count)
{
    struct quality *const quality = profile_quality(session->profile);
    node_id node = 0;
    for (size_t i = 0; i < depth; i++)
        node = add_frame(session, node, &frames[i]);
    must(profile_add(session->profile, add_thread(session, tid), state, node, count, NULL));
    profile_tick(session->profile, session->now_ns, session->now_ns,
                 part_of(state, WAIT_UNKNOWN), count);
    quality->samples += count;
    quality->exact += count;
    quality->ticks += count;
}

void fake_session_seal(struct session *session)
{
    session->now_ns += ELAPSED_PER_SEAL_MS * NS_PER_MS;
    must(profile_seal(session->profile, session->now_ns, NULL));
    pthread_mutex_lock(&session->lock);
    session->status.elapsed_ns = session->now_ns;
    pthread_mutex_unlock(&session->lock);
}

static void add_stacks(struct session *session)
{
    for (size_t i = 0; i < FAKE_STACK_COUNT; i++) {
        size_t depth = 0;
        while (depth < 3 && stacks[i][depth].name)
            depth++;
        fake_session_add(session, stack_tids[i], stacks[i], depth, stack_states[i],
                         stack_counts[i]);
    }
    fake_session_seal(session);
}

/* Their window comes with the next one of time. */
static void add_pages(struct session *session)
{
    static const struct fake_frame frames[] = { { "/srv/app.py", "main", 10, 14 },
                                                { "/srv/grow.py", "keeps", 5, 7 } };
    const node_id node = add_frame(session, add_frame(session, 0, &frames[0]), &frames[1]);
    static const struct {
        enum measure measure;
        uint32_t pages;
    } rows[] = { { MEASURE_PAGE_FAULTS, FAKE_PAGES },
                 { MEASURE_RETURNED, FAKE_RETURNED_PAGES } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        must(profile_add_measured(session->profile, rows[i].measure, add_thread(session, 4711),
                                  STATE_ON_CPU, node, rows[i].pages, NULL));
        must(profile_seal_measured(session->profile, rows[i].measure,
                                   session->now_ns + ELAPSED_PER_SEAL_MS * NS_PER_MS,
                                   FAKE_PAGE_BYTES, NULL));
    }
}

void fake_session_end(struct session *session, const char *reason)
{
    pthread_mutex_lock(&session->lock);
    session->status.state = SESSION_ENDED;
    session->status.ended_at_ns = clock_wall_ns();
    snprintf(session->status.reason, sizeof session->status.reason, "%s", reason);
    pthread_mutex_unlock(&session->lock);
    eventfd_write(session->end_fd, 1);
}

static bool is_paused(struct session *session)
{
    struct session_status status;
    session_status(session, &status);
    return status.state == SESSION_PAUSED;
}

/* A command that serves may not open processes. */
static bool exists(pid_t pid)
{
    errno = 0;
    return getpriority(PRIO_PROCESS, (id_t)pid) != -1 || errno != ESRCH;
}

static void *live(void *argument)
{
    struct session *const session = argument;
    const char *reason = NULL;
    while (!reason) {
        struct pollfd end = { session->stop_fd, POLLIN, 0 };
        poll(&end, 1, TICK_MS);
        if (!is_paused(session))
            add_stacks(session);
        if (end.revents)
            reason = "stopped";
        else if (session->process && !exists(session->process))
            reason = "target exited";
        else if (session->options.duration_ns > 0 &&
                 session->now_ns / ELAPSED_PER_SEAL_MS * TICK_MS >=
                     session->options.duration_ns)
            reason = "duration is over";
    }
    fake_session_end(session, reason);
    return NULL;
}

static const char *const fake_argv[] = { "python3", "app.py", "--password=<hidden>\xff" };

static struct session *create(const struct session_options *options, pid_t process)
{
    struct session *const session = calloc(1, sizeof *session);
    if (!session)
        abort();
    session->options = *options;
    session->target =
        (struct session_target){ .pid = options->pids[0],
                                 .argc = 3,
                                 .argv = fake_argv,
                                 .executable = "/usr/bin/python3.11",
                                 .python = "3.11.2",
                                 .validated = options->pids[0] != FAKE_PID_NEWER };
    if (!session->target.validated) {
        session->target.pod = "shop/web-1";
        session->target.warnings[SESSION_WARNING_ANOTHER] = "another in /odd\x1fname";
        session->target.warnings[SESSION_WARNING_VERSION] = "newer than the releases";
    }
    pthread_mutex_init(&session->lock, NULL);
    session->status.state = SESSION_RUNNING;
    session->status.started_at_ns = STARTED_AT_S * NS_PER_S;
    session->status.rate_hz = options->rate_hz;
    session->stop_fd = eventfd(0, EFD_CLOEXEC);
    session->end_fd = eventfd(0, EFD_CLOEXEC);
    session->process = process;
    must(profile_create(&session->profile, NULL));
    profile_set_memory(session->profile, options->memory_bytes);
    if (options->rate_hz > 0)
        profile_set_period(session->profile, (uint64_t)((double)NS_PER_S / options->rate_hz));
    return session;
}

static void start_thread(struct session *session)
{
    session->has_thread = pthread_create(&session->thread, NULL, live, session) == 0;
}

enum err_code session_start(const struct session_options *options, struct session **out,
                            struct err *err)
{
    pid_t process = 0;
    switch (options->pids[0]) {
    case FAKE_PID_DENIED:
        return err_set(err, ERR_PERM, "not permitted to read process %d",
                       (int)options->pids[0]);
    case FAKE_PID_SHELL:
        return err_set(err, ERR_NOT_PYTHON, "process %d is not Python", (int)options->pids[0]);
    case FAKE_PID_EMPTY:
    case FAKE_PID_STILL:
    case FAKE_PID_LIVE:
    case FAKE_PID_NEWER:
    case FAKE_PID_GROWS: break;
    default:
        process = options->pids[0];
        if (!exists(process))
            return err_set(err, ERR_GONE, "no process %d", (int)options->pids[0]);
    }
    struct session *const session = create(options, process);
    if (options->pids[0] == FAKE_PID_GROWS)
        add_pages(session);
    if (options->pids[0] == FAKE_PID_STILL || options->pids[0] == FAKE_PID_GROWS)
        add_stacks(session);
    else if (options->pids[0] != FAKE_PID_EMPTY)
        start_thread(session);
    *out = session;
    return ERR_OK;
}

void session_destroy(struct session *session)
{
    if (!session)
        return;
    session_stop(session);
    if (session->has_thread)
        pthread_join(session->thread, NULL);
    profile_destroy(session->profile);
    close(session->stop_fd);
    close(session->end_fd);
    pthread_mutex_destroy(&session->lock);
    free(session);
}

void session_stop(struct session *session)
{
    if (session->has_thread)
        eventfd_write(session->stop_fd, 1);
    else
        fake_session_end(session, "stopped");
}

void session_pause(struct session *session, bool paused)
{
    pthread_mutex_lock(&session->lock);
    if (session->status.state == SESSION_RUNNING || session->status.state == SESSION_PAUSED)
        session->status.state = paused ? SESSION_PAUSED : SESSION_RUNNING;
    pthread_mutex_unlock(&session->lock);
}

enum err_code session_join(struct session *session, pid_t pid, struct err *err)
{
    (void)session;
    return err_set(err, ERR_NOT_PYTHON, "process %d is not Python", (int)pid);
}

enum err_code session_set_rate(struct session *session, double rate_hz, struct err *err)
{
    if (!(rate_hz >= SESSION_MIN_RATE_HZ && rate_hz <= SESSION_MAX_RATE_HZ))
        return err_set(err, ERR_INVALID, "out of range");
    pthread_mutex_lock(&session->lock);
    session->status.requested_hz = rate_hz;
    pthread_mutex_unlock(&session->lock);
    return ERR_OK;
}

enum err_code session_record_native(struct session *session, struct err *err)
{
    (void)err;
    pthread_mutex_lock(&session->lock);
    session->status.records_native = true;
    pthread_mutex_unlock(&session->lock);
    return ERR_OK;
}

void session_set_max_cpu(struct session *session, double percent)
{
    pthread_mutex_lock(&session->lock);
    session->options.max_cpu_percent = percent;
    pthread_mutex_unlock(&session->lock);
}

double fake_session_max_cpu(struct session *session)
{
    pthread_mutex_lock(&session->lock);
    const double percent = session->options.max_cpu_percent;
    pthread_mutex_unlock(&session->lock);
    return percent;
}

void session_status(struct session *session, struct session_status *out)
{
    pthread_mutex_lock(&session->lock);
    *out = session->status;
    pthread_mutex_unlock(&session->lock);
}

const struct session_target *session_target(const struct session *session)
{
    return &session->target;
}

bool session_target_at(const struct session *session, size_t index, struct session_target *out)
{
    if (index == 0)
        *out = session->target;
    return index == 0;
}

void session_processes(const struct session *session, struct session_processes *out)
{
    (void)session;
    *out = (struct session_processes){ .joined = 1, .running = 1 };
}

const struct session_options *session_options(const struct session *session)
{
    return &session->options;
}

struct profile *session_profile(struct session *session)
{
    return session->profile;
}

enum err_code session_tasks(struct session *session, struct session_tasks *out, struct err *err)
{
    (void)session;
    (void)err;
    *out = (struct session_tasks){ 0 };
    return ERR_OK;
}

enum err_code session_locks(struct session *session, struct session_locks *out, struct err *err)
{
    (void)session;
    (void)err;
    *out = (struct session_locks){ 0 };
    return ERR_OK;
}

enum err_code session_locals(struct session *session, struct session_locals *out,
                             struct err *err)
{
    (void)session;
    (void)err;
    *out = (struct session_locals){ .count = 0 };
    return ERR_OK;
}

enum err_code session_origin(struct session *session, profile_origin number,
                             struct session_origin *out, struct err *err)
{
    (void)session;
    (void)number;
    (void)out;
    return err_set(err, ERR_GONE, "nobody is behind a fake");
}

enum err_code session_open_engines(size_t count, struct kernel_engine_pool **out,
                                   struct err *err)
{
    (void)count;
    (void)err;
    *out = NULL;
    return ERR_OK;
}

void session_close_engines(struct kernel_engine_pool *engines)
{
    (void)engines;
}

bool session_has_kernel_engine(void)
{
    return true;
}

enum err_code session_check_engine(const struct session_options *options, struct err *err)
{
    (void)options;
    return err_set(err, ERR_UNSUPPORTED, "the fake session has no kernel engine");
}

int session_end_fd(const struct session *session)
{
    return session->end_fd;
}
