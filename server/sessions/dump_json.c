#include "server/sessions/dump_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/sessions/dump_locals.h"
#include "server/sessions/kernel_stacks.h"
#include "server/sessions/shared_locks.h"
#include "server/source/expressions.h"
#include "server/wire/rfc3339.h"
#include "server/wire/task.h"

/* locals: NULL: variables are not wanted. */
static void write_frames(struct json *json, const struct profile_snapshot *snapshot,
                         node_id node, struct dump_locals *locals)
{
    json_member_array(json, "frames");
    for (; node != 0; node = profile_node_at(snapshot, node).parent) {
        const struct profile_frame frame =
            profile_frame_at(snapshot, profile_node_at(snapshot, node).frame);
        const struct profile_function function = profile_function_at(snapshot, frame.function);
        json_object(json);
        json_member_string(json, "function", profile_string(snapshot, function.name));
        json_member_string(json, "file", profile_string(snapshot, function.file));
        json_member_int(json, "line", frame.line);
        if (locals)
            dump_locals_write(json, locals, function.name, function.file);
        json_end(json);
    }
    json_end(json);
}

/* The words of the bits from `shift` on. */
static void write_states(struct json *json, const char *key, state_bits state, unsigned shift)
{
    json_member_array(json, key);
#define X(name, bit, text)            \
    if (state >> ((bit) + shift) & 1) \
        json_text(json, text);
    STATE_FLAGS(X)
#undef X
    json_end(json);
}

static void write_use(struct json *json, const struct dump *dump, const struct lock_use *use)
{
    const struct profile_snapshot *const snapshot = &dump->snapshot;
    const struct strtab_string expression = expressions_find(dump->expressions, use);
    char address[2 + 16 + 1];
    if (json_member_if(json, "expression", expression.length > 0))
        json_string(json, expression.text, expression.length);
    snprintf(address, sizeof address, "%#" PRIx64, use->object);
    json_member_string(json, "type", profile_string(snapshot, use->type));
    json_member_text(json, "object", use->object ? address : NULL);
    json_member_string(json, "function", profile_string(snapshot, use->function));
    json_member_string(json, "file", profile_string(snapshot, use->file));
    json_member_int(json, "line", use->line);
}

/* Writes the name of a task; null: it is the thread itself. */
static void write_task_name(struct json *json, const struct dump *dump, uint64_t address)
{
    const struct session_task *const task = address ? dump_find_task(dump, address) : NULL;
    if (!json_member_if(json, "task", address != 0))
        return;
    if (task)
        task_write_name(json, &dump->snapshot, task);
    else
        json_text(json, "");
}

static void write_holder(struct json *json, const struct dump *dump,
                         const struct lock_use *wait, const struct lock_holder *holder)
{
    char gap[SHARED_GAP_BYTES];
    if (lock_holder_is_none(holder) && shared_locks_holder_gap(dump->shared, wait, true, gap)) {
        json_key(json, "holder");
        json_gap(json, gap);
        return;
    }
    if (!json_member_if(json, "holder", !lock_holder_is_none(holder)))
        return;
    json_object(json);
    json_member_int(json, "pid", dump_pid(dump));
    json_member_int(json, "tid", holder->tid);
    write_task_name(json, dump, holder->task);
    if (holder->use)
        write_use(json, dump, holder->use);
    json_end(json);
}

/* null: the holder is known, or no use is. */
static void write_last_use(struct json *json, const struct dump *dump,
                           const struct lock_thread *thread)
{
    const struct dump_last_use *const used =
        dump_lacks_holder(dump, thread) ? dump_find_last_use(dump, lock_thread_wait(thread))
                                        : NULL;
    if (!json_member_if(json, "last_used", used != NULL))
        return;
    json_object(json);
    json_member_string(json, "function", profile_string(&dump->snapshot, used->function));
    json_member_string(json, "file", profile_string(&dump->snapshot, used->file));
    json_member_int(json, "line", used->line);
    json_end(json);
}

/* Writes the names of the tasks whose end is waited for. */
static void write_awaited(struct json *json, const struct dump *dump,
                          const struct lock_thread *thread)
{
    json_member_array(json, "tasks");
    for (size_t i = 0; i < thread->count && thread->uses[i].is_waited; i++) {
        const struct session_task *const task =
            thread->uses[i].owner_task ? dump_find_task(dump, thread->uses[i].owner_task)
                                       : NULL;
        if (task)
            task_write_name(json, &dump->snapshot, task);
    }
    json_end(json);
}

static void write_wait(struct json *json, const struct dump *dump,
                       const struct lock_thread *thread)
{
    const struct lock_use *const wait = thread ? lock_thread_wait(thread) : NULL;
    if (!json_member_if(json, "waits_for", wait != NULL))
        return;
    const struct lock_holder holder = lock_graph_holder(&dump->locks, thread);
    json_object(json);
    write_use(json, dump, wait);
    json_member_bool(json, "timed", wait->is_timed);
    write_holder(json, dump, wait, &holder);
    write_last_use(json, dump, thread);
    write_awaited(json, dump, thread);
    json_end(json);
}

static void write_locks(struct json *json, const struct dump *dump, int32_t tid, uint64_t task)
{
    const struct lock_thread *const thread =
        lock_graph_find_task(&dump->locks, session_target(dump->session)->pid, tid, task);
    write_wait(json, dump, thread);
    json_member_array(json, "holds");
    for (size_t i = 0; thread && i < thread->count; i++)
        if (!thread->uses[i].is_waited) {
            json_object(json);
            write_use(json, dump, &thread->uses[i]);
            json_end(json);
        }
    json_end(json);
}

static void write_deadlocks(struct json *json, const struct dump *dump)
{
    const struct lock_graph *const locks = &dump->locks;
    const struct lock_thread *cycle[LOCK_GRAPH_MAX_CYCLE];
    json_member_array(json, "deadlocks");
    for (size_t i = 0; i < locks->count; i++) {
        const size_t count =
            lock_graph_cycle(locks, &locks->items[i], cycle, LOCK_GRAPH_MAX_CYCLE);
        if (count)
            json_array(json);
        for (size_t k = 0; k < count; k++) {
            json_object(json);
            json_member_int(json, "tid", cycle[k]->tid);
            write_task_name(json, dump, cycle[k]->task.address);
            json_member_bool(json, "event_loop", cycle[k]->is_stuck_in_thread);
            write_wait(json, dump, cycle[k]);
            json_end(json);
        }
        if (count)
            json_end(json);
    }
    json_end(json);
}

/* Deadlocks of several processes, of which this one is one. */
static void write_process_deadlocks(struct json *json, const struct dump *dump)
{
    char gap[SHARED_GAP_BYTES];
    json_key(json, "process_deadlocks");
    if (dump->shared) {
        shared_locks_deadlocks_gap(dump_pid(dump), gap);
        json_gap(json, gap);
    } else {
        json_array(json);
        json_end(json);
    }
}

/* The functions of the kernel that the thread is in, the innermost first; null: unknown. */
static void write_kernel(struct json *json, pid_t pid, int32_t tid)
{
    char stack[PROCESS_TREE_STACK_BYTES];
    const bool is_known = tid && !kernel_stacks_read(pid, tid, stack);
    if (!json_member_if(json, "kernel", is_known))
        return;
    json_array(json);
    for (const char *at = stack; *at; at += strcspn(at, "\n") + 1)
        json_string(json, at, strcspn(at, "\n"));
    json_end(json);
}

static void write_motion(struct json *json, pid_t pid, int32_t tid,
                         const struct dump_view *view)
{
    switch (dump_motion_of(view->motion, pid, tid, view->dumps)) {
    case MOTION_UNKNOWN: json_member_null(json, "moves"); break;
    case MOTION_STUCK: json_member_bool(json, "moves", false); break;
    case MOTION_MOVES: json_member_bool(json, "moves", true); break;
    }
}

/* view: NULL: nothing else is wanted. */
static void write_thread(struct json *json, const struct dump *dump, const struct dump_row *row,
                         const struct dump_view *view)
{
    const pid_t pid = session_target(dump->session)->pid;
    const struct profile_thread thread = profile_thread_at(&dump->snapshot, row->thread);
    json_object(json);
    json_member_int(json, "tid", thread.tid);
    json_member_string(json, "name", profile_string(&dump->snapshot, thread.name));
    json_member_bool(json, "main", thread.is_main);
    write_states(json, "states", row->state, 0);
    write_states(json, "unknown", row->state, 8);
    write_locks(json, dump, thread.tid, 0);
    if (view && view->motion)
        write_motion(json, pid, thread.tid, view);
    if (view && view->shows_kernel)
        write_kernel(json, pid, thread.tid);
    struct dump_locals locals = dump_locals_of(dump, row);
    write_frames(json, &dump->snapshot, row->node,
                 session_options(dump->session)->locals ? &locals : NULL);
    json_end(json);
}

static void write_task(struct json *json, const struct dump *dump,
                       const struct session_task *task)
{
    json_object(json);
    json_key(json, "name");
    task_write_name(json, &dump->snapshot, task);
    json_member_int(json, "tid", task->tid);
    json_member_text(json, "state", task_state_text(task));
    json_key(json, "awaited_by");
    task_write_awaiters(json, &dump->tasks, task);
    write_locks(json, dump, task->tid, task->address);
    write_frames(json, &dump->snapshot, task->node, NULL);
    json_end(json);
}

static void write_tasks(struct json *json, const struct dump *dump)
{
    json_member_array(json, "tasks");
    for (size_t i = 0; i < dump->tasks.count; i++)
        write_task(json, dump, &dump->tasks.items[i]);
    json_end(json);
}

/* null: it was read from a process. */
static void write_core(struct json *json, const struct dump *dump)
{
    const struct session_core *const core = dump->core;
    char warning[DUMP_WARNING_BYTES];
    if (!json_member_if(json, "core", core != NULL))
        return;
    const struct session_core_facts *const facts = session_core_facts(core);
    json_object(json);
    json_member_text(json, "file", facts->file);
    json_member_text(json, "command", facts->command);
    json_member_int(json, "tid", facts->tid);
    json_member_bool(json, "killed", facts->was_killed);
    if (json_member_if(json, "signal", facts->signal_name != NULL)) {
        json_object(json);
        json_member_int(json, "number", facts->signal);
        json_member_text(json, "name", facts->signal_name);
        if (json_member_if(json, "address", facts->has_addr)) {
            char address[2 + 16 + 1];
            snprintf(address, sizeof address, "0x%" PRIx64, facts->addr);
            json_text(json, address);
        }
        if (json_member_if(json, "sender", facts->sender != 0))
            json_int(json, facts->sender);
        json_end(json);
    }
    json_member_array(json, "warnings");
    for (size_t i = 0; dump_warning(dump, i, warning); i++)
        json_text(json, warning);
    json_end(json);
    json_end(json);
}

void dump_write_json(struct json *json, const struct dump *dump, bool wants_tasks)
{
    dump_write_json_with(json, dump, wants_tasks, NULL, NULL);
}

void dump_write_json_with(struct json *json, const struct dump *dump, bool wants_tasks,
                          const struct dump_view *view, const struct process_facts *facts)
{
    json_object(json);
    json_member_int(json, "pid", dump_pid(dump));
    json_member_text(json, "python", session_target(dump->session)->python);
    if (facts && json_member_if(json, "rank", facts->rank >= 0))
        json_int(json, facts->rank);
    if (facts)
        json_member_bool(json, "stopped", facts->state == 'T' || facts->state == 't');
    rfc3339_write(json, "sampled_at", dump->at_ns);
    json_member_uint(json, "samples", dump->samples);
    write_core(json, dump);
    write_deadlocks(json, dump);
    write_process_deadlocks(json, dump);
    json_member_array(json, "threads");
    for (size_t i = 0; i < dump->count; i++)
        write_thread(json, dump, &dump->rows[i], view);
    json_end(json);
    if (wants_tasks)
        write_tasks(json, dump);
    json_end(json);
}

void dump_write_json_facts(struct json *json, pid_t pid, const struct process_facts *facts)
{
    json_object(json);
    json_member_int(json, "pid", pid);
    json_member_null(json, "python");
    json_member_text(json, "name", facts->name);
    json_member_text(json, "waits_in", *facts->wait ? facts->wait : NULL);
    if (json_member_if(json, "memory_of", facts->memory_of != 0))
        json_int(json, facts->memory_of);
    json_member_bool(json, "stopped", facts->state == 'T' || facts->state == 't');
    json_end(json);
}
