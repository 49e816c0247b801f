#include <stdlib.h>
#include <string.h>

#include "sampler/profile/cell_key.h"
#include "sampler/profile/profile_parts.h"
#include "sampler/profile/window.h"

/* Cells merged at one seal, so that the next sample does not wait long. */
enum { MERGED_CELLS = 1 << 17 };

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
        return err_nomem(err);
    struct tally_cell *const cells = malloc(((size_t)open->count + 1) * sizeof *cells);
    if (!cells)
        return err_nomem(err);
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

/* Takes the window over; NULL: publishes only counters and time. */
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

size_t profile_history_bytes(const struct profile *profile)
{
    const struct published *const published = &profile->published;
    return published->history.bytes + series_bytes(&published->series);
}

/* The tables grow by doubling: if closed here, they stay below three quarters of the memory. */
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

/* Merges windows that are old enough, a part of them at a time.  true: no more are left. */
static bool merge_old(struct profile *profile, uint64_t now_ns)
{
    struct history *const history = &profile->published.history;
    struct history_run run;
    size_t cells = 0;
    while (cells < MERGED_CELLS) {
        if (!history_find_run(history, now_ns, &run))
            return true;
        cells += cells_of(history, &run);
        /* If memory runs out, a later seal tries again. */
        if (!merge_run(profile, &run))
            return true;
    }
    return false;
}

static bool is_over_memory(const struct profile *profile)
{
    return profile->memory_bytes &&
           profile_history_bytes(profile) + tables_bytes(&profile->tables) >
               profile->memory_bytes;
}

static void keep_within_memory(struct profile *profile, uint64_t now_ns)
{
    close_tables(profile);
    if (merge_old(profile, now_ns) && is_over_memory(profile) &&
        profile->published.history.ages > 0)
        history_halve_ages(&profile->published.history);
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
