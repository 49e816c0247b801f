#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "sampler/core.h"
#include "sampler/profile/part.h"
#include "sampler/profile/wait.h"
#include "sampler/sampler.h"
#include "server/command/command.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/sessions/dump_json.h"

static void put_string(struct buffer *out, const struct profile_snapshot *snapshot, str_id id)
{
    const struct strtab_string string = profile_string(snapshot, id);
    plain_text_put(out, string.text, string.length);
}

/* A mark has no file.  That of a C function is its name; that of native code between two Python frames says nothing. */
static void put_mark(struct buffer *out, struct strtab_string name)
{
    static const char between[] = "<native>", prefix[] = "<native> ";
    const size_t skipped =
        strncmp(name.text, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    if (strcmp(name.text, between) == 0)
        return;
    buffer_text(out, "    ");
    plain_text_put(out, name.text + skipped, name.length - skipped);
    buffer_char(out, '\n');
}

static void put_frames(struct buffer *out, const struct profile_snapshot *snapshot,
                       node_id node)
{
    for (; node != 0; node = profile_node_at(snapshot, node).parent) {
        const struct profile_frame frame =
            profile_frame_at(snapshot, profile_node_at(snapshot, node).frame);
        const struct profile_function function = profile_function_at(snapshot, frame.function);
        if (strcmp(profile_string(snapshot, function.file).text, "~") == 0) {
            put_mark(out, profile_string(snapshot, function.name));
            continue;
        }
        buffer_text(out, "    ");
        put_string(out, snapshot, function.name);
        buffer_text(out, " (");
        put_string(out, snapshot, function.file);
        if (frame.line > 0)
            buffer_printf(out, ":%d", (int)frame.line);
        buffer_text(out, ")\n");
    }
}

/* Writes the part of time in which the thread is, why ("blocked: network read 10.0.0.5:5432"), and its marks. */
static void put_state(struct buffer *out, const struct dump *dump, state_bits state,
                      const struct wait_text *wait)
{
    static const struct {
        state_bits bit;
        const char *text;
    } marks[] = { { STATE_HAS_GIL, "holds the GIL" },
                  { STATE_IN_GC, "collecting garbage" },
                  { STATE_HAS_EXCEPTION, "handling an exception" },
                  { STATE_IN_JIT, "JIT" } };
    const enum part part = part_of(state, wait->cause);
    const char *separator = ": ";
    /* A core does not say whether a thread that was in no system call ran. */
    if (!dump->core || part != PART_RUNNING || !(state & STATE_UNKNOWN_ON_CPU)) {
        buffer_printf(out, "%s%s", separator, part_title(part));
        separator = ", ";
    }
    if ((part == PART_BLOCKED || part == PART_IDLE) && wait->cause != WAIT_UNKNOWN) {
        buffer_printf(out, ": %s%s", wait_cause_title(wait->cause),
                      wait->detail_length > 0 ? " " : "");
        plain_text_put(out, wait->detail, wait->detail_length);
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (state & marks[i].bit) {
            buffer_printf(out, "%s%s", separator, marks[i].text);
            separator = ", ";
        }
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
        put_string(out, &dump->snapshot, profile_thread_at(&dump->snapshot, row->thread).name);
    else
        buffer_printf(out, "thread %d", (int)tid);
}

static void put_place(struct buffer *out, const struct dump *dump, const struct lock_use *use)
{
    put_string(out, &dump->snapshot, use->function);
    buffer_text(out, " (");
    put_string(out, &dump->snapshot, use->file);
    if (use->line > 0)
        buffer_printf(out, ":%d", (int)use->line);
    buffer_char(out, ')');
}

/* Writes what the thread waits for, and who has it. */
static void put_wait(struct buffer *out, const struct dump *dump,
                     const struct lock_thread *thread)
{
    const struct lock_use *const wait = lock_thread_wait(thread);
    const struct lock_holder holder = lock_graph_holder(&dump->locks, thread);
    put_string(out, &dump->snapshot, wait->type);
    buffer_printf(out, " at %#" PRIx64, wait->object);
    if (wait->is_joined && holder.tid) {
        buffer_text(out, ", the end of ");
        put_thread_name(out, dump, holder.tid);
    } else if (holder.tid) {
        buffer_text(out, ", held by ");
        put_thread_name(out, dump, holder.tid);
        if (holder.use) {
            buffer_text(out, " at ");
            put_place(out, dump, holder.use);
        }
    }
}

static void put_locks(struct buffer *out, const struct dump *dump, int32_t tid)
{
    const struct lock_thread *const thread =
        lock_graph_find(&dump->locks, sampler_target(dump->sampler)->pid, tid);
    if (!thread)
        return;
    if (lock_thread_wait(thread)) {
        buffer_text(out, "    waits for ");
        put_wait(out, dump, thread);
        buffer_char(out, '\n');
    }
    for (size_t i = 0; i < thread->count; i++) {
        const struct lock_use *const use = &thread->uses[i];
        if (use->is_waited || !lock_graph_is_wanted(&dump->locks, thread, use))
            continue;
        buffer_text(out, "    holds ");
        put_string(out, &dump->snapshot, use->type);
        buffer_printf(out, " at %#" PRIx64 ": ", use->object);
        put_place(out, dump, use);
        buffer_char(out, '\n');
    }
}

/* Writes a line for each cycle of threads that wait for each other for ever. */
static void put_deadlocks(struct buffer *out, const struct dump *dump)
{
    const struct lock_thread *cycle[LOCK_GRAPH_MAX_CYCLE];
    for (size_t i = 0; i < dump->locks.count; i++) {
        const size_t count =
            lock_graph_cycle(&dump->locks, &dump->locks.items[i], cycle, LOCK_GRAPH_MAX_CYCLE);
        for (size_t k = 0; k < count; k++) {
            buffer_text(out, k ? ", " : "deadlock: ");
            put_thread_name(out, dump, cycle[k]->tid);
            buffer_text(out, " waits for ");
            put_wait(out, dump, cycle[k]);
        }
        if (count)
            buffer_char(out, '\n');
    }
}

static void put_thread(struct buffer *out, const struct dump *dump, const struct dump_row *row)
{
    const struct profile_snapshot *const snapshot = &dump->snapshot;
    const frame_id leaf = profile_node_at(snapshot, row->node).frame;
    struct wait_text wait = { .cause = WAIT_UNKNOWN, .detail = "" };
    const bool waits =
        wait_of_function(snapshot, profile_frame_at(snapshot, leaf).function, &wait);
    const struct profile_thread thread = profile_thread_at(&dump->snapshot, row->thread);
    if (thread.tid)
        buffer_printf(out, "  thread %d ", (int)thread.tid);
    else
        buffer_text(out, "  thread of unknown number ");
    put_string(out, snapshot, thread.name);
    put_state(out, dump, row->state, &wait);
    buffer_char(out, '\n');
    put_locks(out, dump, thread.tid);
    put_frames(out, snapshot, waits ? profile_node_at(snapshot, row->node).parent : row->node);
}

static void put_name(struct buffer *out, const struct dump *dump,
                     const struct sampler_task *task)
{
    if (task->name)
        put_string(out, &dump->snapshot, task->name);
    else if (task->number)
        buffer_printf(out, "Task-%" PRIu64, task->number);
    else
        buffer_text(out, "without a name");
}

static void put_task(struct buffer *out, const struct dump *dump,
                     const struct sampler_task *task)
{
    buffer_text(out, "  task ");
    put_name(out, dump, task);
    buffer_printf(out, " (thread %d) %s", (int)task->tid,
                  task->is_running  ? "runs"
                  : task->is_moving ? "moves"
                                    : "waits");
    for (uint32_t i = 0; i < task->awaiter_count; i++) {
        buffer_text(out, i ? ", " : "; awaited by ");
        put_name(out, dump, &dump->tasks.items[dump->tasks.awaiters[task->first_awaiter + i]]);
    }
    buffer_char(out, '\n');
    put_frames(out, &dump->snapshot, task->node);
}

static void put_tasks(struct buffer *out, const struct dump *dump)
{
    for (size_t i = 0; i < dump->tasks.count; i++)
        put_task(out, dump, &dump->tasks.items[i]);
    if (dump->tasks.is_cut)
        buffer_text(out, "  and more tasks\n");
}

/* A greenlet that is switched out is an object that only its library and the garbage collector know. */
static bool has_greenlets(const struct profile_snapshot *snapshot)
{
    for (function_id id = 1; id < snapshot->sizes.functions; id++) {
        const char *const file =
            profile_string(snapshot, profile_function_at(snapshot, id).file).text;
        if (strstr(file, "/gevent/") || strstr(file, "/eventlet/"))
            return true;
    }
    return false;
}

static bool lists_tasks(const struct options *options)
{
    return options->sampling.async == SAMPLER_ASYNC_ALL || !options->names_async_mode;
}

/* "core of PID 4711 (python3 app.py), killed by SIGSEGV at 0x0, thread 4711 was running" */
static void put_core(struct buffer *out, const struct dump *dump)
{
    const struct sampler_core_facts *const facts = sampler_core_facts(dump->core);
    char warning[DUMP_WARNING_BYTES];
    buffer_printf(out, "core of PID %d (", (int)facts->pid);
    plain_text_put(out, facts->command, strlen(facts->command));
    buffer_text(out, facts->was_killed ? ")" : "), written while it ran");
    if (facts->signal_name)
        buffer_printf(out, ", %s by %s", facts->was_killed ? "killed" : "stopped",
                      facts->signal_name);
    if (facts->has_addr)
        buffer_printf(out, " at 0x%" PRIx64, facts->addr);
    if (facts->sender && !facts->is_own)
        buffer_printf(out, " from process %d", (int)facts->sender);
    if (facts->is_own)
        buffer_printf(out, ", thread %d was running", (int)facts->tid);
    buffer_char(out, '\n');
    for (size_t i = 0; dump_warning(dump, i, warning); i++) {
        buffer_text(out, "warning: ");
        plain_text_put(out, warning, strlen(warning));
        buffer_char(out, '\n');
    }
}

static void put_dump(struct buffer *out, const struct dump *dump, const struct options *options)
{
    const struct sampler_target *const target = sampler_target(dump->sampler);
    const int pid = dump->core ? sampler_core_facts(dump->core)->pid : target->pid;
    if (dump->core)
        put_core(out, dump);
    buffer_printf(out, "process %d, Python %s\n", pid, target->python);
    put_deadlocks(out, dump);
    for (size_t i = 0; i < dump->count; i++)
        put_thread(out, dump, &dump->rows[i]);
    if (lists_tasks(options))
        put_tasks(out, dump);
    if (has_greenlets(&dump->snapshot))
        buffer_text(out, "  greenlets that are switched out cannot be listed\n");
}

/* exit_flush reports a failure. */
static bool print(void *to, const char *data, size_t bytes)
{
    (void)fwrite(data, 1, bytes, to);
    return true;
}

/* json NULL: as text.  core NULL: a process. */
static enum err_code dump_process(const struct options *options, pid_t pid,
                                  const struct sampler_core *core, struct json *json,
                                  size_t *deadlocks, struct err *err)
{
    struct dump dump;
    struct buffer out;
    /* Tasks that wait are listed, not sampled. */
    enum err_code rc = dump_take(
        &dump, pid, options->sampling.async ? SAMPLER_ASYNC_RUNNING : SAMPLER_ASYNC_OFF,
        options->shows_native ? SAMPLER_NATIVE_FULL : SAMPLER_NATIVE_LEAF, NULL, err);
    if (rc)
        return rc;
    dump.core = core;
    if (core && !dump.count) {
        dump_deinit(&dump);
        return err_set(err, ERR_FAULT, "no thread can be read");
    }
    *deadlocks += lock_graph_count_cycles(&dump.locks);
    if (json) {
        dump_write_json(json, &dump, options->sampling.async && lists_tasks(options));
    } else {
        buffer_init_draining(&out, print, stdout);
        put_dump(&out, &dump, options);
        buffer_flush(&out);
        rc = buffer_check(&out, err);
        buffer_deinit(&out);
    }
    dump_deinit(&dump);
    return rc;
}

/* Without its program, an interpreter may not be found, or its objects have no types. */
static enum err_code dump_core(const struct options *options, const char *file,
                               struct json *json, size_t *deadlocks, struct err *err)
{
    char warning[SAMPLER_CORE_WARNING_BYTES];
    struct sampler_core *core = NULL;
    struct err why = { 0 };
    enum err_code rc = sampler_core_open(file, options->executable, &core, err);
    if (rc)
        return rc;
    rc = dump_process(options, sampler_core_facts(core)->number, core, json, deadlocks, &why);
    if (rc && sampler_core_warning(core, 0, warning))
        err_set(err, rc, "%.60s: %.100s; %.150s", file, why.message, warning);
    else if (rc)
        err_set(err, rc, "%.100s: %.200s", file, why.message);
    /* A search that takes too long is left behind, and may still read the core. */
    if (rc != ERR_LIMIT)
        sampler_core_close(core);
    return rc;
}

static enum err_code check_conditions(const struct options *options, struct err *err)
{
    for (size_t i = 0; i < options->fail_ifs.count; i++)
        if (strcmp(options->fail_ifs.items[i], "deadlock") != 0)
            return err_set(err, ERR_INVALID,
                           "--fail-if %s: a dump knows one condition: deadlock",
                           options->fail_ifs.items[i]);
    return ERR_OK;
}

int command_dump(const struct options *options)
{
    struct err first = { 0 };
    enum err_code rc = check_conditions(options, &first);
    if (!rc)
        rc = privilege_drop(options, &first);
    const size_t pids = !rc ? options->sampling.pid_count : 0;
    const size_t count = !rc ? pids + options->file_count : 0;
    size_t deadlocks = 0;
    struct buffer text;
    struct json json;
    buffer_init_draining(&text, print, stdout);
    json_init(&json, &text);
    if (options->writes_json && !rc)
        json_array(&json);
    /* A process that cannot be read does not hide the others. */
    for (size_t i = 0; i < count; i++) {
        struct err err = { 0 };
        const enum err_code failure =
            i < pids ? dump_process(options, options->sampling.pids[i], NULL,
                                    options->writes_json ? &json : NULL, &deadlocks, &err)
                     : dump_core(options, options->files[i - pids],
                                 options->writes_json ? &json : NULL, &deadlocks, &err);
        exit_add(failure, &err, &rc, &first);
    }
    if (options->writes_json && count) {
        struct err err = { 0 };
        json_end(&json);
        const enum err_code failure = json_finish(&json, &err);
        buffer_char(&text, '\n');
        buffer_flush(&text);
        exit_add(failure, &err, &rc, &first);
    }
    buffer_deinit(&text);
    const int status = exit_with(rc, &first);
    return status == EXIT_DONE && deadlocks && options->fail_ifs.count ? EXIT_CONDITION
                                                                       : status;
}
