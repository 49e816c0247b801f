#include "server/report/hotspots.h"

#include <stdlib.h>

#include "sampler/profile/views/view.h"
#include "server/report/hotlines.h"
#include "server/report/report.h"

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

str_id hotspots_file(const struct profile_snapshot *snapshot, spot_id id)
{
    return profile_function_at(snapshot, profile_spot_at(snapshot, id).function).file;
}

/* The same place and instruction, whoever called it? */
static int by_place(const void *left, const void *right, void *context)
{
    const struct profile_snapshot *const snapshot = context;
    const struct profile_spot a = profile_spot_at(snapshot, *(const spot_id *)left);
    const struct profile_spot b = profile_spot_at(snapshot, *(const spot_id *)right);
    const int64_t keys[][2] = {
        { a.function, b.function },
        { a.line, b.line },
        { a.end_line, b.end_line },
        { a.column, b.column },
        { a.end_column, b.end_column },
        { a.opcode, b.opcode },
        { a.base, b.base },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static int by_spot_heat(const void *left, const void *right, void *context)
{
    const struct profile_snapshot *const snapshot = context;
    const struct hotspot *const a = left, *const b = right;
    const str_id x = hotspots_file(snapshot, a->spot), y = hotspots_file(snapshot, b->spot);
    const int32_t m = profile_spot_at(snapshot, a->spot).line;
    const int32_t n = profile_spot_at(snapshot, b->spot).line;
    if (x != y)
        return order(x, y);
    if (m != n)
        return (m > n) - (m < n);
    if (a->self != b->self)
        return order(b->self, a->self);
    return a->total != b->total ? order(b->total, a->total) : order(a->spot, b->spot);
}

/* Sorts all spots and gives those of one place one number; its first spot stands for it. */
static enum err_code number_places(struct hotlines *hot,
                                   const struct profile_snapshot *snapshot, uint32_t *place_of,
                                   struct err *err)
{
    const uint32_t count = snapshot->sizes.spots;
    spot_id *const sorted = malloc(((size_t)count + 1) * sizeof *sorted);
    if (!sorted)
        return err_nomem(err);
    for (spot_id id = 0; id < count; id++)
        sorted[id] = id;
    qsort_r(sorted, count, sizeof *sorted, by_place, (void *)(uintptr_t)snapshot);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || by_place(&sorted[i - 1], &sorted[i], (void *)(uintptr_t)snapshot))
            hot->spots[hot->spot_count++].spot = sorted[i];
        place_of[sorted[i]] = (uint32_t)hot->spot_count - 1;
    }
    free(sorted);
    return ERR_OK;
}

/* seen[] holds, by place, the number of the stack that was counted there last. */
static void count_spots(struct hotlines *hot, const struct profile_snapshot *snapshot,
                        const struct view_spots *spots, const uint32_t *place_of,
                        uint32_t *seen)
{
    uint32_t stack = 0;
    for (size_t i = 0; i < spots->count; i++) {
        const uint64_t self = spots->spots[i].self;
        node_id node = spots->spots[i].node;
        spot_id spot = spots->spots[i].spot;
        if (self == 0)
            continue;
        stack++;
        hot->spots[place_of[spot]].self += self;
        do {
            if (seen[place_of[spot]] != stack)
                hot->spots[place_of[spot]].total += self;
            seen[place_of[spot]] = stack;
        } while (view_spot_caller(snapshot, &node, &spot));
    }
}

static void drop_cold_spots(struct hotlines *hot)
{
    size_t kept = 0;
    for (size_t i = 0; i < hot->spot_count; i++)
        if (hot->spots[i].total > 0)
            hot->spots[kept++] = hot->spots[i];
    hot->spot_count = kept;
}

static enum err_code sum_spots(struct hotlines *hot, const struct report_source *source,
                               uint32_t *place_of, struct err *err)
{
    const uint32_t count = source->snapshot->sizes.spots;
    struct view_spots spots;
    enum err_code rc = view_spots_init(&spots, source->snapshot, source->query, err);
    if (rc != ERR_OK)
        return rc;
    rc = number_places(hot, source->snapshot, place_of, err);
    if (rc == ERR_OK)
        count_spots(hot, source->snapshot, &spots, place_of, place_of + count + 1);
    view_spots_deinit(&spots);
    drop_cold_spots(hot);
    qsort_r(hot->spots, hot->spot_count, sizeof *hot->spots, by_spot_heat,
            (void *)(uintptr_t)source->snapshot);
    return rc;
}

/* Spots are not told apart by thread or state: a view that asks for some has none. */
enum err_code hotspots_find(struct hotlines *hot, const struct report_source *source,
                            struct err *err)
{
    const struct view_query *const query = source->query;
    const size_t count = (size_t)source->snapshot->sizes.spots + 1;
    if (query->threads || query->processes || query->require || query->exclude)
        return ERR_OK;
    uint32_t *const place_of = calloc(2 * count, sizeof *place_of);
    hot->spots = calloc(count, sizeof *hot->spots);
    const enum err_code rc =
        place_of && hot->spots ? sum_spots(hot, source, place_of, err) : err_nomem(err);
    free(place_of);
    return rc;
}
