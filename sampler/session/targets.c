#include "sampler/session/targets.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python.h"
#include "sampler/kernel/engines.h"
#include "sampler/kernel/record.h"
#include "sampler/profile/profile.h"
#include "sampler/session/fold/context_marks.h"
#include "sampler/session/kernel/kernel_feed.h"

enum err_code targets_init(struct targets *targets, const struct sampler_options *options,
                           struct err *err)
{
    memset(targets, 0, sizeof *targets);
    targets->options = options;
    target_table_init(&targets->target_table);
    origins_init(&targets->origins);
    task_board_init(&targets->board);
    stopper_init(&targets->stopper);
    enum err_code rc = profile_create(&targets->profile, err);
    if (!rc)
        rc = waits_create(targets->profile, !options->hides_arguments, &targets->waits, err);
    if (!rc && *options->context)
        rc = context_marks_create(targets->profile, options->context, &targets->contexts, err);
    if (rc)
        return rc;
    thread_cpus_init(&targets->cpus, targets->profile);
    targets->cpus.mode = options->mode;
    targets->cpus.sink = options->sink;
    targets->cpus.waits = targets->waits;
    random_init_any(&targets->tick.random);
    targets->tick.stopper = &targets->stopper;
    targets->tick.bias = &targets->bias;
    targets->tick.native = options->native == SAMPLER_NATIVE_FULL ? &targets->native : NULL;
    return ERR_OK;
}

enum err_code targets_use_kernel(struct targets *targets, struct err *err)
{
    const struct sampler_options *const options = targets->options;
    enum err_code rc = engines_take(options->engines, options->rate_hz, &targets->kernel, err);
    if (!rc)
        rc = kernel_feed_create(targets->kernel, &targets->feed, err);
    return rc;
}

void targets_give_up_kernel(struct targets *targets, const char *why)
{
    kernel_feed_destroy(targets->feed);
    targets->feed = NULL;
    if (targets->kernel)
        engines_give_up(targets->options->engines, targets->kernel, why);
    targets->kernel = NULL;
}

void targets_leave_kernel(struct targets *targets)
{
    kernel_feed_destroy(targets->feed);
    targets->feed = NULL;
    engines_give_back(targets->options->engines, targets->kernel);
    targets->kernel = NULL;
}

static bool has_unfollowed_interpreters(const struct target *target)
{
    remote_addr followed[KERNEL_MAX_INTERPRETERS];
    return python_interpreters(target->python) > 1 &&
           !python_searched_interpreters(target->python, followed, KERNEL_MAX_INTERPRETERS);
}

bool targets_have_unfollowed_interpreters(const struct targets *targets)
{
    for (size_t i = 0; i < targets->count; i++)
        if (has_unfollowed_interpreters(targets->items[i]))
            return true;
    return false;
}

bool targets_are_unknown(const struct targets *targets)
{
    size_t all = 0, unknown = 0;
    for (size_t i = 0; i < targets->count; i++) {
        const struct python *const python = targets->items[i]->python;
        size_t count;
        (void)python_threads(python, &count);
        all += count;
        unknown += python_unknown_threads(python);
    }
    return unknown && unknown == all;
}

static void close_targets(struct targets *targets)
{
    targets_leave_kernel(targets);
    while (targets->count > 0) {
        struct target *const target = targets->items[--targets->count];
        origins_keep(&targets->origins, target->fold.origin, &target->process);
        target_close(target);
    }
    thread_cpus_deinit(&targets->cpus);
    waits_destroy(targets->waits);
    targets->waits = NULL;
    context_marks_destroy(targets->contexts);
    targets->contexts = NULL;
    native_copies_deinit(&targets->native);
}

void targets_dismiss(struct targets *targets)
{
    close_targets(targets);
#ifdef __GLIBC__
    /* Other C libraries give memory back by themselves. */
    malloc_trim(0);
#endif
}

void targets_deinit(struct targets *targets)
{
    if (!targets->options)
        return;
    close_targets(targets);
    stopper_deinit(&targets->stopper);
    bias_deinit(&targets->bias);
    profile_destroy(targets->profile);
    task_board_deinit(&targets->board);
    target_table_deinit(&targets->target_table);
    origins_deinit(&targets->origins);
    memset(targets, 0, sizeof *targets);
}

void targets_begin(struct targets *targets, uint64_t created_ns)
{
    targets->created_ns = created_ns;
    targets->cpus.created_ns = created_ns;
    /* Later than created_ns, so no sample has a time before it. */
    if (targets->feed)
        kernel_feed_begin(targets->feed);
}

static uint64_t since_begin(const struct targets *targets, uint64_t now_ns)
{
    return targets->created_ns && now_ns > targets->created_ns ? now_ns - targets->created_ns
                                                               : 0;
}

static bool is_target(const struct targets *targets, const struct process *process)
{
    for (size_t i = 0; i < targets->count; i++) {
        const struct process *const other = &targets->items[i]->process;
        if (other->pid == process->pid && other->start_time == process->start_time)
            return true;
    }
    return false;
}

/* A library with an interpreter may be loaded late, so it is searched again, after twice the time each time. */
static void warn_of_another(struct targets *targets, struct target *target)
{
    static const uint64_t FIRST_WAIT_NS = NS_PER_S;
    char found[SAMPLER_WARNING_BYTES / 2 + 32], text[SAMPLER_WARNING_BYTES];
    const uint64_t now_ns = clock_now_ns();
    if (target->has_another || now_ns < target->another_due_ns)
        return;
    target->another_wait_ns =
        target->another_wait_ns ? 2 * target->another_wait_ns : FIRST_WAIT_NS;
    target->another_due_ns = now_ns + target->another_wait_ns;
    if (!python_find_another(target->python, found, sizeof found))
        return;
    snprintf(text, sizeof text,
             "another Python runs in this process, too, and is not sampled: %s", found);
    target->has_another =
        target_table_warn(&targets->target_table, target->row, SAMPLER_WARNING_ANOTHER, text);
}

static void warn_of_version(struct targets *targets, struct target *target)
{
    char text[SAMPLER_WARNING_BYTES];
    if (python_is_validated(target->python))
        return;
    snprintf(
        text, sizeof text,
        "Python %s is newer than the releases that pyrometer was tested with: results may be "
        "wrong",
        python_version(target->python));
    (void)target_table_warn(&targets->target_table, target->row, SAMPLER_WARNING_VERSION, text);
    if (python_knows_opcodes(target->python) == VALUE_NO)
        (void)target_table_warn(
            &targets->target_table, target->row, SAMPLER_WARNING_OPCODES,
            "the instructions of this version of Python are unknown: the remote engine reads "
            "running threads only while they are stopped, and C functions have no names");
}

/* Warns of parts that a reader of the profile would miss without a word. */
static void warn(struct targets *targets, struct target *target)
{
    if (targets->feed && has_unfollowed_interpreters(target))
        (void)target_table_warn(
            &targets->target_table, target->row, SAMPLER_WARNING_INTERPRETERS,
            "what its sub-interpreters run is not sampled: the kernel engine follows at most "
            "16 of them, from Python 3.13 on (use --engine remote)");
    warn_of_version(targets, target);
    warn_of_another(targets, target);
}

enum err_code targets_record_native(struct targets *targets, struct err *err)
{
    enum err_code rc = ERR_OK;
    targets->tick.native = &targets->native;
    for (size_t i = 0; i < targets->count && !rc; i++)
        rc = target_record_native(targets->items[i], err);
    return rc;
}

enum err_code targets_add(struct targets *targets, struct target *target, struct err *err)
{
    const struct target_table_info info = { .python = python_version(target->python),
                                            .validated = python_is_validated(target->python),
                                            .parent = target->parent,
                                            .from_ns = since_begin(targets, clock_now_ns()) };
    if (is_target(targets, &target->process))
        return err_set(err, ERR_INVALID, "process %d is in the session already",
                       target->process.pid);
    if (targets->count == SAMPLER_MAX_PROCESSES)
        return err_set(err, ERR_LIMIT, "the session has its maximum of %d processes",
                       SAMPLER_MAX_PROCESSES);
    if (targets->options->hides_arguments)
        process_hide_arguments(&target->process);
    enum err_code rc = target_check_permission(target, err);
    if (!rc)
        rc = target_join(target, targets->profile, &targets->cpus, &targets->origins,
                         targets->contexts, targets->options, err);
    if (!rc && targets->tick.native)
        rc = target_record_native(target, err);
    /* Joining has read its owner, whose files may be shown from now on. */
    if (!rc)
        rc = target_check_permission(target, err);
    if (!rc && targets->feed)
        rc = kernel_feed_add(targets->feed, target, err);
    if (!rc &&
        (rc = target_table_add(&targets->target_table, &target->process, &info, &target->row,
                               err)) &&
        targets->feed)
        (void)kernel_feed_remove(targets->feed, target);
    if (rc) {
        origins_end(&targets->origins, target->fold.origin);
        return rc;
    }
    targets->items[targets->count++] = target;
    warn_of_version(targets, target);
    warn_of_another(targets, target);
    return ERR_OK;
}

/* How many targets a drain of the kernel engine asks whether they still run. */
enum { CHECKS_PER_DRAIN = 16 };

/* The last target takes the place of the one that leaves.  false: the session is over. */
static bool leave(struct targets *targets, size_t index, const struct ending *ending,
                  struct ending *out)
{
    struct target *const target = targets->items[index];
    const uint64_t now_ns = clock_now_ns();
    const uint64_t to_ns = since_begin(targets, now_ns);
    const enum err_code rc = targets->feed ? kernel_feed_remove(targets->feed, target) : ERR_OK;
    const bool is_counted = target_leave(target, now_ns) == ERR_OK && rc == ERR_OK;
    targets->items[index] = targets->items[--targets->count];
    targets->last = *ending;
    origins_end(&targets->origins, target->fold.origin);
    target_table_end(&targets->target_table, target->row, to_ns ? to_ns : 1, ending->reason);
    if (targets->left)
        targets->left(targets->context, &target->process, ending->is_refused);
    target_close(target);
    *out = is_counted ? *ending
                      : (struct ending){ .state = SAMPLER_FAILED,
                                         .reason = "out of memory",
                                         .is_of_all = true };
    return !out->is_of_all;
}

/* Targets that each sampled one stands for. */
static double weigh(const struct targets *targets)
{
    size_t threads = 0;
    if (targets->count == 1)
        return 1;
    for (size_t i = 0; i < targets->count; i++)
        threads += target_threads(targets->items[i]);
    return threads > PYTHON_MAX_THREADS_PER_TICK ? (double)threads / PYTHON_MAX_THREADS_PER_TICK
                                                 : 1;
}

static bool is_chosen(struct tick *tick)
{
    if (tick->weight <= 1)
        return true;
    return random_fraction(&tick->random) * tick->weight < 1;
}

/* No reading fails once a target of the kernel engine has ended.  Of many, some are asked each time. */
static bool check_some(struct targets *targets, struct ending *out)
{
    const size_t most = targets->count < CHECKS_PER_DRAIN ? targets->count : CHECKS_PER_DRAIN;
    for (size_t i = 0; i < most; i++) {
        struct ending ending;
        if (targets->next_check >= targets->count)
            targets->next_check = 0;
        if (target_runs(targets->items[targets->next_check], &ending)) {
            targets->next_check++;
            continue;
        }
        /* The engine still holds what the target did since the last drain. */
        const enum err_code rc = kernel_feed_drain(targets->feed);
        if (rc)
            return target_survives(targets->items[0], rc, clock_now_ns(), out);
        if (!leave(targets, targets->next_check, &ending, out))
            return false;
    }
    return true;
}

/* The ticks since the last call.  Tasks are read first, so that the stacks of running tasks find them. */
static enum err_code pass_ticks(struct targets *targets)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t ticks = kernel_feed_ticks(targets->feed, now_ns);
    enum err_code rc = ERR_OK;
    profile_quality(targets->profile)->ticks += ticks;
    for (size_t i = 0; i < targets->count && !rc && ticks; i++)
        rc = target_read_tasks(targets->items[i], (uint32_t)ticks, now_ns);
    return rc;
}

/* The kernel engine has sampled already. */
static bool drain(struct targets *targets, bool *sampled_out, struct ending *out)
{
    enum err_code rc = pass_ticks(targets);
    if (!rc)
        rc = kernel_feed_drain(targets->feed);
    *sampled_out = false;
    return rc == ERR_OK ? check_some(targets, out)
                        : target_survives(targets->items[0], rc, clock_now_ns(), out);
}

bool targets_tick(struct targets *targets, bool *sampled_out, struct ending *out)
{
    if (targets->feed)
        return drain(targets, sampled_out, out);
    targets->tick.weight = weigh(targets);
    *sampled_out = false;
    for (size_t i = targets->count; i-- > 0;) {
        struct target *const target = targets->items[i];
        struct ending ending;
        if (!is_chosen(&targets->tick)) {
            target_pass(target);
            targets->tick.now_ns = clock_now_ns();
            *sampled_out = true;
            continue;
        }
        const enum err_code rc = target_sample(target, &targets->tick);
        *sampled_out |= !rc;
        if (rc && !target_survives(target, rc, clock_now_ns(), &ending) &&
            !leave(targets, i, &ending, out))
            return false;
    }
    return true;
}

uint64_t targets_idle_until(const struct targets *targets)
{
    uint64_t until_ns = UINT64_MAX;
    if (targets->feed || targets->tick.weight > 1 || targets->stopper.count)
        return 0;
    for (size_t i = 0; i < targets->count; i++) {
        const uint64_t idle_ns = stops_idle_until(&targets->items[i]->stops);
        if (idle_ns < until_ns)
            until_ns = idle_ns;
    }
    return targets->count ? until_ns : 0;
}

void targets_skip(struct targets *targets, uint64_t now_ns)
{
    for (size_t i = 0; i < targets->count; i++)
        target_skip(targets->items[i], now_ns);
}

bool targets_check(struct targets *targets, struct ending *out)
{
    for (size_t i = targets->count; i-- > 0;) {
        struct ending ending;
        if (!target_may_stay(targets->items[i], &ending) && !leave(targets, i, &ending, out))
            return false;
    }
    return true;
}

enum err_code targets_show_tasks(struct targets *targets)
{
    enum err_code rc = ERR_OK;
    task_board_begin(&targets->board);
    for (size_t i = 0; i < targets->count && !rc; i++)
        if (targets->items[i]->fold.tasks)
            rc =
                task_board_add(&targets->board, &targets->items[i]->tasks, targets->created_ns);
    if (!rc)
        task_board_show(&targets->board);
    return rc;
}

enum err_code targets_flush(struct targets *targets, uint64_t now_ns, bool is_last)
{
    struct quality *const quality = profile_quality(targets->profile);
    enum err_code rc = targets->feed ? pass_ticks(targets) : ERR_OK;
    if (!rc && targets->feed)
        rc = kernel_feed_flush(targets->feed, quality, now_ns, is_last);
    bias_measure(&targets->bias, quality);
    for (size_t i = 0; i < targets->count && !rc; i++) {
        rc = target_flush(targets->items[i], now_ns);
        warn(targets, targets->items[i]);
    }
    return rc ? rc : thread_cpus_flush(&targets->cpus, now_ns);
}
