#include "sampler/session/lock_reader.h"

#include "sampler/cpython/python.h"
#include "sampler/process_tree.h"
#include "sampler/session/engine.h"
#include "sampler/session/fold/lock_board.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/target.h"

/* The time before a reading that it may stand for: it is not known what was before that. */
static const uint64_t MAX_STEP_NS = 3 * NS_PER_S;

struct pass {
    struct lock_board *board;
    struct engine *engine;
    uint64_t now_ns, end_ns;
};

static enum err_code note(const struct pass *pass, const struct target *target,
                          const struct thread *thread, uint64_t since_ns,
                          const struct lock_use *uses, size_t count)
{
    struct lock_report report = {
        .pid = target->process.pid, .tid = thread->host_tid, .uses = uses, .count = count
    };
    if (count && uses[0].is_waited)
        report.switches = uses[0].gil_turn;
    if (count && uses[0].is_waited && !uses[0].gil_turn)
        (void)process_thread_waits(report.pid, report.tid, &report.switches);
    return lock_board_note(pass->board, &report, since_ns, pass->now_ns);
}

static struct lock_user user_of(const struct target *target, const struct thread *thread)
{
    return (struct lock_user){ .pid = target->process.pid, .tid = thread->host_tid };
}

/* Reads a thread that has stood still since then, unless that is known already. */
static enum err_code read_still(const struct pass *pass, const struct target *target,
                                struct thread *thread, uint64_t since_ns)
{
    const struct engine_ops *const ops = pass->engine->ops;
    struct lock_use uses[LOCK_USES_MAX];
    struct system_call call = { 0 };
    size_t count = 0;
    bool stands = false;
    const bool is_late = clock_now_ns() > pass->end_ns;
    if (lock_board_keep(pass->board, user_of(target, thread), since_ns, pass->now_ns,
                        is_late) ||
        is_late)
        return ERR_OK;
    enum err_code rc = ops->check_stands(pass->engine, target, thread, clock_now_ns(), &stands);
    if (rc || !stands ||
        thread_cpus_ask(target->fold.cpus, thread->tag - 1u, target->process.pid,
                        thread->host_tid, &call) != VALUE_NO ||
        (call.is_known && system_call_kind(call.number) != CALL_FUTEX))
        return rc;
    rc = python_read_locks(target->python, thread, VALUE_NO, &call, uses, &count);
    if (!rc)
        rc = ops->check_stands(pass->engine, target, thread, clock_now_ns(), &stands);
    if (rc || !stands)
        return rc;
    return note(pass, target, thread, since_ns, uses, count);
}

static bool is_of_thread(const struct thread *thread)
{
    return thread->host_tid > 0 && !thread->is_inner && thread->kept;
}

static enum err_code read_waiting(const struct pass *pass, const struct target *target)
{
    size_t count;
    struct thread *const *const threads = python_threads(target->python, &count);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < count && !rc; i++) {
        const uint64_t since_ns =
            is_of_thread(threads[i]) ? pass->engine->ops->stands_since(pass->engine, target,
                                                                       threads[i], pass->now_ns)
                                     : 0;
        if (since_ns)
            rc = read_still(pass, target, threads[i], since_ns);
    }
    return rc;
}

/* The tasks of the last reading; those that have moved since are left out. */
static enum err_code read_tasks(const struct pass *pass, const struct target *target)
{
    const struct tasks *const tasks = target->fold.tasks ? target->tasks.tasks : NULL;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; tasks && i < tasks->table.count && !rc; i++) {
        const struct task *const task = &tasks->table.items[i];
        struct lock_report report = target_task_report(target, task);
        struct lock_use uses[LOCK_USES_MAX];
        const bool is_late = clock_now_ns() > pass->end_ns;
        const struct lock_user user = { report.pid, report.tid, task->addr };
        if (lock_board_keep(pass->board, user, task->since_ns, pass->now_ns, is_late) ||
            is_late)
            continue;
        report.uses = uses;
        rc = python_read_task_locks(target->python, task, uses, &report.count);
        if (!rc && report.count)
            rc = lock_board_note(pass->board, &report, task->since_ns, pass->now_ns);
    }
    return rc;
}

static enum err_code read_moving(const struct pass *pass, const struct target *target)
{
    size_t count, left = LOCK_READER_MAX_MOVING;
    struct thread *const *const threads = python_threads(target->python, &count);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < count && left && !rc && clock_now_ns() < pass->end_ns; i++) {
        const struct thread *const thread = threads[i];
        struct lock_use uses[LOCK_USES_MAX];
        size_t held = 0;
        if (!is_of_thread(thread) || lock_board_is_read(pass->board, user_of(target, thread)))
            continue;
        left--;
        rc = python_read_moving_locks(target->python, thread, uses, &held);
        if (!rc && held)
            rc = note(pass, target, thread, 0, uses, held);
    }
    return rc;
}

static enum err_code read_all(const struct pass *pass, struct target *const *targets,
                              size_t count)
{
    enum err_code rc = ERR_OK;
    lock_board_begin(pass->board);
    for (size_t i = 0; i < count && !rc; i++)
        if (target_is_same(targets[i]))
            rc = read_waiting(pass, targets[i]);
    for (size_t i = 0; i < count && !rc; i++)
        if (target_is_same(targets[i]))
            rc = read_tasks(pass, targets[i]);
    if (!rc)
        rc = lock_board_find_held(pass->board);
    for (size_t i = 0; i < count && !rc; i++)
        if (lock_board_lacks_holder(pass->board, targets[i]->process.pid))
            rc = read_moving(pass, targets[i]);
    return rc ? rc : lock_board_find_held(pass->board);
}

enum err_code lock_reader_read(struct lock_reader *reader, struct lock_board *board,
                               struct engine *engine, struct target *const *targets,
                               size_t count)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t step_ns = reader->read_ns ? now_ns - reader->read_ns : 0;
    if (now_ns < reader->due_ns || !count || !engine->ops->stands_since ||
        targets[0]->options->locks)
        return ERR_OK;
    const struct pass pass = { board, engine, now_ns, now_ns + LOCK_READER_MAX_NS };
    const uint64_t began_ns = clock_thread_ns();
    enum err_code rc = read_all(&pass, targets, count);
    if (!rc)
        rc = lock_board_count(board, now_ns, step_ns < MAX_STEP_NS ? step_ns : 0);
    const uint64_t spent_ns = clock_thread_ns() - began_ns;
    reader->read_ns = now_ns;
    reader->due_ns = now_ns + (spent_ns * LOCK_READER_SHARE > LOCK_READER_PERIOD_NS
                                   ? spent_ns * LOCK_READER_SHARE
                                   : LOCK_READER_PERIOD_NS);
    return rc;
}
