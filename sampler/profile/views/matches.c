#include "sampler/profile/views/matches.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/window.h"

static bool is_within(const struct window *window, uint64_t from_ns, uint64_t to_ns)
{
    return window->end_ns > from_ns && (to_ns == 0 || window->start_ns < to_ns);
}

enum err_code matches_init(struct matches *matches, const struct profile_snapshot *snapshot,
                           uint64_t from_ns, uint64_t to_ns, const unsigned char *wanted,
                           struct err *err)
{
    size_t first = 0, end = snapshot->window_count;
    memset(matches, 0, sizeof *matches);
    while (first < end && !is_within(snapshot->windows[first], from_ns, to_ns))
        first++;
    while (end > first && !is_within(snapshot->windows[end - 1], from_ns, to_ns))
        end--;
    if (end - first > MATCHES_MAX_SLOTS)
        first = end - MATCHES_MAX_SLOTS;
    unsigned char *const marks = calloc((size_t)snapshot->sizes.nodes + 1, 1);
    matches->slots = malloc((end - first + 1) * sizeof *matches->slots);
    if (!marks || !matches->slots) {
        free(marks);
        matches_deinit(matches);
        return err_nomem(err);
    }

    /* Parents come before children: a node matches where its function does, or its caller matches. */
    for (node_id id = 1; id < snapshot->sizes.nodes; id++) {
        const struct profile_node node = profile_node_at(snapshot, id);
        marks[id] =
            marks[node.parent] || wanted[profile_frame_at(snapshot, node.frame).function];
    }

    for (size_t i = first; i < end; i++) {
        const struct window *const window = snapshot->windows[i];
        struct match_slot slot = { .start_ns = window->start_ns,
                                   .end_ns = window->end_ns,
                                   .samples = window->samples };
        for (size_t j = 0; j < window->cell_count; j++)
            if (marks[window->cells[j].node])
                slot.matching += window->cells[j].count;
        matches->slots[matches->count++] = slot;
    }
    free(marks);
    return ERR_OK;
}

void matches_deinit(struct matches *matches)
{
    free(matches->slots);
    memset(matches, 0, sizeof *matches);
}
