#include "sampler/profile/views/cell_filter.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

/* Windows [0, result) are of generations up to `since` or start before `start_ns`. */
static size_t windows_before(const struct profile_snapshot *snapshot, uint32_t since,
                             uint64_t start_ns)
{
    size_t at;
    LOWER_BOUND(at, snapshot->window_count,
                snapshot->windows[at]->generation <= since ||
                    snapshot->windows[at]->start_ns < start_ns);
    return at;
}

/* A byte for each row, 1 if it is listed; NULL: there is no list. */
static enum err_code mark_wanted(const uint32_t *ids, size_t id_count, uint32_t rows,
                                 unsigned char **out, struct err *err)
{
    if (!ids)
        return ERR_OK;
    unsigned char *const marks = calloc((size_t)rows + 1, 1);
    if (!marks)
        return err_nomem(err);
    for (size_t i = 0; i < id_count; i++)
        if (ids[i] < rows)
            marks[ids[i]] = 1;
    *out = marks;
    return ERR_OK;
}

static enum err_code mark_all(uint32_t rows, unsigned char **out, struct err *err)
{
    unsigned char *const marks = malloc((size_t)rows + 1);
    if (!marks)
        return err_nomem(err);
    memset(marks, 1, (size_t)rows + 1);
    *out = marks;
    return ERR_OK;
}

static enum err_code mark_threads(struct cell_filter *filter, const struct view_query *query,
                                  struct err *err)
{
    const struct profile_sizes *const sizes = &filter->snapshot->sizes;
    unsigned char *processes = NULL;
    enum err_code rc =
        mark_wanted(query->threads, query->thread_count, sizes->threads, &filter->wanted, err);
    if (!rc)
        rc = mark_wanted(query->processes, query->process_count, sizes->processes, &processes,
                         err);
    if (!rc && processes && !filter->wanted)
        rc = mark_all(sizes->threads, &filter->wanted, err);
    if (!rc && processes) {
        /* Clears the threads of processes that are not listed. */
        const struct profile_snapshot *const snapshot = filter->snapshot;
        unsigned char *const threads = filter->wanted;
        for (thread_id id = 0; id < snapshot->sizes.threads; id++)
            threads[id] &= processes[profile_thread_at(snapshot, id).process];
    }
    free(processes);
    return rc;
}

enum err_code cell_filter_init(struct cell_filter *filter,
                               const struct profile_snapshot *snapshot,
                               const struct view_query *query, struct err *err)
{
    *filter = (struct cell_filter){
        .snapshot = snapshot,
        .first = windows_before(snapshot, query->since, query->from_ns),
        .end =
            query->to_ns ? windows_before(snapshot, 0, query->to_ns) : snapshot->window_count,
        .states = query->states,
        .has_cause = query->has_cause,
        .cause = query->cause,
        .requests = query->requests,
    };

    bool is_known = false;
    for (size_t i = filter->first; i < filter->end; i++) {
        const struct window *const window = filter->snapshot->windows[i];
        if (!window->cell_count)
            continue;
        filter->has_periods |=
            window->cell_ns || (is_known && window->period_ns != filter->period_ns);
        filter->period_ns = window->period_ns;
        is_known = true;
    }
    return mark_threads(filter, query, err);
}

void cell_filter_deinit(struct cell_filter *filter)
{
    free(filter->wanted);
}

const struct cell *cell_filter_next(const struct cell_filter *filter, struct cell_walk *walk)
{
    for (; filter->first + walk->windows < filter->end; walk->windows++, walk->cells = 0) {
        const struct window *const window =
            filter->snapshot->windows[filter->first + walk->windows];
        while (walk->cells < window->cell_count) {
            const size_t at = walk->cells++;
            if (!cell_filter_passes(filter, &window->cells[at]))
                continue;
            walk->ns = window_cell_ns(window, at);
            return &window->cells[at];
        }
    }
    return NULL;
}
