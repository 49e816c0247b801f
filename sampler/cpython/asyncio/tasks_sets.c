#include <string.h>

#include "sampler/cpython/asyncio/tasks_parts.h"
#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/objects/object.h"

enum {
    WORD = sizeof(uint64_t),
    FIRST_WITH_EAGER = 12,
    MAX_MEMBERS = TASKS_MAX,
    /* The part of a task that is searched for its coroutine. */
    TASK_BYTES = PREDICTED_READS_MAX_BYTES,
    /* The first field of a future is the event loop; those of a list are its length and its items. */
    LIST_ITEMS_WORDS = 1,
    TYPE_BASE = 256, /* in builds with a GIL */
    MAX_BASES = 16,
};

static enum err_code find_module(const struct tasks *tasks, const char *name,
                                 remote_addr *attributes)
{
    const struct layout *const layout = tasks->layout;
    remote_addr interp, modules, module;
    enum err_code rc = memory_read_u64(
        tasks->memory, tasks->runtime->addr + layout->runtime_interpreters_head, &interp);
    const struct thread *const main = thread_list_main(tasks->threads);
    if (!rc && main)
        interp = main->head.interp;
    if (!rc)
        rc = memory_read_u64(tasks->memory, interp + layout->interp_imports_modules, &modules);
    if (!rc)
        rc = dict_find(tasks->memory, layout, modules, name, &module);
    if (!rc)
        rc = memory_read_u64(tasks->memory, module + tasks_first_field(tasks), attributes);
    return rc;
}

enum err_code tasks_find_sets(struct tasks *tasks)
{
    const struct layout *const layout = tasks->layout;
    struct task_places *const places = &tasks->places;
    const bool has_eager = LAYOUT_MINOR(layout->version) >= FIRST_WITH_EAGER;
    remote_addr attributes, weak;
    enum err_code rc = find_module(tasks, "asyncio.tasks", &attributes);
    if (!rc)
        rc = dict_find(tasks->memory, layout, attributes,
                       has_eager ? "_scheduled_tasks" : "_all_tasks", &weak);
    if (!rc)
        rc = object_attribute(tasks->memory, layout, weak, "data", &places->sets[0]);
    if (!rc && has_eager)
        rc = dict_find(tasks->memory, layout, attributes, "_eager_tasks", &places->sets[1]);
    if (!rc)
        rc = dict_find(tasks->memory, layout, attributes, "_current_tasks", &places->current);
    return rc;
}

/* Is the type _asyncio.Task, or derived from it? */
static bool read_is_task_type(const struct tasks *tasks, remote_addr type)
{
    const remote_addr base = TYPE_BASE + layout_object_shift(tasks->layout);
    for (int i = 0; i < MAX_BASES && type; i++) {
        if (object_type_is(tasks->memory, tasks->layout, type, "_asyncio.Task"))
            return true;
        if (memory_read_u64(tasks->memory, type + base, &type))
            return false;
    }
    return false;
}

static bool is_task_type(struct tasks *tasks, remote_addr type)
{
    for (size_t i = 0; i < tasks->type_count; i++)
        if (tasks->types[i].addr == type)
            return tasks->types[i].is_task;
    const struct task_type seen = { type, read_is_task_type(tasks, type) };
    if (tasks->type_count < TASKS_MAX_TYPES)
        tasks->types[tasks->type_count++] = seen;
    return seen.is_task;
}

/* The name follows the coroutine. */
static enum err_code find_fields(struct tasks *tasks, remote_addr addr)
{
    struct task_places *const places = &tasks->places;
    const unsigned char *copy;
    const enum err_code rc = predicted_reads_get(&tasks->reads, addr, TASK_BYTES, &copy);
    if (rc)
        return rc;
    for (uint32_t at = tasks_first_field(tasks); at + 2 * WORD <= TASK_BYTES; at += WORD)
        if (coroutine_is_at(&tasks->coroutines, field_u64(copy, at))) {
            places->task_coroutine = at;
            places->task_name = at + WORD;
            places->task_bytes = at + 2 * WORD;
            return ERR_OK;
        }
    return ERR_CORRUPT;
}

/* The thread of an event loop.  asyncio's loops store it; a loop that is not written in Python does not,
 * and is taken to be the main thread's. */
static uint64_t ident_of(struct tasks *tasks, remote_addr loop)
{
    const struct layout *const layout = tasks->layout;
    enum { DIGITS_AFTER_HEAD = 1, DIGIT_BITS = 30, DIGITS = 2 };
    const struct thread *const main = thread_list_main(tasks->threads);
    uint32_t digits[DIGITS];
    remote_addr number;
    for (size_t i = 0; i < tasks->loop_count; i++)
        if (tasks->loops[i].addr == loop)
            return tasks->loops[i].ident;
    uint64_t ident = main ? main->head.ident : 0;
    if (!object_attribute(tasks->memory, layout, loop, "_thread_id", &number) &&
        !memory_read(tasks->memory,
                     number + tasks_first_field(tasks) + DIGITS_AFTER_HEAD * WORD, digits,
                     sizeof digits)) {
        const uint64_t thread_ident = digits[0] | (uint64_t)digits[1] << DIGIT_BITS;
        for (size_t i = 0; i < tasks->threads->count; i++)
            if (tasks->threads->items[i]->head.ident == thread_ident)
                ident = thread_ident;
    }
    if (tasks->loop_count < TASKS_MAX_LOOPS)
        tasks->loops[tasks->loop_count++] = (struct task_loop){ loop, ident };
    return ident;
}

static enum err_code collect_task(struct tasks *tasks, remote_addr addr, struct task **out)
{
    const unsigned char *copy;
    *out = NULL;
    enum err_code rc =
        predicted_reads_get(&tasks->reads, addr, tasks_first_field(tasks), &copy);
    if (!rc && !is_task_type(tasks, field_u64(copy, tasks->layout->object_type)))
        rc = ERR_CORRUPT;
    if (!rc && !tasks->places.task_bytes)
        rc = find_fields(tasks, addr);
    if (!rc)
        rc = predicted_reads_get(&tasks->reads, addr, tasks->places.task_bytes, &copy);
    /* A task that has ended may have released its coroutine. */
    if (rc || !field_u64(copy, tasks->places.task_coroutine))
        return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
    return tasks_add(tasks, addr, copy,
                     ident_of(tasks, field_u64(copy, tasks_first_field(tasks))), out);
}

static enum err_code collect_set(struct tasks *tasks, remote_addr set, bool is_weak)
{
    remote_addr members[MAX_MEMBERS];
    size_t count = 0;
    enum err_code rc = tasks_read_set(tasks, set, members, MAX_MEMBERS, &count);
    for (size_t i = 0; i < count && !rc; i++) {
        const unsigned char *copy;
        struct task *task;
        remote_addr addr = members[i];
        if (is_weak &&
            predicted_reads_get(&tasks->reads, addr, tasks_first_field(tasks) + WORD, &copy))
            continue;
        if (is_weak)
            addr = field_u64(copy, tasks_first_field(tasks));
        rc = collect_task(tasks, addr, &task);
    }
    return rc == ERR_FAULT || rc == ERR_CORRUPT ? ERR_OK : rc;
}

static enum err_code mark_running(struct tasks *tasks)
{
    struct dict_entries entries;
    const enum err_code rc =
        dict_read(tasks->memory, tasks->layout, tasks->places.current, &entries);
    if (rc)
        return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
    for (size_t i = 0; i < entries.count; i++) {
        struct task *const task = tasks_find(tasks, entries.items[i].value);
        if (task)
            task->is_running = true;
    }
    dict_entries_deinit(&entries);
    return ERR_OK;
}

enum err_code tasks_collect_sets(struct tasks *tasks)
{
    enum err_code rc = collect_set(tasks, tasks->places.sets[0], true);
    if (!rc && tasks->places.sets[1])
        rc = collect_set(tasks, tasks->places.sets[1], false);
    return rc ? rc : mark_running(tasks);
}

/* Adds edges to the tasks that the future of asyncio.gather waits for. */
static enum err_code link_gathered(struct tasks *tasks, const struct task *awaiter)
{
    remote_addr list, items, children[MAX_MEMBERS];
    uint64_t count = 0;
    const uint32_t head = tasks_first_field(tasks);
    enum err_code rc =
        object_attribute(tasks->memory, tasks->layout, awaiter->awaits, "_children", &list);
    if (!rc)
        rc = memory_read_u64(tasks->memory, list + head, &count);
    if (!rc)
        rc = memory_read_u64(tasks->memory, list + head + LIST_ITEMS_WORDS * WORD, &items);
    count = count < MAX_MEMBERS ? count : MAX_MEMBERS;
    if (!rc && count)
        rc = memory_read(tasks->memory, items, children, (size_t)count * WORD);
    for (size_t i = 0; i < count && !rc; i++)
        rc = tasks_add_edge(tasks, tasks_find(tasks, children[i]), awaiter);
    return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
}

enum err_code tasks_link_sets(struct tasks *tasks)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < tasks->count && !rc; i++) {
        const struct task *const awaiter = &tasks->items[i];
        const struct task *const task = tasks_find(tasks, awaiter->awaits);
        const unsigned char *copy;
        if (task)
            rc = tasks_add_edge(tasks, task, awaiter);
        else if (awaiter->awaits &&
                 !predicted_reads_get(&tasks->reads, awaiter->awaits, tasks_first_field(tasks),
                                      &copy) &&
                 coroutine_kind_of(&tasks->coroutines,
                                   field_u64(copy, tasks->layout->object_type)) ==
                     COROUTINE_GATHER)
            rc = link_gathered(tasks, awaiter);
    }
    return rc;
}
