#include "sampler/session/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/open_files.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/python.h"
#include "sampler/kernel/copy_memory.h"
#include "sampler/process/cpu.h"
#include "sampler/process/procfs.h"
#include "sampler/profile/profile.h"
#include "sampler/session/fold/context_marks.h"
#include "sampler/session/fold/fold_native.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/origins.h"

/* An interpreter that is unreadable for this long while its process runs has ended. */
static const uint64_t GIVE_UP_NS = NS_PER_S;

/* A target keeps two files open.  To examine it takes some more, and so do its threads, children and results.  One that
 * was named has less to spare: without it there is no result. */
enum { LEAVE_FILES = 8, LEAVE_FILES_NAMED = 4 };

static enum err_code check_mode(const struct target *target, enum sampler_mode mode,
                                struct err *err)
{
    const bool is_gil = mode == SAMPLER_MODE_GIL && !python_knows_gil(target->python);
    if (!is_gil && (mode != SAMPLER_MODE_EXCEPTION || python_knows_exceptions(target->python)))
        return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "process %d runs Python %s, which does not show which threads %s: use mode "
                   "wall, or Python 3.12 or later for mode %s",
                   target->process.pid, python_version(target->python),
                   is_gil ? "hold the GIL" : "handle an exception",
                   is_gil ? "gil" : "exception");
}

enum err_code target_open(int pid, enum runtime_effort effort, enum sampler_mode mode,
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
        process_find_service(&target->process);
        if (target->process.has_title)
            python_find_service(target->python);
    }
    if (!rc)
        rc = check_mode(target, mode, err);
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
    native_copies_deinit(&target->waiting);
    fold_native_destroy(target->fold.native_stacks);
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
    return target_check_permission(target, NULL) == ERR_OK;
}

enum err_code target_record_native(struct target *target, struct err *err)
{
    struct procfs_identity identity;
    if (target->fold.native_stacks)
        return ERR_OK;
    if (!procfs_identify(target->process.pid, &identity, NULL))
        target->stack_start = identity.stack_start;
    const enum err_code rc = fold_mark_native(&target->fold, err);
    return rc ? rc
              : fold_native_create(&target->process, &target->fold,
                                   python_anchor(target->python), &target->fold.native_stacks,
                                   err);
}

enum err_code target_join(struct target *target, struct profile *profile,
                          struct thread_cpus *cpus, struct origins *origins,
                          struct context_marks *contexts, const struct sampler_options *options,
                          struct err *err)
{
    struct process *const process = &target->process;
    const char *const name = process->argc ? process->argv[0] : "";
    target->options = options;
    target->guard = (struct memory_guard){ is_permitted, target };
    if (permission_has_rule())
        process->memory.memory.guard = &target->guard;
    stops_init(&target->stops, options->stop, options->max_stop_percent / 100);
    target->stops.needs_stops = python_knows_opcodes(target->python) != VALUE_YES;
    enum err_code rc = fold_init(&target->fold, profile, python_leaves(target->python), cpus,
                                 options, process->pid, name, err);
    const bool is_span = strcmp(options->context, CONTEXT_OPENTELEMETRY) == 0;
    if (!rc && contexts)
        rc = python_watch_context(target->python, is_span ? NULL : options->context, err);
    if (rc)
        return rc;
    target->fold.threads = python_thread_list(target->python);
    target->fold.origins = origins;
    target->fold.contexts = contexts;
    target->fold.origin = origins_add(origins, process, python_anchor(target->python));
    if (options->native == SAMPLER_NATIVE_FULL)
        rc = target_record_native(target, err);
    if (rc || options->async == SAMPLER_ASYNC_OFF)
        return rc;
    target->fold.tasks = &target->tasks;
    const enum err_code made =
        task_fold_init(&target->tasks, &target->fold, python_tasks(target->python),
                       options->async == SAMPLER_ASYNC_ALL, err);
    target->tasks.is_each = options->tasks_each;
    return made;
}

static void count_reads(struct target *target)
{
    struct quality *const quality = profile_quality(target->fold.profile);
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
}

enum err_code target_repeat(struct target *target, uint64_t now_ns)
{
    struct reading *const last = &target->last;
    const struct stops_skipped skipped = target->stops.skipped;
    if (!skipped.ticks || !last->now_ns)
        return ERR_OK;
    /* A tick may have been skipped before its time. */
    const uint64_t last_ns = skipped.last_ns < now_ns ? skipped.last_ns : now_ns - 1;
    const struct repetition repetition = {
        .pid = target->process.pid,
        .sampled_ns = last->now_ns,
        .first_ns = skipped.first_ns < last_ns ? skipped.first_ns : last_ns,
        .last_ns = last_ns,
        .ticks = skipped.ticks,
        .weight = last->weight,
    };
    stops_stood(&target->stops);
    last->now_ns = last_ns;
    for (enum err_code failure = ERR_OK + 1; failure <= ERR_NOT_PYTHON; failure++)
        fold_count_failure(&target->fold, failure,
                           (uint32_t)(last->failures[failure] * skipped.ticks * last->weight));
    return thread_cpus_repeat(target->fold.cpus, &repetition);
}

enum err_code target_flush(struct target *target, uint64_t now_ns)
{
    const enum err_code rc = target_repeat(target, now_ns);
    python_refresh_context(target->python, now_ns);
    count_reads(target);
    if (rc)
        return rc;
    return target->fold.tasks ? task_fold_flush(&target->tasks, now_ns) : ERR_OK;
}

enum err_code target_leave(struct target *target, uint64_t now_ns)
{
    const enum err_code rc = target_flush(target, now_ns);
    return rc ? rc : thread_cpus_drop(target->fold.cpus, target->process.pid, now_ns);
}

size_t target_threads(const struct target *target)
{
    return python_threads_per_tick(target->python, target->options->all_threads);
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

/* A thread that waits stays in its context, but may have been away and come back to the same place in another one.
 * One that runs may be in another context at the same place. */
static bool keeps_context(const struct target *target, const struct thread *thread)
{
    enum { MOVING_READINGS = 4, READINGS = 64 };
    const struct stack *const stack = &thread->stack;
    return thread->context && stack->is_unchanged && stack->still > MOVING_READINGS &&
           stack->still % READINGS != 0 &&
           python_thread_state(target->python, thread).has_gil == VALUE_NO;
}

static struct context_value *read_context(struct target *target, const struct thread *thread,
                                          struct copy_memory *copy, uint64_t now_ns)
{
    if (!copy)
        return python_context(target->python, thread, &target->process.memory.memory, false,
                              now_ns);
    struct memory *const process = copy->process;
    copy->process = NULL;
    struct context_value *const value =
        python_context(target->python, thread, &copy->memory, true, now_ns);
    copy->process = process;
    return value;
}

void target_read_context(struct target *target, struct thread *thread, struct copy_memory *copy,
                         uint64_t now_ns)
{
    const uint32_t before = thread->context;
    if (target->fold.contexts && (copy || !keeps_context(target, thread))) {
        struct context_value *const value = read_context(target, thread, copy, now_ns);
        const bool is_new = value->kind == CONTEXT_SET && !value->tag;
        if (!is_new || memory_confirm(&target->process.memory.memory) == ERR_OK)
            thread->context = context_marks_find(target->fold.contexts, value);
    }
    thread->is_in_new_context = thread->context != before;
}

struct copied_sample {
    struct target *target;
    const struct target_instants *instants;
    struct copy_memory *copy; /* NULL: read from the process */
    struct watch *watch;      /* NULL: a copy, or native stacks are not wanted */
};

/* A thread that waits in a system call while it is read. */
struct watch {
    struct cpu_meter meter;
    struct system_call call;
};

/* Does the thread wait?  Since watch_begin, it has not moved if it never ran. */
static bool watch_asks(const struct target *target, const struct thread *thread,
                       struct watch *watch, struct system_call *call_out)
{
    uint64_t ran_ns, queued_ns;
    bool is_ready;
    return cpu_meter_read(&watch->meter, &ran_ns, &queued_ns) && ran_ns == 0 &&
           cpu_meter_is_runnable(&watch->meter, target->process.pid, thread->host_tid,
                                 &is_ready, call_out) &&
           !is_ready && call_out->is_known && call_out->sp;
}

/* Copies the native stack of a thread that waits; NULL: it does not wait, or cannot be copied. */
static const struct native_copy *watch_begin(struct target *target, const struct thread *thread,
                                             struct watch *watch)
{
    const bool is_first = thread->host_tid == target->process.pid;
    if (!cpu_meter_open(&watch->meter, target->process.pid, thread->host_tid) ||
        !watch_asks(target, thread, watch, &watch->call))
        return NULL;
    return native_copies_read_waiting(&target->waiting, &target->process.memory.memory,
                                      &watch->call, is_first ? target->stack_start : 0);
}

static bool watch_holds(const struct target *target, const struct thread *thread,
                        struct watch *watch)
{
    struct system_call call;
    return watch_asks(target, thread, watch, &call) && call.number == watch->call.number &&
           call.sp == watch->call.sp && call.ip == watch->call.ip;
}

static void note_instants(struct thread *thread, const struct target_instants *instants)
{
    thread->sampled_ns = instants->until_ns;
    thread->is_stopped = true;
    thread->runs = instants->runs;
    thread->runnable = instants->runnable;
    thread->call = instants->call;
    thread->times = instants->times;
    thread->since_ns = instants->since_ns;
    thread->motion = THREAD_STILL;
}

static enum err_code count_copied(void *context, struct thread *thread, enum err_code failure)
{
    const struct copied_sample *const copied = context;
    struct target *const target = copied->target;
    if (!target_is_same(target))
        return ERR_GONE;
    if (thread->native && copied->watch && !watch_holds(target, thread, copied->watch))
        thread->native = NULL;
    note_instants(thread, copied->instants);
    /* The record had no room for all of it: a part was read later, or before. */
    if (copied->copy && copied->copy->process && thread->stack.certainty == STACK_EXACT)
        thread->stack.certainty = STACK_RETRIED;
    if (!failure)
        target_read_context(target, thread, copied->copy, copied->instants->until_ns);
    return fold_thread(&target->fold, thread, python_thread_state(target->python, thread),
                       failure, copied->instants->until_ns);
}

enum err_code target_take(struct target *target, struct thread *thread,
                          struct copy_memory *copy, const struct native_copy *native,
                          const struct target_instants *instants)
{
    struct copied_sample copied = { target, instants, copy, NULL };
    const struct python_copy taken = {
        .memory = &copy->memory,
        .taken_ns = instants->until_ns,
        .is_whole = !copy->process,
        .tail = { copy->tail_ns, copy->tail_from },
    };
    copy->memory.guard = target->process.memory.memory.guard;
    thread->native = native;
    thread->is_placed = false;
    const enum err_code rc =
        python_take_copy(target->python, thread, &taken, count_copied, &copied);
    thread->native = NULL;
    return rc;
}

enum err_code target_take_same(struct target *target, struct thread *thread,
                               struct copy_memory *copy, const struct target_instants *instants)
{
    struct copied_sample copied = { target, instants, copy, NULL };
    copy->memory.guard = target->process.memory.memory.guard;
    return python_repeat(target->python, thread, &copy->memory, count_copied, &copied);
}

enum err_code target_take_unknown(struct target *target, struct thread *thread,
                                  const struct target_instants *instants)
{
    note_instants(thread, instants);
    return fold_unknown_stack(&target->fold, thread, instants->until_ns);
}

enum err_code target_read_waiting(struct target *target, struct thread *thread,
                                  const struct target_instants *instants)
{
    struct watch watch;
    struct copied_sample copied = { target, instants, NULL, NULL };
    thread->is_placed = false;
    if (!target->fold.native_stacks)
        return python_read_waiting(target->python, thread, count_copied, &copied);
    copied.watch = &watch;
    thread->native = watch_begin(target, thread, &watch);
    const enum err_code rc = python_read_waiting(target->python, thread, count_copied, &copied);
    thread->native = NULL;
    cpu_meter_close(&watch.meter);
    return rc;
}

bool target_thread_is_ready(const struct target *target, const struct thread *thread,
                            struct system_call *call_out)
{
    struct cpu_meter meter;
    bool is_ready = false;
    *call_out = (struct system_call){ 0 };
    (void)cpu_meter_open(&meter, target->process.pid, thread->host_tid);
    const bool is_known = cpu_meter_is_runnable(&meter, target->process.pid, thread->host_tid,
                                                &is_ready, call_out);
    cpu_meter_close(&meter);
    return is_known && is_ready;
}

/* Returns false, so that a caller can return what this returns. */
static bool end(struct ending *out, enum sampler_state state, bool is_of_all,
                const char *reason)
{
    *out = (struct ending){ .state = state, .reason = reason, .is_of_all = is_of_all };
    return false;
}

bool target_survives(struct target *target, enum err_code rc, uint64_t now_ns,
                     struct ending *out)
{
    if (rc == ERR_NOMEM)
        return end(out, SAMPLER_FAILED, true, "out of memory");
    if (rc == ERR_LIMIT)
        return end(out, SAMPLER_FAILED, true, "a table of the profile is full");
    if (!target_may_stay(target, out))
        return false;
    if (!target->failing_since_ns)
        target->failing_since_ns = now_ns;
    if (now_ns - target->failing_since_ns <= GIVE_UP_NS)
        return true;
    if (rc == ERR_PERM)
        return end(out, SAMPLER_FAILED, false,
                   "the kernel no longer lets us read the target (has it changed its user?)");
    return end(out, SAMPLER_ENDED, false, "the target's interpreter has ended");
}

bool target_runs(struct target *target, struct ending *out)
{
    switch (process_fate(&target->process, python_anchor(target->python))) {
    case PROCESS_EXITED: return end(out, SAMPLER_ENDED, false, SAMPLER_EXITED);
    case PROCESS_REPLACED:
        return end(out, SAMPLER_ENDED, false,
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
    (void)end(out, SAMPLER_ENDED, false,
              "profiling the target is no longer permitted: it has another user now");
    out->is_refused = true;
    return false;
}
