#include "sampler/profile/tables.h"

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

enum err_code table_intern(struct table *table, uint32_t hash, const void *row,
                           uint32_t *id_out, struct err *err)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &table->index, hash, table->same(table_at(table, at->id), row));
    if (!at) {
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

static bool same_library(const void *row, const void *other)
{
    const struct profile_library *const a = row;
    const struct profile_library *const b = other;
    return a->path == b->path && a->build_id == b->build_id && a->flags == b->flags;
}

static bool same_function(const void *row, const void *other)
{
    const struct profile_function *const a = row;
    const struct profile_function *const b = other;
    return a->name == b->name && a->file == b->file && a->first_line == b->first_line &&
           a->library == b->library;
}

static bool same_frame(const void *row, const void *other)
{
    const struct profile_frame *const a = row;
    const struct profile_frame *const b = other;
    return a->function == b->function && a->line == b->line;
}

static bool same_node(const void *row, const void *other)
{
    const struct profile_node *const a = row;
    const struct profile_node *const b = other;
    return a->parent == b->parent && a->frame == b->frame;
}

static bool same_thread(const void *row, const void *other)
{
    const struct profile_thread *const a = row;
    const struct profile_thread *const b = other;
    return a->process == b->process && a->tid == b->tid && a->ident == b->ident &&
           a->name == b->name && a->is_main == b->is_main;
}

static bool same_process(const void *row, const void *other)
{
    const struct profile_process *const a = row;
    const struct profile_process *const b = other;
    return a->pid == b->pid && a->name == b->name;
}

static bool same_spot(const void *row, const void *other)
{
    const struct profile_spot *const a = row;
    const struct profile_spot *const b = other;
    return a->function == b->function && a->line == b->line && a->end_line == b->end_line &&
           a->column == b->column && a->end_column == b->end_column && a->opcode == b->opcode &&
           a->base == b->base && a->caller == b->caller;
}

enum err_code tables_init(struct tables *tables, struct err *err)
{
    table_init(&tables->libraries, sizeof(struct profile_library), PROFILE_MAX_LIBRARIES,
               same_library);
    table_init(&tables->functions, sizeof(struct profile_function), PROFILE_MAX_FUNCTIONS,
               same_function);
    table_init(&tables->frames, sizeof(struct profile_frame), PROFILE_MAX_FRAMES, same_frame);
    table_init(&tables->nodes, sizeof(struct profile_node), PROFILE_MAX_NODES, same_node);
    table_init(&tables->threads, sizeof(struct profile_thread), PROFILE_MAX_THREADS,
               same_thread);
    table_init(&tables->processes, sizeof(struct profile_process), PROFILE_MAX_PROCESSES,
               same_process);
    table_init(&tables->spots, sizeof(struct profile_spot), PROFILE_MAX_SPOTS, same_spot);
    return strtab_init(&tables->strings, err);
}

void tables_deinit(struct tables *tables)
{
    table_deinit(&tables->spots);
    table_deinit(&tables->processes);
    table_deinit(&tables->threads);
    table_deinit(&tables->nodes);
    table_deinit(&tables->frames);
    table_deinit(&tables->functions);
    table_deinit(&tables->libraries);
    strtab_deinit(&tables->strings);
}

void tables_close(struct tables *tables)
{
    /* If there is no memory even for that text, new texts are still interned. */
    (void)!strtab_close(&tables->strings, "<name not kept>", NULL);
    table_close(&tables->libraries);
    table_close(&tables->functions);
    table_close(&tables->frames);
    table_close(&tables->nodes);
    table_close(&tables->spots);
}

struct profile_sizes tables_sizes(const struct tables *tables)
{
    return (struct profile_sizes){
        .strings = tables->strings.strings.count,
        .libraries = table_count(&tables->libraries),
        .functions = table_count(&tables->functions),
        .frames = table_count(&tables->frames),
        .nodes = table_count(&tables->nodes),
        .threads = table_count(&tables->threads),
        .processes = table_count(&tables->processes),
        .spots = table_count(&tables->spots),
    };
}

size_t tables_bytes(const struct tables *tables)
{
    return strtab_bytes(&tables->strings) + table_bytes(&tables->libraries) +
           table_bytes(&tables->functions) + table_bytes(&tables->frames) +
           table_bytes(&tables->nodes) + table_bytes(&tables->threads) +
           table_bytes(&tables->processes) + table_bytes(&tables->spots);
}
