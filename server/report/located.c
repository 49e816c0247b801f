#include "server/report/located.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/strtab.h"
#include "sampler/profile/views/reshape.h"
#include "server/source/source.h"

static const uint64_t SEARCH_NS = 2 * NS_PER_S;

/* A native function whose source file is unknown. */
struct candidate {
    function_id function;
    library_id library;
    uint64_t total; /* samples in it and in what it called, each frame on its own */
    bool is_done;
};

struct place {
    str_id file;  /* in `files` */
    int32_t line; /* 0: unknown */
};

struct search {
    const struct report_source *from;
    struct candidate *candidates; /* hottest first */
    size_t count;
    struct place *places; /* by function */
    struct strtab files;
    size_t found;
};

/* Samples by function.  The caller's node has a smaller number. */
static enum err_code add_totals(const struct search *search, uint64_t *by_function,
                                struct err *err)
{
    const struct profile_snapshot *const snapshot = search->from->snapshot;
    struct view view;
    enum err_code rc = view_init(&view, snapshot, search->from->query, err);
    if (rc)
        return rc;
    uint64_t *const total = calloc((size_t)snapshot->sizes.nodes + 1, sizeof *total);
    if (total) {
        view_totals(&view, snapshot, total);
        for (node_id id = 1; id < snapshot->sizes.nodes; id++) {
            const frame_id frame = profile_node_at(snapshot, id).frame;
            by_function[profile_frame_at(snapshot, frame).function] += total[id];
        }
    }
    free(total);
    view_deinit(&view);
    return total ? ERR_OK : err_nomem(err);
}

static int by_heat(const void *left, const void *right)
{
    const struct candidate *const a = left;
    const struct candidate *const b = right;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    return (a->function > b->function) - (a->function < b->function);
}

static void keep_place(void *context, function_id function, const struct source_place *place)
{
    struct search *const search = context;
    str_id file;
    if (strtab_intern(&search->files, place->path, strlen(place->path), &file, NULL))
        return;
    search->places[function] = (struct place){ file, place->line };
    search->found++;
}

/* Asks for functions of the library of a candidate; where that fails, it is not asked again. */
static void ask_library(struct search *search, size_t first)
{
    const library_id library = search->candidates[first].library;
    function_id functions[SOURCE_MAX_PLACES];
    size_t count = 0;
    for (size_t i = first; i < search->count && count < SOURCE_MAX_PLACES; i++) {
        struct candidate *const other = &search->candidates[i];
        if (other->library != library || other->is_done)
            continue;
        other->is_done = true;
        functions[count++] = other->function;
    }
    if (!source_locate(search->from->files, search->from->snapshot, functions, count,
                       keep_place, search, NULL))
        return;
    for (size_t i = first; i < search->count; i++)
        search->candidates[i].is_done |= search->candidates[i].library == library;
}

static bool place_of(void *context, function_id function, struct strtab_string *file_out,
                     int32_t *line_out)
{
    const struct search *const search = context;
    if (!search->places[function].line)
        return false;
    *file_out = strtab_get(&search->files, search->places[function].file);
    *line_out = search->places[function].line;
    return true;
}

/* The windows keep their times, so the range still means what it did; the rest of the query is answered by what
 * was copied. */
static enum err_code copy_windows(struct located *located, struct search *search,
                                  struct err *err)
{
    const struct report_source *const from = search->from;
    const struct reshape_places places = { .place = place_of, .context = search };
    const struct reshape_settings settings = { .places = &places };
    enum err_code rc = profile_create(&located->profile, err);
    if (!rc)
        rc = reshape_windows(located->profile, from->snapshot, from->query, &settings, NULL,
                             err);
    if (rc)
        return rc;
    profile_extend(located->profile, from->snapshot->end_ns);
    located->query =
        (struct view_query){ .from_ns = from->query->from_ns, .to_ns = from->query->to_ns };
    located->selection =
        from->selection
            ? *from->selection
            : (struct report_selection){ .snapshot = from->snapshot, .query = from->query };
    rc = profile_snapshot(located->profile, &located->snapshot, err);
    profile_snapshot_count_as(&located->snapshot, from->snapshot);
    located->source.snapshot = &located->snapshot;
    located->source.query = &located->query;
    located->source.selection = &located->selection;
    return rc;
}

enum err_code located_init(struct located *located, const struct report_source *from,
                           struct err *err)
{
    const uint64_t end_ns = clock_now_ns() + SEARCH_NS;
    struct search search = { .from = from };
    *located = (struct located){ .source = *from };
    if (from->settings.no_source || !from->files || !from->files->locate ||
        from->snapshot->sizes.libraries <= 1)
        return ERR_OK;
    enum err_code rc = strtab_init(&search.files, err);
    if (!rc) {
        const struct profile_snapshot *const snapshot = search.from->snapshot;
        const size_t room = (size_t)snapshot->sizes.functions + 1;
        uint64_t *const total = calloc(room, sizeof *total);
        search.candidates = calloc(room, sizeof *search.candidates);
        search.places = calloc(room, sizeof *search.places);
        rc = total && search.candidates && search.places ? add_totals(&search, total, err)
                                                         : err_nomem(err);
        for (function_id id = 1; id < snapshot->sizes.functions && !rc; id++)
            if (total[id] > 0 && !source_is_known(snapshot, id) &&
                profile_function_at(snapshot, id).entry)
                search.candidates[search.count++] = (struct candidate){
                    .function = id,
                    .library = profile_function_at(snapshot, id).library,
                    .total = total[id],
                };
        free(total);
        if (search.count > 0)
            qsort(search.candidates, search.count, sizeof *search.candidates, by_heat);
        if (search.count > LOCATED_MAX_FUNCTIONS)
            search.count = LOCATED_MAX_FUNCTIONS;
    }
    for (size_t i = 0; i < search.count && !rc && clock_now_ns() < end_ns; i++)
        if (!search.candidates[i].is_done)
            ask_library(&search, i);
    if (!rc && search.found > 0)
        rc = copy_windows(located, &search, err);
    free(search.candidates);
    free(search.places);
    strtab_deinit(&search.files);
    if (rc)
        located_deinit(located);
    return rc;
}

void located_deinit(struct located *located)
{
    if (located->snapshot.profile)
        profile_snapshot_release(&located->snapshot);
    profile_destroy(located->profile);
    located->profile = NULL;
}
