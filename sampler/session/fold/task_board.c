#include "sampler/session/fold/task_board.h"

#include <string.h>

#include "sampler/base/vec.h"

void task_board_init(struct task_board *board)
{
    memset(board, 0, sizeof *board);
    pthread_mutex_init(&board->mutex, NULL);
}

void task_board_deinit(struct task_board *board)
{
    session_tasks_deinit(&board->next);
    session_tasks_deinit(&board->shown);
    pthread_mutex_destroy(&board->mutex);
}

void task_board_begin(struct task_board *board)
{
    board->next.count = board->next.awaiter_count = 0;
    board->next.is_cut = false;
    board->next.at_ns = 0;
}

static uint64_t time_since(uint64_t created_ns, uint64_t ns)
{
    return ns > created_ns ? ns - created_ns : 0;
}

static enum err_code add_row(struct task_board *board, struct task_fold *fold,
                             const struct task *task, uint64_t created_ns)
{
    const struct thread *const thread = tasks_thread(fold->tasks, task);
    struct session_task row = { .pid = fold->nodes->pid,
                                .tid = thread ? thread->host_tid : 0,
                                .address = task->addr,
                                .name = task->name,
                                .number = task->number,
                                .is_running = task->is_running,
                                .is_moving = task->is_moving,
                                .seen_ns = time_since(created_ns, task->seen_ns),
                                .since_ns = time_since(created_ns, task->since_ns) };
    const enum err_code rc = task_fold_node(fold, task, &row.node);
    if (!rc || rc == ERR_LIMIT)
        board->next.items[board->next.count++] = row;
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

enum err_code task_board_add(struct task_board *board, struct task_fold *fold,
                             uint64_t created_ns)
{
    const struct tasks *const all = fold->tasks;
    struct session_tasks *const next = &board->next;
    const size_t first = next->count;
    size_t rows = SESSION_MAX_TASKS - first;
    rows = all->table.count < rows ? all->table.count : rows;

    enum err_code rc = VEC_RESERVE(next->items, board->room, next->count + rows) &&
                               VEC_RESERVE(next->awaiters, board->awaiter_room,
                                           next->awaiter_count + all->table.edge_count)
                           ? ERR_OK
                           : ERR_NOMEM;

    next->is_cut |= all->table.is_cut || rows < all->table.count;
    next->at_ns = time_since(created_ns, all->table.read_ns);
    for (size_t i = 0; i < rows && !rc; i++)
        rc = add_row(board, fold, &all->table.items[i], created_ns);
    for (size_t i = 0; i < rows && !rc; i++) {
        const struct task *const task = &all->table.items[i];
        struct session_task *const row = &next->items[first + i];
        row->first_awaiter = (uint32_t)next->awaiter_count;
        for (uint32_t k = 0; k < task->awaiter_count; k++) {
            const uint32_t awaiter = all->table.awaiters[task->first_awaiter + k];
            if (awaiter < rows)
                next->awaiters[next->awaiter_count++] = (uint32_t)first + awaiter;
        }
        row->awaiter_count = (uint32_t)next->awaiter_count - row->first_awaiter;
    }
    return rc;
}

void task_board_show(struct task_board *board)
{
    struct session_tasks copy, before;
    /* If memory runs out, readers keep the list before. */
    if (session_tasks_copy(&board->next, &copy, NULL))
        return;
    pthread_mutex_lock(&board->mutex);
    before = board->shown;
    board->shown = copy;
    pthread_mutex_unlock(&board->mutex);
    session_tasks_deinit(&before);
}

enum err_code task_board_copy(struct task_board *board, struct session_tasks *out,
                              struct err *err)
{
    pthread_mutex_lock(&board->mutex);
    const enum err_code rc = session_tasks_copy(&board->shown, out, err);
    pthread_mutex_unlock(&board->mutex);
    return rc;
}
