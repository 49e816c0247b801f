#include "sampler/cpython/asyncio/tasks_parts.h"
#include "sampler/cpython/objects/object.h"

enum { FIRST_WITH_LISTS = 14, NODE_BYTES = 16, WORD = sizeof(uint64_t), MAX_MEMBERS = 4096 };

bool tasks_have_lists(const struct tasks *tasks)
{
    return LAYOUT_MINOR(tasks->layout->version) >= FIRST_WITH_LISTS;
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

enum err_code tasks_find_lists(struct tasks *tasks)
{
    struct task_places *const places = &tasks->places;
    uint64_t slots[SLOTS];
    remote_addr addr;
    enum err_code rc = runtime_find_section(tasks->pid, ".AsyncioDebug", &addr);
    if (!rc)
        rc = memory_read(tasks->memory, addr, slots, sizeof slots);
    if (!rc && !can_be_true(slots))
        rc = ERR_CORRUPT;
    if (rc)
        return rc;
    places->task_bytes = (uint32_t)slots[TASK_SIZE];
    places->task_name = (uint32_t)slots[TASK_NAME];
    places->task_coroutine = (uint32_t)slots[TASK_CORO];
    places->task_node = (uint32_t)slots[TASK_NODE];
    places->task_awaited_by = (uint32_t)slots[TASK_AWAITED_BY];
    places->task_awaited_by_is_set = (uint32_t)slots[TASK_AWAITED_BY_IS_SET];
    places->interp_tasks = (uint32_t)slots[INTERP_TASKS_HEAD];
    places->thread_running = (uint32_t)slots[THREAD_RUNNING_TASK];
    places->thread_tasks = (uint32_t)slots[THREAD_TASKS_HEAD];
    return ERR_OK;
}

/* A list may change while it is followed.  If a link leads elsewhere the walk ends; the tasks found
 * before that are valid. */
static enum err_code collect(struct tasks *tasks, remote_addr head, uint64_t ident)
{
    const struct task_places *const places = &tasks->places;
    const unsigned char *copy;
    enum err_code rc = predicted_reads_get(&tasks->reads, head, NODE_BYTES, &copy);
    remote_addr node = rc ? head : field_u64(copy, 0);
    while (!rc && node != head && node) {
        struct task *task;
        const remote_addr addr = node - places->task_node;
        rc = predicted_reads_get(&tasks->reads, addr, places->task_bytes, &copy);
        if (!rc)
            rc = tasks_add(tasks, addr, copy, ident, &task);
        if (rc || !task)
            break;
        node = field_u64(copy, places->task_node);
    }
    return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
}

static enum err_code mark_running(struct tasks *tasks, const struct thread *thread)
{
    const unsigned char *copy;
    enum err_code rc = predicted_reads_get(
        &tasks->reads, thread->head.addr + tasks->places.thread_running, WORD, &copy);
    struct task *const task = rc ? NULL : tasks_find(tasks, field_u64(copy, 0));
    if (task)
        task->is_running = true;
    return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
}

enum err_code tasks_collect_lists(struct tasks *tasks)
{
    const struct thread_list *const list = tasks->threads;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < list->count && !rc; i++) {
        const struct thread *const thread = list->items[i];
        rc = collect(tasks, thread->head.addr + tasks->places.thread_tasks, thread->head.ident);
        if (!rc)
            rc = mark_running(tasks, thread);
    }
    /* The interpreter has the tasks of threads that have ended. */
    for (size_t i = 0; i < list->interpreter_count && !rc; i++)
        rc = collect(tasks, list->interpreters[i].addr + tasks->places.interp_tasks, 0);
    return rc;
}

static enum err_code link_set(struct tasks *tasks, const struct task *task, remote_addr set)
{
    remote_addr members[MAX_MEMBERS];
    size_t count;
    enum err_code rc = tasks_read_set(tasks, set, members, MAX_MEMBERS, &count);
    for (size_t i = 0; i < count && !rc; i++)
        rc = tasks_add_edge(tasks, task, tasks_find(tasks, members[i]));
    return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
}

enum err_code tasks_link_lists(struct tasks *tasks)
{
    const struct task_places *const places = &tasks->places;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < tasks->count && !rc; i++) {
        const struct task *const task = &tasks->items[i];
        const unsigned char *copy;
        rc = predicted_reads_get(&tasks->reads, task->addr, places->task_bytes, &copy);
        const remote_addr by = rc ? 0 : field_u64(copy, places->task_awaited_by);
        if (rc == ERR_FAULT)
            rc = ERR_OK;
        if (!rc && by)
            rc = copy[places->task_awaited_by_is_set]
                     ? link_set(tasks, task, by)
                     : tasks_add_edge(tasks, task, tasks_find(tasks, by));
    }
    return rc;
}
