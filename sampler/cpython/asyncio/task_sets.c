#include "sampler/cpython/asyncio/task_sets.h"

#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/objects/set.h"

enum {
    WORD = sizeof(uint64_t),
    /* The part of a task that is searched for its coroutine. */
    TASK_BYTES = PREDICTED_READS_MAX_BYTES,
    /* The first field of a future is the event loop; those of a list are its length and its items. */
    LIST_ITEMS_WORDS = 1,
    TYPE_BASE = 256, /* in builds with a GIL */
    MAX_BASES = 16,
};

enum err_code task_sets_find(struct task_sets *sets)
{
    const struct layout *const layout = sets->layout;
    remote_addr attributes, weak;
    sets->loop_count = sets->type_count = 0;

    remote_addr interp, modules, module;
    enum err_code rc = memory_read_u64(
        sets->reads->memory, sets->runtime->addr + layout->runtime_interpreters_head, &interp);
    const struct thread *const main = thread_list_main(sets->threads);
    if (!rc && main)
        interp = main->head.interp;
    if (!rc)
        rc = memory_read_u64(sets->reads->memory, interp + layout->interp_imports_modules,
                             &modules);
    if (!rc)
        rc = dict_find(sets->reads->memory, layout, modules, "asyncio.tasks", &module);
    if (!rc)
        rc = memory_read_u64(sets->reads->memory, module + object_first_field(sets->layout),
                             &attributes);

    if (!rc)
        rc = dict_find(sets->reads->memory, layout, attributes,
                       layout->has_eager_tasks ? "_scheduled_tasks" : "_all_tasks", &weak);
    if (!rc)
        rc = object_attribute(sets->reads->memory, layout, weak, "data", &sets->sets[0]);
    if (!rc && layout->has_eager_tasks)
        rc = dict_find(sets->reads->memory, layout, attributes, "_eager_tasks", &sets->sets[1]);
    if (!rc)
        rc = dict_find(sets->reads->memory, layout, attributes, "_current_tasks",
                       &sets->current);
    return rc;
}

/* Is the type _asyncio.Task, or derived from it? */
static bool read_is_task_type(const struct task_sets *sets, remote_addr type)
{
    const remote_addr base = TYPE_BASE + layout_object_shift(sets->layout);
    for (int i = 0; i < MAX_BASES && type; i++) {
        if (object_type_is(sets->reads->memory, sets->layout, type, "_asyncio.Task"))
            return true;
        if (memory_read_u64(sets->reads->memory, type + base, &type))
            return false;
    }
    return false;
}

static bool is_task_type(struct task_sets *sets, remote_addr type)
{
    for (size_t i = 0; i < sets->type_count; i++)
        if (sets->types[i].addr == type)
            return sets->types[i].is_task;
    const struct task_type seen = { type, read_is_task_type(sets, type) };
    if (sets->type_count < TASK_SETS_MAX_TYPES)
        sets->types[sets->type_count++] = seen;
    return seen.is_task;
}

/* The name follows the coroutine. */
static enum err_code find_fields(struct task_sets *sets, remote_addr addr)
{
    const unsigned char *copy;
    const enum err_code rc = predicted_reads_get(sets->reads, addr, TASK_BYTES, &copy);
    if (rc)
        return rc;
    for (uint32_t at = object_first_field(sets->layout) + WORD; at + 2 * WORD <= TASK_BYTES;
         at += WORD)
        if (coroutine_is_at(sets->coroutines, field_u64(copy, at))) {
            sets->coroutine = at;
            sets->name = at + WORD;
            sets->bytes = at + 2 * WORD;
            return ERR_OK;
        }
    return ERR_CORRUPT;
}

/* The thread of an event loop.  asyncio's loops store it; a loop that is not written in Python does not,
 * and is taken to be the main thread's. */
static uint64_t ident_of(struct task_sets *sets, remote_addr loop)
{
    const struct layout *const layout = sets->layout;
    enum { DIGITS_AFTER_HEAD = 1, DIGIT_BITS = 30, DIGITS = 2 };
    const struct thread *const main = thread_list_main(sets->threads);
    uint32_t digits[DIGITS];
    remote_addr number;
    for (size_t i = 0; i < sets->loop_count; i++)
        if (sets->loops[i].addr == loop)
            return sets->loops[i].ident;
    uint64_t ident = main ? main->head.ident : 0;
    if (!object_attribute(sets->reads->memory, layout, loop, "_thread_id", &number) &&
        !memory_read(sets->reads->memory,
                     number + object_first_field(sets->layout) + DIGITS_AFTER_HEAD * WORD,
                     digits, sizeof digits)) {
        const uint64_t thread_ident = digits[0] | (uint64_t)digits[1] << DIGIT_BITS;
        for (size_t i = 0; i < sets->threads->count; i++)
            if (sets->threads->items[i]->head.ident == thread_ident)
                ident = thread_ident;
    }
    if (sets->loop_count < TASK_SETS_MAX_LOOPS)
        sets->loops[sets->loop_count++] = (struct task_loop){ loop, ident };
    return ident;
}

static enum err_code collect_task(struct task_sets *sets, remote_addr addr, struct task **out)
{
    const unsigned char *copy;
    *out = NULL;
    enum err_code rc =
        predicted_reads_get(sets->reads, addr, object_first_field(sets->layout), &copy);
    if (!rc && !is_task_type(sets, field_u64(copy, sets->layout->object_type)))
        rc = ERR_CORRUPT;
    if (!rc && !sets->bytes)
        rc = find_fields(sets, addr);
    if (!rc)
        rc = predicted_reads_get(sets->reads, addr, sets->bytes, &copy);
    /* A task that has ended may have released its coroutine. */
    if (rc || !field_u64(copy, sets->coroutine))
        return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
    const remote_addr loop = field_u64(copy, object_first_field(sets->layout));
    return task_table_add(sets->table,
                          &(struct task){ .addr = addr,
                                          .coroutine = field_u64(copy, sets->coroutine),
                                          .name_object = field_u64(copy, sets->name),
                                          .ident = ident_of(sets, loop) },
                          out);
}

static enum err_code collect_set(struct task_sets *sets, remote_addr set, bool is_weak)
{
    struct task_table *const table = sets->table;
    remote_addr *const members = table->members;
    size_t count = 0, room = TASKS_MAX;
    struct set_part part = { table->secret, table->below, 0 };
    enum err_code rc = set_read(sets->reads, sets->layout, set, &part, members, room, &count);
    /* A part of the first set, as large as fits. */
    while (rc == ERR_LIMIT && count == room && !table->count && table->below > 1) {
        table->below /= 2;
        room = TASKS_MAX / 2;
        part = (struct set_part){ table->secret, table->below, 0 };
        rc = set_read(sets->reads, sets->layout, set, &part, members, room, &count);
    }
    if (rc == ERR_LIMIT) {
        table->is_cut = true;
        rc = ERR_OK;
    }
    table->found += part.found;
    table->chosen += count;
    for (size_t i = 0; i < count && !rc; i++) {
        const unsigned char *copy;
        struct task *task;
        remote_addr addr = members[i];
        if (is_weak && predicted_reads_get(sets->reads, addr,
                                           object_first_field(sets->layout) + WORD, &copy))
            continue;
        if (is_weak)
            addr = field_u64(copy, object_first_field(sets->layout));
        rc = collect_task(sets, addr, &task);
    }
    return rc == ERR_FAULT || rc == ERR_CORRUPT ? ERR_OK : rc;
}

static enum err_code mark_running(struct task_sets *sets)
{
    struct dict_entries entries;
    const enum err_code rc =
        dict_read(sets->reads->memory, sets->layout, sets->current, 0, &entries);
    if (rc)
        return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
    for (size_t i = 0; i < entries.count; i++) {
        struct task *task = task_table_find(sets->table, entries.items[i].value);
        /* One that is not chosen belongs to a stack all the same. */
        if (!task && sets->table->below < TASK_TABLE_WHOLE &&
            collect_task(sets, entries.items[i].value, &task))
            task = NULL;
        if (task)
            task->is_running = true;
    }
    dict_entries_deinit(&entries);
    return ERR_OK;
}

enum err_code task_sets_collect(struct task_sets *sets)
{
    enum err_code rc = collect_set(sets, sets->sets[0], true);
    if (!rc && sets->sets[1])
        rc = collect_set(sets, sets->sets[1], false);
    return rc ? rc : mark_running(sets);
}

/* Adds edges to the tasks that the future of asyncio.gather waits for. */
static enum err_code link_gathered(struct task_sets *sets, remote_addr future,
                                   const struct task *awaiter)
{
    remote_addr list, items, *const children = sets->table->members;
    uint64_t count = 0;
    const uint32_t head = object_first_field(sets->layout);
    enum err_code rc =
        object_attribute(sets->reads->memory, sets->layout, future, "_children", &list);
    if (!rc)
        rc = memory_read_u64(sets->reads->memory, list + head, &count);
    if (!rc)
        rc =
            memory_read_u64(sets->reads->memory, list + head + LIST_ITEMS_WORDS * WORD, &items);
    if (!rc && count > TASKS_MAX) {
        sets->table->is_cut = true;
        count = TASKS_MAX;
    }
    if (!rc && count)
        rc = memory_read(sets->reads->memory, items, children, (size_t)count * WORD);
    for (size_t i = 0; i < count && !rc; i++)
        rc = task_table_add_edge(sets->table, task_table_find(sets->table, children[i]),
                                 awaiter);
    return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
}

/* A task stores what it waits for, ahead of its coroutine. */
enum err_code task_sets_link(struct task_sets *sets)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < sets->table->count && !rc; i++) {
        const struct task *const awaiter = &sets->table->items[i];
        const unsigned char *copy;
        rc = predicted_reads_get(sets->reads, awaiter->addr, sets->bytes, &copy);
        const remote_addr awaited = rc ? 0 : field_u64(copy, sets->coroutine - WORD);
        const struct task *const task = task_table_find(sets->table, awaited);
        if (task)
            rc = task_table_add_edge(sets->table, task, awaiter);
        if (rc || task || !awaited)
            continue;
        rc = predicted_reads_get(sets->reads, awaited, object_first_field(sets->layout), &copy);
        if (!rc &&
            coroutine_kind_of(sets->coroutines, field_u64(copy, sets->layout->object_type)) ==
                COROUTINE_GATHER)
            rc = link_gathered(sets, awaited, awaiter);
        if (rc == ERR_FAULT || rc == ERR_CORRUPT)
            rc = ERR_OK;
    }
    return rc;
}
