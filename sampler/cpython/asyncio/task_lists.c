#include "sampler/cpython/asyncio/task_lists.h"

#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/objects/set.h"

enum { NODE_BYTES = 16, WORD = sizeof(uint64_t) };

/* The sets of a reading may be many and large. */
static const uint64_t MAX_SET_BYTES = 1 << 26;

bool task_lists_exist(const struct layout *layout)
{
    return layout->has_task_lists;
}

/* struct Py_AsyncioModuleDebugOffsets in Modules/_asynciomodule.c. */
enum debug_slot {
    TASK_SIZE,
    TASK_NAME,
    TASK_AWAITED_BY,
    TASK_IS_TASK,
    TASK_AWAITED_BY_IS_SET,
    TASK_CORO,
    TASK_NODE,
    INTERP_SIZE,
    INTERP_TASKS_HEAD,
    THREAD_SIZE,
    THREAD_RUNNING_LOOP,
    THREAD_RUNNING_TASK,
    THREAD_TASKS_HEAD,
    SLOTS
};

static bool lies_in(const uint64_t *slots, enum debug_slot field, size_t bytes, uint64_t limit)
{
    return slots[field] < limit && slots[field] + bytes <= limit;
}

static bool can_be_true(const uint64_t *slots)
{
    return slots[TASK_SIZE] <= PREDICTED_READS_MAX_BYTES &&
           lies_in(slots, TASK_NAME, WORD, slots[TASK_SIZE]) &&
           lies_in(slots, TASK_AWAITED_BY, WORD, slots[TASK_SIZE]) &&
           lies_in(slots, TASK_AWAITED_BY_IS_SET, 1, slots[TASK_SIZE]) &&
           lies_in(slots, TASK_CORO, WORD, slots[TASK_SIZE]) &&
           lies_in(slots, TASK_NODE, NODE_BYTES, slots[TASK_SIZE]) &&
           lies_in(slots, INTERP_TASKS_HEAD, NODE_BYTES, LAYOUT_MAX_INTERP_BYTES) &&
           lies_in(slots, THREAD_RUNNING_TASK, WORD, LAYOUT_MAX_INTERP_BYTES) &&
           lies_in(slots, THREAD_TASKS_HEAD, NODE_BYTES, LAYOUT_MAX_INTERP_BYTES);
}

enum err_code task_lists_find(struct task_lists *lists)
{
    struct task_list_offsets *const offsets = &lists->offsets;
    uint64_t slots[SLOTS];
    remote_addr addr;
    enum err_code rc = runtime_find_section(lists->pid, ".AsyncioDebug", &addr);
    if (!rc)
        rc = memory_read(lists->reads->memory, addr, slots, sizeof slots);
    if (!rc && !can_be_true(slots))
        rc = ERR_CORRUPT;
    if (rc)
        return rc;
    offsets->bytes = (uint32_t)slots[TASK_SIZE];
    offsets->name = (uint32_t)slots[TASK_NAME];
    offsets->coroutine = (uint32_t)slots[TASK_CORO];
    offsets->node = (uint32_t)slots[TASK_NODE];
    offsets->awaited_by = (uint32_t)slots[TASK_AWAITED_BY];
    offsets->awaited_by_is_set = (uint32_t)slots[TASK_AWAITED_BY_IS_SET];
    offsets->interp_tasks = (uint32_t)slots[INTERP_TASKS_HEAD];
    offsets->thread_running = (uint32_t)slots[THREAD_RUNNING_TASK];
    offsets->thread_tasks = (uint32_t)slots[THREAD_TASKS_HEAD];
    return ERR_OK;
}

/* A list may change while it is followed.  If a link leads elsewhere the walk ends; the tasks found
 * before that are valid. */
static enum err_code collect(struct task_lists *lists, remote_addr head, uint64_t ident)
{
    const struct task_list_offsets *const offsets = &lists->offsets;
    const unsigned char *copy;
    enum err_code rc = predicted_reads_get(lists->reads, head, NODE_BYTES, &copy);
    remote_addr node = rc ? head : field_u64(copy, 0);
    while (!rc && node != head && node) {
        struct task *task;
        const remote_addr addr = node - offsets->node;
        rc = predicted_reads_get(lists->reads, addr, offsets->bytes, &copy);
        if (!rc)
            rc =
                task_table_add(lists->table,
                               &(struct task){ .addr = addr,
                                               .coroutine = field_u64(copy, offsets->coroutine),
                                               .name_object = field_u64(copy, offsets->name),
                                               .ident = ident },
                               &task);
        if (rc || !task)
            break;
        node = field_u64(copy, offsets->node);
    }
    return rc == ERR_NOMEM || rc == ERR_GONE || rc == ERR_LIMIT ? rc : ERR_OK;
}

static enum err_code mark_running(struct task_lists *lists, const struct thread *thread)
{
    const unsigned char *copy;
    enum err_code rc = predicted_reads_get(
        lists->reads, thread->head.addr + lists->offsets.thread_running, WORD, &copy);
    struct task *const task = rc ? NULL : task_table_find(lists->table, field_u64(copy, 0));
    if (task)
        task->is_running = true;
    return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
}

enum err_code task_lists_collect(struct task_lists *lists)
{
    const struct thread_list *const threads = lists->threads;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < threads->count && !rc; i++) {
        const struct thread *const thread = threads->items[i];
        rc =
            collect(lists, thread->head.addr + lists->offsets.thread_tasks, thread->head.ident);
        if (!rc)
            rc = mark_running(lists, thread);
    }
    /* The interpreter has the tasks of threads that have ended. */
    for (size_t i = 0; i < threads->interpreter_count && !rc; i++)
        rc = collect(lists, threads->interpreters[i].addr + lists->offsets.interp_tasks, 0);
    return rc;
}

static enum err_code link_set(struct task_lists *lists, const struct task *task,
                              remote_addr set)
{
    remote_addr *const members = lists->table->members;
    size_t count;
    enum err_code rc = set_read(lists->reads, lists->layout, set, members, TASKS_MAX, &count);
    if (rc == ERR_LIMIT) {
        lists->table->is_cut = true;
        rc = ERR_OK;
    }
    for (size_t i = 0; i < count && !rc; i++)
        rc = task_table_add_edge(lists->table, task, task_table_find(lists->table, members[i]));
    return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
}

enum err_code task_lists_link(struct task_lists *lists)
{
    const struct task_list_offsets *const offsets = &lists->offsets;
    const uint64_t began = lists->reads->memory->read_bytes;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < lists->table->count && !rc; i++) {
        const struct task *const task = &lists->table->items[i];
        if (lists->reads->memory->read_bytes - began > MAX_SET_BYTES)
            return ERR_LIMIT;
        const unsigned char *copy;
        rc = predicted_reads_get(lists->reads, task->addr, offsets->bytes, &copy);
        const remote_addr by = rc ? 0 : field_u64(copy, offsets->awaited_by);
        if (rc == ERR_FAULT)
            rc = ERR_OK;
        if (!rc && by)
            rc = copy[offsets->awaited_by_is_set]
                     ? link_set(lists, task, by)
                     : task_table_add_edge(lists->table, task,
                                           task_table_find(lists->table, by));
    }
    return rc;
}
