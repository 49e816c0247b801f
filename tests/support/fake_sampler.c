#include "tests/support/fake_sampler.h"

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
#include "sampler/sampler.h"

enum { TICK_MS = 20, ELAPSED_PER_SEAL_MS = 1000, STARTED_AT_S = 1769853600 };

struct sampler {
    struct sampler_options options;
    struct sampler_target target;
    struct profile *profile;
    pthread_mutex_t lock;
    struct sampler_status status;
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

static str_id intern(struct sampler *sampler, const char *text)
{
    str_id id = 0;
    must(strtab_intern(profile_strings(sampler->profile), text, strlen(text), &id, NULL));
    return id;
}

static node_id add_frame(struct sampler *sampler, node_id parent, const struct fake_frame *row)
{
    function_id function = 0;
    frame_id frame = 0;
    node_id node = 0;
    const str_id file = intern(sampler, row->file), name = intern(sampler, row->name);
    must(profile_function(sampler->profile, name, file, row->first_line, &function, NULL));
    must(profile_frame(sampler->profile, function, row->line, &frame, NULL));
    must(profile_node(sampler->profile, parent, frame, &node, NULL));
    return node;
}

static thread_id add_thread(struct sampler *sampler, int32_t tid)
{
    struct profile_thread thread = { .tid = tid, .ident = (uint64_t)tid };
    thread_id id = 0;
    char name[32];
    snprintf(name, sizeof name, "Thread-%d", (int)tid);
    thread.is_main = tid == 4711;
    thread.name = intern(sampler, thread.is_main ? "MainThread" : name);
    must(profile_process(sampler->profile, sampler->target.pid, intern(sampler, "python3"),
                         &thread.process, NULL));
    must(profile_thread(sampler->profile, &thread, &id, NULL));
    return id;
}

void fake_sampler_add(struct sampler *sampler, int32_t tid, const struct fake_frame *frames,
                      size_t depth, state_bits state, uint32_t count)
{
    struct quality *const quality = profile_quality(sampler->profile);
    node_id node = 0;
    for (size_t i = 0; i < depth; i++)
        node = add_frame(sampler, node, &frames[i]);
    must(profile_add(sampler->profile, add_thread(sampler, tid), state, node, count, NULL));
    profile_tick(sampler->profile, sampler->now_ns, sampler->now_ns,
                 part_of(state, WAIT_UNKNOWN), count);
    quality->samples += count;
    quality->exact += count;
    quality->ticks += count;
}

void fake_sampler_seal(struct sampler *sampler)
{
    sampler->now_ns += ELAPSED_PER_SEAL_MS * NS_PER_MS;
    must(profile_seal(sampler->profile, sampler->now_ns, NULL));
    pthread_mutex_lock(&sampler->lock);
    sampler->status.elapsed_ns = sampler->now_ns;
    pthread_mutex_unlock(&sampler->lock);
}

static void add_stacks(struct sampler *sampler)
{
    for (size_t i = 0; i < FAKE_STACK_COUNT; i++) {
        size_t depth = 0;
        while (depth < 3 && stacks[i][depth].name)
            depth++;
        fake_sampler_add(sampler, stack_tids[i], stacks[i], depth, stack_states[i],
                         stack_counts[i]);
    }
    fake_sampler_seal(sampler);
}

void fake_sampler_end(struct sampler *sampler, const char *reason)
{
    pthread_mutex_lock(&sampler->lock);
    sampler->status.state = SAMPLER_ENDED;
    sampler->status.ended_at_ns = clock_wall_ns();
    snprintf(sampler->status.reason, sizeof sampler->status.reason, "%s", reason);
    pthread_mutex_unlock(&sampler->lock);
    eventfd_write(sampler->end_fd, 1);
}

static bool is_paused(struct sampler *sampler)
{
    struct sampler_status status;
    sampler_status(sampler, &status);
    return status.state == SAMPLER_PAUSED;
}

/* A command that serves may not open processes. */
static bool exists(pid_t pid)
{
    errno = 0;
    return getpriority(PRIO_PROCESS, (id_t)pid) != -1 || errno != ESRCH;
}

static void *live(void *argument)
{
    struct sampler *const sampler = argument;
    const char *reason = NULL;
    while (!reason) {
        struct pollfd end = { sampler->stop_fd, POLLIN, 0 };
        poll(&end, 1, TICK_MS);
        if (!is_paused(sampler))
            add_stacks(sampler);
        if (end.revents)
            reason = "stopped";
        else if (sampler->process && !exists(sampler->process))
            reason = "target exited";
        else if (sampler->options.duration_ns > 0 &&
                 sampler->now_ns / ELAPSED_PER_SEAL_MS * TICK_MS >=
                     sampler->options.duration_ns)
            reason = "duration is over";
    }
    fake_sampler_end(sampler, reason);
    return NULL;
}

static const char *const fake_argv[] = { "python3", "app.py", "--password=<hidden>\xff" };

static struct sampler *create(const struct sampler_options *options, pid_t process)
{
    struct sampler *const sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        abort();
    sampler->options = *options;
    sampler->target =
        (struct sampler_target){ .pid = options->pids[0],
                                 .argc = 3,
                                 .argv = fake_argv,
                                 .executable = "/usr/bin/python3.11",
                                 .python = "3.11.2",
                                 .validated = options->pids[0] != FAKE_PID_NEWER };
    if (!sampler->target.validated) {
        sampler->target.pod = "shop/web-1";
        sampler->target.warnings[SAMPLER_WARNING_ANOTHER] = "another in /odd\x1fname";
        sampler->target.warnings[SAMPLER_WARNING_VERSION] = "newer than the releases";
    }
    pthread_mutex_init(&sampler->lock, NULL);
    sampler->status.state = SAMPLER_RUNNING;
    sampler->status.started_at_ns = STARTED_AT_S * NS_PER_S;
    sampler->status.rate_hz = options->rate_hz;
    sampler->stop_fd = eventfd(0, EFD_CLOEXEC);
    sampler->end_fd = eventfd(0, EFD_CLOEXEC);
    sampler->process = process;
    must(profile_create(&sampler->profile, NULL));
    profile_set_memory(sampler->profile, options->memory_bytes);
    if (options->rate_hz > 0)
        profile_set_period(sampler->profile, (uint64_t)((double)NS_PER_S / options->rate_hz));
    return sampler;
}

static void start_thread(struct sampler *sampler)
{
    sampler->has_thread = pthread_create(&sampler->thread, NULL, live, sampler) == 0;
}

enum err_code sampler_start(const struct sampler_options *options, struct sampler **out,
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
    case FAKE_PID_NEWER: break;
    default:
        process = options->pids[0];
        if (!exists(process))
            return err_set(err, ERR_GONE, "no process %d", (int)options->pids[0]);
    }
    struct sampler *const sampler = create(options, process);
    if (options->pids[0] == FAKE_PID_STILL)
        add_stacks(sampler);
    else if (options->pids[0] != FAKE_PID_EMPTY)
        start_thread(sampler);
    *out = sampler;
    return ERR_OK;
}

void sampler_destroy(struct sampler *sampler)
{
    if (!sampler)
        return;
    sampler_stop(sampler);
    if (sampler->has_thread)
        pthread_join(sampler->thread, NULL);
    profile_destroy(sampler->profile);
    close(sampler->stop_fd);
    close(sampler->end_fd);
    pthread_mutex_destroy(&sampler->lock);
    free(sampler);
}

void sampler_stop(struct sampler *sampler)
{
    if (sampler->has_thread)
        eventfd_write(sampler->stop_fd, 1);
    else
        fake_sampler_end(sampler, "stopped");
}

void sampler_pause(struct sampler *sampler, bool paused)
{
    pthread_mutex_lock(&sampler->lock);
    if (sampler->status.state == SAMPLER_RUNNING || sampler->status.state == SAMPLER_PAUSED)
        sampler->status.state = paused ? SAMPLER_PAUSED : SAMPLER_RUNNING;
    pthread_mutex_unlock(&sampler->lock);
}

enum err_code sampler_join(struct sampler *sampler, pid_t pid, struct err *err)
{
    (void)sampler;
    return err_set(err, ERR_NOT_PYTHON, "process %d is not Python", (int)pid);
}

enum err_code sampler_set_rate(struct sampler *sampler, double rate_hz, struct err *err)
{
    if (!(rate_hz >= SAMPLER_MIN_RATE_HZ && rate_hz <= SAMPLER_MAX_RATE_HZ))
        return err_set(err, ERR_INVALID, "out of range");
    pthread_mutex_lock(&sampler->lock);
    sampler->status.requested_hz = rate_hz;
    pthread_mutex_unlock(&sampler->lock);
    return ERR_OK;
}

enum err_code sampler_record_native(struct sampler *sampler, struct err *err)
{
    (void)err;
    pthread_mutex_lock(&sampler->lock);
    sampler->status.records_native = true;
    pthread_mutex_unlock(&sampler->lock);
    return ERR_OK;
}

void sampler_set_max_cpu(struct sampler *sampler, double percent)
{
    pthread_mutex_lock(&sampler->lock);
    sampler->options.max_cpu_percent = percent;
    pthread_mutex_unlock(&sampler->lock);
}

double fake_sampler_max_cpu(struct sampler *sampler)
{
    pthread_mutex_lock(&sampler->lock);
    const double percent = sampler->options.max_cpu_percent;
    pthread_mutex_unlock(&sampler->lock);
    return percent;
}

void sampler_status(struct sampler *sampler, struct sampler_status *out)
{
    pthread_mutex_lock(&sampler->lock);
    *out = sampler->status;
    pthread_mutex_unlock(&sampler->lock);
}

const struct sampler_target *sampler_target(const struct sampler *sampler)
{
    return &sampler->target;
}

bool sampler_target_at(const struct sampler *sampler, size_t index, struct sampler_target *out)
{
    if (index == 0)
        *out = sampler->target;
    return index == 0;
}

void sampler_processes(const struct sampler *sampler, struct sampler_processes *out)
{
    (void)sampler;
    *out = (struct sampler_processes){ .joined = 1, .running = 1 };
}

const struct sampler_options *sampler_options(const struct sampler *sampler)
{
    return &sampler->options;
}

struct profile *sampler_profile(struct sampler *sampler)
{
    return sampler->profile;
}

enum err_code sampler_tasks(struct sampler *sampler, struct sampler_tasks *out, struct err *err)
{
    (void)sampler;
    (void)err;
    *out = (struct sampler_tasks){ 0 };
    return ERR_OK;
}

enum err_code sampler_locks(struct sampler *sampler, struct sampler_locks *out, struct err *err)
{
    (void)sampler;
    (void)err;
    *out = (struct sampler_locks){ 0 };
    return ERR_OK;
}

enum err_code sampler_origin(struct sampler *sampler, profile_origin number,
                             struct sampler_origin *out, struct err *err)
{
    (void)sampler;
    (void)number;
    (void)out;
    return err_set(err, ERR_GONE, "nobody is behind a fake");
}

enum err_code sampler_open_engines(size_t count, struct engines **out, struct err *err)
{
    (void)count;
    (void)err;
    *out = NULL;
    return ERR_OK;
}

void sampler_close_engines(struct engines *engines)
{
    (void)engines;
}

bool sampler_has_kernel_engine(void)
{
    return true;
}

enum err_code sampler_check_engine(const struct sampler_options *options, struct err *err)
{
    (void)options;
    return err_set(err, ERR_UNSUPPORTED, "the fake sampler has no kernel engine");
}

int sampler_end_fd(const struct sampler *sampler)
{
    return sampler->end_fd;
}
