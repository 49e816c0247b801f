#include "sampler/profile/views/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/cell_filter.h"

#define MS_NS     1000000ull
#define SECOND_NS (1000 * MS_NS)

/* Widths that people count in; each session's slots are multiples of one of them. */
static const uint64_t widths_ns[] = {
    250 * MS_NS,      500 * MS_NS,       SECOND_NS,         2 * SECOND_NS,     5 * SECOND_NS,
    10 * SECOND_NS,   20 * SECOND_NS,    30 * SECOND_NS,    60 * SECOND_NS,    120 * SECOND_NS,
    300 * SECOND_NS,  600 * SECOND_NS,   1200 * SECOND_NS,  1800 * SECOND_NS,  3600 * SECOND_NS,
    7200 * SECOND_NS, 21600 * SECOND_NS, 43200 * SECOND_NS, 86400 * SECOND_NS,
};

enum { WIDTHS = sizeof widths_ns / sizeof *widths_ns };

static uint64_t slots_of(uint64_t from_ns, uint64_t to_ns, uint64_t width_ns)
{
    return to_ns > from_ns ? (to_ns - 1) / width_ns - from_ns / width_ns + 1 : 1;
}

uint64_t timeline_width_ns(uint64_t from_ns, uint64_t to_ns, size_t slots)
{
    uint64_t width_ns = widths_ns[0];
    slots = slots ? slots : 1;
    for (size_t i = 1; i < WIDTHS && slots_of(from_ns, to_ns, width_ns) > slots; i++)
        width_ns = widths_ns[i];
    while (slots_of(from_ns, to_ns, width_ns) > slots && width_ns < UINT64_MAX / 4)
        width_ns *= 2;
    return width_ns;
}

static enum err_code fill_slots(struct timeline_slots *timeline,
                                const struct cell_filter *filter, size_t first, struct err *err)
{
    const uint64_t width_ns = timeline->width_ns;
    struct window *const *const windows = filter->snapshot->windows;
    size_t count = 0;
    for (size_t i = first; i < filter->end; i++)
        count += i == first ||
                 windows[i]->start_ns / width_ns != windows[i - 1]->start_ns / width_ns;

    timeline->rows = calloc(count + 1, sizeof *timeline->rows);
    if (!timeline->rows)
        return err_nomem(err);
    for (size_t i = first; i < filter->end; i++) {
        const struct window *const window = filter->snapshot->windows[i];
        const uint64_t slot = window->start_ns / timeline->width_ns;
        if (timeline->count == 0 || timeline->rows[timeline->count - 1].slot != slot)
            timeline->rows[timeline->count++] =
                (struct timeline_slot){ .slot = slot, .start_ns = window->start_ns };

        struct timeline_slot *const row = &timeline->rows[timeline->count - 1];
        for (size_t j = 0; j < window->cell_count; j++) {
            const struct cell *const cell = &window->cells[j];
            const uint64_t ns = window_cell_ns(window, j);
            enum part part;
            if (!cell_filter_passes(filter, cell) ||
                !profile_part_at(filter->snapshot, cell->thread, cell->state, cell->node,
                                 &part))
                continue;
            row->samples += cell->count;
            row->ns += ns;
            row->parts[part] += cell->count;
            row->parts_ns[part] += ns;
            if (cell->state & STATE_IN_GC) {
                row->in_gc += cell->count;
                row->in_gc_ns += ns;
            }
        }
        row->end_ns = window->end_ns;
    }
    return ERR_OK;
}

enum err_code timeline_slots_init(struct timeline_slots *timeline,
                                  const struct profile_snapshot *snapshot,
                                  const struct view_query *query, size_t slots, struct err *err)
{
    struct timeline_slots made = { .from_ns = query->from_ns,
                                   .to_ns = query->to_ns && query->to_ns < snapshot->end_ns
                                                ? query->to_ns
                                                : snapshot->end_ns };
    struct view_query whole = *query;
    struct cell_filter filter;
    whole.since = 0;

    made.width_ns = timeline_width_ns(made.from_ns, made.to_ns, slots);

    enum err_code rc = cell_filter_init(&filter, snapshot, &whole, err);
    if (!rc) {
        /* The first window of the slot in which the samples since then begin. */
        struct window *const *const windows = filter.snapshot->windows;
        size_t first = filter.first;
        while (first < filter.end && windows[first]->generation <= query->since)
            first++;
        while (first < filter.end && first > filter.first &&
               windows[first - 1]->start_ns / made.width_ns ==
                   windows[first]->start_ns / made.width_ns)
            first--;
        rc = fill_slots(&made, &filter, first, err);
    }
    cell_filter_deinit(&filter);
    if (rc)
        timeline_slots_deinit(&made);
    else
        *timeline = made;
    return rc;
}

void timeline_slots_deinit(struct timeline_slots *timeline)
{
    free(timeline->rows);
    memset(timeline, 0, sizeof *timeline);
}
