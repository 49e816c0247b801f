#include "sampler/session/child_table.h"

#include <stdlib.h>
#include <string.h>

void child_table_init(struct child_table *table, size_t most)
{
    *table = (struct child_table){ .most = most };
}

void child_table_deinit(struct child_table *table)
{
    free(table->items);
    *table = (struct child_table){ .most = table->most };
}

/* Of the first that is not below it: rows are in the order of their numbers. */
static size_t place_of(const struct child_table *table, int pid)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (table->items[middle].pid < pid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct child *child_table_find(const struct child_table *table, int pid)
{
    const size_t place = place_of(table, pid);
    return place < table->count && table->items[place].pid == pid ? &table->items[place] : NULL;
}

static enum err_code reserve(struct child_table *table)
{
    if (table->count < table->room)
        return ERR_OK;
    const size_t room = table->room ? table->room * 2 : 16;
    struct child *const more = realloc(table->items, room * sizeof *more);
    if (!more)
        return ERR_NOMEM;
    table->items = more;
    table->room = room;
    return ERR_OK;
}

enum err_code child_table_add(struct child_table *table, const struct child *child)
{
    if (table->count == table->most)
        return ERR_LIMIT;
    const enum err_code rc = reserve(table);
    if (rc)
        return rc;
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
    table->count--;
    memmove(child, child + 1, (table->count - place) * sizeof *child);
}
