#include "sampler/profile/publication.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/window.h"

/* Cells merged at one seal, so that the next sample does not wait long. */
enum { MERGED_CELLS = 1 << 17 };

void publication_init(struct publication *publication)
{
    *publication = (struct publication){ 0 };
    pthread_mutex_init(&publication->lock, NULL);
    history_init(&publication->history);
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        history_init(&publication->measured[i]);
    series_init(&publication->series);
}

void publication_deinit(struct publication *publication)
{
    history_deinit(&publication->history);
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        history_deinit(&publication->measured[i]);
    series_deinit(&publication->series);
    memory_log_deinit(&publication->memory);
    pthread_mutex_destroy(&publication->lock);
}

enum err_code publication_add(struct publication *publication, struct window *window,
                              const struct quality *quality, size_t table_bytes,
                              struct series_pending *pending, struct err *err)
{
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&publication->lock);
    if (window)
        rc = history_append(&publication->history, window, err);
    if (window && !rc) {
        window->generation = window->first_generation = ++publication->generation;
        publication->measures |= window->samples ? MEASURE_SET(MEASURE_TIME) : 0;
        publication->sums[MEASURE_TIME] += window_sum(window);
        publication->sizes = window->sizes;
        publication->end_ns = window->end_ns;
    }
    publication->table_bytes = table_bytes;
    publication->quality = *quality;
    if (!rc)
        series_flush(&publication->series, pending, publication->generation);
    pthread_mutex_unlock(&publication->lock);
    return rc;
}

enum err_code publication_add_measured(struct publication *publication, enum measure measure,
                                       struct window *window, struct err *err)
{
    pthread_mutex_lock(&publication->lock);
    const enum err_code rc = history_append(&publication->measured[measure], window, err);
    if (!rc) {
        window->generation = window->first_generation = publication->generation + 1;
        publication->measures |= MEASURE_SET(measure);
        publication->sums[measure] += window_sum(window);
    }
    pthread_mutex_unlock(&publication->lock);
    return rc;
}

void publication_add_rows(struct publication *publication, const struct profile_sizes *sizes,
                          uint64_t end_ns, const struct quality *quality, size_t table_bytes)
{
    pthread_mutex_lock(&publication->lock);
    publication->generation++;
    publication->sizes = *sizes;
    publication->end_ns = end_ns;
    publication->quality = *quality;
    publication->table_bytes = table_bytes;
    pthread_mutex_unlock(&publication->lock);
}

void publication_flush_series(struct publication *publication, struct series_pending *pending)
{
    pthread_mutex_lock(&publication->lock);
    series_flush(&publication->series, pending, publication->generation + 1);
    pthread_mutex_unlock(&publication->lock);
}

void publication_extend(struct publication *publication, uint64_t end_ns)
{
    pthread_mutex_lock(&publication->lock);
    if (end_ns > publication->end_ns)
        publication->end_ns = end_ns;
    pthread_mutex_unlock(&publication->lock);
}

static size_t cells_of(const struct history *history, const struct history_run *run)
{
    size_t cells = run->count;
    for (size_t i = 0; i < run->count; i++)
        cells += history->windows[run->first + i]->cell_count;
    return cells;
}

/* *cells: merged so far. */
static bool merge_history(struct publication *publication, struct history *history,
                          uint64_t now_ns, size_t *cells)
{
    struct history_run run;
    while (*cells < MERGED_CELLS) {
        if (!history_find_run(history, now_ns, &run))
            return true;
        *cells += cells_of(history, &run);
        /* If memory runs out, a later seal tries again. */
        struct window **const old = malloc(run.count * sizeof(struct window *));
        struct window *merged;
        if (!old || window_merge(history->windows + run.first, run.count, &merged, NULL)) {
            free(old);
            return true;
        }
        merged->width_ns = run.width_ns;
        pthread_mutex_lock(&publication->lock);
        history_replace(history, &run, merged, old);
        pthread_mutex_unlock(&publication->lock);
        for (size_t i = 0; i < run.count; i++)
            window_unref(old[i]);
        free(old);
    }
    return false;
}

bool publication_merge_old(struct publication *publication, uint64_t now_ns)
{
    size_t cells = 0;
    bool is_done = merge_history(publication, &publication->history, now_ns, &cells);
    for (size_t i = 0; i < MEASURE_COUNT && is_done; i++)
        is_done = merge_history(publication, &publication->measured[i], now_ns, &cells);
    return is_done;
}

bool publication_halve_ages(struct publication *publication)
{
    if (publication->history.ages == 0)
        return false;
    history_halve_ages(&publication->history);
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        history_halve_ages(&publication->measured[i]);
    return true;
}

bool publication_drop_runs(struct publication *publication, size_t bytes)
{
    struct history *const history = &publication->history;
    const size_t goal = history->run_bytes > bytes ? history->run_bytes - bytes : 0;
    size_t cells = 0, at;
    bool has_dropped = false;
    while (history->run_bytes > goal && cells < MERGED_CELLS &&
           history_find_runs(history, &at)) {
        cells += history->windows[at]->cell_count + 1;

        const struct history_run one = { at, 1, 0 };
        struct window *without, *old;
        if (window_without_runs(history->windows[at], &without, NULL))
            break;
        pthread_mutex_lock(&publication->lock);
        history_replace(history, &one, without, &old);
        pthread_mutex_unlock(&publication->lock);
        window_unref(old);

        has_dropped = true;
    }
    return has_dropped;
}

size_t publication_bytes(const struct publication *publication)
{
    size_t bytes = publication->history.bytes + series_bytes(&publication->series) +
                   memory_log_bytes(&publication->memory);
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        bytes += publication->measured[i].bytes;
    return bytes;
}

enum err_code publication_copy(struct publication *publication, enum measure measure,
                               struct profile_snapshot *out, struct err *err)
{
    enum err_code rc = ERR_OK;
    const struct history *const history =
        measure == MEASURE_TIME ? &publication->history : &publication->measured[measure];
    pthread_mutex_lock(&publication->lock);
    size_t count = history->count;
    /* Windows of other measures wait for that of time, with which their rows are published. */
    while (count && history->windows[count - 1]->generation > publication->generation)
        count--;
    struct window **const windows = count ? malloc(count * sizeof(struct window *)) : NULL;
    if (count && !windows) {
        rc = err_nomem(err);
    } else {
        for (size_t i = 0; i < count; i++)
            windows[i] = window_ref(history->windows[i]);
        *out = (struct profile_snapshot){
            .generation = publication->generation,
            .sizes = publication->sizes,
            .quality = publication->quality,
            .end_ns = publication->end_ns,
            .bytes = publication->table_bytes + publication_bytes(publication),
            .measure = measure,
            .measures = publication->measures,
            .windows = windows,
            .window_count = count,
        };
        memcpy(out->sums, publication->sums, sizeof out->sums);
    }
    pthread_mutex_unlock(&publication->lock);
    return rc;
}

enum err_code publication_copy_series(struct publication *publication, uint64_t first,
                                      uint64_t end, struct series *out, struct err *err)
{
    pthread_mutex_lock(&publication->lock);
    const enum err_code rc = series_copy(&publication->series, first, end, out, err);
    pthread_mutex_unlock(&publication->lock);
    return rc;
}

enum err_code publication_add_memory(struct publication *publication,
                                     const struct memory_step *step,
                                     const struct memory_use *uses, struct err *err)
{
    pthread_mutex_lock(&publication->lock);
    const enum err_code rc = memory_log_add(&publication->memory, step, uses, err);
    pthread_mutex_unlock(&publication->lock);
    return rc;
}

enum err_code publication_copy_memory(struct publication *publication, uint64_t from_ns,
                                      uint64_t to_ns, struct memory_log *out, struct err *err)
{
    pthread_mutex_lock(&publication->lock);
    const enum err_code rc = memory_log_copy(&publication->memory, from_ns, to_ns, out, err);
    pthread_mutex_unlock(&publication->lock);
    return rc;
}
