#include "sampler/profile/profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/idmap.h"
#include "sampler/base/pool.h"
#include "sampler/profile/window.h"

/* A table of rows found by their content. */
struct table {
    struct pool rows;
    struct idmap index;
};

struct profile {
    /* The writer's; readers see rows below the published sizes. */
    struct strtab strings;
    struct table functions, frames, nodes, threads, processes;
    struct quality quality;
    struct pool open_cells; /* of struct cell: the open window */
    struct idmap open_index;
    uint64_t open_since_ns;

    /* Published at each seal; both sides lock. */
    pthread_mutex_t mutex;
    struct profile_sizes sizes;
    struct quality published;
    uint64_t end_ns;
    uint32_t generation;
    struct window **windows; /* oldest first */
    size_t window_count, window_room;
    size_t table_bytes, window_bytes;
};

static void table_init(struct table *table, size_t row_bytes, uint32_t max_rows)
{
    pool_init(&table->rows, row_bytes, max_rows);
    idmap_init(&table->index);
}

static void table_deinit(struct table *table)
{
    pool_deinit(&table->rows);
    idmap_deinit(&table->index);
}

/* The id of the row equal to *row, byte for byte (rows have no padding that is not zeroed). */
static enum err_code table_intern(struct table *table, const void *row, uint32_t hash,
                                  uint32_t *id_out, struct err *err)
{
    const size_t bytes = table->rows.item_bytes;
    uint32_t id;
    for (uint32_t slot = idmap_first(&table->index, hash);
         (id = idmap_id(&table->index, slot)) != IDMAP_NONE;
         slot = idmap_next(&table->index, slot)) {
        if (idmap_hash(&table->index, slot) != hash ||
            memcmp(pool_at(&table->rows, id), row, bytes) != 0)
            continue;
        *id_out = id;
        return ERR_OK;
    }
    enum err_code rc = pool_push(&table->rows, row, &id, err);
    if (!rc)
        rc = idmap_add(&table->index, hash, id, err);
    if (!rc)
        *id_out = id;
    return rc;
}

static size_t table_bytes(const struct table *table)
{
    return pool_bytes(&table->rows) +
           ((size_t)table->index.mask + 1) * sizeof *table->index.slots;
}

/* Row 0 of functions, frames and nodes is the root's. */
static enum err_code add_root(struct profile *profile, struct err *err)
{
    function_id function;
    frame_id frame;
    node_id node;
    enum err_code rc = profile_function(profile, 0, 0, 0, &function, err);
    if (!rc)
        rc = profile_frame(profile, 0, 0, &frame, err);
    if (!rc)
        rc = profile_node(profile, 0, 0, &node, err);
    return rc;
}

enum err_code profile_create(struct profile **out, struct err *err)
{
    struct profile *const p = calloc(1, sizeof *p);
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for a profile");
    pthread_mutex_init(&p->mutex, NULL);
    table_init(&p->functions, sizeof(struct profile_function), PROFILE_MAX_FUNCTIONS);
    table_init(&p->frames, sizeof(struct profile_frame), PROFILE_MAX_FRAMES);
    table_init(&p->nodes, sizeof(struct profile_node), PROFILE_MAX_NODES);
    table_init(&p->threads, sizeof(struct profile_thread), PROFILE_MAX_THREADS);
    table_init(&p->processes, sizeof(struct profile_process), PROFILE_MAX_PROCESSES);
    pool_init(&p->open_cells, sizeof(struct cell), 0);
    idmap_init(&p->open_index);
    enum err_code rc = strtab_init(&p->strings, err);
    if (!rc)
        rc = add_root(p, err);
    if (rc)
        profile_destroy(p);
    else
        *out = p;
    return rc;
}

void profile_destroy(struct profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->window_count; i++)
        window_unref(profile->windows[i]);
    free(profile->windows);
    pool_deinit(&profile->open_cells);
    idmap_deinit(&profile->open_index);
    table_deinit(&profile->functions);
    table_deinit(&profile->frames);
    table_deinit(&profile->nodes);
    table_deinit(&profile->threads);
    table_deinit(&profile->processes);
    strtab_deinit(&profile->strings);
    pthread_mutex_destroy(&profile->mutex);
    free(profile);
}

struct strtab *profile_strings(struct profile *profile)
{
    return &profile->strings;
}

struct quality *profile_quality(struct profile *profile)
{
    return &profile->quality;
}

enum err_code profile_function(struct profile *profile, str_id name, str_id file,
                               int32_t first_line, function_id *id_out, struct err *err)
{
    const struct profile_function row = { name, file, first_line };
    const uint32_t hash = idmap_mix((uint64_t)name << 32 | file, (uint32_t)first_line);
    return table_intern(&profile->functions, &row, hash, id_out, err);
}

enum err_code profile_frame(struct profile *profile, function_id function, int32_t line,
                            frame_id *id_out, struct err *err)
{
    const struct profile_frame row = { function, line };
    return table_intern(&profile->frames, &row, idmap_mix(function, (uint32_t)line), id_out,
                        err);
}

enum err_code profile_node(struct profile *profile, node_id parent, frame_id frame,
                           node_id *id_out, struct err *err)
{
    const struct profile_node row = { parent, frame };
    return table_intern(&profile->nodes, &row, idmap_mix(parent, frame), id_out, err);
}

enum err_code profile_process(struct profile *profile, int32_t pid, str_id name,
                              process_id *id_out, struct err *err)
{
    const struct profile_process row = { pid, name };
    return table_intern(&profile->processes, &row, idmap_mix((uint32_t)pid, name), id_out, err);
}

enum err_code profile_thread(struct profile *profile, const struct profile_thread *thread,
                             thread_id *id_out, struct err *err)
{
    struct profile_thread row;
    memset(&row, 0, sizeof row);
    row.process = thread->process;
    row.tid = thread->tid;
    row.ident = thread->ident;
    row.name = thread->name;
    row.is_main = thread->is_main;
    const uint32_t hash =
        idmap_mix((uint64_t)row.name << 32 | (uint32_t)row.tid, row.ident + row.process);
    return table_intern(&profile->threads, &row, hash, id_out, err);
}

enum err_code profile_add(struct profile *profile, thread_id thread, state_bits state,
                          node_id node, uint32_t count, struct err *err)
{
    const uint32_t hash = idmap_mix((uint64_t)thread << 32 | node, state);
    uint32_t id;
    for (uint32_t slot = idmap_first(&profile->open_index, hash);
         (id = idmap_id(&profile->open_index, slot)) != IDMAP_NONE;
         slot = idmap_next(&profile->open_index, slot)) {
        struct cell *const cell = pool_at(&profile->open_cells, id);
        if (cell->thread != thread || cell->node != node || cell->state != state)
            continue;
        cell->count = cell->count > UINT32_MAX - count ? UINT32_MAX : cell->count + count;
        return ERR_OK;
    }
    const struct cell cell = { thread, node, count, state };
    enum err_code rc = pool_push(&profile->open_cells, &cell, &id, err);
    if (!rc)
        rc = idmap_add(&profile->open_index, hash, id, err);
    return rc;
}

static struct profile_sizes sizes_now(const struct profile *profile)
{
    return (struct profile_sizes){
        .strings = profile->strings.strings.count,
        .functions = profile->functions.rows.count,
        .frames = profile->frames.rows.count,
        .nodes = profile->nodes.rows.count,
        .threads = profile->threads.rows.count,
        .processes = profile->processes.rows.count,
    };
}

static bool same_sizes(const struct profile_sizes *a, const struct profile_sizes *b)
{
    return a->strings == b->strings && a->functions == b->functions && a->frames == b->frames &&
           a->nodes == b->nodes && a->threads == b->threads && a->processes == b->processes;
}

/* The open window's cells in a window of their own; the open one is empty again. */
static enum err_code close_window(struct profile *profile, struct window **out, struct err *err)
{
    struct window *window;
    const uint32_t count = profile->open_cells.count;
    const enum err_code rc = window_create(count, &window, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < count; i++)
        window->cells[i] = *(const struct cell *)pool_at(&profile->open_cells, i);
    window_sort(window);
    profile->open_cells.count = 0;
    idmap_clear(&profile->open_index);
    *out = window;
    return ERR_OK;
}

static enum err_code reserve_window(struct profile *profile, struct err *err)
{
    if (profile->window_count < profile->window_room)
        return ERR_OK;
    const size_t room = profile->window_room ? profile->window_room * 2 : 64;
    struct window **const more = realloc(profile->windows, room * sizeof *more);
    if (!more)
        return err_set(err, ERR_NOMEM, "no memory for %zu windows", room);
    profile->windows = more;
    profile->window_room = room;
    return ERR_OK;
}

static size_t tables_bytes(const struct profile *profile)
{
    return strtab_bytes(&profile->strings) + table_bytes(&profile->functions) +
           table_bytes(&profile->frames) + table_bytes(&profile->nodes) +
           table_bytes(&profile->threads) + table_bytes(&profile->processes);
}

enum err_code profile_seal(struct profile *profile, uint64_t now_ns, struct err *err)
{
    const struct profile_sizes sizes = sizes_now(profile);
    const size_t tables = tables_bytes(profile);
    struct window *window = NULL;
    const bool changed = profile->open_cells.count > 0 || !same_sizes(&sizes, &profile->sizes);
    enum err_code rc = ERR_OK;
    if (changed)
        rc = close_window(profile, &window, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&profile->mutex);
    if (changed)
        rc = reserve_window(profile, err);
    if (!rc && changed) {
        window->generation = ++profile->generation;
        window->start_ns = profile->open_since_ns;
        window->end_ns = now_ns;
        window->sizes = sizes;
        profile->windows[profile->window_count++] = window;
        profile->sizes = sizes;
        profile->window_bytes += window_bytes(window);
    }
    profile->published = profile->quality;
    profile->end_ns = now_ns;
    profile->table_bytes = tables;
    pthread_mutex_unlock(&profile->mutex);
    if (rc)
        window_unref(window);
    profile->open_since_ns = now_ns;
    return rc;
}

enum err_code profile_snapshot(struct profile *profile, struct profile_snapshot *out,
                               struct err *err)
{
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&profile->mutex);
    struct window **const windows = malloc((profile->window_count + 1) * sizeof *windows);
    if (!windows)
        rc = err_set(err, ERR_NOMEM, "no memory for a snapshot");
    else {
        for (size_t i = 0; i < profile->window_count; i++)
            windows[i] = window_ref(profile->windows[i]);
        *out = (struct profile_snapshot){
            .profile = profile,
            .generation = profile->generation,
            .sizes = profile->sizes,
            .quality = profile->published,
            .end_ns = profile->end_ns,
            .windows = windows,
            .window_count = profile->window_count,
        };
    }
    pthread_mutex_unlock(&profile->mutex);
    return rc;
}

void profile_snapshot_release(struct profile_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->window_count; i++)
        window_unref(snapshot->windows[i]);
    free(snapshot->windows);
    memset(snapshot, 0, sizeof *snapshot);
}

struct profile_sizes profile_snapshot_sizes_at(const struct profile_snapshot *snapshot,
                                               uint32_t generation)
{
    size_t low = 0, high = snapshot->window_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (snapshot->windows[middle]->generation <= generation)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? snapshot->windows[low - 1]->sizes : (struct profile_sizes){ 0 };
}

struct strtab_string profile_string(const struct profile_snapshot *snapshot, str_id id)
{
    return strtab_get(&snapshot->profile->strings, id);
}

struct profile_function profile_function_at(const struct profile_snapshot *snapshot,
                                            function_id id)
{
    return *(const struct profile_function *)pool_at(&snapshot->profile->functions.rows, id);
}

struct profile_frame profile_frame_at(const struct profile_snapshot *snapshot, frame_id id)
{
    return *(const struct profile_frame *)pool_at(&snapshot->profile->frames.rows, id);
}

struct profile_node profile_node_at(const struct profile_snapshot *snapshot, node_id id)
{
    return *(const struct profile_node *)pool_at(&snapshot->profile->nodes.rows, id);
}

struct profile_thread profile_thread_at(const struct profile_snapshot *snapshot, thread_id id)
{
    return *(const struct profile_thread *)pool_at(&snapshot->profile->threads.rows, id);
}

struct profile_process profile_process_at(const struct profile_snapshot *snapshot,
                                          process_id id)
{
    return *(const struct profile_process *)pool_at(&snapshot->profile->processes.rows, id);
}

size_t profile_bytes(struct profile *profile)
{
    pthread_mutex_lock(&profile->mutex);
    const size_t bytes = profile->table_bytes + profile->window_bytes;
    pthread_mutex_unlock(&profile->mutex);
    return bytes;
}
