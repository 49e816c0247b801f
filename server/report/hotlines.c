#include "server/report/hotlines.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/view.h"
#include "server/report/flat.h"
#include "server/report/names.h"
#include "server/report/report_source.h"

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

str_id hotlines_spot_file(const struct profile_snapshot *snapshot, spot_id id)
{
    return profile_function_at(snapshot, profile_spot_at(snapshot, id).function).file;
}

/* Orders spots by place and instruction, whoever called them. */
static int by_instruction(const void *left, const void *right, void *context)
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
    const str_id x = hotlines_spot_file(snapshot, a->spot),
                 y = hotlines_spot_file(snapshot, b->spot);
    const int32_t m = profile_spot_at(snapshot, a->spot).line;
    const int32_t n = profile_spot_at(snapshot, b->spot).line;
    if (x != y)
        return compare_numbers(x, y);
    if (m != n)
        return (m > n) - (m < n);
    if (a->self != b->self)
        return compare_numbers(b->self, a->self);
    return a->total != b->total ? compare_numbers(b->total, a->total)
                                : compare_numbers(a->spot, b->spot);
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
    qsort_r(sorted, count, sizeof *sorted, by_instruction, (void *)(uintptr_t)snapshot);
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || by_instruction(&sorted[i - 1], &sorted[i], (void *)(uintptr_t)snapshot))
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

static enum err_code sum_spots(struct hotlines *hot, const struct report_source *source,
                               uint32_t *place_of, struct err *err)
{
    const uint32_t count = source->snapshot->sizes.spots;
    struct view_spots spots;
    enum err_code rc = view_spots_init(&spots, source->snapshot, source->query, err);
    if (rc)
        return rc;
    rc = number_places(hot, source->snapshot, place_of, err);
    if (!rc)
        count_spots(hot, source->snapshot, &spots, place_of, place_of + count + 1);
    view_spots_deinit(&spots);

    size_t kept = 0;
    for (size_t i = 0; i < hot->spot_count; i++)
        if (hot->spots[i].total > 0)
            hot->spots[kept++] = hot->spots[i];
    hot->spot_count = kept;

    qsort_r(hot->spots, hot->spot_count, sizeof *hot->spots, by_spot_heat,
            (void *)(uintptr_t)source->snapshot);
    return rc;
}

/* Spots have no thread and no state: a view of some threads or states has none. */
enum err_code hotlines_find_spots(struct hotlines *hot, const struct report_source *source,
                                  struct err *err)
{
    const struct view_query *const query = source->query;
    const size_t count = (size_t)source->snapshot->sizes.spots + 1;
    if (view_query_leaves_out_spots(query))
        return ERR_OK;
    uint32_t *const place_of = calloc(2 * count, sizeof *place_of);
    hot->spots = calloc(count, sizeof *hot->spots);
    const enum err_code rc =
        place_of && hot->spots ? sum_spots(hot, source, place_of, err) : err_nomem(err);
    free(place_of);
    return rc;
}

static int by_place(const void *left, const void *right)
{
    const struct hotline *const a = left, *const b = right;
    return a->file != b->file ? compare_numbers(a->file, b->file)
                              : (a->line > b->line) - (a->line < b->line);
}

/* Different places of frames, and of functions that were found, sorted. */
static enum err_code find_lines(struct hotlines *hot, const struct profile_snapshot *snapshot,
                                struct err *err)
{
    const size_t most = snapshot->sizes.frames + hot->function_count;
    size_t count = 0;
    hot->lines = calloc(most + 1, sizeof *hot->lines);
    if (!hot->lines)
        return err_nomem(err);
    for (frame_id id = 1; id < snapshot->sizes.frames; id++) {
        const struct named_frame frame = names_frame(snapshot, id);
        if (!frame.is_synthetic)
            hot->lines[count++] =
                (struct hotline){ profile_function_at(snapshot, frame.function).file,
                                  frame.line };
    }
    for (size_t i = 0; i < hot->function_count; i++) {
        const struct profile_function function =
            profile_function_at(snapshot, hot->functions[i]);
        hot->lines[count++] = (struct hotline){ function.file, function.first_line };
    }
    qsort(hot->lines, count, sizeof *hot->lines, by_place);
    for (size_t i = 0; i < count; i++)
        if (hot->line_count == 0 ||
            by_place(&hot->lines[i], &hot->lines[hot->line_count - 1]) != 0)
            hot->lines[hot->line_count++] = hot->lines[i];
    return ERR_OK;
}

static int by_file_then_line(const void *left, const void *right, void *context)
{
    const struct profile_snapshot *const snapshot = context;
    const struct profile_function a = profile_function_at(snapshot, *(const function_id *)left);
    const struct profile_function b =
        profile_function_at(snapshot, *(const function_id *)right);
    if (a.file != b.file)
        return compare_numbers(a.file, b.file);
    return a.first_line != b.first_line ? (a.first_line > b.first_line) ? 1 : -1
                                        : compare_numbers(a.name, b.name);
}

static uint32_t function_of(const struct profile_snapshot *snapshot, frame_id id)
{
    return profile_frame_at(snapshot, id).function;
}

static uint32_t file_of(const struct profile_snapshot *snapshot, frame_id id)
{
    return profile_function_at(snapshot, function_of(snapshot, id)).file;
}

/* Samples by what frames are of.  A stack counts once, so what is finer cannot be added up. */
static enum err_code sum_by(struct flat *flat, const struct report_source *source,
                            uint32_t (*row_of)(const struct profile_snapshot *snapshot,
                                               frame_id id),
                            uint32_t row_count, struct err *err)
{
    const struct profile_snapshot *const snapshot = source->snapshot;
    const uint32_t frames = snapshot->sizes.frames;
    uint32_t *const row = calloc((size_t)frames + 1, sizeof *row);
    if (!row)
        return err_nomem(err);
    for (frame_id id = 1; id < frames; id++)
        row[id] = row_of(snapshot, id);
    const struct flat_map map = { .row_count = row_count, .row = row };
    const enum err_code rc = flat_init_mapped(flat, snapshot, source->query, &map, err);
    free(row);
    return rc;
}

static enum err_code find_functions(struct hotlines *hot, const struct report_source *source,
                                    struct err *err)
{
    const struct profile_snapshot *const snapshot = source->snapshot;
    const uint32_t count = snapshot->sizes.functions;
    struct flat flat;
    enum err_code rc = sum_by(&flat, source, function_of, count, err);
    if (rc)
        return rc;
    hot->samples = flat.samples;
    hot->functions = malloc(((size_t)count + 1) * sizeof *hot->functions);
    for (function_id id = 1; hot->functions && id < count; id++)
        if (flat.total[id] > 0)
            hot->functions[hot->function_count++] = id;
    flat_deinit(&flat);
    if (!hot->functions)
        return err_nomem(err);
    qsort_r(hot->functions, hot->function_count, sizeof *hot->functions, by_file_then_line,
            (void *)(uintptr_t)snapshot);
    return ERR_OK;
}

static int by_heat(const void *left, const void *right)
{
    const struct hotfile *const a = left, *const b = right;
    if (a->self != b->self)
        return compare_numbers(b->self, a->self);
    return a->total != b->total ? compare_numbers(b->total, a->total)
                                : compare_numbers(a->file, b->file);
}

static enum err_code find_files(struct hotlines *hot, const struct report_source *source,
                                struct err *err)
{
    const uint32_t strings = source->snapshot->sizes.strings;
    struct flat flat;
    const enum err_code rc = sum_by(&flat, source, file_of, strings, err);
    if (rc)
        return rc;
    struct hotfile **const file_of_name = calloc((size_t)strings + 1, sizeof(struct hotfile *));
    hot->files = calloc((size_t)strings + 1, sizeof *hot->files);
    const bool has_room = file_of_name && hot->files;
    for (str_id id = 0; has_room && id < strings; id++)
        if (flat.total[id] > 0)
            hot->files[hot->file_count++] =
                (struct hotfile){ .file = id, .self = flat.self[id], .total = flat.total[id] };
    flat_deinit(&flat);
    if (has_room) {
        qsort(hot->files, hot->file_count, sizeof *hot->files, by_heat);
        for (size_t i = 0; i < hot->file_count; i++)
            file_of_name[hot->files[i].file] = &hot->files[i];

        /* The runs of a file in the lists that are sorted by file. */
        const struct profile_snapshot *const snapshot = source->snapshot;
        for (size_t i = hot->line_count; i-- > 0;) {
            struct hotfile *const file = file_of_name[hot->lines[i].file];
            if (file) {
                file->first_line = i;
                file->line_count++;
            }
        }
        for (size_t i = hot->function_count; i-- > 0;) {
            struct hotfile *const file =
                file_of_name[profile_function_at(snapshot, hot->functions[i]).file];
            file->first_function = i;
            file->function_count++;
        }
        for (size_t i = hot->spot_count; i-- > 0;) {
            struct hotfile *const file =
                file_of_name[hotlines_spot_file(snapshot, hot->spots[i].spot)];
            if (file) {
                file->first_spot = i;
                file->spot_count++;
            }
        }
    }
    free(file_of_name);
    return has_room ? ERR_OK : err_nomem(err);
}

enum err_code hotlines_init(struct hotlines *hot, const struct report_source *source,
                            struct err *err)
{
    memset(hot, 0, sizeof *hot);
    enum err_code rc = find_functions(hot, source, err);
    if (!rc)
        rc = find_lines(hot, source->snapshot, err);
    if (!rc)
        rc = hotlines_find_spots(hot, source, err);
    if (!rc)
        rc = find_files(hot, source, err);
    if (rc)
        hotlines_deinit(hot);
    return rc;
}

void hotlines_deinit(struct hotlines *hot)
{
    free(hot->lines);
    free(hot->files);
    free(hot->functions);
    free(hot->spots);
    memset(hot, 0, sizeof *hot);
}
