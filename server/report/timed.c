#include "server/report/timed.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "server/report/report_source.h"

static const size_t slot_counts[] = { TIMED_MAX_SLOTS, 128, 64, 32, 16, 8, 4, 2 };

enum { COUNT_COUNT = sizeof slot_counts / sizeof *slot_counts };

static void drop_parts(struct timed *timed)
{
    while (timed->part_count > 0)
        view_cells_deinit(&timed->parts[--timed->part_count]);
}

/* The part of the query that is counted in that slot. */
static struct view_query query_of(const struct view_query *query,
                                  const struct timeline_slots *slots, size_t index)
{
    const uint64_t from_ns = slots->rows[index].slot * slots->width_ns;
    const uint64_t to_ns = from_ns + slots->width_ns;
    struct view_query part = *query;
    if (from_ns > part.from_ns)
        part.from_ns = from_ns;
    if (part.to_ns == 0 || to_ns < part.to_ns)
        part.to_ns = to_ns;
    return part;
}

/* False in fits_out: there are more cells than `room`. */
static enum err_code take_parts(struct timed *timed, const struct report_source *source,
                                size_t room, bool *fits_out, struct err *err)
{
    size_t cells = 0;
    *fits_out = true;
    for (size_t i = 0; i < timed->slots.count && *fits_out; i++) {
        const struct view_query query = query_of(source->query, &timed->slots, i);
        const enum err_code rc =
            view_cells_init(&timed->parts[i], source->snapshot, &query, err);
        if (rc != ERR_OK)
            return rc;
        cells += timed->parts[timed->part_count++].count;
        *fits_out = cells <= room;
    }
    return ERR_OK;
}

/* As take_parts, for at most that many slots; does not fit if there are fewer than two. */
static enum err_code try_slots(struct timed *timed, const struct report_source *source,
                               size_t count, size_t room, bool *fits_out, struct err *err)
{
    enum err_code rc =
        timeline_slots_init(&timed->slots, source->snapshot, source->query, count, err);
    if (rc != ERR_OK)
        return rc;
    *fits_out = false;
    if (timed->slots.count > 1)
        rc = take_parts(timed, source, room, fits_out, err);
    if (rc == ERR_OK && !*fits_out) {
        drop_parts(timed);
        timeline_slots_deinit(&timed->slots);
    }
    return rc;
}

enum err_code timed_init_whole(struct timed *timed, const struct report_source *source,
                               struct err *err)
{
    memset(timed, 0, sizeof *timed);
    const enum err_code rc =
        view_cells_init(&timed->parts[0], source->snapshot, source->query, err);
    timed->part_count = rc == ERR_OK;
    return rc;
}

enum err_code timed_init(struct timed *timed, const struct report_source *source,
                         struct err *err)
{
    const size_t room = TIMED_SPARE_CELLS + source->snapshot->sizes.nodes;
    enum err_code rc = ERR_OK;
    bool fits = false;
    memset(timed, 0, sizeof *timed);
    for (size_t i = 0; rc == ERR_OK && !fits && i < COUNT_COUNT; i++)
        rc = try_slots(timed, source, slot_counts[i], room, &fits, err);
    if (rc == ERR_OK && !fits)
        rc = timed_init_whole(timed, source, err);
    if (rc != ERR_OK)
        timed_deinit(timed);
    return rc;
}

void timed_deinit(struct timed *timed)
{
    drop_parts(timed);
    timeline_slots_deinit(&timed->slots);
    memset(timed, 0, sizeof *timed);
}
