#include "sampler/cpython/asyncio/task_lists.h"

#include <stdlib.h>

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

void task_lists_deinit(struct task_lists *lists)
{
    free(lists->trail.nodes);
    free(lists->trail.before);
    lists->trail = (struct task_trail){ 0 };
}

/* The node after one whose task is not chosen.  Tasks that have ended since are missing from the list. */
static enum err_code next_node(struct task_lists *lists, remote_addr *node)
{
    /* A list that is another one at each reading is not followed to its end. */
    enum { MOST_ENDED = 16, MOST_SINGLE = 1 << 17 };
    struct task_trail *const trail = &lists->trail;

    if (!trail->nodes)
        trail->nodes = malloc(TASK_LISTS_MAX * sizeof *trail->nodes);
    if (!trail->nodes)
        return ERR_NOMEM;
    if (trail->count == TASK_LISTS_MAX)
        return ERR_LIMIT;
    trail->nodes[trail->count++] = *node;

    for (size_t i = 0; i < MOST_ENDED && trail->at + i < trail->before_count; i++) {
        if (trail->before[trail->at + i] != *node)
            continue;
        trail->at += i;
        if (trail->at - trail->first_link >= trail->link_count) {
            struct memory_span spans[TASK_LISTS_LINKS];
            const size_t left = trail->before_count - trail->at;
            const size_t count = left < TASK_LISTS_LINKS ? left : TASK_LISTS_LINKS;
            size_t arrived = 0;
            for (size_t j = 0; j < count; j++)
                spans[j] = (struct memory_span){ trail->before[trail->at + j], &trail->links[j],
                                                 WORD };
            (void)!memory_readv(lists->reads->memory, spans, count, &arrived);
            trail->first_link = trail->at;
            trail->link_count = arrived / WORD;
        }
        const size_t link = trail->at++ - trail->first_link;
        if (link >= trail->link_count)
            break;
        *node = trail->links[link];
        return ERR_OK;
    }
    return trail->single++ < MOST_SINGLE ? memory_read_u64(lists->reads->memory, *node, node)
                                         : ERR_LIMIT;
}

static enum err_code add_task(struct task_lists *lists, remote_addr addr, uint64_t ident,
                              struct task **out)
{
    const struct task_list_offsets *const offsets = &lists->offsets;
    const unsigned char *copy;
    *out = NULL;
    const enum err_code rc = predicted_reads_get(lists->reads, addr, offsets->bytes, &copy);
    if (rc)
        return rc;
    return task_table_add(lists->table,
                          &(struct task){ .addr = addr,
                                          .coroutine = field_u64(copy, offsets->coroutine),
                                          .name_object = field_u64(copy, offsets->name),
                                          .ident = ident },
                          out);
}

/* A list may change while it is followed.  If a link leads elsewhere the walk ends; the tasks found
 * before that are valid. */
static enum err_code collect_list(struct task_lists *lists, remote_addr head, uint64_t ident)
{
    const struct task_list_offsets *const offsets = &lists->offsets;
    const unsigned char *copy;
    enum err_code rc = predicted_reads_get(lists->reads, head, NODE_BYTES, &copy);
    remote_addr node = rc ? head : field_u64(copy, 0);
    while (!rc && node != head && node) {
        struct task *task;
        const remote_addr addr = node - offsets->node;
        if (task_table_find(lists->table, addr))
            break;
        if (!task_table_wants(lists->table, addr)) {
            rc = next_node(lists, &node);
            continue;
        }
        rc = add_task(lists, addr, ident, &task);
        if (!rc)
            rc = predicted_reads_get(lists->reads, addr, offsets->bytes, &copy);
        if (rc || !task)
            break;
        node = field_u64(copy, offsets->node);
    }
    return rc == ERR_NOMEM || rc == ERR_GONE || rc == ERR_LIMIT ? rc : ERR_OK;
}

enum err_code task_lists_collect(struct task_lists *lists)
{
    const struct thread_list *const threads = lists->threads;
    enum err_code rc = ERR_OK;

    remote_addr *const nodes = lists->trail.before;
    lists->trail.before = lists->trail.nodes;
    lists->trail.before_count = lists->trail.count;
    lists->trail.nodes = nodes;
    lists->trail.count = lists->trail.at = lists->trail.link_count = lists->trail.single = 0;

    for (size_t i = 0; i < threads->count && !rc; i++) {
        const struct thread *const thread = threads->items[i];
        rc = collect_list(lists, thread->head.addr + lists->offsets.thread_tasks,
                          thread->head.ident);
    }
    /* The interpreter has the tasks of threads that have ended. */
    for (size_t i = 0; i < threads->interpreter_count && !rc; i++)
        rc =
            collect_list(lists, threads->interpreters[i].addr + lists->offsets.interp_tasks, 0);
    /* One of them may be in a list without being chosen, which would seem to end there. */
    for (size_t i = 0; i < threads->count && !rc; i++) {
        const unsigned char *copy;
        rc = predicted_reads_get(lists->reads,
                                 threads->items[i]->head.addr + lists->offsets.thread_running,
                                 WORD, &copy);
        const remote_addr running = rc ? 0 : field_u64(copy, 0);
        struct task *task = task_table_find(lists->table, running);
        /* One that is not chosen belongs to a stack all the same. */
        if (!task && running && lists->table->below < TASK_TABLE_WHOLE)
            rc = add_task(lists, running, threads->items[i]->head.ident, &task);
        if (task)
            task->is_running = true;
        rc = rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
    }
    return rc;
}

/* An awaiter that is not chosen belongs to the stacks of those that are. */
static enum err_code link_awaiter(struct task_lists *lists, const struct task *task,
                                  remote_addr by)
{
    struct task *awaiter = task_table_find(lists->table, by);
    enum err_code rc = ERR_OK;
    if (!awaiter && lists->table->below < TASK_TABLE_WHOLE)
        rc = add_task(lists, by, task->ident, &awaiter);
    return rc ? rc : task_table_add_edge(lists->table, task, awaiter);
}

static enum err_code link_set(struct task_lists *lists, const struct task *task,
                              remote_addr set)
{
    remote_addr *const members = lists->table->members;
    size_t count;
    enum err_code rc =
        set_read(lists->reads, lists->layout, set, NULL, members, TASKS_MAX, &count);
    if (rc == ERR_LIMIT) {
        lists->table->is_cut = true;
        rc = ERR_OK;
    }
    for (size_t i = 0; i < count && !rc; i++)
        rc = link_awaiter(lists, task, members[i]);
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
            rc = copy[offsets->awaited_by_is_set] ? link_set(lists, task, by)
                                                  : link_awaiter(lists, task, by);
        if (rc == ERR_FAULT)
            rc = ERR_OK;
    }
    return rc;
}
