#include "sampler/session/children/child_table.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

void child_table_init(struct child_table *table, size_t most)
{
    *table = (struct child_table){ .most = most };
}

void child_table_deinit(struct child_table *table)
{
    free(table->items);
    *table = (struct child_table){ .most = table->most };
}

/* Index of the first row whose id is not lower; rows are sorted by id. */
static size_t place_of(const struct child_table *table, int pid)
{
    size_t at;
    LOWER_BOUND(at, table->count, table->items[at].pid < pid);
    return at;
}

struct child *child_table_find(const struct child_table *table, int pid)
{
    const size_t place = place_of(table, pid);
    return place < table->count && table->items[place].pid == pid ? &table->items[place] : NULL;
}

enum err_code child_table_add(struct child_table *table, const struct child *child)
{
    if (table->count == table->most)
        return ERR_LIMIT;
    if (!VEC_RESERVE(table->items, table->room, table->count + 1))
        return ERR_NOMEM;
    const size_t place = place_of(table, child->pid);
    memmove(table->items + place + 1, table->items + place,
            (table->count - place) * sizeof *table->items);
    table->items[place] = *child;
    table->count++;
    return ERR_OK;
}

void child_table_drop(struct child_table *table, struct child *child)
{
    const size_t place = (size_t)(child - table->items);
    table->ended[table->ended_count++ % CHILD_TABLE_MAX_ENDED] = child->identity;
    table->count--;
    memmove(child, child + 1, (table->count - place) * sizeof *child);
}

static bool is_forked(const struct procfs_identity *from,
                      const struct procfs_identity *identity)
{
    return from->stack_start == identity->stack_start &&
           from->code_start == identity->code_start && from->start_time <= identity->start_time;
}

bool child_table_has_parent_of(const struct child_table *table,
                               const struct procfs_identity *identity)
{
    if (!identity->stack_start || !identity->code_start)
        return false;
    for (size_t i = 0; i < table->count; i++)
        if (is_forked(&table->items[i].identity, identity))
            return true;
    for (size_t i = 0; i < table->ended_count && i < CHILD_TABLE_MAX_ENDED; i++)
        if (is_forked(&table->ended[i], identity))
            return true;
    return false;
}
