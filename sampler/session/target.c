#include "sampler/session/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/open_files.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/locals/locals.h"
#include "sampler/cpython/python.h"
#include "sampler/process/procfs.h"
#include "sampler/profile/profile.h"
#include "sampler/session/fold/context_marks.h"
#include "sampler/session/fold/fold_native.h"
#include "sampler/session/fold/guessed_requests.h"
#include "sampler/session/fold/locals_board.h"
#include "sampler/session/fold/lock_board.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/origins.h"

/* A target keeps two files open.  To examine it takes some more, and so do its threads, children and results.  One that
 * was named has less to spare: without it there is no result. */
enum { LEAVE_FILES = 8, LEAVE_FILES_NAMED = 4 };

/* The time that the variables of a thread may take: while it and others are stopped, from the begin of the tick on; while it waits; and of all
 * threads of a session together. */
static const uint64_t LOCALS_STOP_NS = 10 * NS_PER_MS, LOCALS_NS = 300 * NS_PER_MS,
                      LOCALS_MOST_NS = 3 * NS_PER_S;
/* Attempts to read all variables of a thread in time, before a part of them will do. */
enum { LOCALS_TRIES = 3 };

enum err_code target_open(int pid, enum runtime_effort effort, enum session_mode mode,
                          const atomic_bool *is_cancelled, struct strtab *strings,
                          struct target **out, struct err *err)
{
    char what[32];
    snprintf(what, sizeof what, "process %d", pid);
    enum err_code rc =
        open_files_check(effort == RUNTIME_QUICK ? LEAVE_FILES : LEAVE_FILES_NAMED, what, err);
    if (rc)
        return rc;
    struct target *const target = calloc(1, sizeof *target);
    if (!target)
        return err_nomem(err);
    target->process.pidfd = target->process.space_fd = -1;
    rc = process_open(&target->process, pid, err);
    if (!rc)
        rc = permission_ask(pid, &target->users, err);
    target->process.is_cancelled = is_cancelled;
    if (!rc)
        rc = python_attach(&target->process, effort, strings, &target->python, err);
    target->process.is_cancelled = NULL;
    if (!rc) {
        python_keep_with_threads(target->python, sizeof(struct sampled_thread));
        process_find_service(&target->process);
        if (target->process.has_title)
            python_find_service(target->python);
    }
    const char *lacks = NULL;
    if (!rc && mode == SESSION_MODE_GIL && !python_knows_gil(target->python))
        lacks = "hold the GIL: use mode wall, or Python 3.12 or later for mode gil";
    if (!rc && mode == SESSION_MODE_EXCEPTION && !python_knows_exceptions(target->python))
        lacks =
            "handle an exception: use mode wall, or Python 3.12 or later for mode exception";
    if (lacks)
        rc = err_set(err, ERR_INVALID,
                     "process %d runs Python %s, which does not show which threads %s",
                     target->process.pid, python_version(target->python), lacks);
    if (rc)
        target_close(target);
    else
        *out = target;
    return rc;
}

void target_close(struct target *target)
{
    if (!target)
        return;
    task_fold_deinit(&target->tasks);
    fold_native_destroy(target->fold.native_stacks);
    guessed_requests_destroy(target->guesses);
    python_detach(target->python);
    process_close(&target->process);
    free(target);
}

enum err_code target_check_permission(struct target *target, struct err *err)
{
    struct process *const process = &target->process;
    enum err_code rc = ERR_OK;
    if (!permission_has_rule())
        return ERR_OK;
    if (process->space_fd < 0)
        return err_set(err, ERR_PERM, "the memory of process %d cannot be opened",
                       process->pid);
    if (!permission_is_same(process->pid, &target->users))
        rc = permission_ask(process->pid, &target->users, err);
    if (!rc && !process_runs(process, python_anchor(target->python)))
        rc = err_set(err, ERR_GONE, "process %d has ended or executes another program",
                     process->pid);
    return rc;
}

static bool is_permitted(void *target)
{
    return !target_check_permission(target, NULL);
}

enum err_code target_record_native(struct target *target, struct err *err)
{
    struct procfs_identity identity;
    if (target->fold.native_stacks)
        return ERR_OK;
    if (!procfs_identify(target->process.pid, &identity, NULL))
        target->stack_start = identity.stack_start;
    const enum err_code rc = frame_nodes_mark_native(&target->fold.nodes, err);
    return rc ? rc
              : fold_native_create(&target->process, &target->fold.nodes,
                                   python_anchor(target->python), &target->fold.native_stacks,
                                   err);
}

enum err_code target_join(struct target *target, struct profile *profile,
                          struct thread_cpus *cpus, struct origins *origins,
                          struct context_marks *contexts, const struct session_options *options,
                          struct err *err)
{
    struct process *const process = &target->process;
    const char *const name = process->argc ? process->argv[0] : "";
    target->options = options;
    target->guard = (struct memory_guard){ is_permitted, target };
    if (permission_has_rule())
        process->memory.memory.guard = &target->guard;
    enum err_code rc = fold_init(&target->fold, profile, python_leaves(target->python), cpus,
                                 options, process->pid, name, err);
    const bool is_span = strcmp(options->context, CONTEXT_OPENTELEMETRY) == 0;
    const bool is_guessed = strcmp(options->context, CONTEXT_GUESSED) == 0;
    if (!rc && contexts && !is_guessed)
        rc = python_watch_context(target->python, is_span ? NULL : options->context, err);
    if (!rc && contexts && is_guessed) {
        const struct guessed_process guessed = {
            .codes = python_codes(target->python),
            .tasks = options->async == SESSION_ASYNC_OFF ? NULL : python_tasks(target->python),
            .layout = python_leaves(target->python)->layout,
            .memory = &process->memory.memory,
        };
        python_tasks(target->python)->table.checks_names = true;
        rc = guessed_requests_create(contexts, &guessed, &target->guesses);
        rc = rc ? err_nomem(err) : ERR_OK;
    }
    if (rc)
        return rc;
    target->fold.threads = python_thread_list(target->python);
    target->fold.nodes.origins = origins;
    target->fold.contexts = contexts;
    target->fold.nodes.origin = origins_add(origins, process, python_anchor(target->python));
    if (options->threads_in_turn)
        python_take_turns(target->python);
    if (options->native == SESSION_NATIVE_FULL)
        rc = target_record_native(target, err);
    if (rc || options->async == SESSION_ASYNC_OFF)
        return rc;
    target->fold.tasks = &target->tasks;
    const enum err_code made =
        task_fold_init(&target->tasks, &target->fold.nodes, cpus, python_tasks(target->python),
                       options->async == SESSION_ASYNC_ALL, err);
    target->tasks.is_each = options->tasks_each;
    target->tasks.is_beside = options->tasks_beside;
    target->tasks.contexts = contexts;
    target->tasks.python = target->python;
    target->tasks.guesses = target->guesses;
    return made;
}

enum err_code target_flush(struct target *target, uint64_t now_ns)
{
    python_refresh_context(target->python, now_ns);

    struct quality *const quality = profile_quality(target->fold.nodes.profile);
    struct code_counters *const codes = &python_codes(target->python)->counters;
    struct memory *const memory = &target->process.memory.memory;
    quality->reads += memory->reads;
    quality->read_bytes += memory->read_bytes;
    quality->code_hits += codes->hits;
    quality->code_misses += codes->misses;
    quality->code_stale += codes->stale;
    quality->code_clears += codes->clears;
    memory->reads = memory->read_bytes = 0;
    *codes = (struct code_counters){ 0 };
    target->checked_misses = 0;
    return target->fold.tasks ? task_fold_flush(&target->tasks, now_ns) : ERR_OK;
}

enum err_code target_leave(struct target *target, uint64_t now_ns)
{
    const enum err_code rc = target_flush(target, now_ns);
    return rc ? rc : thread_cpus_drop(target->fold.cpus, target->process.pid, now_ns);
}

bool target_is_same(struct target *target)
{
    const uint64_t misses = python_codes(target->python)->counters.misses;
    if (misses == target->checked_misses)
        return true;
    if (!process_runs(&target->process, python_anchor(target->python)) ||
        target_check_permission(target, NULL))
        return false;
    target->checked_misses = misses;
    return true;
}

void target_read_context(struct target *target, struct thread_reading *reading,
                         struct memory *copy)
{
    struct memory *const process = &target->process.memory.memory;
    const uint32_t before = reading->context;
    /* A thread at the same place as before may have been away, and come back to it for something else. */
    if (target->guesses) {
        reading->context = guessed_requests_of_thread(target->guesses, reading->thread,
                                                      reading->since_ns, reading->now_ns);
    } else if (target->fold.contexts) {
        struct context_value *const value =
            python_context(target->python, reading->thread, copy ? copy : process,
                           copy ? CONTEXT_OF_COPY : CONTEXT_OF_READING, reading->now_ns);
        const bool is_new = value->kind == CONTEXT_SET && !value->tag;
        if (!is_new || !memory_confirm(process))
            reading->context = context_marks_find(target->fold.contexts, value);
    }
    reading->is_in_new_context = reading->context != before;
}

bool target_has_new_context(struct target *target, uint64_t now_ns)
{
    enum { MOST_THREADS = 32 };
    const struct thread_list *const list = target->fold.threads;
    if (target->guesses)
        return guessed_requests_are_busy(target->guesses, now_ns);
    if (!target->fold.contexts || list->count > MOST_THREADS)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        const struct thread_reading *const reading = reading_of(list->items[i]);
        if (!reading->now_ns)
            continue;
        struct context_value *const value =
            python_context(target->python, list->items[i], &target->process.memory.memory,
                           CONTEXT_OF_NOW, now_ns);
        if ((value->kind == CONTEXT_SET && !value->tag) ||
            context_marks_find(target->fold.contexts, value) != reading->context)
            return true;
    }
    return false;
}

enum err_code target_read_locals(struct target *target, const struct thread_reading *reading,
                                 bool is_stopped)
{
    struct sampled_thread *const sampled = sampled_thread_of(reading->thread);
    const enum session_locals_mode mode = target->options->locals;
    const uint64_t began_ns = clock_now_ns();
    const uint64_t stop_end_ns = reading->now_ns + LOCALS_STOP_NS;
    const struct locals_request request = {
        .has_values = mode == SESSION_LOCALS_VALUES,
        .is_stopped = is_stopped,
        .accepts_part = sampled->locals_tries >= LOCALS_TRIES,
        .end_ns = is_stopped ? stop_end_ns : began_ns + LOCALS_NS
    };
    struct buffer frames = { 0 };
    if (!mode || sampled->locals_row || reading->thread->host_tid <= 0 ||
        target->locals->spent_ns > LOCALS_MOST_NS ||
        (is_stopped && began_ns > stop_end_ns - LOCALS_STOP_NS / 2))
        return ERR_OK;
    enum err_code rc = python_read_locals(target->python, reading->thread, &request, &frames);
    sampled->locals_tries += rc == ERR_LIMIT;
    if (!rc && target_is_same(target))
        rc = locals_board_add(target->locals, target->process.pid, reading->thread->host_tid,
                              &frames, &sampled->locals_row);
    sampled->lacks_locals_node = sampled->locals_row != 0;
    buffer_deinit(&frames);
    target->locals->spent_ns += clock_now_ns() - began_ns;
    return rc == ERR_NOMEM ? rc : ERR_OK;
}

void target_place_locals(struct target *target, const struct thread_reading *reading)
{
    struct sampled_thread *const sampled = sampled_thread_of(reading->thread);
    if (!sampled->lacks_locals_node)
        return;
    sampled->lacks_locals_node = false;
    locals_board_place(target->locals, sampled->locals_row,
                       thread_cpus_node(target->fold.cpus, reading->thread->tag - 1u));
}

enum err_code target_read_tasks(struct target *target, uint32_t ticks, uint64_t now_ns)
{
    if (!target->fold.tasks || !task_fold_is_due(&target->tasks, ticks, now_ns))
        return ERR_OK;
    const enum err_code rc = python_read_tasks(target->python, now_ns);
    if (rc || !target_is_same(target))
        return rc == ERR_NOMEM ? rc : ERR_OK;
    return task_fold_count(&target->tasks);
}

struct lock_report target_task_report(const struct target *target, const struct task *task)
{
    const struct thread *const thread = tasks_thread(target->tasks.tasks, task);
    return (struct lock_report){ .pid = target->process.pid,
                                 .switches = task->since_ns,
                                 .tid = thread ? thread->host_tid : 0,
                                 .task = { .address = task->addr,
                                           .name = task->name,
                                           .number = task->number,
                                           .is_running = task->is_running } };
}

enum err_code target_settle_tasks(struct target *target, uint64_t now_ns)
{
    struct lock_use uses[LOCK_USES_MAX];
    enum err_code rc = ERR_OK;
    if (!target->fold.tasks)
        return ERR_OK;
    task_fold_settle(&target->tasks, now_ns);
    const struct task_table *const table = &target->tasks.tasks->table;
    for (size_t i = 0; i < table->count && target->options->locks && !rc; i++) {
        struct lock_report report = target_task_report(target, &table->items[i]);
        report.uses = uses;
        rc = python_read_task_locks(target->python, &table->items[i], uses, &report.count);
        if (!rc)
            rc = lock_board_note(target->locks, &report, 0, now_ns);
    }
    return rc;
}

/* Returns false, so that a caller can return what this returns. */
static bool end_target(struct ending *out, enum session_state state, bool is_of_all,
                       const char *reason)
{
    *out = (struct ending){ .state = state, .reason = reason, .is_of_all = is_of_all };
    return false;
}

bool target_ends_session(enum err_code rc, struct ending *out)
{
    if (rc == ERR_NOMEM)
        return !end_target(out, SESSION_FAILED, true, "out of memory");
    if (rc == ERR_LIMIT)
        return !end_target(out, SESSION_FAILED, true, "a table of the profile is full");
    return false;
}

bool target_runs(struct target *target, struct ending *out)
{
    switch (process_fate(&target->process, python_anchor(target->python))) {
    case PROCESS_EXITED: return end_target(out, SESSION_ENDED, false, SESSION_EXITED);
    case PROCESS_REPLACED:
        return end_target(out, SESSION_ENDED, false,
                          "the target replaced itself with another program (exec)");
    case PROCESS_RUNS: break;
    }
    return true;
}

bool target_may_stay(struct target *target, struct ending *out)
{
    if (!target_runs(target, out))
        return false;
    if (target_check_permission(target, NULL) != ERR_PERM)
        return true;
    (void)end_target(out, SESSION_ENDED, false,
                     "profiling the target is no longer permitted: it has another user now");
    out->is_refused = true;
    return false;
}
