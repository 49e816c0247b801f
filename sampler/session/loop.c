#include "sampler/session/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/session/loop_parts.h"
#include "sampler/session/pace/budget.h"

static enum err_code check_rate(double rate_hz, struct err *err)
{
    return rate_hz >= SAMPLER_MIN_RATE_HZ && rate_hz <= SAMPLER_MAX_RATE_HZ
               ? ERR_OK
               : err_set(err, ERR_INVALID, "the sampling rate must be between 1 Hz and 1 MHz");
}

static enum err_code check_options(const struct sampler_options *options, struct err *err)
{
    if (check_rate(options->rate_hz, err))
        return ERR_INVALID;
    if (!(options->max_cpu_percent >= 0 && options->max_cpu_percent <= 100))
        return err_set(err, ERR_INVALID, "the CPU budget must be between 0 and 100 percent");
    if (options->pid_count > SAMPLER_MAX_PROCESSES)
        return err_set(err, ERR_INVALID, "no more than %d processes at a time",
                       SAMPLER_MAX_PROCESSES);
    if (options->pid_count == 0 && !options->all)
        return err_set(err, ERR_INVALID, "no process is named");
    for (size_t i = 0; i < options->pid_count; i++)
        if (options->pids[i] <= 0)
            return err_set(err, ERR_INVALID, "%d is not a process id", (int)options->pids[i]);
    return ERR_OK;
}

static void free_loop(struct loop *loop)
{
    child_tracker_destroy(loop->tracker);
    attach_queue_deinit(&loop->queue);
    targets_deinit(&loop->targets);
    if (loop->end_fd >= 0)
        close(loop->end_fd);
    pthread_cond_destroy(&loop->changed);
    pthread_mutex_destroy(&loop->mutex);
    free(loop);
}

static struct loop *allocate(const struct sampler_options *options)
{
    pthread_condattr_t monotonic;
    struct loop *const loop = calloc(1, sizeof *loop);
    if (!loop)
        return NULL;
    loop->options = *options;
    loop->wanted_hz = options->rate_hz;
    loop->max_cpu_percent = options->max_cpu_percent;
    atomic_init(&loop->is_ending, false);
    loop->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&loop->mutex, NULL);
    attach_queue_init(&loop->queue);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&loop->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return loop;
}

static bool loop_is_cancelled(const struct loop *loop)
{
    return loop->options.is_cancelled && atomic_load(loop->options.is_cancelled);
}

/* Signals are the main thread's business. */
static int start_thread(struct loop *loop)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&loop->thread, NULL, loop_main, loop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

enum err_code loop_create(const struct sampler_options *options, struct loop **out,
                          struct err *err)
{
    enum err_code rc = check_options(options, err);
    if (rc)
        return rc;
    struct loop *const loop = allocate(options);
    if (!loop)
        return err_nomem(err);
    if (loop->end_fd < 0)
        rc = err_sys(err, errno, "cannot make an event descriptor");
    else
        rc = loop_attach(loop, err);
    if (loop_is_cancelled(loop))
        rc = err_set(err, ERR_SYS, "stopped before its interpreter was found");
    loop->options.is_cancelled = NULL;
    if (!rc) {
        loop->created_ns = clock_now_ns();
        targets_begin(&loop->targets, loop->created_ns);
        profile_set_memory(loop->targets.profile, options->memory_bytes);
        const double first_hz =
            budget_first_hz(options->max_cpu_percent / 100, options->rate_hz);
        profile_set_period(loop->targets.profile, (uint64_t)((double)NS_PER_S / first_hz));
        loop->status = (struct sampler_status){ .state = SAMPLER_RUNNING,
                                                .started_at_ns = clock_wall_ns(),
                                                .rate_hz = first_hz };
        if (loop->tracker)
            rc = child_tracker_start(loop->tracker, err);
        const int sys = rc ? 0 : start_thread(loop);
        if (sys)
            rc = err_sys(err, sys, "cannot start the sampling thread");
    }
    if (rc)
        free_loop(loop);
    else
        *out = loop;
    return rc;
}

void loop_stop(struct loop *loop)
{
    atomic_store(&loop->is_ending, true);
    pthread_mutex_lock(&loop->mutex);
    loop->stop = true;
    pthread_cond_signal(&loop->changed);
    pthread_mutex_unlock(&loop->mutex);
}

void loop_destroy(struct loop *loop)
{
    if (!loop)
        return;
    loop_stop(loop);
    pthread_join(loop->thread, NULL);
    free_loop(loop);
}

void loop_pause(struct loop *loop, bool paused)
{
    pthread_mutex_lock(&loop->mutex);
    loop->paused = paused;
    if (loop->status.state == SAMPLER_RUNNING || loop->status.state == SAMPLER_PAUSED)
        loop->status.state = paused ? SAMPLER_PAUSED : SAMPLER_RUNNING;
    pthread_mutex_unlock(&loop->mutex);
}

enum err_code loop_join(struct loop *loop, int pid, struct err *err)
{
    struct target *target = NULL;
    if (loop->options.subprocesses)
        return err_set(err, ERR_INVALID, "the session follows processes itself");
    enum err_code rc = target_open(pid, RUNTIME_THOROUGH, loop->options.mode, &loop->is_ending,
                                   profile_strings(loop->targets.profile), &target, err);
    if (!rc && (rc = attach_queue_put(&loop->queue, target, err)))
        target_close(target);
    return rc;
}

enum err_code loop_set_rate(struct loop *loop, double rate_hz, struct err *err)
{
    const enum err_code rc = check_rate(rate_hz, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&loop->mutex);
    loop->wanted_hz = loop->status.wanted_hz = rate_hz;
    loop->has_changed = true;
    pthread_mutex_unlock(&loop->mutex);
    return ERR_OK;
}

void loop_set_max_cpu(struct loop *loop, double percent)
{
    pthread_mutex_lock(&loop->mutex);
    loop->max_cpu_percent = percent < 0 ? 0 : percent > 100 ? 100 : percent;
    loop->has_changed = true;
    pthread_mutex_unlock(&loop->mutex);
}

void loop_status(struct loop *loop, struct sampler_status *out)
{
    pthread_mutex_lock(&loop->mutex);
    *out = loop->status;
    const uint64_t now_ns = loop->ended_ns ? loop->ended_ns : clock_now_ns();
    out->elapsed_ns = now_ns - loop->created_ns;
    pthread_mutex_unlock(&loop->mutex);
}

struct profile *loop_profile(struct loop *loop)
{
    return loop->targets.profile;
}

const struct sampler_target *loop_target(const struct loop *loop)
{
    return &loop->targets.target_table.items[0];
}

bool loop_target_at(struct loop *loop, size_t index, struct sampler_target *out)
{
    return target_table_at(&loop->targets.target_table, index, out);
}

void loop_processes(struct loop *loop, struct sampler_processes *out)
{
    target_table_counts(&loop->targets.target_table, out);
}

enum err_code loop_origin(struct loop *loop, profile_origin number, struct sampler_origin *out,
                          struct err *err)
{
    return origins_find(&loop->targets.origins, number, out, err);
}

const struct sampler_options *loop_options(const struct loop *loop)
{
    return &loop->options;
}

enum err_code loop_tasks(struct loop *loop, struct sampler_tasks *out, struct err *err)
{
    return task_board_copy(&loop->targets.board, out, err);
}

int loop_end_fd(const struct loop *loop)
{
    return loop->end_fd;
}
