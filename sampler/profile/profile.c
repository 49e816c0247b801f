#include "sampler/profile/profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/cell_key.h"
#include "sampler/profile/history.h"
#include "sampler/profile/series.h"
#include "sampler/profile/states.h"
#include "sampler/profile/tables.h"
#include "sampler/profile/tally.h"
#include "sampler/profile/window.h"

/* Cells that are merged at one seal, so that the next sample does not wait long. */
enum { MERGED_CELLS = 1 << 17 };

/* What readers may see, all of it under the lock. */
struct published {
    uint32_t generation;
    struct profile_sizes sizes;
    struct quality quality;
    uint64_t end_ns;
    size_t table_bytes;
    struct history history;
    struct series series;
};

struct profile {
    /* Only the writer touches these, except rows below published.sizes. */
    struct tables tables;
    struct tally open;
    struct tally open_spots; /* by spot_key */
    struct series_pending pending;
    uint64_t open_start_ns;
    bool is_timed;       /* samples of the open window stand for different times */
    uint64_t period_ns;  /* what a sample of the open window stands for */
    size_t memory_bytes; /* 0: no bound */
    bool is_closed;      /* the tables take no new places any more */
    struct quality quality;
    struct profile_sizes sealed; /* sizes at the last generation, or at creation */

    pthread_mutex_t lock;
    struct published published;
};

/* The root's function, frame and node are rows 0 of their tables.  The node is not in the index:
 * asking for the root's frame beneath the root must not give the root back. */
static enum err_code add_root(struct profile *profile, struct err *err)
{
    uint32_t id;
    enum err_code rc = profile_function(profile, 0, 0, 0, &id, err);
    if (!rc)
        rc = profile_frame(profile, id, 0, &id, err);
    if (!rc)
        rc = pool_push(&profile->tables.nodes.rows, &(struct profile_node){ 0, 0 }, &id, err);
    return rc;
}

enum err_code profile_create(struct profile **out, struct err *err)
{
    struct profile *const profile = calloc(1, sizeof *profile);
    if (!profile)
        return err_set(err, ERR_NOMEM, "no memory for a profile");
    pthread_mutex_init(&profile->lock, NULL);
    tally_init(&profile->open, PROFILE_MAX_CELLS);
    tally_init(&profile->open_spots, PROFILE_MAX_CELLS);
    enum err_code rc = tables_init(&profile->tables, err);
    if (!rc)
        rc = add_root(profile, err);
    if (rc) {
        profile_destroy(profile);
        return rc;
    }
    profile->sealed = tables_sizes(&profile->tables);
    history_init(&profile->published.history);
    series_init(&profile->published.series);
    *out = profile;
    return ERR_OK;
}

void profile_destroy(struct profile *profile)
{
    if (!profile)
        return;
    history_deinit(&profile->published.history);
    series_deinit(&profile->published.series);
    tally_deinit(&profile->open);
    tally_deinit(&profile->open_spots);
    tables_deinit(&profile->tables);
    pthread_mutex_destroy(&profile->lock);
    free(profile);
}

struct strtab *profile_strings(struct profile *profile)
{
    return &profile->tables.strings;
}

struct quality *profile_quality(struct profile *profile)
{
    return &profile->quality;
}

static enum err_code check(uint32_t id, uint32_t count, const char *what, struct err *err)
{
    return id < count ? ERR_OK : err_set(err, ERR_INVALID, "there is no %s %u", what, id);
}

static enum err_code check_string(const struct profile *profile, str_id id, struct err *err)
{
    return check(id, profile->tables.strings.strings.count, "string", err);
}

enum err_code profile_function(struct profile *profile, str_id name, str_id file,
                               int32_t first_line, function_id *id_out, struct err *err)
{
    const struct profile_function row = { name, file, first_line };
    const uint32_t hash = idmap_mix((uint64_t)name << 32 | file, (uint32_t)first_line);
    enum err_code rc = check_string(profile, name, err);
    if (!rc)
        rc = check_string(profile, file, err);
    return rc ? rc : table_intern(&profile->tables.functions, hash, &row, id_out, err);
}

enum err_code profile_frame(struct profile *profile, function_id function, int32_t line,
                            frame_id *id_out, struct err *err)
{
    const struct profile_frame row = { function, line };
    const uint32_t hash = idmap_mix(function, (uint32_t)line);
    const enum err_code rc =
        check(function, table_count(&profile->tables.functions), "function", err);
    return rc ? rc : table_intern(&profile->tables.frames, hash, &row, id_out, err);
}

enum err_code profile_node(struct profile *profile, node_id parent, frame_id frame,
                           node_id *id_out, struct err *err)
{
    const struct profile_node row = { parent, frame };
    const uint32_t hash = idmap_mix(parent, frame);
    enum err_code rc = check(parent, table_count(&profile->tables.nodes), "node", err);
    if (!rc)
        rc = check(frame, table_count(&profile->tables.frames), "frame", err);
    return rc ? rc : table_intern(&profile->tables.nodes, hash, &row, id_out, err);
}

enum err_code profile_process(struct profile *profile, int32_t pid, str_id name,
                              process_id *id_out, struct err *err)
{
    const struct profile_process row = { pid, name };
    const uint32_t hash = idmap_mix((uint32_t)pid, name);
    const enum err_code rc = check_string(profile, name, err);
    return rc ? rc : table_intern(&profile->tables.processes, hash, &row, id_out, err);
}

enum err_code profile_thread(struct profile *profile, const struct profile_thread *thread,
                             thread_id *id_out, struct err *err)
{
    const uint32_t hash = idmap_mix((uint64_t)thread->process << 32 | (uint32_t)thread->tid,
                                    thread->ident ^ (uint64_t)thread->name << 32);
    enum err_code rc =
        check(thread->process, table_count(&profile->tables.processes), "process", err);
    if (!rc)
        rc = check_string(profile, thread->name, err);
    return rc ? rc : table_intern(&profile->tables.threads, hash, thread, id_out, err);
}

static enum err_code add(struct profile *profile, thread_id thread, state_bits state,
                         node_id node, uint32_t count, uint64_t ns, struct err *err)
{
    enum err_code rc = check(thread, table_count(&profile->tables.threads), "thread", err);
    if (!rc)
        rc = check(node, table_count(&profile->tables.nodes), "node", err);
    if (rc || !count)
        return rc;
    return tally_add(&profile->open, cell_key(thread, state, node), count, ns, err);
}

enum err_code profile_add(struct profile *profile, thread_id thread, state_bits state,
                          node_id node, uint32_t count, struct err *err)
{
    return add(profile, thread, state, node, count, count * profile->period_ns, err);
}

enum err_code profile_add_timed(struct profile *profile, thread_id thread, state_bits state,
                                node_id node, uint32_t count, uint64_t ns, struct err *err)
{
    profile->is_timed |= ns != count * profile->period_ns;
    return add(profile, thread, state, node, count, ns, err);
}

enum err_code profile_spot(struct profile *profile, const struct profile_spot *spot,
                           spot_id *id_out, struct err *err)
{
    const uint32_t hash = idmap_mix(
        (uint64_t)spot->function << 32 | (uint32_t)spot->line,
        (uint64_t)(uint32_t)spot->column << 32 |
            (spot->opcode ^ (uint32_t)spot->end_column << 16 ^ spot->caller * 2654435761u));
    enum err_code rc =
        check(spot->function, table_count(&profile->tables.functions), "function", err);
    if (!rc)
        rc = check_string(profile, spot->opcode, err);
    if (!rc)
        rc = check_string(profile, spot->base, err);
    if (!rc && spot->caller)
        rc = check(spot->caller - 1, table_count(&profile->tables.spots), "spot", err);
    return rc ? rc : table_intern(&profile->tables.spots, hash, spot, id_out, err);
}

enum err_code profile_add_spot(struct profile *profile, node_id node, spot_id spot,
                               uint32_t count, struct err *err)
{
    enum err_code rc = check(node, table_count(&profile->tables.nodes), "node", err);
    if (!rc)
        rc = check(spot, table_count(&profile->tables.spots), "spot", err);
    if (rc || !count)
        return rc;
    return tally_add(&profile->open_spots, spot_key(node, spot), count, 0, err);
}

static struct cell cell_of(const struct tally_cell *from)
{
    return (struct cell){
        .thread = cell_key_thread(from->key),
        .node = cell_key_node(from->key),
        .count = from->count < UINT32_MAX ? (uint32_t)from->count : UINT32_MAX,
        .state = cell_key_state(from->key),
    };
}

static struct spot_cell spot_cell_of(const struct tally_cell *from)
{
    return (struct spot_cell){
        .node = spot_key_node(from->key),
        .spot = spot_key_spot(from->key),
        .count = from->count < UINT32_MAX ? (uint32_t)from->count : UINT32_MAX,
    };
}

static enum err_code close_spots(const struct tally *open, struct window *window,
                                 struct err *err)
{
    const enum err_code rc = window_reserve_spots(window, open->count, err);
    for (uint32_t i = 0; i < open->count && !rc; i++)
        window->spots[i] = spot_cell_of(&open->cells[i]);
    return rc;
}

static uint64_t samples_of(const struct window *window)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < window->cell_count; i++)
        samples += window->cells[i].count;
    return samples;
}

static void take_cells(const struct profile *profile, struct window *window)
{
    const struct tally *const open = &profile->open;
    for (uint32_t i = 0; i < open->count; i++)
        window->cells[i] = cell_of(&open->cells[i]);
    window_sort(window);
    window->samples = samples_of(window);
    window->period_ns = profile->period_ns;
}

static int compare_keys(const void *left, const void *right)
{
    const struct tally_cell *const a = left;
    const struct tally_cell *const b = right;
    return cell_key_order(a->key, b->key);
}

/* The times of the cells, in the order of the cells. */
static enum err_code take_timed_cells(struct profile *profile, struct window *window,
                                      struct err *err)
{
    struct tally *const open = &profile->open;
    if (!profile->is_timed)
        return ERR_OK;
    window->cell_ns = calloc((size_t)open->count + 1, sizeof *window->cell_ns);
    if (!window->cell_ns)
        return err_set(err, ERR_NOMEM, "no memory for the times of %u cells", open->count);
    struct tally_cell *const cells = malloc(((size_t)open->count + 1) * sizeof *cells);
    if (!cells)
        return err_set(err, ERR_NOMEM, "no memory for %u cells", open->count);
    memcpy(cells, open->cells, open->count * sizeof *cells);
    qsort(cells, open->count, sizeof *cells, compare_keys);
    for (uint32_t i = 0; i < open->count; i++)
        window->cell_ns[i] = cells[i].ns;
    free(cells);
    window->period_ns = 0;
    return ERR_OK;
}

static enum err_code close_window(struct profile *profile, uint64_t now_ns, struct window **out,
                                  struct err *err)
{
    struct window *window;
    enum err_code rc = window_create(profile->open.count, &window, err);
    if (rc)
        return rc;
    rc = close_spots(&profile->open_spots, window, err);
    if (!rc)
        take_cells(profile, window);
    if (!rc)
        rc = take_timed_cells(profile, window, err);
    if (rc) {
        window_unref(window);
        return rc;
    }
    window->start_ns = profile->open_start_ns;
    window->end_ns = now_ns;
    window->sizes = tables_sizes(&profile->tables);
    *out = window;
    return ERR_OK;
}

/* Takes the window over; with NULL only the counters are new. */
static enum err_code publish(struct profile *profile, struct window *window, struct err *err)
{
    const size_t bytes = tables_bytes(&profile->tables);
    struct published *const published = &profile->published;
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&profile->lock);
    if (window)
        rc = history_append(&published->history, window, err);
    if (window && !rc) {
        window->generation = window->first_generation = ++published->generation;
        published->sizes = window->sizes;
        published->end_ns = window->end_ns;
    }
    published->table_bytes = bytes;
    published->quality = profile->quality;
    if (!rc)
        series_flush(&published->series, &profile->pending, published->generation);
    pthread_mutex_unlock(&profile->lock);
    return rc;
}

static size_t bytes_of_history(const struct profile *profile)
{
    const struct published *const published = &profile->published;
    return published->history.bytes + series_bytes(&published->series);
}

/* The tables grow by doubling: closed here, they end below three quarters of the memory. */
static void close_tables(struct profile *profile)
{
    if (profile->is_closed || !profile->memory_bytes ||
        tables_bytes(&profile->tables) < profile->memory_bytes / 8 * 3)
        return;
    tables_close(&profile->tables);
    profile->is_closed = true;
}

/* Only the writer changes the list, so it may be read here without the lock. */
static bool merge_run(struct profile *profile, const struct history_run *run)
{
    struct history *const history = &profile->published.history;
    struct window **const old = malloc(run->count * sizeof(struct window *));
    struct window *merged;
    if (!old || window_merge(history->windows + run->first, run->count, &merged, NULL)) {
        free(old);
        return false;
    }
    merged->width_ns = run->width_ns;
    pthread_mutex_lock(&profile->lock);
    history_replace(history, run, merged, old);
    pthread_mutex_unlock(&profile->lock);
    for (size_t i = 0; i < run->count; i++)
        window_unref(old[i]);
    free(old);
    return true;
}

static size_t cells_of(const struct history *history, const struct history_run *run)
{
    size_t cells = run->count;
    for (size_t i = 0; i < run->count; i++)
        cells += history->windows[run->first + i]->cell_count;
    return cells;
}

/* Merges what is old enough, some of it at a time.  Returns true when nothing is left to do. */
static bool merge_old(struct profile *profile, uint64_t now_ns)
{
    struct history *const history = &profile->published.history;
    struct history_run run;
    size_t cells = 0;
    while (cells < MERGED_CELLS) {
        if (!history_find_run(history, now_ns, &run))
            return true;
        cells += cells_of(history, &run);
        /* Without memory it waits for a better time. */
        if (!merge_run(profile, &run))
            return true;
    }
    return false;
}

static bool is_over_memory(const struct profile *profile)
{
    return profile->memory_bytes &&
           bytes_of_history(profile) + tables_bytes(&profile->tables) > profile->memory_bytes;
}

static void keep_within_memory(struct profile *profile, uint64_t now_ns)
{
    close_tables(profile);
    if (merge_old(profile, now_ns) && is_over_memory(profile) &&
        profile->published.history.keep > 0)
        history_keep_less(&profile->published.history);
}

static bool has_news(const struct profile *profile)
{
    const struct profile_sizes now = tables_sizes(&profile->tables);
    return profile->open.count || memcmp(&now, &profile->sealed, sizeof now) != 0;
}

enum err_code profile_seal(struct profile *profile, uint64_t now_ns, struct err *err)
{
    struct window *window = NULL;
    enum err_code rc = ERR_OK;
    if (now_ns < profile->open_start_ns)
        now_ns = profile->open_start_ns;
    if (has_news(profile))
        rc = close_window(profile, now_ns, &window, err);
    if (!rc)
        rc = publish(profile, window, err);
    if (rc) {
        window_unref(window);
        return rc;
    }
    profile->sealed = tables_sizes(&profile->tables);
    profile->open_start_ns = now_ns;
    profile->is_timed = false;
    tally_clear(&profile->open);
    tally_clear(&profile->open_spots);
    keep_within_memory(profile, now_ns);
    return ERR_OK;
}

void profile_extend(struct profile *profile, uint64_t end_ns)
{
    pthread_mutex_lock(&profile->lock);
    if (end_ns > profile->published.end_ns)
        profile->published.end_ns = end_ns;
    pthread_mutex_unlock(&profile->lock);
}

size_t profile_table_bytes(const struct profile *profile)
{
    return tables_bytes(&profile->tables);
}

void profile_set_memory(struct profile *profile, size_t bytes)
{
    profile->memory_bytes = bytes;
}

void profile_set_period(struct profile *profile, uint64_t period_ns)
{
    profile->period_ns = period_ns;
}

static void flush_series(struct profile *profile)
{
    struct published *const published = &profile->published;
    pthread_mutex_lock(&profile->lock);
    series_flush(&published->series, &profile->pending, published->generation + 1);
    pthread_mutex_unlock(&profile->lock);
}

static void tick_bin(struct profile *profile, uint64_t bin, enum state_doing doing,
                     uint32_t count)
{
    if (!count || series_pend(&profile->pending, bin, doing, count))
        return;
    flush_series(profile);
    (void)series_pend(&profile->pending, bin, doing, count);
}

void profile_tick(struct profile *profile, uint64_t from_ns, uint64_t to_ns, state_bits state,
                  uint32_t count)
{
    const enum state_doing doing = state_doing_of(state);
    const uint64_t first = from_ns / SERIES_BIN_NS;
    uint64_t bins = to_ns > from_ns ? to_ns / SERIES_BIN_NS - first + 1 : 1;
    if (bins > SERIES_PENDING_BINS)
        bins = SERIES_PENDING_BINS;
    uint64_t done = 0;
    for (uint64_t i = 0; i < bins; i++) {
        const uint64_t due = count * (i + 1) / bins;
        tick_bin(profile, first + i, doing, (uint32_t)(due - done));
        done = due;
    }
}

enum err_code profile_copy_series(struct profile *profile, uint64_t first, uint64_t end,
                                  struct series *out, struct err *err)
{
    pthread_mutex_lock(&profile->lock);
    const enum err_code rc = series_copy(&profile->published.series, first, end, out, err);
    pthread_mutex_unlock(&profile->lock);
    return rc;
}

enum err_code profile_snapshot(struct profile *profile, struct profile_snapshot *out,
                               struct err *err)
{
    struct published *const published = &profile->published;
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&profile->lock);
    const size_t count = published->history.count;
    struct window **const windows = count ? malloc(count * sizeof(struct window *)) : NULL;
    if (count && !windows) {
        rc = err_set(err, ERR_NOMEM, "no memory for a list of %zu windows", count);
    } else {
        for (size_t i = 0; i < count; i++)
            windows[i] = window_ref(published->history.windows[i]);
        *out = (struct profile_snapshot){
            .profile = profile,
            .generation = published->generation,
            .sizes = published->sizes,
            .quality = published->quality,
            .end_ns = published->end_ns,
            .memory_bytes = profile->memory_bytes,
            .bytes = published->table_bytes + bytes_of_history(profile),
            .windows = windows,
            .window_count = count,
        };
    }
    pthread_mutex_unlock(&profile->lock);
    return rc;
}

void profile_snapshot_release(struct profile_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->window_count; i++)
        window_unref(snapshot->windows[i]);
    free(snapshot->windows);
    memset(snapshot, 0, sizeof *snapshot);
}

/* How many windows were complete at a generation. */
static size_t windows_until(const struct profile_snapshot *snapshot, uint32_t generation)
{
    size_t low = 0, high = snapshot->window_count; /* those below low are old enough */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (snapshot->windows[middle]->generation <= generation)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct profile_sizes profile_snapshot_sizes_at(const struct profile_snapshot *snapshot,
                                               uint32_t generation)
{
    const size_t count = windows_until(snapshot, generation);
    return count ? snapshot->windows[count - 1]->sizes : (struct profile_sizes){ 0 };
}

uint32_t profile_snapshot_since(const struct profile_snapshot *snapshot, uint32_t generation)
{
    const size_t next = windows_until(snapshot, generation);
    if (generation > snapshot->generation)
        return 0;
    if (next < snapshot->window_count &&
        snapshot->windows[next]->first_generation <= generation)
        return 0;
    return generation;
}

struct strtab_string profile_string(const struct profile_snapshot *snapshot, str_id id)
{
    return strtab_get(&snapshot->profile->tables.strings, id);
}

struct profile_function profile_function_at(const struct profile_snapshot *snapshot,
                                            function_id id)
{
    return *(const struct profile_function *)table_at(&snapshot->profile->tables.functions, id);
}

struct profile_frame profile_frame_at(const struct profile_snapshot *snapshot, frame_id id)
{
    return *(const struct profile_frame *)table_at(&snapshot->profile->tables.frames, id);
}

struct profile_node profile_node_at(const struct profile_snapshot *snapshot, node_id id)
{
    return *(const struct profile_node *)table_at(&snapshot->profile->tables.nodes, id);
}

struct profile_thread profile_thread_at(const struct profile_snapshot *snapshot, thread_id id)
{
    return *(const struct profile_thread *)table_at(&snapshot->profile->tables.threads, id);
}

struct profile_process profile_process_at(const struct profile_snapshot *snapshot,
                                          process_id id)
{
    return *(const struct profile_process *)table_at(&snapshot->profile->tables.processes, id);
}

struct profile_spot profile_spot_at(const struct profile_snapshot *snapshot, spot_id id)
{
    return *(const struct profile_spot *)table_at(&snapshot->profile->tables.spots, id);
}

size_t profile_bytes(struct profile *profile)
{
    pthread_mutex_lock(&profile->lock);
    const size_t bytes = profile->published.table_bytes + bytes_of_history(profile);
    pthread_mutex_unlock(&profile->lock);
    return bytes;
}
