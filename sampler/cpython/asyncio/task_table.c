#include "sampler/cpython/asyncio/task_table.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"

enum { WORD = sizeof(uint64_t) };

void task_table_init(struct task_table *table, struct memory *memory,
                     const struct layout *layout, struct strtab *strings)
{
    *table = (struct task_table){ .memory = memory, .layout = layout, .strings = strings };
    idmap_init(&table->by_addr);
    idmap_init(&table->previous_by_addr);
    random_init_any(&table->random);
    table->below = TASK_TABLE_WHOLE;
}

void task_table_deinit(struct task_table *table)
{
    object_bytes_deinit(&table->scratch);
    idmap_deinit(&table->by_addr);
    idmap_deinit(&table->previous_by_addr);
    free(table->items);
    free(table->previous);
    free(table->edges);
    free(table->awaiters);
    free(table->members);
    *table = (struct task_table){ 0 };
}

void task_table_clear(struct task_table *table)
{
    table->count = table->edge_count = 0;
    idmap_clear(&table->by_addr);
    idmap_clear(&table->previous_by_addr);
}

static struct task *find_in(struct task *items, const struct idmap *map, remote_addr addr)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, map, hash_mix(addr, 0), items[at->id].addr == addr);
    return at ? &items[at->id] : NULL;
}

struct task *task_table_find(const struct task_table *table, remote_addr addr)
{
    return addr ? find_in(table->items, &table->by_addr, addr) : NULL;
}

const struct task *task_table_find_previous(const struct task_table *table, remote_addr addr)
{
    return find_in(table->previous, &table->previous_by_addr, addr);
}

/* Allocates room for the maximum: pages that are not written to cost no memory, so nothing is cleared. */
static enum err_code make_room(struct task_table *table)
{
    if (table->members)
        return ERR_OK;
    if (!table->items)
        table->items = malloc(TASKS_MAX * sizeof *table->items);
    if (!table->previous)
        table->previous = malloc(TASKS_MAX * sizeof *table->previous);
    if (!table->edges)
        table->edges = malloc(TASKS_MAX_EDGES * sizeof *table->edges);
    if (!table->awaiters)
        table->awaiters = malloc(TASKS_MAX_EDGES * sizeof *table->awaiters);
    if (table->items && table->previous && table->edges && table->awaiters)
        table->members = malloc(TASKS_MAX * sizeof *table->members);
    return table->members ? ERR_OK : ERR_NOMEM;
}

enum err_code task_table_begin(struct task_table *table, uint64_t now_ns)
{
    const enum err_code rc = make_room(table);
    if (rc)
        return rc;
    struct task *const items = table->previous;
    struct idmap map = table->previous_by_addr;
    table->previous = table->items;
    table->previous_by_addr = table->by_addr;
    table->items = items;
    table->by_addr = map;
    idmap_clear(&table->by_addr);
    table->count = table->edge_count = 0;
    table->is_cut = false;
    table->read_ns = now_ns;
    if (table->found <= TASKS_MAX)
        table->below = TASK_TABLE_WHOLE;
    if (table->readings++ % TASK_TABLE_SAME == 0)
        table->secret = random_u64(&table->random);
    table->found = table->chosen = 0;
    return ERR_OK;
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

static enum err_code read_name(struct task_table *table, struct task *task)
{
    uint64_t type, number;
    task->name = 0;
    task->number = 0;
    if (!task->name_object ||
        memory_read_u64(table->memory, task->name_object + table->layout->object_type, &type))
        return ERR_OK;
    if (object_type_is(table->memory, table->layout, type, "int")) {
        /* 3.12 and later store the number until the program first asks for the name. */
        const remote_addr object = task->name_object;
        uint32_t digit;
        task->number =
            memory_read(table->memory, object + object_first_field(table->layout) + WORD,
                        &digit, sizeof digit)
                ? 0
                : digit;
        return ERR_OK;
    }
    const enum err_code rc =
        object_read_str(table->memory, table->layout, task->name_object, &table->scratch);
    if (rc)
        return rc == ERR_NOMEM ? rc : ERR_OK;
    if (!is_given(&table->scratch, &number)) {
        task->number = number;
        return ERR_OK;
    }
    return strtab_intern(table->strings, (const char *)table->scratch.bytes,
                         table->scratch.count, &task->name, NULL);
}

/* Takes over what the previous reading found of the task; a name seldom changes. */
static enum err_code remember_task(struct task_table *table, struct task *task)
{
    const struct task *const before = task_table_find_previous(table, task->addr);
    bool is_same = before && before->coroutine == task->coroutine &&
                   before->name_object == task->name_object;
    if (!is_same || table->checks_names) {
        const enum err_code rc = read_name(table, task);
        if (rc)
            return rc;
        is_same = is_same && before->name == task->name && before->number == task->number;
    }
    if (!is_same) {
        task->seen_ns = task->since_ns = table->read_ns;
        return ERR_OK;
    }
    task->name = before->name;
    task->number = before->number;
    task->seen_ns = before->seen_ns;
    task->since_ns = before->since_ns;
    task->tag = before->tag;
    task->context = before->context;
    task->context_ns = before->context_ns;
    task->depth = before->depth;
    task->awaits = before->awaits;
    return ERR_OK;
}

/* A part leaves half of the table for the awaiters of its tasks. */
bool task_table_wants(struct task_table *table, remote_addr addr)
{
    table->found++;
    while (task_table_chooses(table, addr) &&
           table->count >= (table->below == TASK_TABLE_WHOLE ? TASKS_MAX : TASKS_MAX / 2)) {
        /* Makes the choice half as wide.  The index has room for what it held before, so adding cannot fail. */
        size_t kept = 0;
        table->below /= 2;
        table->chosen = 0;
        idmap_clear(&table->by_addr);
        for (size_t i = 0; i < table->count; i++) {
            const struct task *const task = &table->items[i];
            const bool is_chosen = task_table_chooses(table, task->addr);
            if (!is_chosen && !task->is_running)
                continue;
            (void)!idmap_add(&table->by_addr, hash_mix(task->addr, 0), (uint32_t)kept, NULL);
            table->items[kept++] = *task;
            table->chosen += is_chosen;
        }
        table->count = kept;
    }
    const bool is_chosen = task_table_chooses(table, addr);
    table->chosen += is_chosen;
    return is_chosen;
}

enum err_code task_table_add(struct task_table *table, const struct task *found,
                             struct task **out)
{
    *out = NULL;
    if (task_table_find(table, found->addr))
        return ERR_OK;
    if (table->count == TASKS_MAX) {
        table->is_cut = true;
        return ERR_OK;
    }
    struct task *const task = &table->items[table->count];
    *task = *found;
    enum err_code rc = remember_task(table, task);
    if (!rc)
        rc = idmap_add(&table->by_addr, hash_mix(task->addr, 0), (uint32_t)table->count, NULL);
    if (rc)
        return rc;
    table->count++;
    *out = task;
    return ERR_OK;
}

enum err_code task_table_add_edge(struct task_table *table, const struct task *task,
                                  const struct task *awaiter)
{
    if (!task || !awaiter || task == awaiter)
        return ERR_OK;
    if (table->edge_count == TASKS_MAX_EDGES) {
        table->is_cut = true;
        return ERR_OK;
    }
    const struct task_edge edge = { (uint32_t)(task - table->items),
                                    (uint32_t)(awaiter - table->items) };
    table->edges[table->edge_count++] = edge;
    table->items[edge.awaiter].is_awaiter = true;
    return ERR_OK;
}

/* The search for circles keeps for each task: its number in the order of the search, 1 for the first; the least
 * number that it leads to; how many of its awaiters have been followed; the circle that it is in. */
struct search {
    uint32_t number, least, followed, circle;
};

struct searcher {
    struct task_table *table;
    struct search *seen;
    uint32_t *path,
        *open; /* tasks that are being followed, and those whose circle is unknown */
    size_t path_count, open_count;
    uint32_t numbered, circles;
};

static void enter_task(struct searcher *searcher, uint32_t task)
{
    searcher->seen[task].number = searcher->seen[task].least = ++searcher->numbered;
    searcher->path[searcher->path_count++] = task;
    searcher->open[searcher->open_count++] = task;
}

/* A task that leads to none before it closes a circle, of itself and of those that are open after it. */
static void leave_task(struct searcher *searcher, uint32_t task)
{
    const struct search *const seen = &searcher->seen[task];
    uint32_t last = UINT32_MAX;
    searcher->path_count--;
    if (seen->least < seen->number) {
        struct search *const outer = &searcher->seen[searcher->path[searcher->path_count - 1]];
        outer->least = seen->least < outer->least ? seen->least : outer->least;
        return;
    }
    searcher->circles++;
    while (last != task) {
        last = searcher->open[--searcher->open_count];
        searcher->seen[last].circle = searcher->circles;
    }
}

/* Tarjan's search, from a task to its awaiters. */
static void search_from(struct searcher *searcher, uint32_t first)
{
    enter_task(searcher, first);
    while (searcher->path_count) {
        const uint32_t at = searcher->path[searcher->path_count - 1];
        const struct task *const task = &searcher->table->items[at];
        struct search *const seen = &searcher->seen[at];
        if (seen->followed == task->awaiter_count) {
            leave_task(searcher, at);
            continue;
        }
        const uint32_t awaiter =
            searcher->table->awaiters[task->first_awaiter + seen->followed++];
        const struct search *const next = &searcher->seen[awaiter];
        if (!next->number)
            enter_task(searcher, awaiter);
        else if (!next->circle && next->number < seen->least)
            seen->least = next->number;
    }
}

/* A task that awaits one outside its circle is part of that one's stack, and so is the whole circle. */
static enum err_code find_circles(struct task_table *table)
{
    const size_t count = table->count + 1;
    struct searcher searcher = { .table = table,
                                 .seen = calloc(count, sizeof *searcher.seen),
                                 .path = malloc(count * sizeof *searcher.path),
                                 .open = malloc(count * sizeof *searcher.open) };
    bool *const leads_out = calloc(count + 1, sizeof *leads_out);
    enum err_code rc = ERR_NOMEM;
    if (searcher.seen && searcher.path && searcher.open && leads_out) {
        for (uint32_t i = 0; i < table->count; i++)
            if (!searcher.seen[i].number)
                search_from(&searcher, i);
        for (size_t i = 0; i < table->edge_count; i++) {
            const uint32_t inner = searcher.seen[table->edges[i].task].circle,
                           outer = searcher.seen[table->edges[i].awaiter].circle;
            leads_out[outer] = leads_out[outer] || inner != outer;
        }
        for (size_t i = 0; i < table->count; i++)
            table->items[i].is_in_circle =
                table->items[i].is_awaiter && !leads_out[searcher.seen[i].circle];
        rc = ERR_OK;
    }
    free(searcher.seen);
    free(searcher.path);
    free(searcher.open);
    free(leads_out);
    return rc;
}

enum err_code task_table_sort_edges(struct task_table *table)
{
    uint32_t at = 0;
    for (size_t i = 0; i < table->edge_count; i++)
        table->items[table->edges[i].task].awaiter_count++;
    for (size_t i = 0; i < table->count; i++) {
        table->items[i].first_awaiter = at;
        at += table->items[i].awaiter_count;
        table->items[i].awaiter_count = 0;
    }
    for (size_t i = 0; i < table->edge_count; i++) {
        struct task *const task = &table->items[table->edges[i].task];
        table->awaiters[task->first_awaiter + task->awaiter_count++] = table->edges[i].awaiter;
    }
    return table->edge_count ? find_circles(table) : ERR_OK;
}
