#define _GNU_SOURCE
#include "sampler/session/local_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/open_files.h"
#include "sampler/base/scoped.h"
#include "sampler/base/thread.h"
#include "sampler/discovery/turns.h"
#include "sampler/kernel/engine.h"
#include "sampler/kernel/kallsyms.h"
#include "sampler/kernel/kernel_engine_pool.h"
#include "sampler/native/machine/machine.h"
#include "sampler/permission.h"
#include "sampler/process/process_scan.h"
#include "sampler/process/process_stats.h"
#include "sampler/process/stored_process.h"
#include "sampler/profile/profile.h"
#include "sampler/session/kernel/kernel_engine.h"
#include "sampler/session/loop.h"
#include "sampler/session/pace/budget.h"
#include "sampler/session/remote/remote_engine.h"
#include "sampler/session/stored/stored_engine.h"

static enum err_code check_rate(double rate_hz, struct err *err)
{
    return rate_hz >= SESSION_MIN_RATE_HZ && rate_hz <= SESSION_MAX_RATE_HZ
               ? ERR_OK
               : err_set(err, ERR_INVALID, "the sampling rate must be between 1 Hz and 1 MHz");
}

static enum err_code check_options(const struct session_options *options, struct err *err)
{
    if (check_rate(options->rate_hz, err))
        return ERR_INVALID;
    if (!(options->max_cpu_percent >= 0 && options->max_cpu_percent <= 100))
        return err_set(err, ERR_INVALID, "the CPU budget must be between 0 and 100 percent");
    if (!(options->max_stop_percent >= 0 && options->max_stop_percent <= 100))
        return err_set(err, ERR_INVALID,
                       "the limit of stops must be between 0 and 100 percent");
    if (measure_set_has_events(options->measures) && options->engine == SESSION_ENGINE_REMOTE)
        return err_set(
            err, ERR_INVALID,
            "events other than time need the kernel engine: leave out --engine remote");
    if (options->native == SESSION_NATIVE_FULL && !machine_is_supported())
        return err_set(err, ERR_UNSUPPORTED,
                       "native stacks need an x86-64 or aarch64 processor: use --native=leaf");
    if (options->pid_count > SESSION_MAX_PROCESSES)
        return err_set(err, ERR_INVALID, "a session samples at most %d processes at a time",
                       SESSION_MAX_PROCESSES);
    if (options->pid_count == 0 && !options->all)
        return err_set(err, ERR_INVALID, "no process was given: name one by its id");
    for (size_t i = 0; i < options->pid_count; i++)
        if (options->pids[i] <= 0 && !stored_process_find(options->pids[i]))
            return err_set(err, ERR_INVALID, "%d is not a process id", (int)options->pids[i]);
    return ERR_OK;
}

static void free_session(struct local_session *local)
{
    child_tracker_destroy(local->tracker);
    loop_close_queue(local);
    targets_deinit(&local->targets);
    if (local->base.end_fd >= 0)
        close(local->base.end_fd);
    pthread_cond_destroy(&local->changed);
    pthread_mutex_destroy(&local->mutex);
    free(local);
}

static bool is_cancelled(const struct local_session *local)
{
    return local->base.options.is_cancelled && atomic_load(local->base.options.is_cancelled);
}

static const char NO_KERNEL_FRAMES[] = "the remote engine does not see the kernel's stacks";

/* There are no kernel frames, though they were wanted. */
static void leave_kernel_out(struct local_session *local, const char *why)
{
    if (!local->base.options.kernel_frames)
        return;
    local->base.options.kernel_frames = false;
    snprintf(local->status.kernel_reason, sizeof local->status.kernel_reason, "%.*s",
             SESSION_MAX_ENGINE_REASON, why);
}

/* The remote engine samples instead of the kernel engine.  *before_out: as targets_use_engine.  ERR_UNSUPPORTED: it does
 * not count what is wanted. */
static enum err_code use_remote(struct local_session *local, const char *why,
                                struct engine **before_out, struct err *err)
{
    if (measure_set_has_events(local->base.options.measures))
        return err_set(err, ERR_UNSUPPORTED,
                       "events other than time need the kernel engine: %s", why);
    const enum err_code rc =
        targets_use_engine(&local->targets, &remote_engine_ops, before_out, err);
    if (rc)
        return rc;
    local->base.options.engine = SESSION_ENGINE_REMOTE;
    leave_kernel_out(local, NO_KERNEL_FRAMES);
    snprintf(local->status.engine_reason, sizeof local->status.engine_reason, "%.*s",
             SESSION_MAX_ENGINE_REASON, why);
    return ERR_OK;
}

/* The files of a kernel engine that was not asked for are enough for some processes more.  false: there is none. */
static bool free_files(struct local_session *local)
{
    static const char why[] =
        "too many files are open for the kernel engine beside all processes: raise the limit "
        "(ulimit -n)";
    struct engine *before;
    if (local->base.options.engine != SESSION_ENGINE_AUTO ||
        use_remote(local, why, &before, NULL))
        return false;
    kernel_engine_give_up(before, why);
    return true;
}

static enum err_code attach_one(struct local_session *local, int pid,
                                enum runtime_effort effort, struct err *err)
{
    const struct session_options *const options = &local->base.options;
    struct strtab *const strings = profile_strings(local->targets.profile);
    struct target *target = NULL;
    enum err_code rc =
        target_open(pid, effort, options->mode, options->is_cancelled, strings, &target, err);
    if (rc && open_files_are_short(err) && free_files(local))
        rc = target_open(pid, effort, options->mode, options->is_cancelled, strings, &target,
                         err);
    if (!rc && (rc = targets_add(&local->targets, target, err)))
        target_close(target);
    if (!rc && local->tracker)
        rc = child_tracker_follow(local->tracker, pid, true, err);
    return rc;
}

/* All processes except this one, one of each owner in turn. */
static enum err_code list_all(struct turn_item **out, size_t *count_out, struct err *err)
{
    struct pid_list pids = { 0 };
    size_t count = 0;
    const enum err_code rc = process_scan_all(&pids, err);
    if (rc)
        return rc;
    struct turn_item *const items = calloc(pids.count + 1, sizeof *items);
    for (size_t i = 0; items && i < pids.count; i++)
        if (pids.items[i] != (int)getpid() &&
            !process_stats_user(pids.items[i], &items[count].uid, NULL))
            items[count++].pid = pids.items[i];
    pid_list_deinit(&pids);
    if (!items)
        return err_nomem(err);
    turns_sort(items, count);
    *out = items;
    *count_out = count;
    return ERR_OK;
}

/* Attaches to every Python process that the profiler may read.  Skips the others, and those of an
 * owner whose processes have taken too long. */
static enum err_code attach_all(struct local_session *local, struct err *err)
{
    SCOPED_FREE struct turn_item *items = NULL;
    struct debts debts = { .items = { { 0 } } };
    struct session_processes left_out = { .denied = 0 };
    size_t count = 0;
    enum err_code rc = list_all(&items, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc != ERR_NOMEM; i++) {
        const uint64_t began_ns = clock_now_ns();
        struct err why = { 0 };
        if (debts_rest_until_ns(&debts, items[i].uid, began_ns)) {
            left_out.over++;
            continue;
        }
        rc = permission_ask(items[i].pid, NULL, NULL);
        left_out.not_permitted += rc == ERR_PERM;
        if (!rc)
            rc = attach_one(local, items[i].pid, RUNTIME_QUICK, &why);
        const uint64_t now_ns = clock_now_ns();
        /* Processes of root are not slow on purpose, only because the machine is busy. */
        if (items[i].uid != 0)
            debts_charge(&debts, items[i].uid, now_ns - began_ns, now_ns);
        left_out.over += rc == ERR_LIMIT;
        left_out.short_of_files += rc && open_files_are_short(&why);
        left_out.denied += rc == ERR_INVALID;
    }
    target_table_left_out(&local->targets.target_table, &left_out);
    if (rc == ERR_NOMEM)
        return err_nomem(err);
    if (local->targets.count == 0)
        return err_set(err, ERR_NOT_PYTHON, "found no Python process that can be read%s",
                       left_out.denied ? " and whose interpreter shows what the mode keeps"
                                       : "");
    return ERR_OK;
}

/* A process that is not Python may have children that are. */
static enum err_code attach_named(struct local_session *local, int pid, struct err *err)
{
    struct err own = { 0 };
    enum err_code rc = attach_one(local, pid, RUNTIME_THOROUGH, &own);
    if (rc == ERR_NOT_PYTHON && local->tracker)
        return child_tracker_follow(local->tracker, pid, false, err);
    if (rc && err)
        *err = own;
    return rc;
}

static enum err_code attach_family(struct local_session *local, struct err *err)
{
    struct child_tracker_counts counts;
    child_tracker_scan_once(local->tracker);
    loop_take_new(local);
    child_tracker_counts(local->tracker, &counts);
    if (counts.short_of_files && free_files(local)) {
        child_tracker_scan_again(local->tracker);
        loop_take_new(local);
    }
    if (local->targets.count > 0)
        return ERR_OK;
    return err_set(err, ERR_NOT_PYTHON,
                   "neither process %d nor any of its descendants is a Python process%s",
                   (int)local->base.options.pids[0],
                   counts.not_permitted ? " that is permitted here" : "");
}

static void give_back(void *context, const struct process *process, bool is_refused)
{
    child_tracker_release(context, process, is_refused ? ERR_PERM : ERR_OK);
}

/* Takes a kernel engine if the options ask for one; without it AUTO goes on with the remote one. */
static enum err_code choose_engine(struct local_session *local, struct err *err)
{
    const struct session_options *const options = &local->base.options;
    struct err why = { 0 };
    if (options->pid_count && stored_process_find(options->pids[0])) {
        local->base.options.engine = SESSION_ENGINE_REMOTE;
        leave_kernel_out(local, "a core file has no stacks of the kernel");
        return targets_use_engine(&local->targets, &stored_engine_ops, NULL, err);
    }
    if (options->engine == SESSION_ENGINE_REMOTE) {
        leave_kernel_out(local, NO_KERNEL_FRAMES);
        return targets_use_engine(&local->targets, &remote_engine_ops, NULL, err);
    }
    enum err_code rc = local_session_check_engine(options, &why);
    if (!rc && options->kernel_frames &&
        kallsyms_read(kernel_engine_pool_kallsyms(options->engines), &why))
        leave_kernel_out(local, why.message);
    if (!rc)
        rc = targets_use_engine(&local->targets, &kernel_engine_ops, NULL, &why);
    if (rc == ERR_NOMEM || (rc && options->engine == SESSION_ENGINE_KERNEL)) {
        if (err)
            *err = why;
        return rc;
    }
    return rc ? use_remote(local, why.message, NULL, err) : ERR_OK;
}

static enum err_code attach_target(struct local_session *local, struct err *err)
{
    enum err_code rc = targets_init(&local->targets, &local->base.options, err);
    if (!rc)
        rc = choose_engine(local, err);
    if (!rc && local->base.options.subprocesses) {
        rc = child_tracker_create(profile_strings(local->targets.profile),
                                  local->base.options.mode, local->base.options.adopter,
                                  &local->tracker, err);
        local->targets.left = rc ? NULL : give_back;
        local->targets.context = local->tracker;
    }
    if (!rc && local->base.options.all)
        rc = attach_all(local, err);
    for (size_t i = 0; i < local->base.options.pid_count && !rc; i++)
        rc = attach_named(local, local->base.options.pids[i], err);
    if (!rc && local->tracker)
        rc = attach_family(local, err);

    if (rc)
        return rc;

    /* Limits of the kernel engine show only once the targets are known. */
    if (local->base.options.engine != SESSION_ENGINE_AUTO)
        return ERR_OK;
    const char *const why = kernel_engine_unfit(local->targets.engine);
    if (why)
        return use_remote(local, why, NULL, err);
    local->base.options.engine = SESSION_ENGINE_KERNEL;
    return ERR_OK;
}

enum err_code local_session_check_engine(const struct session_options *options, struct err *err)
{
    if (options->stop == SESSION_STOP_ALWAYS)
        return err_set(err, ERR_INVALID,
                       "the kernel engine does not stop threads (--stop always)");
    if (options->locks)
        return err_set(err, ERR_INVALID, "the kernel engine does not read locks at each tick");
    if (options->locals)
        return err_set(err, ERR_INVALID, "the kernel engine does not read variables");
    if (options->rate_hz > KERNEL_MAX_RATE_HZ)
        return err_set(err, ERR_INVALID, "the kernel engine samples at most %g times a second",
                       KERNEL_MAX_RATE_HZ);
    if (!options->engines)
        return err_set(err, ERR_UNSUPPORTED, "pyrometer runs with --engine remote");
    return kernel_engine_pool_check(options->engines, err);
}

static struct local_session *of(struct session *session)
{
    return (struct local_session *)(void *)session;
}

static const struct local_session *of_const(const struct session *session)
{
    return (const struct local_session *)(const void *)session;
}

static void stop(struct session *session)
{
    struct local_session *const local = of(session);
    pthread_mutex_lock(&local->mutex);
    atomic_store(&local->is_ending, true);
    pthread_cond_signal(&local->changed);
    pthread_mutex_unlock(&local->mutex);
}

static void destroy(struct session *session)
{
    struct local_session *const local = of(session);
    stop(session);
    pthread_join(local->thread, NULL);
    free_session(local);
}

static void set_paused(struct session *session, bool paused)
{
    struct local_session *const local = of(session);
    pthread_mutex_lock(&local->mutex);
    atomic_store(&local->is_paused, paused);
    if (local->status.state == SESSION_RUNNING || local->status.state == SESSION_PAUSED)
        local->status.state = paused ? SESSION_PAUSED : SESSION_RUNNING;
    pthread_mutex_unlock(&local->mutex);
}

static enum err_code join(struct session *session, pid_t pid, struct err *err)
{
    struct local_session *const local = of(session);
    struct target *target = NULL;
    if (local->base.options.subprocesses)
        return err_set(err, ERR_INVALID, "the session adds processes itself (--subprocesses)");
    enum err_code rc =
        target_open(pid, RUNTIME_THOROUGH, local->base.options.mode, &local->is_ending,
                    profile_strings(local->targets.profile), &target, err);
    if (!rc && (rc = loop_join(local, target, err)))
        target_close(target);
    return rc;
}

static enum err_code set_rate(struct session *session, double rate_hz, struct err *err)
{
    struct local_session *const local = of(session);
    const enum err_code rc = check_rate(rate_hz, err);
    if (rc)
        return rc;
    if (local->base.options.engine == SESSION_ENGINE_KERNEL && rate_hz > KERNEL_MAX_RATE_HZ)
        return err_set(err, ERR_INVALID, "the kernel engine samples at most %g times a second",
                       KERNEL_MAX_RATE_HZ);
    pthread_mutex_lock(&local->mutex);
    local->requested_hz = local->status.requested_hz = rate_hz;
    local->has_changed = true;
    pthread_mutex_unlock(&local->mutex);
    return ERR_OK;
}

static enum err_code record_native(struct session *session, struct err *err)
{
    struct local_session *const local = of(session);
    if (!machine_is_supported())
        return err_set(err, ERR_UNSUPPORTED,
                       "native stacks need an x86-64 or aarch64 processor");
    pthread_mutex_lock(&local->mutex);
    local->status.records_native = true;
    pthread_mutex_unlock(&local->mutex);
    return ERR_OK;
}

static void set_max_cpu(struct session *session, double percent)
{
    struct local_session *const local = of(session);
    pthread_mutex_lock(&local->mutex);
    local->max_cpu_percent = percent < 0 ? 0 : percent > 100 ? 100 : percent;
    local->has_changed = true;
    pthread_mutex_unlock(&local->mutex);
}

static void status(struct session *session, struct session_status *out)
{
    struct local_session *const local = of(session);
    pthread_mutex_lock(&local->mutex);
    *out = local->status;
    const uint64_t now_ns = local->ended_ns ? local->ended_ns : clock_now_ns();
    out->elapsed_ns = now_ns - local->created_ns;
    pthread_mutex_unlock(&local->mutex);
}

static bool target_at(const struct session *session, size_t index, struct session_target *out)
{
    return target_table_at(&of_const(session)->targets.target_table, index, out);
}

static void processes(const struct session *session, struct session_processes *out)
{
    struct child_tracker_counts children = { 0 };
    target_table_counts(&of_const(session)->targets.target_table, out);
    if (of_const(session)->tracker)
        child_tracker_counts(of_const(session)->tracker, &children);
    out->over += children.over;
    out->short_of_files += children.short_of_files;
    out->denied += children.denied;
    out->not_permitted += children.not_permitted;
}

static enum err_code origin(struct session *session, profile_origin number,
                            struct session_origin *out, struct err *err)
{
    return origins_find(&of(session)->targets.origins, number, out, err);
}

static enum err_code tasks(struct session *session, struct session_tasks *out, struct err *err)
{
    return task_board_copy(&of(session)->targets.board, out, err);
}

static enum err_code locks(struct session *session, struct session_locks *out, struct err *err)
{
    struct targets *const targets = &of(session)->targets;
    const enum err_code rc = lock_board_copy(&targets->locks, out, err);
    if (!rc)
        semaphores_place(&targets->semaphores, out);
    return rc;
}

static enum err_code locals(struct session *session, struct session_locals *out,
                            struct err *err)
{
    return locals_board_copy(&of(session)->targets.locals, out, err);
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

enum err_code local_session_start(const struct session_options *options, struct session **out,
                                  struct err *err)
{
    enum err_code rc = check_options(options, err);
    if (rc)
        return rc;

    pthread_condattr_t monotonic;
    struct local_session *const local = calloc(1, sizeof *local);
    if (!local)
        return err_nomem(err);
    local->base.options = *options;
    local->requested_hz = options->rate_hz;
    local->max_cpu_percent = options->max_cpu_percent;
    atomic_init(&local->is_ending, false);
    atomic_init(&local->is_paused, false);
    local->base.end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&local->mutex, NULL);
    atomic_init(&local->waiting, 0);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&local->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);

    local->base.ops = &ops;
    if (local->base.end_fd < 0)
        rc = err_sys(err, errno, "cannot create an event descriptor");
    else
        rc = attach_target(local, err);
    if (is_cancelled(local))
        rc = err_set(err, ERR_SYS, "cancelled before the interpreter was found");
    local->base.options.is_cancelled = NULL;
    if (!rc) {
        local->base.profile = local->targets.profile;
        local->base.first_target = &local->targets.target_table.items[0].target;
        local->created_ns = clock_now_ns();
        targets_begin(&local->targets, local->created_ns);
        profile_set_memory(local->targets.profile, options->memory_bytes);
        if (options->drops_samples)
            profile_drop_samples(local->targets.profile);
        const double first_hz =
            budget_first_hz(options->max_cpu_percent / 100, options->rate_hz);
        profile_set_period(local->targets.profile, (uint64_t)((double)NS_PER_S / first_hz));
        if (options->since_ns && options->since_ns < local->created_ns)
            profile_quality(local->targets.profile)->missed_ticks +=
                (uint64_t)((double)(local->created_ns - options->since_ns) * first_hz /
                           (double)NS_PER_S);
        local->status.state = SESSION_RUNNING;
        local->status.started_at_ns = clock_wall_ns();
        local->status.rate_hz = first_hz;
        if (local->tracker)
            rc = child_tracker_start(local->tracker, err);
        const int sys = rc ? 0 : thread_start(&local->thread, loop_main, local);
        if (sys)
            rc = err_sys(err, sys, "cannot start the sampling thread");
    }
    if (rc)
        free_session(local);
    else
        *out = &local->base;
    return rc;
}
