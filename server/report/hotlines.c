#include "server/report/hotlines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/view.h"
#include "server/report/hotspots.h"
#include "server/report/names.h"
#include "server/report/report.h"

static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_place(const void *left, const void *right)
{
    const struct hotline *const a = left, *const b = right;
    if (a->file != b->file)
        return order(a->file, b->file);
    return a->line != b->line ? (a->line > b->line) - (a->line < b->line)
                              : order(a->mark, b->mark);
}

static struct hotline place_of(const struct profile_snapshot *snapshot, frame_id id)
{
    const struct named_frame frame = names_frame(snapshot, id);
    return (struct hotline){ .file = profile_function_at(snapshot, frame.function).file,
                             .line = frame.is_synthetic ? 0 : frame.line,
                             .mark = frame.is_synthetic ? frame.function : 0 };
}

/* Different places, sorted; place 0 is that of the root, which is nobody's line. */
static enum err_code find_lines(struct hotlines *hot, const struct profile_snapshot *snapshot,
                                struct err *err)
{
    const uint32_t frames = snapshot->sizes.frames;
    size_t kept = 1;
    hot->lines = calloc((size_t)frames + 1, sizeof *hot->lines);
    if (!hot->lines)
        return err_nomem(err);
    for (frame_id id = 1; id < frames; id++)
        hot->lines[id] = place_of(snapshot, id);
    if (frames > 1)
        qsort(hot->lines + 1, frames - 1, sizeof *hot->lines, by_place);
    for (size_t i = 1; i < frames; i++)
        if (i == 1 || by_place(&hot->lines[i], &hot->lines[kept - 1]) != 0)
            hot->lines[kept++] = hot->lines[i];
    hot->line_count = kept;
    return ERR_OK;
}

static uint32_t line_of(const struct hotlines *hot, const struct hotline *place)
{
    const struct hotline *const found =
        bsearch(place, hot->lines + 1, hot->line_count - 1, sizeof *hot->lines, by_place);
    return found ? (uint32_t)(found - hot->lines) : 0;
}

static enum err_code add_up(struct hotlines *hot, const struct report_source *source,
                            struct err *err)
{
    const struct profile_snapshot *const snapshot = source->snapshot;
    const uint32_t frames = snapshot->sizes.frames;
    uint32_t *const line = calloc(2 * ((size_t)frames + 1), sizeof *line);
    if (!line)
        return err_nomem(err);
    uint32_t *const function = line + frames + 1;
    for (frame_id id = 1; id < frames; id++) {
        const struct hotline place = place_of(snapshot, id);
        line[id] = line_of(hot, &place);
        function[id] = profile_frame_at(snapshot, id).function;
    }
    const struct flat_map map = {
        .row_count = (uint32_t)hot->line_count, .row = line, .caller = line, .callee = function
    };
    enum err_code rc = flat_init_mapped(&hot->by_line, snapshot, source->query, &map, err);
    free(line);
    if (rc == ERR_OK)
        rc = flat_init(&hot->by_function, snapshot, source->query, FLAT_FUNCTIONS, err);
    return rc;
}

static void take_sums(struct hotlines *hot)
{
    hot->samples = hot->by_line.samples;
    for (size_t i = 1; i < hot->line_count; i++) {
        struct hotline *const line = &hot->lines[i];
        line->self = hot->by_line.self[i];
        line->total = hot->by_line.total[i];
        if (line->self > hot->max_self)
            hot->max_self = line->self;
        if (line->total > hot->max_total)
            hot->max_total = line->total;
    }
}

static int by_caller(const void *left, const void *right, void *context)
{
    const struct flat_edge *const edges = context;
    const struct flat_edge *const a = &edges[*(const uint32_t *)left];
    const struct flat_edge *const b = &edges[*(const uint32_t *)right];
    if (a->caller != b->caller)
        return order(a->caller, b->caller);
    return a->count != b->count ? order(b->count, a->count) : order(a->callee, b->callee);
}

static int by_callee(const void *left, const void *right, void *context)
{
    const struct flat_edge *const edges = context;
    const struct flat_edge *const a = &edges[*(const uint32_t *)left];
    const struct flat_edge *const b = &edges[*(const uint32_t *)right];
    if (a->callee != b->callee)
        return order(a->callee, b->callee);
    return a->count != b->count ? order(b->count, a->count) : order(a->caller, b->caller);
}

static enum err_code sort_calls(struct hotlines *hot, struct err *err)
{
    const size_t count = hot->by_line.edge_count;
    hot->calls = malloc((count + 1) * sizeof *hot->calls);
    hot->callers = malloc((count + 1) * sizeof *hot->callers);
    if (!hot->calls || !hot->callers)
        return err_nomem(err);
    for (size_t i = 0; i < count; i++)
        hot->calls[i] = hot->callers[i] = (uint32_t)i;
    qsort_r(hot->calls, count, sizeof *hot->calls, by_caller, hot->by_line.edges);
    qsort_r(hot->callers, count, sizeof *hot->callers, by_callee, hot->by_line.edges);
    for (size_t i = 0; i < count; i++) {
        struct hotline *const line = &hot->lines[hot->by_line.edges[hot->calls[i]].caller];
        if (line->call_count++ == 0)
            line->first_call = i;
    }
    return ERR_OK;
}

static int by_file_then_line(const void *left, const void *right, void *context)
{
    const struct profile_snapshot *const snapshot = context;
    const struct profile_function a = profile_function_at(snapshot, *(const function_id *)left);
    const struct profile_function b =
        profile_function_at(snapshot, *(const function_id *)right);
    if (a.file != b.file)
        return order(a.file, b.file);
    return a.first_line != b.first_line ? (a.first_line > b.first_line) ? 1 : -1
                                        : order(a.name, b.name);
}

static enum err_code find_functions(struct hotlines *hot,
                                    const struct profile_snapshot *snapshot, struct err *err)
{
    const uint32_t count = snapshot->sizes.functions;
    hot->functions = malloc(((size_t)count + 1) * sizeof *hot->functions);
    if (!hot->functions)
        return err_nomem(err);
    for (function_id id = 1; id < count; id++)
        if (hot->by_function.total[id] > 0)
            hot->functions[hot->function_count++] = id;
    qsort_r(hot->functions, hot->function_count, sizeof *hot->functions, by_file_then_line,
            (void *)(uintptr_t)snapshot);
    return ERR_OK;
}

static int by_heat(const void *left, const void *right)
{
    const struct hotfile *const a = left, *const b = right;
    if (a->self != b->self)
        return order(b->self, a->self);
    return a->total != b->total ? order(b->total, a->total) : order(a->file, b->file);
}

/* By file a stack counts once too, so lines cannot be added up. */
static enum err_code sum_files(struct hotlines *hot, const struct report_source *source,
                               struct flat *flat, struct err *err)
{
    const struct profile_snapshot *const snapshot = source->snapshot;
    const uint32_t frames = snapshot->sizes.frames;
    uint32_t *const file = calloc((size_t)frames + 1, sizeof *file);
    (void)hot;
    if (!file)
        return err_nomem(err);
    for (frame_id id = 1; id < frames; id++)
        file[id] = place_of(snapshot, id).file;
    const struct flat_map map = { .row_count = snapshot->sizes.strings, .row = file };
    const enum err_code rc = flat_init_mapped(flat, snapshot, source->query, &map, err);
    free(file);
    return rc;
}

/* The runs of a file in the lists that are sorted by file. */
static void find_runs(struct hotlines *hot, const struct profile_snapshot *snapshot)
{
    for (size_t i = hot->line_count; i-- > 1;) {
        struct hotfile *const file = &hot->files[hot->file_number[hot->lines[i].file]];
        if (hot->file_number[hot->lines[i].file] == UINT32_MAX)
            continue;
        file->first_line = i;
        file->line_count++;
    }
    for (size_t i = hot->function_count; i-- > 0;) {
        const str_id name = profile_function_at(snapshot, hot->functions[i]).file;
        if (hot->file_number[name] == UINT32_MAX)
            continue;
        hot->files[hot->file_number[name]].first_function = i;
        hot->files[hot->file_number[name]].function_count++;
    }
    for (size_t i = hot->spot_count; i-- > 0;) {
        const str_id name = hotspots_file(snapshot, hot->spots[i].spot);
        if (hot->file_number[name] == UINT32_MAX)
            continue;
        hot->files[hot->file_number[name]].first_spot = i;
        hot->files[hot->file_number[name]].spot_count++;
    }
}

static enum err_code find_files(struct hotlines *hot, const struct report_source *source,
                                struct err *err)
{
    const uint32_t strings = source->snapshot->sizes.strings;
    struct flat flat;
    enum err_code rc = sum_files(hot, source, &flat, err);
    if (rc != ERR_OK)
        return rc;
    hot->files = calloc((size_t)strings + 1, sizeof *hot->files);
    hot->file_number = malloc(((size_t)strings + 1) * sizeof *hot->file_number);
    if (!hot->files || !hot->file_number) {
        flat_deinit(&flat);
        return err_nomem(err);
    }
    for (str_id id = 0; id < strings; id++) {
        hot->file_number[id] = UINT32_MAX;
        if (flat.total[id] > 0)
            hot->files[hot->file_count++] =
                (struct hotfile){ .file = id, .self = flat.self[id], .total = flat.total[id] };
    }
    flat_deinit(&flat);
    qsort(hot->files, hot->file_count, sizeof *hot->files, by_heat);
    for (size_t i = 0; i < hot->file_count; i++)
        hot->file_number[hot->files[i].file] = (uint32_t)i;
    find_runs(hot, source->snapshot);
    return ERR_OK;
}

enum err_code hotlines_init(struct hotlines *hot, const struct report_source *source,
                            struct err *err)
{
    memset(hot, 0, sizeof *hot);
    enum err_code rc = find_lines(hot, source->snapshot, err);
    if (rc == ERR_OK)
        rc = add_up(hot, source, err);
    if (rc == ERR_OK) {
        take_sums(hot);
        rc = sort_calls(hot, err);
    }
    if (rc == ERR_OK)
        rc = find_functions(hot, source->snapshot, err);
    if (rc == ERR_OK)
        rc = hotspots_find(hot, source, err);
    if (rc == ERR_OK)
        rc = find_files(hot, source, err);
    if (rc != ERR_OK)
        hotlines_deinit(hot);
    return rc;
}

void hotlines_deinit(struct hotlines *hot)
{
    free(hot->lines);
    free(hot->files);
    free(hot->file_number);
    free(hot->functions);
    free(hot->calls);
    free(hot->callers);
    free(hot->spots);
    flat_deinit(&hot->by_function);
    flat_deinit(&hot->by_line);
    memset(hot, 0, sizeof *hot);
}

size_t hotlines_callers(const struct hotlines *hot, function_id function, size_t *first_out)
{
    const struct flat *const flat = &hot->by_line;
    size_t low = 0, high = flat->edge_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (flat->edges[hot->callers[middle]].callee < function)
            low = middle + 1;
        else
            high = middle;
    }
    *first_out = low;
    while (low < flat->edge_count && flat->edges[hot->callers[low]].callee == function)
        low++;
    return low;
}
