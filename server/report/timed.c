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

/* False in fits_out: there are more cells than `room`. */
static enum err_code take_parts(struct timed *timed, const struct report_source *source,
                                size_t room, bool *fits_out, struct err *err)
{
    size_t cells = 0;
    *fits_out = true;
    for (size_t i = 0; i < timed->slots.count && *fits_out; i++) {
        /* The part of the query that is counted in that slot. */
        const uint64_t from_ns = timed->slots.rows[i].slot * timed->slots.width_ns;
        const uint64_t to_ns = from_ns + timed->slots.width_ns;
        struct view_query query = *source->query;
        if (from_ns > query.from_ns)
            query.from_ns = from_ns;
        if (query.to_ns == 0 || to_ns < query.to_ns)
            query.to_ns = to_ns;

        const enum err_code rc =
            view_cells_init(&timed->parts[i], source->snapshot, &query, err);
        if (rc)
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
    if (rc)
        return rc;
    *fits_out = false;
    if (timed->slots.count > 1)
        rc = take_parts(timed, source, room, fits_out, err);
    if (!rc && !*fits_out) {
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
    timed->part_count = !rc;
    return rc;
}

enum err_code timed_init(struct timed *timed, const struct report_source *source,
                         struct err *err)
{
    const size_t room = TIMED_SPARE_CELLS + source->snapshot->sizes.nodes;
    enum err_code rc = ERR_OK;
    bool fits = false;
    memset(timed, 0, sizeof *timed);
    for (size_t i = 0; !rc && !fits && i < COUNT_COUNT; i++)
        rc = try_slots(timed, source, slot_counts[i], room, &fits, err);
    if (!rc && !fits)
        rc = timed_init_whole(timed, source, err);
    if (rc)
        timed_deinit(timed);
    return rc;
}

void timed_deinit(struct timed *timed)
{
    drop_parts(timed);
    timeline_slots_deinit(&timed->slots);
    memset(timed, 0, sizeof *timed);
}
