#include "sampler/profile/views/matches.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/views/cell_filter.h"
#include "sampler/profile/window.h"

static bool is_within(const struct window *window, uint64_t from_ns, uint64_t to_ns)
{
    return window->end_ns > from_ns && (to_ns == 0 || window->start_ns < to_ns);
}

enum err_code matches_init(struct matches *matches, const struct profile_snapshot *snapshot,
                           const struct view_query *query, const unsigned char *wanted,
                           struct err *err)
{
    struct view_query of_all_time = *query;
    struct cell_filter filter;
    size_t first = 0, end = snapshot->window_count;
    memset(matches, 0, sizeof *matches);
    while (first < end && !is_within(snapshot->windows[first], query->from_ns, query->to_ns))
        first++;
    while (end > first && !is_within(snapshot->windows[end - 1], query->from_ns, query->to_ns))
        end--;
    if (end - first > MATCHES_MAX_SLOTS)
        first = end - MATCHES_MAX_SLOTS;
    unsigned char *const marks = calloc((size_t)snapshot->sizes.nodes + 1, 1);
    matches->slots = malloc((end - first + 1) * sizeof *matches->slots);
    of_all_time.from_ns = of_all_time.to_ns = 0;
    of_all_time.since = 0;
    const enum err_code rc = marks && matches->slots
                                 ? cell_filter_init(&filter, snapshot, &of_all_time, err)
                                 : err_nomem(err);
    if (rc) {
        free(marks);
        matches_deinit(matches);
        return rc;
    }

    /* Parents come before children: a node matches where its function does, or its caller matches. */
    for (node_id id = 1; id < snapshot->sizes.nodes; id++) {
        const struct profile_node node = profile_node_at(snapshot, id);
        marks[id] =
            marks[node.parent] || wanted[profile_frame_at(snapshot, node.frame).function];
    }

    for (size_t i = first; i < end; i++) {
        const struct window *const window = snapshot->windows[i];
        struct match_slot slot = { .start_ns = window->start_ns, .end_ns = window->end_ns };
        for (size_t j = 0; j < window->cell_count; j++) {
            const struct cell *const cell = &window->cells[j];
            if (!cell_filter_passes(&filter, cell))
                continue;
            slot.samples += cell->count;
            slot.matching += marks[cell->node] ? cell->count : 0;
        }
        matches->slots[matches->count++] = slot;
    }
    cell_filter_deinit(&filter);
    free(marks);
    return ERR_OK;
}

void matches_deinit(struct matches *matches)
{
    free(matches->slots);
    memset(matches, 0, sizeof *matches);
}
