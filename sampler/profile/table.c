#include "sampler/profile/table.h"

void table_init(struct table *table, size_t row_bytes, uint32_t max_rows, table_same *same)
{
    pool_init(&table->rows, row_bytes, max_rows);
    idmap_init(&table->index);
    table->same = same;
}

void table_deinit(struct table *table)
{
    pool_deinit(&table->rows);
    idmap_deinit(&table->index);
}

static enum err_code add(struct table *table, uint32_t hash, const void *row, uint32_t *id_out,
                         struct err *err)
{
    uint32_t id;
    enum err_code rc = pool_push(&table->rows, row, &id, err);
    if (rc)
        return rc;
    rc = idmap_add(&table->index, hash, id, err);
    if (rc) {
        /* Without its index entry the row would be stored twice. */
        pool_pop(&table->rows);
        return rc;
    }
    *id_out = id;
    return ERR_OK;
}

enum err_code table_intern(struct table *table, uint32_t hash, const void *row,
                           uint32_t *id_out, struct err *err)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &table->index, hash, table->same(table_at(table, at->id), row));
    if (!at)
        return add(table, hash, row, id_out, err);
    *id_out = at->id;
    return ERR_OK;
}

void table_close(struct table *table)
{
    table->rows.max_count = table->rows.count;
}

size_t table_bytes(const struct table *table)
{
    return pool_bytes(&table->rows) + idmap_bytes(&table->index);
}
