#include "server/sessions/dump.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/vec.h"
#include "sampler/process_tree.h"
#include "sampler/profile/sink.h"
#include "sampler/profile/wait.h"
#include "sampler/session.h"
#include "server/sessions/startup.h"
#include "server/source/expressions.h"

/* Some ticks, so that every thread is seen; the last counts.  On a busy machine there may be none in
 * that time, and it is tried again for longer. */
static const uint64_t TICK_NS = 30 * NS_PER_MS, MOST_NS = 2 * NS_PER_S;
/* Each tick reads some of thousands of threads. */
static const uint64_t MOST_IN_TURN_NS = 4 * NS_PER_S;
/* To find its interpreter. */
static const uint64_t START_NS = 10 * NS_PER_S;
enum { DUMP_MAX_ROWS = 2 * DUMP_MAX_THREADS }; /* while there may be several of a thread */
/* A thread has to be found in its wait by more than one reading, and on a busy machine there may be one tick where there should be many. */
enum { LOCK_READINGS = 3 };
enum {
    RATE_HZ = 200,
    POLL_MS = 10,
    TASK_TRIES = 4,
    NATIVE_TRIES = 8,
    LOCK_TRIES = 4,
    LOCALS_TRIES = 6
};

/* The context of take_run. */
struct taking {
    struct dump *dump;
    bool
        takes_nodes; /* each node that a thread was at, as its variables were read at one of them */
    size_t order; /* of the last sample */
};

/* On the sampling thread, which is the only one to touch the rows until it has ended. */
static void take_run(void *context, const struct run *run)
{
    struct taking *const taking = context;
    struct dump *const dump = taking->dump;
    size_t i = 0;
    while (i < dump->count && (dump->rows[i].thread != run->thread ||
                               (taking->takes_nodes && dump->rows[i].node != run->node)))
        i++;
    if (i == DUMP_MAX_ROWS)
        return;
    /* On a busy machine, a thread may stop in one tick, and not in the next one. */
    if (run->lacks_native && i < dump->count && !dump->rows[i].lacks_native)
        return;
    dump->count += i == dump->count;
    dump->rows[i] = (struct dump_row){ .thread = run->thread,
                                       .node = run->node,
                                       .state = run->state,
                                       .spot = run->spot,
                                       .lacks_native = run->lacks_native,
                                       .order = ++taking->order };
}

static void take_seal(void *context, uint64_t end_ns, uint64_t period_ns,
                      const struct quality *quality)
{
    (void)context;
    (void)end_ns;
    (void)period_ns;
    (void)quality;
}

/* Who asks has a time; the process may have another one. */
static enum err_code start(const struct session_options *options, const atomic_bool *is_ending,
                           struct session **out, struct err *err)
{
    struct startup *startup = NULL;
    const uint64_t end_ns = clock_now_ns() + START_NS;
    const enum err_code rc = startup_begin(options, &startup, err);
    if (rc)
        return rc;
    struct pollfd done = { .fd = startup_fd(startup), .events = POLLIN };
    while (poll(&done, 1, POLL_MS) <= 0 && clock_now_ns() < end_ns &&
           !(is_ending && atomic_load(is_ending))) {
    }
    if (done.revents)
        return startup_end(startup, out, err);
    (void)!startup_end(startup, out, NULL);
    if (options->pids[0] < 0)
        return err_set(err, ERR_LIMIT, "finding the interpreter takes too long");
    return err_set(err, ERR_LIMIT, "finding the interpreter of process %d takes too long",
                   (int)options->pids[0]);
}

/* Is it the node, or the mark of a wait below it? */
static bool is_at(const struct profile_snapshot *snapshot, node_id at, node_id node)
{
    struct wait_text wait;
    const struct profile_node row = profile_node_at(snapshot, at);
    return at == node ||
           (row.parent == node &&
            wait_of_function(snapshot, profile_frame_at(snapshot, row.frame).function, &wait));
}

static bool has_python(const struct profile_snapshot *snapshot, node_id node)
{
    for (; node; node = profile_node_at(snapshot, node).parent) {
        const frame_id frame = profile_node_at(snapshot, node).frame;
        const function_id function = profile_frame_at(snapshot, frame).function;
        const str_id file = profile_function_at(snapshot, function).file;
        if (strcmp(profile_string(snapshot, file).text, "~") != 0)
            return true;
    }
    return false;
}

static int by_tid(const void *left, const void *right)
{
    const struct session_locals_thread *const a = left, *const b = right;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

static int by_thread(const void *left, const void *right)
{
    const struct dump_row *const a = left, *const b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Keeps one row of each thread: where its variables were read, or else the last. */
static void choose_rows(struct dump *dump)
{
    struct session_locals *const locals = &dump->locals;
    size_t kept = 0;
    if (locals->count)
        qsort(locals->threads, locals->count, sizeof *locals->threads, by_tid);
    if (dump->count)
        qsort(dump->rows, dump->count, sizeof *dump->rows, by_thread);
    for (size_t i = 0, end; i < dump->count; i = end) {
        const int32_t tid = profile_thread_at(&dump->snapshot, dump->rows[i].thread).tid;
        size_t at, chosen = i;
        LOWER_BOUND(at, locals->count, locals->threads[at].tid < tid);
        const struct session_locals_thread *const thread =
            at < locals->count && locals->threads[at].tid == tid ? &locals->threads[at] : NULL;
        bool has_locals = false;
        for (end = i; end < dump->count && dump->rows[end].thread == dump->rows[i].thread;
             end++) {
            const bool is_there = thread && thread->node &&
                                  is_at(&dump->snapshot, dump->rows[end].node, thread->node);
            chosen = is_there || !has_locals ? end : chosen;
            has_locals |= is_there;
        }
        dump->rows[kept] = dump->rows[chosen];
        dump->rows[kept++].locals = has_locals ? at + 1 : 0;
    }
    dump->count = kept;
}

static enum err_code take_locks(struct dump *dump, struct err *err)
{
    struct session_locks locks = { 0 };
    const enum err_code rc = session_locks(dump->session, &locks, err);
    if (rc)
        return rc;
    lock_graph_take(&dump->locks, &locks);
    session_locks_deinit(&locks);
    return ERR_OK;
}

/* *sampled_out: there was a tick. */
static enum err_code sample(struct dump *dump, const struct session_options *options,
                            uint64_t tick_ns, const atomic_bool *is_ending, bool *sampled_out,
                            struct err *err)
{
    enum err_code rc = start(options, is_ending, &dump->session, err);
    if (rc)
        return rc;

    /* Lets it take some ticks, and waits until it has ended. */
    struct session *const session = dump->session;
    struct pollfd end = { .fd = session_end_fd(session), .events = POLLIN };
    const uint64_t began_ns = clock_now_ns();
    while (poll(&end, 1, POLL_MS) <= 0)
        if (clock_now_ns() - began_ns > tick_ns || (is_ending && atomic_load(is_ending)))
            session_stop(session);

    dump->at_ns = clock_wall_ns();
    rc = profile_snapshot(session_profile(dump->session), &dump->snapshot, err);
    dump->has_snapshot = !rc;
    if (!rc && options->locals)
        rc = session_locals(dump->session, &dump->locals, err);
    if (!rc && options->locals)
        choose_rows(dump);
    dump->samples = dump->snapshot.quality.samples;
    /* A sample of a part of many threads stands for others. */
    const uint64_t threads =
        dump->snapshot.quality.ticks ? dump->samples / dump->snapshot.quality.ticks : 0;
    dump->left_out = dump->snapshot.quality.extrapolated && threads > dump->count
                         ? (size_t)(threads - dump->count)
                         : 0;
    *sampled_out = dump->snapshot.quality.ticks > 0 || (is_ending && atomic_load(is_ending));
    if (!rc)
        rc = take_locks(dump, err);
    return rc ? rc : session_tasks(dump->session, &dump->tasks, err);
}

static void drop_request(struct dump *dump)
{
    if (dump->has_snapshot)
        profile_snapshot_release(&dump->snapshot);
    session_tasks_deinit(&dump->tasks);
    lock_graph_deinit(&dump->locks);
    session_locals_deinit(&dump->locals);
    session_destroy(dump->session);
    dump->session = NULL;
    dump->has_snapshot = false;
    dump->count = dump->left_out = 0;
}

/* Tasks that began or ended to run while they were read. */
static bool has_moving(const struct dump *dump)
{
    for (size_t i = 0; i < dump->tasks.count; i++)
        if (dump->tasks.items[i].is_moving)
            return true;
    return false;
}

/* Was it found only once in a wait that may be part of a deadlock?  A thread that needs the GIL is not, unless the one that has it waits. */
static bool is_seen_once(const struct dump *dump, const struct lock_thread *thread)
{
    const struct lock_use *const wait = lock_thread_wait(thread);
    if (!wait || lock_thread_stays(thread))
        return false;
    const struct lock_thread *const owner =
        wait->gil_turn ? lock_graph_find(&dump->locks, thread->pid, wait->owner_tid) : NULL;
    return !wait->gil_turn || (owner && lock_thread_wait(owner));
}

/* A thread that ran at each tick, and was not stopped at any; or one, or a task, whose wait was seen once. */
static bool lacks_locks(const struct dump *dump)
{
    if (!dump->session)
        return false;
    const pid_t pid = session_target(dump->session)->pid;
    for (size_t i = 0; i < dump->count; i++) {
        const int32_t tid = profile_thread_at(&dump->snapshot, dump->rows[i].thread).tid;
        const struct lock_thread *const thread =
            tid ? lock_graph_find(&dump->locks, pid, tid) : NULL;
        if (tid && (!thread || is_seen_once(dump, thread)))
            return true;
    }
    for (size_t i = 0; i < dump->locks.count; i++)
        if (dump->locks.items[i].task.address && is_seen_once(dump, &dump->locks.items[i]))
            return true;
    return false;
}

/* A thread of Python whose variables could not be read: it did not stand still for long enough. */
static bool lacks_locals(const struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++) {
        const struct dump_row *const row = &dump->rows[i];
        if (!row->locals && profile_thread_at(&dump->snapshot, row->thread).tid &&
            has_python(&dump->snapshot, row->node))
            return true;
    }
    return false;
}

static bool lacks_native(const struct dump *dump)
{
    for (size_t i = 0; i < dump->count; i++)
        if (dump->rows[i].lacks_native)
            return true;
    return false;
}

/* Reads the source text now: whoever writes the dump need not wait for it. */
static enum err_code read_expressions(struct dump *dump, struct err *err)
{
    dump->expressions = calloc(1, sizeof *dump->expressions);
    if (!dump->expressions)
        return err_nomem(err);
    expressions_init_session(dump->expressions, dump->session, &dump->snapshot);
    /* The files of a deadlock first: there may be no time for all. */
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < dump->locks.count; i++) {
            const struct lock_thread *const thread = &dump->locks.items[i];
            for (size_t k = 0; k < thread->count && thread->is_stuck == (pass == 0); k++)
                (void)expressions_find(dump->expressions, &thread->uses[k]);
        }
    return ERR_OK;
}

/* The search for the last use of a lock. */
struct last_search {
    struct dump *dump;
    const struct lock_thread *waiter;
    const struct lock_use *wait;
    struct strtab_string expression;
    struct dump_last_use *found;
    size_t *bytes_left;
};

bool dump_lacks_holder(const struct dump *dump, const struct lock_thread *thread)
{
    static const char end[] = "ock"; /* of "Lock", or "lock" */
    const struct lock_use *const wait = lock_thread_wait(thread);
    if (!wait || !wait->may_be_held || wait->has_owner)
        return false;
    const struct lock_holder holder = lock_graph_holder(&dump->locks, thread);
    const struct strtab_string type = profile_string(&dump->snapshot, wait->type);
    const size_t bytes = sizeof end - 1;
    return lock_holder_is_none(&holder) && type.length >= bytes &&
           strcmp(type.text + type.length - bytes, end) == 0;
}

static bool waits_for(const struct lock_thread *locks, uint64_t lock)
{
    const struct lock_use *const wait = locks ? lock_thread_wait(locks) : NULL;
    return wait && wait->lock == lock;
}

/* Reads the frames of a thread or task, the innermost first.  locks: NULL: nothing is known of what it waits for. */
static void search_stack(struct last_search *search, node_id node,
                         const struct lock_thread *locks)
{
    const struct profile_snapshot *const snapshot = &search->dump->snapshot;
    const struct lock_use *const wait = locks ? lock_thread_wait(locks) : NULL;
    for (unsigned i = 0; i < DUMP_LAST_USE_FRAMES && node && !search->found->file; i++) {
        const struct profile_node at = profile_node_at(snapshot, node);
        const struct profile_frame frame = profile_frame_at(snapshot, at.frame);
        const struct profile_function function = profile_function_at(snapshot, frame.function);
        node = at.parent;
        if (function.file != search->wait->file || frame.line <= 0)
            continue;
        /* The line that still waits has not used it yet. */
        const bool waits_here = wait && wait->lock == search->wait->lock &&
                                wait->file == function.file && wait->line == frame.line;
        const bool is_module =
            strcmp(profile_string(snapshot, function.name).text, "<module>") == 0;
        const int32_t line = expressions_find_acquire(
            search->dump->expressions, function.file, search->expression,
            is_module ? 0 : function.first_line, waits_here ? frame.line - 1 : frame.line,
            search->bytes_left);
        if (line)
            *search->found = (struct dump_last_use){ search->wait->lock, function.name,
                                                     function.file, line };
    }
}

/* Reads the stacks of those who do not wait for the lock first: who does seldom has it, and there may be thousands. */
static void search_dump(struct last_search *search)
{
    struct dump *const dump = search->dump;
    const pid_t pid = search->waiter->pid;
    for (unsigned waits = 0; waits < 2; waits++) {
        for (size_t i = 0; i < dump->count && !search->found->file; i++) {
            const int32_t tid = profile_thread_at(&dump->snapshot, dump->rows[i].thread).tid;
            const struct lock_thread *const locks =
                tid ? lock_graph_find(&dump->locks, pid, tid) : NULL;
            if (waits_for(locks, search->wait->lock) == (waits == 1))
                search_stack(search, dump->rows[i].node, locks);
        }
        for (size_t i = 0; i < dump->tasks.count && !search->found->file; i++) {
            const struct session_task *const task = &dump->tasks.items[i];
            const struct lock_thread *const locks =
                lock_graph_find_task(&dump->locks, pid, task->tid, task->address);
            if (waits_for(locks, search->wait->lock) == (waits == 1))
                search_stack(search, task->node, locks);
        }
    }
}

/* NULL: the lock has not been searched for. */
static const struct dump_last_use *find_searched(const struct dump *dump, uint64_t lock)
{
    for (size_t i = 0; i < dump->last_use_count; i++)
        if (dump->last_uses[i].lock == lock)
            return &dump->last_uses[i];
    return NULL;
}

/* The source must have been read.  Many may wait for one lock, which is searched for once. */
static void find_last_uses(struct dump *dump)
{
    size_t bytes_left = DUMP_LAST_USE_BYTES;
    for (size_t i = 0; i < dump->locks.count && dump->last_use_count < DUMP_MAX_LAST_USES;
         i++) {
        const struct lock_thread *const waiter = &dump->locks.items[i];
        if (!dump_lacks_holder(dump, waiter))
            continue;
        const struct lock_use *const wait = lock_thread_wait(waiter);
        const struct strtab_string expression = expressions_find(dump->expressions, wait);
        if (!expression.length || find_searched(dump, wait->lock))
            continue;
        struct dump_last_use *const found = &dump->last_uses[dump->last_use_count++];
        *found = (struct dump_last_use){ .lock = wait->lock };
        struct last_search search = { dump, waiter, wait, expression, found, &bytes_left };
        search_dump(&search);
    }
}

/* The main thread first. */
static int by_place(const void *left, const void *right, void *snapshot)
{
    const struct profile_thread a =
        profile_thread_at(snapshot, ((const struct dump_row *)left)->thread);
    const struct profile_thread b =
        profile_thread_at(snapshot, ((const struct dump_row *)right)->thread);
    if (a.is_main != b.is_main)
        return a.is_main ? -1 : 1;
    return (a.tid > b.tid) - (a.tid < b.tid);
}

/* The time in which all threads have their turn, if as many have it in `spent_ns` as had now, and a quarter more. */
static uint64_t time_of_all(const struct dump *dump, uint64_t spent_ns)
{
    const uint64_t turns = dump->left_out / (dump->count | !dump->count) + 2;
    const uint64_t needed_ns =
        turns < MOST_IN_TURN_NS / spent_ns ? turns * spent_ns / 4 * 5 : MOST_IN_TURN_NS;
    return needed_ns < MOST_IN_TURN_NS ? needed_ns : MOST_IN_TURN_NS;
}

enum err_code dump_check_memory(pid_t pid, const struct process_facts *facts, struct err *err)
{
    return facts->memory_of
               ? err_set(err, ERR_NOT_PYTHON,
                         "process %d runs in the memory of process %d until it executes a "
                         "program: dump that one",
                         (int)pid, (int)facts->memory_of)
               : ERR_OK;
}

enum err_code dump_take(struct dump *dump, pid_t pid, const struct dump_request *request,
                        const atomic_bool *is_ending, struct err *err)
{
    struct taking taking = { .dump = dump, .takes_nodes = request->locals != 0 };
    const struct sink sink = { .context = &taking, .count = take_run, .seal = take_seal };
    struct session_options options = { .pids = { pid },
                                       .pid_count = 1,
                                       .rate_hz = RATE_HZ,
                                       .duration_ns = MOST_IN_TURN_NS,
                                       .all_threads = true,
                                       .native = request->native,
                                       .stop = request->stop,
                                       .locals = request->locals,
                                       .async = request->async,
                                       .tasks_each = true,
                                       .tasks_beside = !request->shows_tasks,
                                       .locks = true,
                                       .least_ticks = LOCK_READINGS,
                                       .threads_in_turn = true,
                                       .opcodes = request->instructions,
                                       .sink = &sink };
    enum err_code rc = ERR_OK;
    bool has_scanned = false, is_poor = false;
    uint64_t tick_ns = TICK_NS;
    unsigned tries = 0;
    memset(dump, 0, sizeof *dump);
    dump->rows = malloc(DUMP_MAX_ROWS * sizeof *dump->rows);
    if (!dump->rows)
        return err_nomem(err);
    do {
        drop_request(dump);
        rc = sample(dump, &options, tick_ns, is_ending, &has_scanned, err);
        if (rc)
            break;
        const bool is_partial =
            dump->left_out > 0 && dump->count < DUMP_MAX_THREADS && tick_ns < MOST_IN_TURN_NS;
        if (is_partial)
            tick_ns = time_of_all(dump, tick_ns);
        else
            tick_ns *= has_scanned && !lacks_locks(dump) ? 1 : 2;
        tries += has_scanned;
        is_poor = (has_moving(dump) && tries < TASK_TRIES) ||
                  (lacks_native(dump) && tries < NATIVE_TRIES) ||
                  (lacks_locks(dump) && tries < LOCK_TRIES && tick_ns < MOST_NS) ||
                  (request->locals && lacks_locals(dump) && tries < LOCALS_TRIES) || is_partial;
        /* A thread that cannot be stopped, because a debugger has it or nobody knows its number, is read as it is. */
        if (options.stop == SESSION_STOP_ALWAYS && dump->has_snapshot &&
            dump->snapshot.quality.failed_perm) {
            options.stop = SESSION_STOP_AUTO;
            is_poor = true;
        }
    } while (has_scanned ? is_poor : tick_ns < MOST_NS);
    if (!rc)
        rc = read_expressions(dump, err);
    if (rc)
        dump_deinit(dump);
    else
        qsort_r(dump->rows, dump->count, sizeof *dump->rows, by_place, &dump->snapshot);
    if (!rc)
        find_last_uses(dump);
    return rc;
}

bool dump_warning(const struct dump *dump, size_t index, char out[DUMP_WARNING_BYTES])
{
    size_t before = 0;
    if (!dump->core)
        return false;
    while (session_core_warning(dump->core, before, out))
        if (before++ == index)
            return true;
    /* Every tick reads all threads of a core. */
    const struct quality *const quality = &dump->snapshot.quality;
    const uint64_t failed = quality->failed_fault + quality->failed_corrupt;
    if (index > before || !failed || !quality->ticks)
        return false;
    snprintf(out, DUMP_WARNING_BYTES,
             "%" PRIu64 " threads of Python cannot be read: the core lacks their memory",
             (failed + quality->ticks - 1) / quality->ticks);
    return true;
}

pid_t dump_pid(const struct dump *dump)
{
    return dump->core ? session_core_facts(dump->core)->pid
                      : session_target(dump->session)->pid;
}

const struct session_task *dump_find_task(const struct dump *dump, uint64_t address)
{
    for (size_t i = 0; i < dump->tasks.count; i++)
        if (dump->tasks.items[i].address == address)
            return &dump->tasks.items[i];
    return NULL;
}

const struct dump_last_use *dump_find_last_use(const struct dump *dump,
                                               const struct lock_use *wait)
{
    const struct dump_last_use *const found = find_searched(dump, wait->lock);
    return found && found->file ? found : NULL;
}

void dump_deinit(struct dump *dump)
{
    if (dump->expressions)
        expressions_deinit(dump->expressions);
    free(dump->expressions);
    drop_request(dump);
    free(dump->rows);
    memset(dump, 0, sizeof *dump);
}
