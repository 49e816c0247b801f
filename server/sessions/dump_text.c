#include "server/sessions/dump_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/plain_text.h"
#include "sampler/core.h"
#include "sampler/process_tree.h"
#include "sampler/profile/part.h"
#include "sampler/profile/wait.h"
#include "server/sessions/dump_locals.h"
#include "server/sessions/dump_locks.h"
#include "server/sessions/dump_merge.h"
#include "server/sessions/kernel_stacks.h"
#include "server/sessions/shared_locks.h"

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

/* locals: NULL: variables are not wanted. */
static void put_frames(struct buffer *out, const struct profile_snapshot *snapshot,
                       node_id node, struct dump_locals *locals)
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
        dump_put_text(out, snapshot, function.name);
        buffer_text(out, " (");
        dump_put_text(out, snapshot, function.file);
        if (frame.line > 0)
            buffer_printf(out, ":%d", (int)frame.line);
        buffer_text(out, ")\n");
        if (locals)
            dump_locals_put(out, locals, function.name, function.file);
    }
}

/* Writes the part of time in which the thread is, why ("blocked: network read 10.0.0.5:5432"), and its marks. */
static void put_state(struct buffer *out, const struct dump *dump, state_bits state,
                      const struct wait_text *wait, const char *separator)
{
    static const struct {
        state_bits bit;
        const char *text;
    } marks[] = { { STATE_HAS_GIL, "holds the GIL" },
                  { STATE_IN_GC, "collecting garbage" },
                  { STATE_HAS_EXCEPTION, "handling an exception" },
                  { STATE_IN_JIT, "JIT" } };
    const enum part part = part_of(state, wait->cause);
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

/* Writes the functions of the kernel that the thread is in, in one line.  false: the kernel does not show them. */
static bool put_kernel(struct buffer *out, pid_t pid, int32_t tid)
{
    char stack[PROCESS_TREE_STACK_BYTES];
    if (kernel_stacks_read(pid, tid, stack) == ERR_PERM)
        return false;
    if (!*stack)
        return true;
    buffer_text(out, "    kernel: ");
    for (const char *at = stack; *at; at += strcspn(at, "\n") + 1) {
        buffer_text(out, at == stack ? "" : ", ");
        plain_text_put(out, at, strcspn(at, "\n"));
    }
    buffer_char(out, '\n');
    return true;
}

/* Writes whether the thread moved between several dumps.  One that waits for work is not stuck. */
static void put_motion(struct buffer *out, const struct dump *dump, int32_t tid, enum part part,
                       const struct dump_view *view)
{
    const enum motion motion =
        view->motion
            ? dump_motion_of(view->motion, session_target(dump->session)->pid, tid, view->dumps)
            : MOTION_UNKNOWN;
    if (motion == MOTION_MOVES)
        buffer_text(out, ", moves");
    else if (motion == MOTION_STUCK && part != PART_IDLE)
        buffer_printf(out, ", stuck for ≥ %.3g s", (double)view->apart_ns / NS_PER_S);
}

/* The doings of a thread of a dump. */
struct thread_text {
    const struct dump_row *row;
    struct profile_thread thread;
    struct wait_text wait;
    node_id node; /* without the mark of its wait */
    enum part part;
};

static struct thread_text read_thread(const struct dump *dump, const struct dump_row *row)
{
    const struct profile_snapshot *const snapshot = &dump->snapshot;
    const frame_id leaf = profile_node_at(snapshot, row->node).frame;
    struct thread_text text = { .row = row,
                                .thread = profile_thread_at(snapshot, row->thread),
                                .wait = { .cause = WAIT_UNKNOWN, .detail = "" },
                                .node = row->node };
    if (wait_of_function(snapshot, profile_frame_at(snapshot, leaf).function, &text.wait))
        text.node = profile_node_at(snapshot, row->node).parent;
    text.part = part_of(row->state, text.wait.cause);
    return text;
}

/* A worker between two jobs, which nobody waits for. */
static bool is_idle_worker(const struct dump *dump, const struct thread_text *text)
{
    const struct lock_thread *const locks =
        lock_graph_find(&dump->locks, session_target(dump->session)->pid, text->thread.tid);
    bool is_wanted = false;
    for (size_t i = 0; locks && i < locks->count; i++)
        is_wanted |= !locks->uses[i].is_waited &&
                     lock_graph_is_wanted(&dump->locks, locks, &locks->uses[i]);
    return text->part == PART_IDLE && text->wait.cause == WAIT_WORKER && !is_wanted;
}

/* Writes all lines below that of the thread. */
static void put_stack(struct buffer *out, const struct dump *dump,
                      const struct thread_text *text, const struct dump_view *view,
                      bool has_address, bool has_locals, bool *lacks_kernel)
{
    struct dump_locals locals = dump_locals_of(dump, text->row);
    const int32_t tid = text->thread.tid;
    dump_locks_put(out, dump, tid, 0, has_address);
    if (view->shows_kernel && tid && text->part != PART_RUNNING)
        *lacks_kernel |= !put_kernel(out, session_target(dump->session)->pid, tid);
    put_frames(out, &dump->snapshot, text->node, has_locals ? &locals : NULL);
}

static void put_thread(struct buffer *out, const struct dump *dump, const struct dump_row *row,
                       const struct dump_view *view, bool *lacks_kernel)
{
    const struct thread_text text = read_thread(dump, row);
    if (text.thread.tid)
        buffer_printf(out, "  thread %d ", (int)text.thread.tid);
    else
        buffer_text(out, "  thread of unknown number ");
    dump_put_text(out, &dump->snapshot, text.thread.name);
    put_state(out, dump, row->state, &text.wait, ": ");
    put_motion(out, dump, text.thread.tid, text.part, view);
    buffer_char(out, '\n');
    put_stack(out, dump, &text, view, true, true, lacks_kernel);
}

/* Writes whether the task waits, and which tasks wait for it. */
static void put_task_state(struct buffer *out, const struct dump *dump,
                           const struct session_task *task)
{
    buffer_text(out, task->is_running ? "runs" : task->is_moving ? "moves" : "waits");
    for (uint32_t i = 0; i < task->awaiter_count; i++) {
        buffer_text(out, i ? ", " : "; awaited by ");
        const struct session_task *const awaiter =
            &dump->tasks.items[dump->tasks.awaiters[task->first_awaiter + i]];
        dump_put_task_name(out, dump, awaiter->name, awaiter->number);
    }
}

static void put_task(struct buffer *out, const struct dump *dump,
                     const struct session_task *task)
{
    buffer_text(out, "  task ");
    dump_put_task_name(out, dump, task->name, task->number);
    buffer_printf(out, " (thread %d) ", (int)task->tid);
    put_task_state(out, dump, task);
    buffer_char(out, '\n');
    dump_locks_put(out, dump, task->tid, task->address, true);
    put_frames(out, &dump->snapshot, task->node, NULL);
}

static void put_tasks(struct buffer *out, const struct dump *dump, const struct dump_view *view)
{
    for (size_t i = 0; i < dump->tasks.count; i++)
        if (view->shows_tasks || dump_locks_has_trouble(dump, &dump->tasks.items[i]))
            put_task(out, dump, &dump->tasks.items[i]);
    if (dump->tasks.is_cut && view->shows_tasks)
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

/* Workers of one pool that are folded into one line. */
struct idle_pool {
    const char *name;
    size_t length, threads;
};

static int by_pool(const void *left, const void *right)
{
    const struct idle_pool *const a = left, *const b = right;
    const size_t shared = a->length < b->length ? a->length : b->length;
    const int order = memcmp(a->name, b->name, shared);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* Fills `pools` with the pools of idle workers, sorted. */
static size_t find_pools(const struct dump *dump, struct idle_pool *pools)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < dump->count; i++) {
        const struct thread_text text = read_thread(dump, &dump->rows[i]);
        const struct strtab_string name = profile_string(&dump->snapshot, text.thread.name);
        if (is_idle_worker(dump, &text))
            pools[count++] =
                (struct idle_pool){ name.text, dump_pool_length(name.text, name.length), 1 };
    }
    qsort(pools, count, sizeof *pools, by_pool);
    for (size_t i = 0; i < count; i++)
        if (kept && by_pool(&pools[kept - 1], &pools[i]) == 0)
            pools[kept - 1].threads++;
        else
            pools[kept++] = pools[i];
    return kept;
}

static bool is_folded(const struct dump *dump, const struct dump_row *row,
                      const struct idle_pool *pools, size_t count)
{
    const struct thread_text text = read_thread(dump, row);
    const struct strtab_string name = profile_string(&dump->snapshot, text.thread.name);
    const struct idle_pool key = { name.text, dump_pool_length(name.text, name.length), 1 };
    const struct idle_pool *const pool =
        is_idle_worker(dump, &text) ? bsearch(&key, pools, count, sizeof *pools, by_pool)
                                    : NULL;
    return pool && pool->threads > 1;
}

static void put_threads(struct buffer *out, const struct dump *dump,
                        const struct dump_view *view, bool *lacks_kernel)
{
    struct idle_pool *const pools = malloc((dump->count + 1) * sizeof *pools);
    const size_t count = pools && !view->shows_idle ? find_pools(dump, pools) : 0;
    for (size_t i = 0; i < dump->count; i++)
        if (!is_folded(dump, &dump->rows[i], pools, count))
            put_thread(out, dump, &dump->rows[i], view, lacks_kernel);
    for (size_t i = 0; i < count; i++) {
        if (pools[i].threads < 2)
            continue;
        buffer_printf(out, "  %zu threads idle in ", pools[i].threads);
        plain_text_put(out, pools[i].name, pools[i].length);
        buffer_text(out, ": --idle shows them\n");
    }
    free(pools);
}

static const char *state_text(char state)
{
    switch (state) {
    case 'T': return "stopped by a signal";
    case 't': return "stopped by a debugger";
    case 'Z': return "ended, and not waited for by its parent";
    case 'R': return "runs";
    default: return NULL;
    }
}

static const char lacks_kernel_text[] =
    "what threads do in the kernel cannot be read: that takes the right to trace the process\n";
static const char greenlets_text[] = "greenlets that are switched out cannot be listed\n";

/* "core of PID 4711 (python3 app.py), killed by SIGSEGV at 0x0, thread 4711 was running" */
static void put_core(struct buffer *out, const struct dump *dump)
{
    const struct session_core_facts *const facts = session_core_facts(dump->core);
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

void dump_text_write(struct buffer *out, const struct dump *dump, const struct dump_view *view,
                     const struct process_facts *facts)
{
    const struct session_target *const target = session_target(dump->session);
    bool lacks_kernel = false;
    if (dump->core)
        put_core(out, dump);
    buffer_printf(out, "process %d, Python %s", (int)dump_pid(dump), target->python);
    if (facts->state == 'T' || facts->state == 't')
        buffer_printf(out, ", %s", state_text(facts->state));
    buffer_char(out, '\n');
    dump_locks_put_deadlocks(out, dump);
    put_threads(out, dump, view, &lacks_kernel);
    if (dump->left_out)
        buffer_printf(out, "  about %zu more threads were not read\n", dump->left_out);
    put_tasks(out, dump, view);
    if (lacks_kernel)
        buffer_printf(out, "  %s", lacks_kernel_text);
    if (has_greenlets(&dump->snapshot))
        buffer_printf(out, "  %s", greenlets_text);
}

void dump_text_facts(struct buffer *out, const struct process_facts *facts)
{
    const char *const state = state_text(facts->state);
    plain_text_put(out, *facts->name ? facts->name : "?",
                   *facts->name ? strlen(facts->name) : 1);
    buffer_text(out, ", ");
    if (facts->memory_of) {
        buffer_printf(out, "runs in the memory of process %d until it executes a program",
                      (int)facts->memory_of);
    } else if (state) {
        buffer_text(out, state);
    } else if (*facts->wait) {
        buffer_printf(out, "waits%s in ", facts->state == 'D' ? " uninterruptibly" : "");
        plain_text_put(out, facts->wait, strlen(facts->wait));
    } else {
        buffer_text(out, "waits");
    }
}

/* The texts of a thread or task that is merged. */
struct merging {
    struct buffer name, state, lines;
    struct buffer detailed; /* the lines with variables; empty: there are none */
};

static enum err_code merge_thread(struct dump_merge *merge, struct merging *merging,
                                  bool is_main, bool is_idle, struct err *err)
{
    const struct dump_merge_thread thread = {
        .name = buffer_string(&merging->name),
        .state = buffer_string(&merging->state),
        .lines = buffer_string(&merging->lines),
        .detailed = merging->detailed.length ? buffer_string(&merging->detailed) : NULL,
        .is_main = is_main,
        .is_idle_worker = is_idle
    };
    const enum err_code rc =
        thread.name && thread.state && thread.lines && !merging->detailed.failed
            ? dump_merge_thread(merge, &thread, err)
            : err_nomem(err);
    buffer_clear(&merging->name);
    buffer_clear(&merging->state);
    buffer_clear(&merging->lines);
    buffer_clear(&merging->detailed);
    return rc;
}

static enum err_code merge_threads(struct dump_merge *merge, const struct dump *dump,
                                   const struct dump_view *view,
                                   const struct process_facts *facts, struct merging *merging,
                                   struct err *err)
{
    const char *const stopped =
        facts->state == 'T' || facts->state == 't' ? state_text(facts->state) : NULL;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < dump->count && !rc; i++) {
        const struct thread_text text = read_thread(dump, &dump->rows[i]);
        bool lacks_kernel = false;
        dump_put_text(&merging->name, &dump->snapshot, text.thread.name);
        put_state(&merging->state, dump, dump->rows[i].state, &text.wait, "");
        put_motion(&merging->state, dump, text.thread.tid, text.part, view);
        if (stopped)
            buffer_printf(&merging->state, ", %s", stopped);
        put_stack(&merging->lines, dump, &text, view, false, false, &lacks_kernel);
        if (text.row->locals)
            put_stack(&merging->detailed, dump, &text, view, false, true, &lacks_kernel);
        if (lacks_kernel)
            buffer_printf(&merging->lines, "    %s", lacks_kernel_text);
        rc =
            merge_thread(merge, merging, text.thread.is_main, is_idle_worker(dump, &text), err);
    }
    for (size_t i = 0; i < dump->tasks.count && !rc; i++) {
        const struct session_task *const task = &dump->tasks.items[i];
        if (!view->shows_tasks && !dump_locks_has_trouble(dump, task))
            continue;
        buffer_text(&merging->name, "task ");
        dump_put_task_name(&merging->name, dump, task->name, task->number);
        put_task_state(&merging->state, dump, task);
        dump_locks_put(&merging->lines, dump, task->tid, task->address, false);
        put_frames(&merging->lines, &dump->snapshot, task->node, NULL);
        rc = merge_thread(merge, merging, false, false, err);
    }
    return rc;
}

enum err_code dump_text_merge(struct dump_merge *merge, struct dump *dump,
                              const struct dump_view *view, const struct process_facts *facts,
                              struct err *err)
{
    const struct session_target *const target = session_target(dump->session);
    struct merging merging = { 0 };
    struct buffer deadlocks = { 0 };
    enum err_code rc = shared_locks_add(&merge->shared, dump, err);
    if (!rc)
        rc = dump_merge_process(merge, target->pid, facts->rank, target->python, NULL, err);
    dump_locks_put_deadlocks(&deadlocks, dump);
    if (!rc)
        dump_merge_deadlocks(merge, buffer_string(&deadlocks));
    if (!rc)
        rc = merge_threads(merge, dump, view, facts, &merging, err);
    buffer_deinit(&deadlocks);
    buffer_deinit(&merging.name);
    buffer_deinit(&merging.state);
    buffer_deinit(&merging.lines);
    buffer_deinit(&merging.detailed);
    return rc;
}
