#include "server/sessions/shared_locks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/vec.h"
#include "sampler/process_tree.h"
#include "server/sessions/dump.h"
#include "server/source/expressions.h"
#include "server/wire/json.h"

/* A gap: its begin, what it is for, a number, its end. */
enum { GAP_BEGIN = 1, GAP_END = 2 };
enum { GAP_HOLDER = 'h', GAP_HOLDER_JSON = 'j', GAP_DEADLOCKS_JSON = 'd' };

enum err_code shared_locks_init(struct shared_locks *shared, struct err *err)
{
    memset(shared, 0, sizeof *shared);
    return strtab_init(&shared->strings, err);
}

void shared_locks_deinit(struct shared_locks *shared)
{
    strtab_deinit(&shared->strings);
    lock_graph_deinit(&shared->graph);
    free(shared->waits);
    free(shared->deadlocks);
    memset(shared, 0, sizeof *shared);
}

/* Is a lock of the process in a file that others may share? */
static bool shares_locks(const struct lock_graph *locks)
{
    for (size_t i = 0; i < locks->count; i++)
        for (size_t k = 0; k < locks->items[i].count; k++)
            if (locks->items[i].uses[k].place.inode)
                return true;
    return false;
}

static str_id find_name(const struct dump *dump, int32_t tid)
{
    for (size_t i = 0; i < dump->count; i++) {
        const struct profile_thread thread =
            profile_thread_at(&dump->snapshot, dump->rows[i].thread);
        if (thread.tid == tid)
            return thread.name;
    }
    return 0;
}

static enum err_code keep_text(struct shared_locks *shared, struct strtab_string text,
                               str_id *out, struct err *err)
{
    return strtab_intern(&shared->strings, text.text, text.length, out, err);
}

/* Adds a thread or task, with its texts. */
static enum err_code add_thread(struct shared_locks *shared, const struct dump *dump,
                                const struct lock_thread *thread, struct err *err)
{
    const struct profile_snapshot *const snapshot = &dump->snapshot;
    struct lock_use uses[LOCK_USES_MAX];
    struct lock_report report = { .pid = thread->pid,
                                  .tid = thread->tid,
                                  .uses = uses,
                                  .switches = thread->switches,
                                  .task = thread->task };
    const str_id name = thread->task.address ? thread->task.name : find_name(dump, thread->tid);
    enum err_code rc =
        keep_text(shared, profile_string(snapshot, name), &report.task.name, err);
    for (; report.count < thread->count && !rc; report.count++) {
        struct lock_use *const use = &uses[report.count];
        *use = thread->uses[report.count];
        rc = keep_text(shared, expressions_find(dump->expressions, use), &use->expression, err);
        if (!rc)
            rc = keep_text(shared, profile_string(snapshot, use->type), &use->type, err);
        if (!rc)
            rc =
                keep_text(shared, profile_string(snapshot, use->function), &use->function, err);
        if (!rc)
            rc = keep_text(shared, profile_string(snapshot, use->file), &use->file, err);
    }
    /* Times are of another session each, and tell only whether it was found twice in its wait. */
    if (!rc)
        lock_graph_note(&shared->graph, &report, 0, lock_thread_stays(thread));
    return rc;
}

enum err_code shared_locks_add(struct shared_locks *shared, struct dump *dump, struct err *err)
{
    enum err_code rc = ERR_OK;
    dump->shared = shared;
    if (!shares_locks(&dump->locks))
        return ERR_OK;
    for (size_t i = 0; i < dump->locks.count && !rc; i++)
        if (dump->locks.items[i].count &&
            strtab_bytes(&shared->strings) < SHARED_LOCKS_MAX_BYTES)
            rc = add_thread(shared, dump, &dump->locks.items[i], err);
    return rc;
}

/* Is the thread still in the wait in which it was read? */
static bool still_waits(const struct lock_thread *thread)
{
    uint64_t waits;
    return !thread->task.address && thread->switches && !lock_thread_wait(thread)->gil_turn &&
           process_thread_waits(thread->pid, thread->tid, &waits) && waits == thread->switches;
}

enum err_code shared_locks_solve(struct shared_locks *shared, struct err *err)
{
    lock_graph_solve(&shared->graph);
    for (size_t i = 0; i < shared->graph.count; i++) {
        struct shared_deadlock found;
        bool is_shared = false, lasts = true;
        found.count = lock_graph_cycle(&shared->graph, &shared->graph.items[i], found.threads,
                                       LOCK_GRAPH_MAX_CYCLE);
        for (size_t k = 0; k < found.count; k++) {
            is_shared |= found.threads[k]->pid != found.threads[0]->pid;
            lasts = lasts && still_waits(found.threads[k]);
        }
        if (!is_shared || !lasts)
            continue;
        if (!VEC_RESERVE(shared->deadlocks, shared->deadlock_room, shared->deadlock_count + 1))
            return err_nomem(err);
        shared->deadlocks[shared->deadlock_count++] = found;
    }
    return ERR_OK;
}

bool shared_locks_holder_gap(struct shared_locks *shared, const struct lock_use *wait,
                             bool is_json, char out[SHARED_GAP_BYTES])
{
    size_t at = 0;
    if (!shared || !wait->may_be_held || !wait->place.inode)
        return false;
    while (at < shared->wait_count &&
           !lock_place_is_same(&shared->waits[at].place, &wait->place))
        at++;
    if (at == SHARED_LOCKS_MAX_GAPS || !VEC_RESERVE(shared->waits, shared->wait_room, at + 1))
        return false;
    if (at == shared->wait_count)
        shared->waits[shared->wait_count++] = *wait;
    snprintf(out, SHARED_GAP_BYTES, "%c%c%zu%c", GAP_BEGIN,
             is_json ? GAP_HOLDER_JSON : GAP_HOLDER, at, GAP_END);
    return true;
}

void shared_locks_deadlocks_gap(pid_t pid, char out[SHARED_GAP_BYTES])
{
    snprintf(out, SHARED_GAP_BYTES, "%c%c%d%c", GAP_BEGIN, GAP_DEADLOCKS_JSON, (int)pid,
             GAP_END);
}

bool shared_locks_has_gap(const char *text, size_t bytes)
{
    return bytes > 0 && memchr(text, GAP_BEGIN, bytes) != NULL;
}

static void put_text(const struct shared_locks *shared, struct buffer *out, str_id id)
{
    const struct strtab_string text = strtab_get(&shared->strings, id);
    plain_text_put(out, text.text, text.length);
}

/* Writes "process 4711 MainThread", or "process 4711 task Task-3". */
static void put_who(const struct shared_locks *shared, struct buffer *out,
                    const struct lock_thread *thread)
{
    buffer_printf(out, "process %d %s", (int)thread->pid, thread->task.address ? "task " : "");
    if (thread->task.name)
        put_text(shared, out, thread->task.name);
    else if (thread->task.number)
        buffer_printf(out, "Task-%" PRIu64, thread->task.number);
    else
        buffer_printf(out, "thread %d", (int)thread->tid);
}

/* Writes ", held by process 4711 MainThread at work (app.py:7)"; nothing of what need not be held at all. */
static void put_holder(const struct shared_locks *shared, struct buffer *out,
                       const struct lock_use *wait, const struct lock_holder *holder)
{
    if (!holder->thread) {
        buffer_text(out, wait->has_owner ? ", held by another process" : "");
        return;
    }
    buffer_text(out, ", held by ");
    put_who(shared, out, holder->thread);
    if (!holder->use)
        return;
    buffer_text(out, " at ");
    put_text(shared, out, holder->use->function);
    buffer_text(out, " (");
    put_text(shared, out, holder->use->file);
    if (holder->use->line > 0)
        buffer_printf(out, ":%d", (int)holder->use->line);
    buffer_char(out, ')');
}

static void put_lock(const struct shared_locks *shared, struct buffer *out,
                     const struct lock_use *use)
{
    put_text(shared, out, use->expression);
    buffer_text(out, use->expression ? " (" : "");
    put_text(shared, out, use->type);
    if (use->object)
        buffer_printf(out, " at %#" PRIx64, use->object);
    buffer_text(out, use->expression ? ")" : "");
}

void shared_locks_put_deadlocks(const struct shared_locks *shared, struct buffer *out)
{
    for (size_t i = 0; i < shared->deadlock_count; i++) {
        const struct shared_deadlock *const found = &shared->deadlocks[i];
        for (size_t k = 0; k < found->count; k++) {
            const struct lock_thread *const thread = found->threads[k];
            const struct lock_use *const wait = lock_thread_wait(thread);
            const struct lock_holder holder = lock_graph_holder(&shared->graph, thread);
            buffer_text(out, k ? ", " : "deadlock: ");
            put_who(shared, out, thread);
            buffer_text(out, " waits for ");
            put_lock(shared, out, wait);
            put_holder(shared, out, wait, &holder);
        }
        buffer_char(out, '\n');
    }
}

static void write_use(struct json *json, const struct shared_locks *shared,
                      const struct lock_use *use)
{
    char address[2 + 16 + 1];
    snprintf(address, sizeof address, "%#" PRIx64, use->object);
    if (json_member_if(json, "expression", use->expression != 0))
        json_text(json, strtab_get(&shared->strings, use->expression).text);
    json_member_string(json, "type", strtab_get(&shared->strings, use->type));
    json_member_text(json, "object", use->object ? address : NULL);
    json_member_string(json, "function", strtab_get(&shared->strings, use->function));
    json_member_string(json, "file", strtab_get(&shared->strings, use->file));
    json_member_int(json, "line", use->line);
}

/* Writes which thread or task it is. */
static void write_who(struct json *json, const struct shared_locks *shared,
                      const struct lock_thread *thread)
{
    const struct strtab_string name = strtab_get(&shared->strings, thread->task.name);
    char number[32];
    snprintf(number, sizeof number, "Task-%" PRIu64, thread->task.number);
    json_member_int(json, "pid", thread->pid);
    json_member_int(json, "tid", thread->tid);
    if (json_member_if(json, "task", thread->task.address != 0))
        json_text(json, thread->task.name ? name.text : thread->task.number ? number : "");
}

/* Writes null if nobody is known to hold it. */
static void write_holder(struct json *json, const struct shared_locks *shared,
                         const struct lock_holder *holder)
{
    if (!holder->thread) {
        json_null(json);
        return;
    }
    json_object(json);
    write_who(json, shared, holder->thread);
    if (holder->use)
        write_use(json, shared, holder->use);
    json_end(json);
}

static void write_deadlocks(struct json *json, const struct shared_locks *shared, pid_t pid)
{
    json_array(json);
    for (size_t i = 0; i < shared->deadlock_count; i++) {
        const struct shared_deadlock *const found = &shared->deadlocks[i];
        bool is_in = false;
        for (size_t k = 0; k < found->count; k++)
            is_in |= found->threads[k]->pid == pid;
        if (!is_in)
            continue;
        json_array(json);
        for (size_t k = 0; k < found->count; k++) {
            const struct lock_use *const wait = lock_thread_wait(found->threads[k]);
            const struct lock_holder holder =
                lock_graph_holder(&shared->graph, found->threads[k]);
            json_object(json);
            write_who(json, shared, found->threads[k]);
            json_member_object(json, "waits_for");
            write_use(json, shared, wait);
            json_member_bool(json, "timed", wait->is_timed);
            json_key(json, "holder");
            write_holder(json, shared, &holder);
            json_member_null(json, "last_used");
            json_member_array(json, "tasks");
            json_end(json);
            json_end(json);
            json_end(json);
        }
        json_end(json);
    }
    json_end(json);
}

/* Fills the gap that stands from `text` to `end`, without its marks: what it is for, and a number. */
static enum err_code fill_gap(const struct shared_locks *shared, const char *text,
                              const char *end, struct buffer *out, struct err *err)
{
    const char kind = *text;
    struct json json;
    size_t number = 0;
    while (++text < end)
        number = number * 10 + (size_t)(*text - '0');
    if (kind == GAP_DEADLOCKS_JSON) {
        json_init(&json, out);
        write_deadlocks(&json, shared, (pid_t)number);
        return json_finish(&json, err);
    }
    if (number >= shared->wait_count)
        return ERR_OK;
    const struct lock_use *const wait = &shared->waits[number];
    const struct lock_holder holder = lock_graph_find_holder(&shared->graph, 0, wait);
    if (kind == GAP_HOLDER) {
        put_holder(shared, out, wait, &holder);
        return ERR_OK;
    }
    json_init(&json, out);
    write_holder(&json, shared, &holder);
    return json_finish(&json, err);
}

enum err_code shared_locks_fill(const struct shared_locks *shared, const char *text,
                                size_t bytes, struct buffer *out, struct err *err)
{
    const char *const end = text + bytes;
    enum err_code rc = ERR_OK;
    while (text < end && !rc) {
        const char *const gap = memchr(text, GAP_BEGIN, (size_t)(end - text));
        const char *const gap_end = gap ? memchr(gap, GAP_END, (size_t)(end - gap)) : NULL;
        buffer_append(out, text, (size_t)((gap_end ? gap : end) - text));
        if (gap_end)
            rc = fill_gap(shared, gap + 1, gap_end, out, err);
        text = gap_end ? gap_end + 1 : end;
    }
    return rc ? rc : buffer_check(out, err);
}
