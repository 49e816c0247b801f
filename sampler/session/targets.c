#include "sampler/session/targets.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python.h"
#include "sampler/profile/profile.h"
#include "sampler/session/fold/context_marks.h"

static uint64_t since_begin(const struct targets *targets, uint64_t now_ns)
{
    return targets->created_ns && now_ns > targets->created_ns ? now_ns - targets->created_ns
                                                               : 0;
}

/* The last target takes the place of the one that leaves.  false: the session is over. */
static bool leave_target(struct targets *targets, size_t index, const struct ending *ending,
                         struct ending *out)
{
    struct target *const target = targets->items[index];
    const uint64_t now_ns = clock_now_ns();
    const uint64_t to_ns = since_begin(targets, now_ns);
    const enum err_code rc = targets->engine->ops->remove(targets->engine, target);
    const bool is_counted = !target_leave(target, now_ns) && !rc;
    targets->items[index] = targets->items[--targets->count];
    targets->last = *ending;
    origins_end(&targets->origins, target->fold.nodes.origin);
    target_table_end(&targets->target_table, target->row, to_ns ? to_ns : 1, ending->reason);
    if (targets->left)
        targets->left(targets->context, &target->process, ending->is_refused);
    target_close(target);
    *out = is_counted ? *ending
                      : (struct ending){ .state = SESSION_FAILED,
                                         .reason = "out of memory",
                                         .is_of_all = true };
    return !out->is_of_all;
}

/* For the engine. */
static bool end_target(void *context, struct target *target, const struct ending *ending,
                       struct ending *out)
{
    struct targets *const targets = context;
    size_t index = 0;
    while (targets->items[index] != target)
        index++;
    return leave_target(targets, index, ending, out);
}

enum err_code targets_init(struct targets *targets, const struct session_options *options,
                           struct err *err)
{
    memset(targets, 0, sizeof *targets);
    targets->options = options;
    target_table_init(&targets->target_table);
    origins_init(&targets->origins);
    task_board_init(&targets->board);
    lock_board_init(&targets->locks);
    semaphores_init(&targets->semaphores);
    locals_board_init(&targets->locals);
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
    targets->records_native = options->native == SESSION_NATIVE_FULL;
    targets->engine_session = (struct engine_session){
        .options = options,
        .profile = targets->profile,
        .cpus = &targets->cpus,
        .end_target = end_target,
        .context = targets,
    };
    return ERR_OK;
}

enum err_code targets_use_engine(struct targets *targets, const struct engine_ops *ops,
                                 struct engine **before_out, struct err *err)
{
    struct engine *const before = targets->engine;
    struct engine *engine = NULL;
    enum err_code rc = engine_create(ops, &targets->engine_session, &engine, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < targets->count && !rc; i++)
        rc = ops->add(engine, targets->items[i], err);
    if (rc) {
        engine_destroy(engine);
        return rc;
    }
    targets->engine = engine;
    if (before_out)
        *before_out = before;
    else
        engine_destroy(before);
    return ERR_OK;
}

static void close_targets(struct targets *targets)
{
    engine_destroy(targets->engine);
    targets->engine = NULL;
    while (targets->count > 0) {
        struct target *const target = targets->items[--targets->count];
        origins_keep(&targets->origins, target->fold.nodes.origin, &target->process);
        target_close(target);
    }
    thread_cpus_deinit(&targets->cpus);
    waits_destroy(targets->waits);
    targets->waits = NULL;
    context_marks_destroy(targets->contexts);
    targets->contexts = NULL;
}

void targets_dismiss(struct targets *targets)
{
    close_targets(targets);
#ifdef __GLIBC__
    /* Other C libraries give memory back by themselves.  A dump is a short session, and there may be a thousand of them. */
    if (!targets->options->locks)
        malloc_trim(0);
#endif
}

void targets_deinit(struct targets *targets)
{
    if (!targets->options)
        return;
    close_targets(targets);
    profile_destroy(targets->profile);
    task_board_deinit(&targets->board);
    lock_board_deinit(&targets->locks);
    semaphores_deinit(&targets->semaphores);
    locals_board_deinit(&targets->locals);
    target_table_deinit(&targets->target_table);
    origins_deinit(&targets->origins);
    memset(targets, 0, sizeof *targets);
}

void targets_begin(struct targets *targets, uint64_t created_ns)
{
    targets->created_ns = created_ns;
    targets->cpus.created_ns = created_ns;
    targets->locks.created_ns = created_ns;
    /* Later than created_ns, so no sample has a time before it. */
    targets->engine->ops->begin(targets->engine);
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
    char found[SESSION_WARNING_BYTES / 2 + 32], text[SESSION_WARNING_BYTES];
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
        target_table_warn(&targets->target_table, target->row, SESSION_WARNING_ANOTHER, text);
}

static void warn_of_version(struct targets *targets, struct target *target)
{
    char text[SESSION_WARNING_BYTES];
    if (python_is_validated(target->python))
        return;
    snprintf(
        text, sizeof text,
        "Python %s is newer than the releases that pyrometer was tested with: results may be "
        "wrong",
        python_version(target->python));
    (void)target_table_warn(&targets->target_table, target->row, SESSION_WARNING_VERSION, text);
    if (python_knows_opcodes(target->python) == VALUE_NO)
        (void)target_table_warn(
            &targets->target_table, target->row, SESSION_WARNING_OPCODES,
            "the instructions of this version of Python are unknown: the remote engine reads "
            "running threads only while they are stopped, and C functions have no names");
}

enum err_code targets_record_native(struct targets *targets, struct err *err)
{
    enum err_code rc = ERR_OK;
    targets->records_native = true;
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
    struct engine *const engine = targets->engine;
    if (is_target(targets, &target->process))
        return err_set(err, ERR_INVALID, "process %d is in the session already",
                       target->process.pid);
    if (targets->count == SESSION_MAX_PROCESSES)
        return err_set(err, ERR_LIMIT, "the session has its maximum of %d processes",
                       SESSION_MAX_PROCESSES);
    if (targets->options->hides_arguments)
        process_hide_arguments(&target->process);
    enum err_code rc = target_check_permission(target, err);
    if (!rc)
        rc = target_join(target, targets->profile, &targets->cpus, &targets->origins,
                         targets->contexts, targets->options, err);
    if (!rc && targets->records_native)
        rc = target_record_native(target, err);
    /* Joining has read its owner, whose files may be shown from now on. */
    if (!rc)
        rc = target_check_permission(target, err);
    if (!rc)
        rc = engine->ops->add(engine, target, err);
    if (!rc && (rc = target_table_add(&targets->target_table, &target->process, &info,
                                      &target->row, err)))
        (void)engine->ops->remove(engine, target);
    if (rc) {
        origins_end(&targets->origins, target->fold.nodes.origin);
        return rc;
    }
    target->locks = &targets->locks;
    target->locals = &targets->locals;
    targets->items[targets->count++] = target;
    warn_of_version(targets, target);
    warn_of_another(targets, target);
    return ERR_OK;
}

bool targets_check(struct targets *targets, struct ending *out)
{
    for (size_t i = targets->count; i-- > 0;) {
        struct ending ending;
        if (!target_may_stay(targets->items[i], &ending) &&
            !leave_target(targets, i, &ending, out))
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

enum err_code targets_read_locks(struct targets *targets)
{
    return lock_reader_read(&targets->lock_reader, &targets->locks, targets->engine,
                            targets->items, targets->count);
}

enum err_code targets_read_memory(struct targets *targets, uint64_t now_ns)
{
    return memory_reader_read(&targets->memory_reader, targets->items, targets->count,
                              targets->profile, targets->options->sink,
                              since_begin(targets, now_ns), NULL);
}

enum err_code targets_flush(struct targets *targets, uint64_t now_ns, bool is_last)
{
    enum err_code rc = targets->engine->ops->flush(targets->engine, now_ns, is_last);
    for (size_t i = 0; i < targets->count && !rc; i++) {
        rc = target_flush(targets->items[i], now_ns);

        /* Warns of parts that a reader of the profile would miss without a word. */
        struct target *const target = targets->items[i];
        const char *const warning = targets->engine->ops->warning(targets->engine, target);
        if (warning)
            (void)target_table_warn(&targets->target_table, target->row,
                                    SESSION_WARNING_INTERPRETERS, warning);
        warn_of_version(targets, target);
        warn_of_another(targets, target);
    }
    return rc ? rc : thread_cpus_flush(&targets->cpus, now_ns);
}
