#include "sampler/cpython/asyncio/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/cpython/asyncio/tasks_parts.h"
#include "sampler/cpython/objects/object.h"

/* A process may import asyncio at any time, and an event loop may move to another thread. */
static const uint64_t SEARCH_AGAIN_NS = NS_PER_S;

enum { WORD = sizeof(uint64_t), MAX_SET_SLOTS = 1 << 18 };

void tasks_init(struct tasks *tasks, int pid, struct memory *memory,
                const struct runtime *runtime, const struct thread_list *threads,
                struct code_table *codes, struct strtab *strings)
{
    *tasks = (struct tasks){ .pid = pid,
                             .runtime = runtime,
                             .memory = memory,
                             .layout = &runtime->layout,
                             .threads = threads,
                             .strings = strings };
    predicted_reads_init(&tasks->reads, tasks->memory);
    coroutines_init(&tasks->coroutines, tasks->memory, tasks->layout, codes, &tasks->reads);
    idmap_init(&tasks->by_addr);
    idmap_init(&tasks->by_frame);
    idmap_init(&tasks->previous_by_addr);
    idmap_init(&tasks->kinds_of_code);
}

void tasks_deinit(struct tasks *tasks)
{
    predicted_reads_deinit(&tasks->reads);
    object_bytes_deinit(&tasks->scratch);
    idmap_deinit(&tasks->by_addr);
    idmap_deinit(&tasks->by_frame);
    idmap_deinit(&tasks->previous_by_addr);
    idmap_deinit(&tasks->kinds_of_code);
    free(tasks->items);
    free(tasks->previous);
    free(tasks->frames);
    free(tasks->edges);
    free(tasks->awaiters);
    *tasks = (struct tasks){ 0 };
}

void tasks_clear(struct tasks *tasks)
{
    tasks->count = tasks->frame_count = tasks->edge_count = 0;
    idmap_clear(&tasks->by_addr);
    idmap_clear(&tasks->by_frame);
    idmap_clear(&tasks->previous_by_addr);
    idmap_clear(&tasks->kinds_of_code);
}

uint32_t tasks_first_field(const struct tasks *tasks)
{
    return tasks->layout->object_type + WORD;
}

static struct task *find_in(struct task *items, const struct idmap *map, remote_addr addr)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, map, hash_mix(addr, 0), items[at->id].addr == addr);
    return at ? &items[at->id] : NULL;
}

struct task *tasks_find(const struct tasks *tasks, remote_addr addr)
{
    return addr ? find_in(tasks->items, &tasks->by_addr, addr) : NULL;
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
    IDMAP_FIND(at, &tasks->by_frame, hash_mix(frame, 0), tasks->items[at->id].frame == frame);
    return at ? &tasks->items[at->id] : NULL;
}

bool tasks_is_coroutine(struct tasks *tasks, remote_addr frame, code_id code)
{
    const struct layout *const layout = tasks->layout;
    struct idmap_slot *at;
    /* Until 3.10 a frame is not inside its coroutine. */
    if (layout->frame_lasti)
        return false;
    IDMAP_FIND(at, &tasks->kinds_of_code, code, true);
    if (at)
        return at->id;
    const bool is = coroutine_is_at(&tasks->coroutines, frame - layout->gen_frame);
    (void)!idmap_add(&tasks->kinds_of_code, code, is, NULL);
    return is;
}

/* Allocates room for the maximum: unused pages cost no memory. */
static enum err_code make_room(struct tasks *tasks)
{
    if (tasks->awaiters)
        return ERR_OK;
    if (!tasks->items)
        tasks->items = calloc(TASKS_MAX, sizeof *tasks->items);
    if (!tasks->previous)
        tasks->previous = calloc(TASKS_MAX, sizeof *tasks->previous);
    if (!tasks->frames)
        tasks->frames = malloc(TASKS_MAX_FRAMES * sizeof *tasks->frames);
    if (!tasks->edges)
        tasks->edges = malloc(TASKS_MAX_EDGES * sizeof *tasks->edges);
    if (tasks->items && tasks->previous && tasks->frames && tasks->edges)
        tasks->awaiters = malloc(TASKS_MAX_EDGES * sizeof *tasks->awaiters);
    return tasks->awaiters ? ERR_OK : ERR_NOMEM;
}

/* "Task-12" is the default name of a task. */
static bool is_given(const struct object_bytes *text, uint64_t *number)
{
    static const char prefix[] = "Task-";
    const size_t length = sizeof prefix - 1;
    *number = 0;
    if (text->count <= length || text->count > length + 18 ||
        memcmp(text->bytes, prefix, length) != 0)
        return true;
    for (size_t i = length; i < text->count; i++) {
        if (text->bytes[i] < '0' || text->bytes[i] > '9')
            return true;
        *number = *number * 10 + (uint64_t)(text->bytes[i] - '0');
    }
    return false;
}

/* 3.12 and later store the number until the program first asks for the name. */
static uint64_t read_number(const struct tasks *tasks, remote_addr object)
{
    uint32_t digit;
    return memory_read(tasks->memory, object + tasks_first_field(tasks) + WORD, &digit,
                       sizeof digit)
               ? 0
               : digit;
}

static enum err_code read_name(struct tasks *tasks, struct task *task)
{
    uint64_t type, number;
    task->name = 0;
    if (!task->name_object ||
        memory_read_u64(tasks->memory, task->name_object + tasks->layout->object_type, &type))
        return ERR_OK;
    if (object_type_is(tasks->memory, tasks->layout, type, "int")) {
        task->number = read_number(tasks, task->name_object);
        return ERR_OK;
    }
    const enum err_code rc =
        object_read_str(tasks->memory, tasks->layout, task->name_object, &tasks->scratch);
    if (rc)
        return rc == ERR_NOMEM ? rc : ERR_OK;
    if (!is_given(&tasks->scratch, &number)) {
        task->number = number;
        return ERR_OK;
    }
    return strtab_intern(tasks->strings, (const char *)tasks->scratch.bytes,
                         tasks->scratch.count, &task->name, NULL);
}

/* Takes over what the previous reading found of the task; a name seldom changes. */
static enum err_code remember(struct tasks *tasks, struct task *task)
{
    const struct task *const before =
        find_in(tasks->previous, &tasks->previous_by_addr, task->addr);
    if (!before || before->coroutine != task->coroutine ||
        before->name_object != task->name_object) {
        task->seen_ns = task->since_ns = tasks->read_ns;
        return read_name(tasks, task);
    }
    task->name = before->name;
    task->number = before->number;
    task->seen_ns = before->seen_ns;
    task->since_ns = before->since_ns;
    task->tag = before->tag;
    return ERR_OK;
}

enum err_code tasks_add(struct tasks *tasks, remote_addr addr, const unsigned char *copy,
                        uint64_t ident, struct task **out)
{
    *out = NULL;
    if (tasks_find(tasks, addr))
        return ERR_OK;
    if (tasks->count == TASKS_MAX) {
        tasks->is_cut = true;
        return ERR_OK;
    }
    struct task *const task = &tasks->items[tasks->count];
    *task = (struct task){ .addr = addr,
                           .coroutine = field_u64(copy, tasks->places.task_coroutine),
                           .name_object = field_u64(copy, tasks->places.task_name),
                           .ident = ident };
    enum err_code rc = remember(tasks, task);
    if (!rc)
        rc = idmap_add(&tasks->by_addr, hash_mix(addr, 0), (uint32_t)tasks->count, NULL);
    if (rc)
        return rc;
    tasks->count++;
    *out = task;
    return ERR_OK;
}

enum err_code tasks_add_edge(struct tasks *tasks, const struct task *task,
                             const struct task *awaiter)
{
    if (!task || !awaiter || task == awaiter)
        return ERR_OK;
    if (tasks->edge_count == TASKS_MAX_EDGES) {
        tasks->is_cut = true;
        return ERR_OK;
    }
    tasks->edges[tasks->edge_count++] = (struct task_edge){
        (uint32_t)(task - tasks->items),
        (uint32_t)(awaiter - tasks->items),
    };
    return ERR_OK;
}

enum err_code tasks_read_set(struct tasks *tasks, remote_addr set, remote_addr *members,
                             size_t room, size_t *count_out)
{
    /* PySetObject: the numbers of filled and used entries, the mask, the table of keys and hashes. */
    enum { MASK_WORDS = 2, TABLE_WORDS = 3, SET_WORDS = 4, ENTRY_WORDS = 2, BATCH = 512 };
    const uint32_t head = tasks_first_field(tasks);
    const unsigned char *copy;
    uint64_t entries[BATCH * ENTRY_WORDS];
    size_t count = 0;
    *count_out = 0;
    enum err_code rc = predicted_reads_get(&tasks->reads, set, head + SET_WORDS * WORD, &copy);
    if (rc)
        return rc;
    const uint64_t slots = field_u64(copy, head + MASK_WORDS * WORD) + 1;
    const remote_addr table = field_u64(copy, head + TABLE_WORDS * WORD);
    if (slots > MAX_SET_SLOTS || slots & (slots - 1))
        return ERR_CORRUPT;
    for (uint64_t at = 0; at < slots && !rc; at += BATCH) {
        const uint64_t some = slots - at < BATCH ? slots - at : BATCH;
        rc = memory_read(tasks->memory, table + at * ENTRY_WORDS * WORD, entries,
                         (size_t)some * ENTRY_WORDS * WORD);
        for (size_t i = 0; i < some && !rc && count < room; i++)
            /* A removed entry has a hash that no object has. */
            if (entries[i * ENTRY_WORDS] && entries[i * ENTRY_WORDS + 1] != UINT64_MAX)
                members[count++] = entries[i * ENTRY_WORDS];
    }
    if (!rc)
        *count_out = count;
    return rc;
}

static enum err_code follow(struct tasks *tasks, struct task *task)
{
    struct coroutine_chain *const chain = &tasks->chain;
    enum err_code rc = coroutine_frame(&tasks->coroutines, task->coroutine, &task->frame);
    if (!rc)
        rc = coroutine_follow(&tasks->coroutines, task->coroutine, chain);
    if (rc == ERR_NOMEM || rc == ERR_GONE)
        return rc;
    if (rc == ERR_LIMIT)
        tasks->is_cut = true;
    task->is_moving = rc || (!chain->is_suspended && !task->is_running);
    if (rc || !chain->is_suspended)
        return ERR_OK;
    if (chain->count > TASKS_MAX_FRAMES - tasks->frame_count) {
        tasks->is_cut = true;
        return ERR_OK;
    }
    task->awaits = chain->awaits;
    task->first_frame = (uint32_t)tasks->frame_count;
    task->frame_count = (uint32_t)chain->count;
    memcpy(tasks->frames + tasks->frame_count, chain->frames,
           chain->count * sizeof *chain->frames);
    tasks->frame_count += chain->count;
    return ERR_OK;
}

static enum err_code follow_all(struct tasks *tasks)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < tasks->count && !rc; i++) {
        struct task *const task = &tasks->items[i];
        rc = follow(tasks, task);
        if (!rc && task->frame)
            rc = idmap_add(&tasks->by_frame, hash_mix(task->frame, 0), (uint32_t)i, NULL);
    }
    return rc;
}

/* Sorts the edges by task; each task knows its range. */
static void sort_edges(struct tasks *tasks)
{
    uint32_t at = 0;
    for (size_t i = 0; i < tasks->edge_count; i++) {
        tasks->items[tasks->edges[i].task].awaiter_count++;
        tasks->items[tasks->edges[i].awaiter].is_awaiter = true;
    }
    for (size_t i = 0; i < tasks->count; i++) {
        tasks->items[i].first_awaiter = at;
        at += tasks->items[i].awaiter_count;
        tasks->items[i].awaiter_count = 0;
    }
    for (size_t i = 0; i < tasks->edge_count; i++) {
        struct task *const task = &tasks->items[tasks->edges[i].task];
        tasks->awaiters[task->first_awaiter + task->awaiter_count++] = tasks->edges[i].awaiter;
    }
}

static void forget_frames(struct task *task)
{
    task->is_moving = true;
    task->frame_count = 0;
}

/* The code objects of all frames must be unchanged too. */
static void check_codes(struct tasks *tasks)
{
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
    for (size_t i = 0; i < tasks->count && !are_right; i++)
        forget_frames(&tasks->items[i]);
}

static bool is_unmoved(const struct task *task, const struct task *before)
{
    return before->frame_count == task->frame_count && before->awaits == task->awaits &&
           !task->is_running && !before->is_running;
}

static void settle(struct tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++) {
        struct task *const task = &tasks->items[i];
        const struct task *const before =
            find_in(tasks->previous, &tasks->previous_by_addr, task->addr);
        if (!coroutine_is_unchanged(&tasks->coroutines, tasks->frames + task->first_frame,
                                    task->frame_count))
            forget_frames(task);
        if (!before || !is_unmoved(task, before))
            task->since_ns = tasks->read_ns;
    }
}

/* The tasks of the last reading become the previous ones. */
static void begin(struct tasks *tasks, uint64_t now_ns)
{
    struct task *const items = tasks->previous;
    struct idmap map = tasks->previous_by_addr;
    tasks->previous = tasks->items;
    tasks->previous_by_addr = tasks->by_addr;
    tasks->items = items;
    tasks->by_addr = map;
    idmap_clear(&tasks->by_addr);
    idmap_clear(&tasks->by_frame);
    tasks->count = tasks->frame_count = tasks->edge_count = 0;
    tasks->is_cut = false;
    tasks->read_ns = now_ns;
}

static enum err_code find_places(struct tasks *tasks, uint64_t now_ns)
{
    struct task_places *const places = &tasks->places;
    const bool is_done = tasks_have_lists(tasks) && places->is_found;
    if (is_done || (places->searched_ns && now_ns - places->searched_ns < SEARCH_AGAIN_NS))
        return ERR_OK;
    places->searched_ns = now_ns;
    tasks->loop_count = tasks->type_count = 0;
    const enum err_code rc =
        tasks_have_lists(tasks) ? tasks_find_lists(tasks) : tasks_find_sets(tasks);
    /* The program may have disturbed this search; what an earlier one found stays valid. */
    places->is_found = places->is_found || !rc;
    return rc == ERR_NOMEM || rc == ERR_GONE ? rc : ERR_OK;
}

static enum err_code read_tasks(struct tasks *tasks)
{
    enum err_code rc = predicted_reads_begin(&tasks->reads);
    if (!rc)
        rc = tasks_have_lists(tasks) ? tasks_collect_lists(tasks) : tasks_collect_sets(tasks);
    if (!rc)
        rc = follow_all(tasks);
    if (!rc)
        rc = tasks_have_lists(tasks) ? tasks_link_lists(tasks) : tasks_link_sets(tasks);
    /* There are more tasks than fit; those that do are read again all the same. */
    if (rc == ERR_LIMIT) {
        tasks->is_cut = true;
        rc = ERR_OK;
    }
    return rc ? rc : predicted_reads_again(&tasks->reads);
}

enum err_code tasks_read(struct tasks *tasks, uint64_t now_ns)
{
    const uint64_t began_ns = clock_thread_ns();
    enum err_code rc = make_room(tasks);
    if (rc)
        return rc;
    begin(tasks, now_ns);
    rc = find_places(tasks, now_ns);
    if (!rc && tasks->places.is_found)
        rc = read_tasks(tasks);
    if (!rc) {
        sort_edges(tasks);
        check_codes(tasks);
        settle(tasks);
    }
    if (rc)
        tasks_clear(tasks);
    tasks->cost_ns = clock_thread_ns() - began_ns;
    return rc;
}
