#include "sampler/link/state.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/base/clock.h"
#include "sampler/base/vec.h"
#include "sampler/capture/live_capture.h"
#include "sampler/capture/windows.h"
#include "sampler/link/request.h"
#include "sampler/profile/profile.h"

/* The least of a row. */
enum {
    TARGET_BYTES = 3,
    ORIGIN_BYTES = 10,
    TASK_BYTES = 10,
    LOCK_THREAD_BYTES = 8,
    USE_BYTES = 17,
    LOCK_BYTES = 12,
    LINE_BYTES = 8,
    LOCALS_THREAD_BYTES = 4
};

/* The locks of a session that goes on are sent so often. */
static const uint64_t LOCKS_AGAIN_NS = NS_PER_S;

static void put_targets(struct state_writer *writer, const struct session *session,
                        struct buffer *out)
{
    struct session_target target;
    struct buffer rows = { 0 }, record = { 0 };
    size_t count = 0;
    for (size_t i = 0; i < SESSION_MAX_LISTED && session_target_at(session, i, &target); i++) {
        /* A process never says less than before, so a number shows whether there is more. */
        unsigned said = 1 + (target.to_ns != 0);
        for (size_t w = 0; w < SESSION_WARNINGS; w++)
            said += target.warnings[w] != NULL;
        if (writer->said[i] == said)
            continue;
        writer->said[i] = said;
        buffer_clear(&record);
        target_record_encode(&target, SIZE_MAX, &record);
        buffer_number(&rows, i);
        buffer_sized_text(&rows, record.failed ? NULL : record.data);
        rows.failed |= record.failed;
        count++;
    }
    buffer_number(out, count);
    buffer_append(out, rows.data, rows.length);
    out->failed |= rows.failed;
    buffer_deinit(&rows);
    buffer_deinit(&record);
}

static void put_origins(struct state_writer *writer, const struct profile_snapshot *snapshot,
                        uint32_t functions, struct buffer *out)
{
    struct buffer rows = { 0 };
    size_t count = 0;
    const size_t before = writer->function_count;
    if (functions > before &&
        VEC_RESERVE(writer->functions, writer->function_room, functions)) {
        memset(writer->functions + before, 0, (functions - before) * sizeof *writer->functions);
        writer->function_count = functions;
    }
    for (uint32_t i = 0; i < writer->function_count && count < STATE_MAX_ORIGINS; i++) {
        const struct profile_function row = profile_function_at(snapshot, i);
        struct state_origin *const written = &writer->functions[i];
        if (written->origin == row.origin && written->entry == row.entry)
            continue;
        written->origin = row.origin;
        written->entry = row.entry;
        buffer_number(&rows, i);
        buffer_u64(&rows, row.origin);
        buffer_number(&rows, row.entry);
        count++;
    }
    buffer_number(out, count);
    buffer_append(out, rows.data, rows.length);
    out->failed |= rows.failed;
    buffer_deinit(&rows);
}

/* The awaiters of a task follow those of the task before. */
static void put_tasks(struct state_writer *writer, struct session *session,
                      const struct profile_sizes *rows, struct buffer *out)
{
    struct session_tasks tasks = { 0 };
    bool has = session_options(session)->async != SESSION_ASYNC_OFF &&
               !session_tasks(session, &tasks, NULL) && tasks.at_ns != writer->tasks_at_ns &&
               tasks.awaiter_count <= STATE_MAX_AWAITERS;
    for (size_t i = 0; i < tasks.count && has; i++)
        has = tasks.items[i].node < rows->nodes && tasks.items[i].name < rows->strings;
    buffer_u8(out, has);
    if (has) {
        writer->tasks_at_ns = tasks.at_ns;
        buffer_number(out, tasks.at_ns);
        buffer_u8(out, tasks.is_cut);
        buffer_number(out, tasks.count);
        for (size_t i = 0; i < tasks.count; i++) {
            const struct session_task *const task = &tasks.items[i];
            buffer_number(out, (uint64_t)task->pid);
            buffer_number(out, (uint64_t)task->tid);
            buffer_number(out, task->address);
            buffer_number(out, task->name);
            buffer_number(out, task->number);
            buffer_number(out, task->node);
            buffer_u8(out, (unsigned)task->is_running | (unsigned)task->is_moving << 1);
            buffer_number(out, task->seen_ns);
            buffer_number(out, task->since_ns);
            buffer_number(out, task->awaiter_count);
            for (uint32_t k = 0; k < task->awaiter_count; k++)
                buffer_number(out, tasks.awaiters[task->first_awaiter + k]);
        }
    }
    session_tasks_deinit(&tasks);
}

static bool has_line(const struct session_lock_line *line, uint32_t strings)
{
    return line->function < strings && line->file < strings;
}

static bool has_texts(const struct session_locks *locks, uint32_t strings)
{
    bool has_all = locks->use_count <= STATE_MAX_LOCK_USES;
    for (size_t i = 0; i < locks->thread_count && has_all; i++)
        has_all = locks->threads[i].task.name < strings;
    for (size_t i = 0; i < locks->use_count && has_all; i++) {
        const struct lock_use *const use = &locks->uses[i];
        has_all = use->type < strings && use->function < strings && use->file < strings;
    }
    for (size_t i = 0; i < locks->count && has_all; i++) {
        const struct session_lock *const lock = &locks->items[i];
        has_all = lock->type < strings;
        for (uint32_t k = 0; k < lock->waiter_count; k++)
            has_all = has_all && has_line(&lock->waiters[k], strings);
        for (uint32_t k = 0; k < lock->holder_count; k++)
            has_all = has_all && has_line(&lock->holders[k], strings);
    }
    return has_all;
}

/* A column is one more than it is: -1 says that it is unknown. */
static void put_text(const struct lock_text *text, struct buffer *out)
{
    buffer_number(out, text->line > 0 ? (uint64_t)text->line : 0);
    buffer_number(out, text->end_line > 0 ? (uint64_t)text->end_line : 0);
    buffer_number(out, text->column >= 0 ? (uint64_t)text->column + 1 : 0);
    buffer_number(out, text->end_column >= 0 ? (uint64_t)text->end_column + 1 : 0);
}

static void put_use(const struct lock_use *use, struct buffer *out)
{
    buffer_number(out, use->object);
    buffer_number(out, use->lock);
    buffer_number(out, use->type);
    buffer_number(out, use->function);
    buffer_number(out, use->file);
    buffer_number(out, use->line > 0 ? (uint64_t)use->line : 0);
    buffer_u8(out, (unsigned)use->is_waited | (unsigned)use->is_timed << 1 |
                       (unsigned)use->is_joined << 2 | (unsigned)use->has_owner << 3 |
                       (unsigned)use->may_be_held << 4);
    buffer_number(out, use->owner_tid > 0 ? (uint64_t)use->owner_tid : 0);
    buffer_number(out, use->owner_task);
    buffer_number(out, use->gil_turn);
    buffer_number(out, use->place.device);
    buffer_number(out, use->place.inode);
    buffer_number(out, use->place.offset);
    put_text(&use->text, out);
}

static void put_lines(const struct session_lock_line *lines, uint32_t count, struct buffer *out)
{
    buffer_number(out, count);
    for (uint32_t i = 0; i < count; i++) {
        buffer_number(out, lines[i].function);
        buffer_number(out, lines[i].file);
        buffer_number(out, lines[i].line > 0 ? (uint64_t)lines[i].line : 0);
        put_text(&lines[i].text, out);
        buffer_number(out, lines[i].waited_ns);
    }
}

static void put_lock(const struct session_lock *lock, struct buffer *out)
{
    buffer_number(out, (uint64_t)lock->pid);
    buffer_number(out, lock->type);
    buffer_number(out, lock->object);
    buffer_number(out, lock->waited_ns);
    buffer_number(out, lock->held_ns);
    buffer_number(out, lock->longest_ns);
    buffer_number(out, lock->waits);
    buffer_number(out, lock->first_ns);
    buffer_number(out, lock->last_ns);
    buffer_number(out, lock->waiting);
    put_lines(lock->waiters, lock->waiter_count, out);
    put_lines(lock->holders, lock->holder_count, out);
}

/* The uses of a thread follow those of the thread before. */
static void put_all_locks(const struct session_locks *locks, struct buffer *out)
{
    buffer_number(out, locks->read_ns);
    buffer_number(out, locks->measured_ns);
    buffer_number(out, locks->dropped);
    buffer_number(out, locks->dropped_ns);
    buffer_number(out, locks->thread_count);
    for (size_t i = 0; i < locks->thread_count; i++) {
        const struct session_lock_thread *const thread = &locks->threads[i];
        buffer_number(out, (uint64_t)thread->pid);
        buffer_number(out, (uint64_t)thread->tid);
        buffer_number(out, thread->from_ns);
        buffer_number(out, thread->to_ns);
        buffer_number(out, thread->task.address);
        buffer_number(out, thread->task.name);
        buffer_number(out, thread->task.number);
        buffer_u8(out, thread->task.is_running);
        buffer_number(out, thread->use_count);
        for (uint32_t k = 0; k < thread->use_count; k++)
            put_use(&locks->uses[thread->first_use + k], out);
    }
    buffer_number(out, locks->count);
    for (size_t i = 0; i < locks->count; i++)
        put_lock(&locks->items[i], out);
}

static void put_locks(struct state_writer *writer, struct session *session, uint32_t strings,
                      bool has_ended, struct buffer *out)
{
    struct session_locks locks = { 0 };
    const bool has = !session_locks(session, &locks, NULL) &&
                     locks.read_ns != writer->locks_read_ns &&
                     (has_ended || session_options(session)->locks || !writer->locks_read_ns ||
                      locks.read_ns - writer->locks_read_ns >= LOCKS_AGAIN_NS) &&
                     has_texts(&locks, strings);
    buffer_u8(out, has);
    if (has) {
        writer->locks_read_ns = locks.read_ns;
        put_all_locks(&locks, out);
    }
    session_locks_deinit(&locks);
}

static void put_locals(struct session *session, const struct profile_sizes *rows,
                       bool has_ended, struct buffer *out)
{
    struct session_locals locals = { 0 };
    bool has = has_ended && session_options(session)->locals &&
               !session_locals(session, &locals, NULL);
    for (size_t i = 0; i < locals.count && has; i++)
        has = locals.threads[i].node < rows->nodes;
    buffer_u8(out, has);
    if (has) {
        buffer_number(out, locals.left_out);
        buffer_number(out, locals.count);
        for (size_t i = 0; i < locals.count; i++) {
            const struct session_locals_thread *const thread = &locals.threads[i];
            buffer_number(out, (uint64_t)thread->pid);
            buffer_number(out, (uint64_t)thread->tid);
            buffer_number(out, thread->node);
            buffer_number(out, thread->bytes);
        }
        buffer_number(out, locals.frame_bytes);
        buffer_append(out, locals.frames, locals.frame_bytes);
    }
    session_locals_deinit(&locals);
}

void state_writer_deinit(struct state_writer *writer)
{
    free(writer->functions);
    *writer = (struct state_writer){ .tasks_at_ns = 0 };
}

void state_encode(struct state_writer *writer, struct session *session,
                  const struct live_capture_seal *seal, struct buffer *out)
{
    struct session_status status;
    struct session_processes processes;
    struct profile_snapshot snapshot;
    /* The end first: who reads it has everything that was before. */
    session_status(session, &status);
    session_processes(session, &processes);
    buffer_append(out, &status, sizeof status);
    buffer_append(out, &processes, sizeof processes);
    buffer_append(out, &seal->quality, sizeof seal->quality);
    buffer_number(out, seal->end_ns);
    buffer_number(out, seal->lost);
    put_targets(writer, session, out);
    if (!profile_snapshot(session_profile(session), &snapshot, NULL)) {
        put_origins(writer, &snapshot, seal->rows.functions, out);
        profile_snapshot_release(&snapshot);
    } else {
        buffer_number(out, 0);
    }
    put_tasks(writer, session, &seal->rows, out);
    put_locks(writer, session, seal->rows.strings, status.state >= SESSION_ENDED, out);
    put_locals(session, &seal->rows, status.state >= SESSION_ENDED, out);
}

static enum err_code take_targets(struct byte_reader *in, struct state *out, struct err *err)
{
    out->target_count = byte_reader_count(in, TARGET_BYTES, SESSION_MAX_LISTED);
    out->targets = calloc(out->target_count + 1, sizeof *out->targets);
    if (!out->targets)
        return err_nomem(err);
    for (size_t i = 0; i < out->target_count; i++) {
        out->targets[i].index = (size_t)byte_reader_below(in, SESSION_MAX_LISTED - 1);
        out->targets[i].record = byte_reader_text(in);
    }
    return ERR_OK;
}

static enum err_code take_origins(struct byte_reader *in, uint32_t functions, struct state *out,
                                  struct err *err)
{
    out->origin_count = byte_reader_count(in, ORIGIN_BYTES, STATE_MAX_ORIGINS);
    out->origins = calloc(out->origin_count + 1, sizeof *out->origins);
    if (!out->origins)
        return err_nomem(err);
    for (size_t i = 0; i < out->origin_count; i++) {
        struct state_origin *const row = &out->origins[i];
        row->function = (uint32_t)byte_reader_below(in, UINT32_MAX);
        row->origin = byte_reader_u64(in);
        row->entry = byte_reader_number(in);
        in->is_bad |= row->function >= functions;
    }
    return ERR_OK;
}

static enum err_code take_tasks(struct byte_reader *in, const struct profile_sizes *rows,
                                struct session_tasks *out, struct err *err)
{
    size_t room = 0;
    out->at_ns = byte_reader_number(in);
    out->is_cut = byte_reader_u8(in) != 0;
    out->count = byte_reader_count(in, TASK_BYTES, SESSION_MAX_TASKS);
    out->items = calloc(out->count + 1, sizeof *out->items);
    if (!out->items)
        return err_nomem(err);
    for (size_t i = 0; i < out->count && !in->is_bad; i++) {
        struct session_task *const row = &out->items[i];
        row->pid = (pid_t)byte_reader_below(in, INT32_MAX);
        row->tid = (int32_t)byte_reader_below(in, INT32_MAX);
        row->address = byte_reader_number(in);
        row->name = (uint32_t)byte_reader_below(in, UINT32_MAX);
        row->number = byte_reader_number(in);
        row->node = (uint32_t)byte_reader_below(in, UINT32_MAX);
        const unsigned bits = byte_reader_u8(in);
        row->is_running = bits & 1;
        row->is_moving = (bits & 2) != 0;
        row->seen_ns = byte_reader_number(in);
        row->since_ns = byte_reader_number(in);
        in->is_bad |= row->node >= rows->nodes || row->name >= rows->strings;
        row->first_awaiter = (uint32_t)out->awaiter_count;
        row->awaiter_count =
            (uint32_t)byte_reader_count(in, 1, STATE_MAX_AWAITERS - out->awaiter_count);
        if (!VEC_RESERVE(out->awaiters, room, out->awaiter_count + row->awaiter_count + 1))
            return err_nomem(err);
        for (uint32_t k = 0; k < row->awaiter_count; k++) {
            const uint32_t awaiter = (uint32_t)byte_reader_below(in, UINT32_MAX);
            in->is_bad |= awaiter >= out->count;
            out->awaiters[out->awaiter_count++] = awaiter;
        }
    }
    return ERR_OK;
}

static struct lock_text take_text(struct byte_reader *in)
{
    struct lock_text text = { .line = (int32_t)byte_reader_below(in, INT32_MAX) };
    text.end_line = (int32_t)byte_reader_below(in, INT32_MAX);
    text.column = (int32_t)byte_reader_below(in, INT32_MAX) - 1;
    text.end_column = (int32_t)byte_reader_below(in, INT32_MAX) - 1;
    return text;
}

static struct lock_use take_use(struct byte_reader *in, const struct profile_sizes *rows)
{
    struct lock_use use = { .object = byte_reader_number(in) };
    use.lock = byte_reader_number(in);
    use.type = (str_id)byte_reader_below(in, UINT32_MAX);
    use.function = (str_id)byte_reader_below(in, UINT32_MAX);
    use.file = (str_id)byte_reader_below(in, UINT32_MAX);
    use.line = (int32_t)byte_reader_below(in, INT32_MAX);
    const unsigned bits = byte_reader_u8(in);
    use.is_waited = bits & 1;
    use.is_timed = (bits & 2) != 0;
    use.is_joined = (bits & 4) != 0;
    use.has_owner = (bits & 8) != 0;
    use.may_be_held = (bits & 16) != 0;
    use.owner_tid = (int32_t)byte_reader_below(in, INT32_MAX);
    use.owner_task = byte_reader_number(in);
    use.gil_turn = byte_reader_number(in);
    use.place.device = byte_reader_number(in);
    use.place.inode = byte_reader_number(in);
    use.place.offset = byte_reader_number(in);
    use.text = take_text(in);
    in->is_bad |=
        use.type >= rows->strings || use.function >= rows->strings || use.file >= rows->strings;
    return use;
}

static uint32_t take_lines(struct byte_reader *in, const struct profile_sizes *rows,
                           struct session_lock_line out[SESSION_LOCK_LINES])
{
    const uint32_t count = (uint32_t)byte_reader_count(in, LINE_BYTES, SESSION_LOCK_LINES);
    for (uint32_t i = 0; i < count; i++) {
        out[i].function = (str_id)byte_reader_below(in, UINT32_MAX);
        out[i].file = (str_id)byte_reader_below(in, UINT32_MAX);
        out[i].line = (int32_t)byte_reader_below(in, INT32_MAX);
        out[i].text = take_text(in);
        out[i].waited_ns = byte_reader_below(in, WINDOWS_MAX_NS);
        in->is_bad |= !has_line(&out[i], rows->strings);
    }
    return count;
}

static void take_lock(struct byte_reader *in, const struct profile_sizes *rows,
                      struct session_lock *out)
{
    out->pid = (pid_t)byte_reader_below(in, INT32_MAX);
    out->type = (str_id)byte_reader_below(in, UINT32_MAX);
    out->object = byte_reader_number(in);
    out->waited_ns = byte_reader_below(in, WINDOWS_MAX_NS);
    out->held_ns = byte_reader_below(in, WINDOWS_MAX_NS);
    out->longest_ns = byte_reader_below(in, WINDOWS_MAX_NS);
    out->waits = byte_reader_number(in);
    out->first_ns = byte_reader_below(in, WINDOWS_MAX_NS);
    out->last_ns = byte_reader_below(in, WINDOWS_MAX_NS);
    out->waiting = (uint32_t)byte_reader_below(in, UINT32_MAX);
    out->waiter_count = take_lines(in, rows, out->waiters);
    out->holder_count = take_lines(in, rows, out->holders);
    in->is_bad |= out->type >= rows->strings;
}

static enum err_code take_locks(struct byte_reader *in, const struct profile_sizes *rows,
                                struct session_locks *out, struct err *err)
{
    size_t room = 0;
    out->read_ns = byte_reader_number(in);
    out->measured_ns = byte_reader_number(in);
    out->dropped = byte_reader_number(in);
    out->dropped_ns = byte_reader_number(in);
    out->thread_count = byte_reader_count(in, LOCK_THREAD_BYTES, SESSION_MAX_LOCK_THREADS);
    out->threads = calloc(out->thread_count + 1, sizeof *out->threads);
    if (!out->threads)
        return err_nomem(err);
    for (size_t i = 0; i < out->thread_count && !in->is_bad; i++) {
        struct session_lock_thread *const row = &out->threads[i];
        row->pid = (pid_t)byte_reader_below(in, INT32_MAX);
        row->tid = (int32_t)byte_reader_below(in, INT32_MAX);
        row->from_ns = byte_reader_below(in, WINDOWS_MAX_NS);
        row->to_ns = byte_reader_below(in, WINDOWS_MAX_NS);
        row->task.address = byte_reader_number(in);
        row->task.name = (str_id)byte_reader_below(in, UINT32_MAX);
        row->task.number = byte_reader_number(in);
        row->task.is_running = byte_reader_u8(in) != 0;
        in->is_bad |= row->task.name >= rows->strings;
        row->first_use = (uint32_t)out->use_count;
        row->use_count = (uint32_t)byte_reader_count(in, USE_BYTES, LOCK_USES_MAX);
        in->is_bad |= out->use_count + row->use_count > STATE_MAX_LOCK_USES;
        if (!VEC_RESERVE(out->uses, room, out->use_count + row->use_count + 1))
            return err_nomem(err);
        for (uint32_t k = 0; k < row->use_count; k++)
            out->uses[out->use_count++] = take_use(in, rows);
    }
    out->count = byte_reader_count(in, LOCK_BYTES, SESSION_MAX_LOCKS);
    out->items = calloc(out->count + 1, sizeof *out->items);
    if (!out->items)
        return err_nomem(err);
    for (size_t i = 0; i < out->count && !in->is_bad; i++)
        take_lock(in, rows, &out->items[i]);
    return ERR_OK;
}

/* The frames of the threads lie one after the other. */
static enum err_code take_locals(struct byte_reader *in, const struct profile_sizes *rows,
                                 struct session_locals *out, struct err *err)
{
    size_t from = 0;
    out->left_out = byte_reader_number(in);
    out->count = byte_reader_count(in, LOCALS_THREAD_BYTES, SESSION_MAX_LOCALS_THREADS);
    out->threads = calloc(out->count + 1, sizeof *out->threads);
    if (!out->threads)
        return err_nomem(err);
    for (size_t i = 0; i < out->count && !in->is_bad; i++) {
        struct session_locals_thread *const row = &out->threads[i];
        row->pid = (pid_t)byte_reader_below(in, INT32_MAX);
        row->tid = (int32_t)byte_reader_below(in, INT32_MAX);
        row->node = (uint32_t)byte_reader_below(in, UINT32_MAX);
        row->bytes = (size_t)byte_reader_below(in, SESSION_MAX_LOCALS_BYTES);
        row->from = from;
        from += row->bytes;
        in->is_bad |= row->node >= rows->nodes;
    }
    out->frame_bytes = byte_reader_count(in, 1, SESSION_MAX_LOCALS_BYTES);
    const unsigned char *const frames = byte_reader_take(in, out->frame_bytes);
    in->is_bad |= from != out->frame_bytes;
    out->frames = malloc(out->frame_bytes + 1);
    if (!out->frames)
        return err_nomem(err);
    if (frames)
        memcpy(out->frames, frames, out->frame_bytes);
    return ERR_OK;
}

enum err_code state_decode(struct byte_reader *in, const struct profile_sizes *rows,
                           struct state *out, struct err *err)
{
    *out = (struct state){ .end_ns = 0 };
    struct session_status *const status = &out->status;
    in->is_bad |= !link_take_struct(in, status, sizeof *status) ||
                  status->state > SESSION_FAILED ||
                  !memchr(status->reason, '\0', sizeof status->reason) ||
                  !memchr(status->engine_reason, '\0', sizeof status->engine_reason) ||
                  !memchr(status->kernel_reason, '\0', sizeof status->kernel_reason);
    status->records_native = false; /* this process knows it */
    status->rate_hz = link_finite(status->rate_hz);
    status->requested_hz = link_finite(status->requested_hz);
    in->is_bad |= !link_take_struct(in, &out->processes, sizeof out->processes);
    in->is_bad |= !link_take_struct(in, &out->quality, sizeof out->quality);
    out->end_ns = byte_reader_below(in, WINDOWS_MAX_NS);
    out->lost = byte_reader_number(in);
    enum err_code rc = take_targets(in, out, err);
    if (!rc)
        rc = take_origins(in, rows->functions, out, err);
    if (!rc)
        out->has_tasks = byte_reader_u8(in) != 0;
    if (!rc && out->has_tasks)
        rc = take_tasks(in, rows, &out->tasks, err);
    if (!rc)
        out->has_locks = byte_reader_u8(in) != 0;
    if (!rc && out->has_locks)
        rc = take_locks(in, rows, &out->locks, err);
    if (!rc)
        out->has_locals = byte_reader_u8(in) != 0;
    if (!rc && out->has_locals)
        rc = take_locals(in, rows, &out->locals, err);
    if (!rc && (in->is_bad || byte_reader_left(in) > 0))
        rc = err_set(err, ERR_CORRUPT, "the state of a session is invalid");
    if (rc)
        state_deinit(out);
    return rc;
}

void state_deinit(struct state *state)
{
    free(state->targets);
    free(state->origins);
    session_tasks_deinit(&state->tasks);
    session_locks_deinit(&state->locks);
    session_locals_deinit(&state->locals);
    *state = (struct state){ .end_ns = 0 };
}
