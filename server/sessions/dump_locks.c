#include "server/sessions/dump_locks.h"

#include <inttypes.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "server/sessions/dump.h"
#include "server/sessions/shared_locks.h"
#include "server/source/expressions.h"

void dump_put_text(struct buffer *out, const struct profile_snapshot *snapshot, str_id id)
{
    const struct strtab_string string = profile_string(snapshot, id);
    plain_text_put(out, string.text, string.length);
}

static const struct dump_row *find_row(const struct dump *dump, int32_t tid)
{
    for (size_t i = 0; i < dump->count; i++)
        if (profile_thread_at(&dump->snapshot, dump->rows[i].thread).tid == tid)
            return &dump->rows[i];
    return NULL;
}

static void put_thread_name(struct buffer *out, const struct dump *dump, int32_t tid)
{
    const struct dump_row *const row = find_row(dump, tid);
    if (row)
        dump_put_text(out, &dump->snapshot,
                      profile_thread_at(&dump->snapshot, row->thread).name);
    else
        buffer_printf(out, "thread %d", (int)tid);
}

void dump_put_task_name(struct buffer *out, const struct dump *dump, str_id name,
                        uint64_t number)
{
    if (name)
        dump_put_text(out, &dump->snapshot, name);
    else if (number)
        buffer_printf(out, "Task-%" PRIu64, number);
    else
        buffer_text(out, "without a name");
}

/* Writes the name of a thread, or of a task. */
static void put_waiter(struct buffer *out, const struct dump *dump, int32_t tid, uint64_t task)
{
    if (!task) {
        put_thread_name(out, dump, tid);
        return;
    }
    const struct session_task *const found = dump_find_task(dump, task);
    buffer_text(out, "task ");
    dump_put_task_name(out, dump, found ? found->name : 0, found ? found->number : 0);
}

static void put_place(struct buffer *out, const struct dump *dump, str_id function, str_id file,
                      int32_t line)
{
    dump_put_text(out, &dump->snapshot, function);
    buffer_text(out, " (");
    dump_put_text(out, &dump->snapshot, file);
    if (line > 0)
        buffer_printf(out, ":%d", (int)line);
    buffer_char(out, ')');
}

/* Writes the expression that names a lock, its type, and its address, which differs from process to process. */
static void put_lock(struct buffer *out, const struct dump *dump, const struct lock_use *use,
                     bool has_address)
{
    const struct strtab_string expression = expressions_find(dump->expressions, use);
    plain_text_put(out, expression.text, expression.length);
    buffer_text(out, expression.length ? " (" : "");
    dump_put_text(out, &dump->snapshot, use->type);
    if (has_address && use->object && !use->gil_turn)
        buffer_printf(out, " at %#" PRIx64, use->object);
    buffer_text(out, expression.length ? ")" : "");
}

/* Does another process hold it?  A lock of multiprocessing says which thread of this process has it. */
static bool is_held_elsewhere(const struct dump *dump, const struct lock_use *wait)
{
    static const char start[] = "multiprocessing.";
    return wait->may_be_held && wait->has_owner &&
           strncmp(profile_string(&dump->snapshot, wait->type).text, start, sizeof start - 1) ==
               0;
}

/* Writes the tasks that are waited for, of which a set may be long. */
static void put_awaited(struct buffer *out, const struct dump *dump,
                        const struct lock_thread *thread)
{
    enum { MAX_NAMES = 4 };
    size_t count = 0;
    while (count < thread->count && thread->uses[count].is_waited &&
           thread->uses[count].owner_task)
        count++;
    for (size_t i = 0; i < count && i < MAX_NAMES; i++) {
        buffer_text(out, i ? ", " : ", the end of ");
        put_waiter(out, dump, thread->uses[i].owner_tid, thread->uses[i].owner_task);
    }
    if (count > MAX_NAMES)
        buffer_printf(out, " and %zu more", count - MAX_NAMES);
}

/* Writes what the thread or task waits for, and who has it. */
static void put_wait(struct buffer *out, const struct dump *dump,
                     const struct lock_thread *thread, bool has_address)
{
    const struct lock_use *const wait = lock_thread_wait(thread);
    const struct lock_holder holder = lock_graph_holder(&dump->locks, thread);
    char gap[SHARED_GAP_BYTES];
    put_lock(out, dump, wait, has_address);
    if (wait->owner_task) {
        put_awaited(out, dump, thread);
    } else if (wait->is_joined && holder.tid) {
        buffer_text(out, ", the end of ");
        put_thread_name(out, dump, holder.tid);
    } else if (!lock_holder_is_none(&holder)) {
        buffer_text(out, ", held by ");
        put_waiter(out, dump, holder.tid, holder.task);
        if (holder.use && holder.use->file) {
            buffer_text(out, " at ");
            put_place(out, dump, holder.use->function, holder.use->file, holder.use->line);
        }
    } else if (shared_locks_holder_gap(dump->shared, wait, false, gap)) {
        buffer_text(out, gap);
    } else if (is_held_elsewhere(dump, wait)) {
        buffer_text(out, ", held by another process");
    } else if (dump_lacks_holder(dump, thread)) {
        /* It was taken by a call of acquire() alone, or by code that is not Python. */
        const struct dump_last_use *const used = dump_find_last_use(dump, wait);
        buffer_text(out, used ? ", holder unknown, last seen used at " : ", holder unknown");
        if (used)
            put_place(out, dump, used->function, used->file, used->line);
    }
}

void dump_locks_put(struct buffer *out, const struct dump *dump, int32_t tid, uint64_t task,
                    bool has_address)
{
    const struct lock_thread *const thread =
        lock_graph_find_task(&dump->locks, session_target(dump->session)->pid, tid, task);
    if (!thread)
        return;
    if (lock_thread_wait(thread)) {
        buffer_text(out, "    waits for ");
        put_wait(out, dump, thread, has_address);
        buffer_char(out, '\n');
    }
    for (size_t i = 0; i < thread->count; i++) {
        const struct lock_use *const use = &thread->uses[i];
        if (use->is_waited || !lock_graph_is_wanted(&dump->locks, thread, use))
            continue;
        buffer_text(out, "    holds ");
        put_lock(out, dump, use, has_address);
        if (use->file) {
            buffer_text(out, ": ");
            put_place(out, dump, use->function, use->file, use->line);
        }
        buffer_char(out, '\n');
    }
}

void dump_locks_put_deadlocks(struct buffer *out, const struct dump *dump)
{
    const struct lock_thread *cycle[LOCK_GRAPH_MAX_CYCLE];
    for (size_t i = 0; i < dump->locks.count; i++) {
        const size_t count =
            lock_graph_cycle(&dump->locks, &dump->locks.items[i], cycle, LOCK_GRAPH_MAX_CYCLE);
        for (size_t k = 0; k < count; k++) {
            buffer_text(out, k ? ", " : "deadlock: ");
            put_waiter(out, dump, cycle[k]->tid, cycle[k]->task.address);
            if (cycle[k]->is_stuck_in_thread) {
                buffer_text(out, " waits for its event loop in ");
                put_thread_name(out, dump, cycle[k]->tid);
            } else {
                buffer_text(out, " waits for ");
                put_wait(out, dump, cycle[k], true);
            }
        }
        if (count)
            buffer_char(out, '\n');
    }
}

bool dump_locks_has_trouble(const struct dump *dump, const struct session_task *task)
{
    const struct lock_thread *const locks = lock_graph_find_task(
        &dump->locks, session_target(dump->session)->pid, task->tid, task->address);
    if (!locks)
        return false;
    const struct lock_holder holder = lock_graph_holder(&dump->locks, locks);
    const struct lock_use *const wait = lock_thread_wait(locks);
    bool has =
        (locks->is_stuck && !locks->is_stuck_in_thread) ||
        (wait && !wait->is_joined && (wait->may_be_held || !lock_holder_is_none(&holder)));
    for (size_t i = 0; i < locks->count && !has; i++)
        has = !locks->uses[i].is_waited &&
              lock_graph_is_wanted(&dump->locks, locks, &locks->uses[i]);
    return has;
}
