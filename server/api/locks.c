#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/session.h"
#include "server/api/api.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/lock_graph.h"
#include "server/sessions/sessions.h"
#include "server/source/expressions.h"
#include "server/wire/task.h"

static const double SECONDS = 1e-9;

static void write_expression(struct json *json, struct expressions *expressions,
                             const struct lock_use *use)
{
    const struct strtab_string text = expressions_find(expressions, use);
    if (json_member_if(json, "expression", text.length > 0))
        json_string(json, text.text, text.length);
}

/* A text that is newer than the snapshot is in the next one. */
static struct strtab_string find_text(const struct session_request *asked, str_id id)
{
    return profile_string(&asked->snapshot, id < asked->snapshot.sizes.strings ? id : 0);
}

static void write_object(struct json *json, const struct session_request *asked, str_id type,
                         uint64_t object)
{
    char address[2 + 16 + 1];
    snprintf(address, sizeof address, "%#" PRIx64, object);
    json_member_string(json, "type", find_text(asked, type));
    json_member_text(json, "object", address);
}

static void write_place(struct json *json, const struct session_request *asked, str_id function,
                        str_id file, int32_t line)
{
    json_member_string(json, "function", find_text(asked, function));
    json_member_string(json, "file", find_text(asked, file));
    json_member_int(json, "line", line);
}

/* Writes the number and the name of a thread, which is "" if it has no sample. */
static void write_thread(struct json *json, const struct session_request *asked, pid_t pid,
                         int32_t tid)
{
    const struct profile_snapshot *const snapshot = &asked->snapshot;
    str_id name = 0;
    for (thread_id id = 0; id < snapshot->sizes.threads && !name; id++) {
        const struct profile_thread thread = profile_thread_at(snapshot, id);
        if (thread.tid == tid && profile_process_at(snapshot, thread.process).pid == pid)
            name = thread.name;
    }
    json_member_int(json, "tid", tid);
    json_member_string(json, "thread", profile_string(snapshot, name));
}

/* Writes the name of a task; null: it is the thread itself. */
static void write_task(struct json *json, const struct session_request *asked,
                       const struct lock_task *task)
{
    if (!json_member_if(json, "task", task && task->address))
        return;
    const struct session_task row = { .name = task->name, .number = task->number };
    task_write_name(json, &asked->snapshot, &row);
}

static void write_waiter(struct json *json, const struct session_request *asked,
                         struct expressions *expressions, const struct lock_graph *graph,
                         const struct lock_thread *thread)
{
    static const struct lock_use unknown = { .line = 0 };
    const struct lock_use *const wait = lock_thread_wait(thread);
    const struct lock_holder holder = lock_graph_holder(graph, thread);
    const struct lock_use *const held = holder.use ? holder.use : &unknown;
    const struct lock_use *const use = wait ? wait : &unknown;
    json_object(json);
    json_member_int(json, "process", thread->pid);
    write_thread(json, asked, thread->pid, thread->tid);
    write_task(json, asked, &thread->task);
    json_member_bool(json, "event_loop", thread->is_stuck_in_thread);
    write_expression(json, expressions, use);
    write_object(json, asked, use->type, use->object);
    write_place(json, asked, use->function, use->file, use->line);
    const pid_t holder_pid = holder.thread ? holder.thread->pid : thread->pid;
    json_member_object(json, "holder");
    json_member_int(json, "process", holder_pid);
    write_thread(json, asked, holder_pid, holder.tid);
    write_task(json, asked, holder.thread ? &holder.thread->task : NULL);
    write_place(json, asked, held->function, held->file, held->line);
    json_end(json);
    json_end(json);
}

static void write_deadlocks(struct json *json, const struct session_request *asked,
                            struct expressions *expressions, const struct lock_graph *graph)
{
    const struct lock_thread *cycle[LOCK_GRAPH_MAX_CYCLE];
    json_member_array(json, "deadlocks");
    for (size_t i = 0; i < graph->count; i++) {
        const size_t count =
            lock_graph_cycle(graph, &graph->items[i], cycle, LOCK_GRAPH_MAX_CYCLE);
        if (count)
            json_array(json);
        for (size_t k = 0; k < count; k++)
            write_waiter(json, asked, expressions, graph, cycle[k]);
        if (count)
            json_end(json);
    }
    json_end(json);
}

/* Writes lines, those with the most time first, and the time of others. */
static void write_lines(struct json *json, const struct session_request *asked,
                        struct expressions *expressions, const char *const names[2],
                        struct session_lock_line *lines, uint32_t count, uint64_t all_ns)
{
    const bool is_waited = strcmp(names[0], "waiters") == 0;
    json_member_array(json, names[0]);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++)
            if (lines[k].waited_ns > lines[i].waited_ns) {
                const struct session_lock_line less = lines[i];
                lines[i] = lines[k];
                lines[k] = less;
            }
        json_object(json);
        write_place(json, asked, lines[i].function, lines[i].file, lines[i].line);
        write_expression(json, expressions,
                         &(struct lock_use){ .file = lines[i].file,
                                             .text = lines[i].text,
                                             .is_waited = is_waited });
        json_member_number(json, "waited_s", (double)lines[i].waited_ns * SECONDS);
        json_end(json);
        all_ns -= lines[i].waited_ns < all_ns ? lines[i].waited_ns : all_ns;
    }
    json_end(json);
    json_member_number(json, names[1], (double)all_ns * SECONDS);
}

static void write_lock(struct json *json, const struct session_request *asked,
                       struct expressions *expressions, struct session_lock *lock)
{
    json_object(json);
    json_member_int(json, "process", lock->pid);
    write_object(json, asked, lock->type, lock->object);
    json_member_number(json, "waited_s", (double)lock->waited_ns * SECONDS);
    json_member_number(json, "held_s", (double)lock->held_ns * SECONDS);
    json_member_number(json, "longest_s", (double)lock->longest_ns * SECONDS);
    json_member_uint(json, "waits", lock->waits);
    json_member_uint(json, "waiting", lock->waiting);
    json_member_number(json, "first_s", (double)lock->first_ns * SECONDS);
    json_member_number(json, "last_s", (double)lock->last_ns * SECONDS);
    write_lines(json, asked, expressions, (const char *const[]){ "waiters", "other_waiters_s" },
                lock->waiters, lock->waiter_count, lock->waited_ns);
    write_lines(json, asked, expressions, (const char *const[]){ "holders", "other_holders_s" },
                lock->holders, lock->holder_count, lock->held_ns);
    json_end(json);
}

/* Locks with the most waits for a known holder first, then those with the most waits. */
static int by_time(const void *left, const void *right)
{
    const struct session_lock *const a = left, *const b = right;
    return a->held_ns != b->held_ns
               ? (a->held_ns < b->held_ns) - (a->held_ns > b->held_ns)
               : (a->waited_ns < b->waited_ns) - (a->waited_ns > b->waited_ns);
}

static enum err_code write_locks(const struct session_request *asked, struct json *json,
                                 struct err *err)
{
    struct expressions expressions;
    struct session *const session = atomic_load(&asked->entry->session);
    const size_t limit = asked->query.limit ? asked->query.limit : SESSION_MAX_LOCKS;
    struct session_locks locks = { 0 };
    struct lock_graph graph = { 0 };
    const enum err_code rc = session ? session_locks(session, &locks, err) : ERR_OK;
    if (rc)
        return rc;
    expressions_init(&expressions, session_entry_files(asked->entry), &asked->snapshot);
    lock_graph_take(&graph, &locks);
    if (locks.count)
        qsort(locks.items, locks.count, sizeof *locks.items, by_time);
    json_member_bool(json, "available", session != NULL);
    json_member_number(json, "sampled_s", (double)locks.read_ns * SECONDS);
    json_member_number(json, "measured_s", (double)locks.measured_ns * SECONDS);
    json_member_bool(json, "limit_reached", locks.count > limit);
    json_member_uint(json, "dropped", locks.dropped);
    json_member_number(json, "dropped_s", (double)locks.dropped_ns * SECONDS);
    write_deadlocks(json, asked, &expressions, &graph);
    json_member_array(json, "locks");
    for (size_t i = 0; i < locks.count && i < limit; i++)
        write_lock(json, asked, &expressions, &locks.items[i]);
    json_end(json);
    expressions_deinit(&expressions);
    lock_graph_deinit(&graph);
    session_locks_deinit(&locks);
    return ERR_OK;
}

enum err_code api_get_locks(const struct handler_context *handler, struct response *response,
                            struct err *err)
{
    return session_request_answer(handler, QUERY_LIMIT, write_locks, response, err);
}
