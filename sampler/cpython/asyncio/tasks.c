#include "sampler/cpython/asyncio/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"

/* A process may import asyncio at any time, and an event loop may move to another thread. */
static const uint64_t SEARCH_AGAIN_NS = NS_PER_S;

void tasks_init(struct tasks *tasks, int pid, struct memory *memory,
                const struct runtime *runtime, const struct thread_list *threads,
                struct code_table *codes, struct strtab *strings)
{
    const struct layout *const layout = &runtime->layout;
    *tasks = (struct tasks){
        .layout = layout,
        .threads = threads,
        .lists = { .pid = pid,
                   .layout = layout,
                   .threads = threads,
                   .reads = &tasks->reads,
                   .table = &tasks->table },
        .sets = { .runtime = runtime,
                  .layout = layout,
                  .threads = threads,
                  .reads = &tasks->reads,
                  .coroutines = &tasks->coroutines,
                  .table = &tasks->table },
    };
    predicted_reads_init(&tasks->reads, memory);
    coroutines_init(&tasks->coroutines, memory, layout, codes, &tasks->reads);
    task_table_init(&tasks->table, memory, layout, strings);
    idmap_init(&tasks->by_frame);
    random_init_any(&tasks->random);
}

void tasks_deinit(struct tasks *tasks)
{
    predicted_reads_deinit(&tasks->reads);
    task_table_deinit(&tasks->table);
    task_lists_deinit(&tasks->lists);
    idmap_deinit(&tasks->by_frame);
    free(tasks->frames);
    *tasks = (struct tasks){ 0 };
}

void tasks_clear(struct tasks *tasks)
{
    task_table_clear(&tasks->table);
    tasks->frame_count = 0;
    idmap_clear(&tasks->by_frame);
}

const struct thread *tasks_thread(const struct tasks *tasks, const struct task *task)
{
    for (size_t i = 0; i < tasks->threads->count; i++)
        if (tasks->threads->items[i]->head.ident == task->ident)
            return tasks->threads->items[i];
    return NULL;
}

struct task *tasks_of_frame(const struct tasks *tasks, remote_addr frame)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &tasks->by_frame, hash_mix(frame, 0),
               tasks->table.items[at->id].frame == frame);
    return at ? &tasks->table.items[at->id] : NULL;
}

static enum err_code find_outermost_frames(struct tasks *tasks)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < tasks->table.count && !rc; i++) {
        struct task *const task = &tasks->table.items[i];
        rc = coroutine_frame(&tasks->coroutines, task->coroutine, &task->frame);
        if (rc == ERR_NOMEM || rc == ERR_GONE || rc == ERR_LIMIT)
            return rc;
        rc = ERR_OK;
        /* Tasks that share a coroutine do not exist, but a target may say that they do. */
        if (task->frame && !tasks_of_frame(tasks, task->frame))
            rc = idmap_add(&tasks->by_frame, hash_mix(task->frame, 0), (uint32_t)i, NULL);
    }
    return rc;
}

/* The stacks of other tasks need its frames. */
static bool is_needed(const struct task *task)
{
    return task->is_running || task->is_awaiter;
}

/* Does it await a task that is not chosen?  Those that are chosen stand for that one, and it belongs to its stack. */
static bool awaits_unchosen(const struct tasks *tasks, const struct task *task)
{
    const uint32_t at = tasks->layout->object_type;
    uint64_t type, own;
    return tasks->table.below < TASK_TABLE_WHOLE && task->awaits && !task->is_running &&
           !task_table_find(&tasks->table, task->awaits) &&
           !memory_read_u64(tasks->reads.memory, task->awaits + at, &type) &&
           !memory_read_u64(tasks->reads.memory, task->addr + at, &own) && type == own;
}

/* ERR_LIMIT: there is no room for its frames. */
static enum err_code follow_task(struct tasks *tasks, struct task *task)
{
    struct coroutine_chain *const chain = &tasks->chain;
    const enum err_code rc = coroutine_follow(&tasks->coroutines, task->coroutine, chain);
    if (rc == ERR_NOMEM || rc == ERR_GONE || rc == ERR_LIMIT)
        return rc;
    if (!rc && chain->count > TASKS_MAX_FRAMES - tasks->frame_count)
        return ERR_LIMIT;
    task->is_read = true;
    task->awaits = 0;
    task->is_moving = rc || (!chain->is_suspended && !task->is_running);
    if (rc || !chain->is_suspended)
        return ERR_OK;
    task->awaits = chain->awaits;
    task->is_awaiter = task->is_awaiter || awaits_unchosen(tasks, task);
    task->is_truncated = chain->is_truncated;
    task->first_frame = (uint32_t)tasks->frame_count;
    task->frame_count = (uint32_t)chain->count;
    memcpy(tasks->frames + tasks->frame_count, chain->frames,
           chain->count * sizeof *chain->frames);
    tasks->frame_count += chain->count;
    return ERR_OK;
}

/* Begins anywhere, so that a limit does not leave out the same tasks in each reading. */
static enum err_code follow_others(struct tasks *tasks)
{
    const struct task_table *const table = &tasks->table;
    const size_t first = random_below(&tasks->random, table->count);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < table->count && !rc; i++) {
        struct task *const task = &table->items[(first + i) % table->count];
        if (is_needed(task) || !task->times)
            continue;
        rc = follow_task(tasks, task);
        tasks->covered += rc ? 0 : task->times;
    }
    return rc == ERR_LIMIT && tasks->covered ? ERR_OK : rc;
}

/* ERR_LIMIT: frames are missing that no other task stands for. */
static enum err_code follow_chosen(struct tasks *tasks)
{
    const struct task_table *const table = &tasks->table;
    const size_t others =
        tasks->wanted < TASKS_MAX_READ / 2 ? (size_t)tasks->wanted : TASKS_MAX_READ / 2;
    size_t followed = 0;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < table->count && !rc; i++) {
        if (!is_needed(&table->items[i]))
            continue;
        rc = followed++ < TASKS_MAX_READ - others ? follow_task(tasks, &table->items[i])
                                                  : ERR_LIMIT;
    }
    if (rc && rc != ERR_LIMIT)
        return rc;
    const enum err_code rest = follow_others(tasks);
    return rest ? rest : rc;
}

static void forget_frames(struct task *task)
{
    task->is_moving = true;
    task->is_truncated = false;
    task->frame_count = 0;
}

static bool is_unmoved(const struct task *task, const struct task *before)
{
    return before->depth == task->depth && before->awaits == task->awaits &&
           !task->is_running && !before->is_running;
}

static enum err_code find_places(struct tasks *tasks, uint64_t now_ns)
{
    const bool has_lists = task_lists_exist(tasks->layout);
    if ((has_lists && tasks->is_found) ||
        (tasks->searched_ns && now_ns - tasks->searched_ns < SEARCH_AGAIN_NS))
        return ERR_OK;
    tasks->searched_ns = now_ns;
    const enum err_code rc =
        has_lists ? task_lists_find(&tasks->lists) : task_sets_find(&tasks->sets);
    /* The program may have disturbed this search; what an earlier one found stays valid. */
    tasks->is_found = tasks->is_found || !rc;
    return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
}

/* Tasks, frames or places that fit are read even if there are more. */
static enum err_code note_limit(struct tasks *tasks, enum err_code rc)
{
    tasks->table.is_cut = tasks->table.is_cut || rc == ERR_LIMIT;
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

static enum err_code read_tasks(struct tasks *tasks)
{
    const bool has_lists = task_lists_exist(tasks->layout);
    enum err_code rc = predicted_reads_begin(&tasks->reads);
    if (!rc)
        rc = note_limit(tasks, has_lists ? task_lists_collect(&tasks->lists)
                                         : task_sets_collect(&tasks->sets));
    if (!rc)
        rc = note_limit(tasks, find_outermost_frames(tasks));
    if (!rc)
        rc = note_limit(tasks, has_lists ? task_lists_link(&tasks->lists)
                                         : task_sets_link(&tasks->sets));
    if (!rc)
        rc = task_table_sort_edges(&tasks->table);
    if (!rc) {
        /* The tasks to follow are all that are needed, and one of each few of the others. */
        const struct task_table *const table = &tasks->table;
        size_t needed = 0, place = 0, size = 0, chosen = 0;
        for (size_t i = 0; i < table->count; i++)
            needed += is_needed(&table->items[i]);
        const size_t others = table->count - needed;
        const size_t room =
            needed < TASKS_MAX_READ / 2 ? TASKS_MAX_READ - needed : TASKS_MAX_READ / 2;
        const size_t few = (others + room - 1) / room;
        tasks->wanted = (uint64_t)((double)others * task_table_scale(table));
        tasks->covered = 0;
        for (size_t i = 0; i < table->count; i++) {
            struct task *const task = &table->items[i];
            task->times = 1;
            if (is_needed(task))
                continue;
            if (place % few == 0) {
                size = others - place < few ? others - place : few;
                chosen = place + random_below(&tasks->random, size);
            }
            task->times = place++ == chosen ? (uint32_t)size : 0;
        }

        rc = note_limit(tasks, follow_chosen(tasks));
    }
    return rc ? rc : predicted_reads_again(&tasks->reads);
}

/* Begins a reading.  Allocates room for all frames: unused pages cost no memory. */
static enum err_code begin_reading(struct tasks *tasks, uint64_t now_ns)
{
    if (!tasks->frames)
        tasks->frames = malloc(TASKS_MAX_FRAMES * sizeof *tasks->frames);
    if (!tasks->frames)
        return ERR_NOMEM;
    const enum err_code rc = task_table_begin(&tasks->table, now_ns);
    if (rc)
        return rc;
    idmap_clear(&tasks->by_frame);
    tasks->frame_count = 0;
    tasks->wanted = tasks->covered = 0;
    return ERR_OK;
}

uint32_t tasks_coroutine_place(const struct tasks *tasks)
{
    return task_lists_exist(tasks->layout) ? tasks->lists.offsets.coroutine
                                           : tasks->sets.coroutine;
}

enum err_code tasks_read(struct tasks *tasks, uint64_t now_ns)
{
    const uint64_t began_ns = clock_thread_ns();
    enum err_code rc = begin_reading(tasks, now_ns);
    if (rc)
        return rc;
    rc = find_places(tasks, now_ns);
    if (!rc && tasks->is_found)
        rc = read_tasks(tasks);
    if (!rc) {
        /* The code objects of all frames must be unchanged too. */
        enum { BATCH = 256 };
        code_id ids[BATCH];
        size_t count = 0;
        bool are_right = true;
        for (size_t i = 0; i < tasks->frame_count; i++) {
            if (count == BATCH) {
                are_right = code_check(tasks->coroutines.codes, ids, count) && are_right;
                count = 0;
            }
            ids[count++] = tasks->frames[i].code;
        }
        if (count)
            are_right = code_check(tasks->coroutines.codes, ids, count) && are_right;
        for (size_t i = 0; i < tasks->table.count && !are_right; i++)
            if (tasks->table.items[i].is_read)
                forget_frames(&tasks->table.items[i]);

        for (size_t i = 0; i < tasks->table.count; i++) {
            struct task *const task = &tasks->table.items[i];
            const struct task *const before =
                task_table_find_previous(&tasks->table, task->addr);
            if (!coroutine_is_unchanged(&tasks->coroutines, tasks->frames + task->first_frame,
                                        task->frame_count))
                forget_frames(task);
            if (task->is_read)
                task->depth = task->frame_count;
            if (!before || !is_unmoved(task, before))
                task->since_ns = tasks->table.read_ns;
        }
    }
    if (rc)
        tasks_clear(tasks);
    tasks->cost_ns = clock_thread_ns() - began_ns;
    return rc;
}
