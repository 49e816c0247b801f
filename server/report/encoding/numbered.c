#include "server/report/encoding/numbered.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes that a row takes in a file: messages of varints below 2^28. */
enum { STRING_BYTES = 6, LIBRARY_BYTES = 48, FUNCTION_BYTES = 40, FRAME_BYTES = 40 };

static const char other[] = "(other)";

static bool numbering_init(struct numbering *numbering, size_t rows)
{
    numbering->number = calloc(rows + 1, sizeof *numbering->number);
    numbering->rows = calloc(rows + 2, sizeof *numbering->rows);
    return numbering->number && numbering->rows;
}

static void numbering_deinit(struct numbering *numbering)
{
    free(numbering->number);
    free(numbering->rows);
}

static void numbering_return(struct numbering *numbering, uint32_t count)
{
    for (; numbering->count > count; numbering->count--)
        numbering->number[numbering->rows[numbering->count]] = 0;
}

/* false: it had a number already. */
static bool numbering_add(struct numbering *numbering, uint32_t row)
{
    if (numbering->number[row])
        return false;
    numbering->rows[++numbering->count] = row;
    numbering->number[row] = numbering->count;
    return true;
}

enum err_code numbered_init(struct numbered *numbered, const struct profile_snapshot *snapshot,
                            struct err *err)
{
    const struct profile_sizes *const sizes = &snapshot->sizes;
    memset(numbered, 0, sizeof *numbered);
    numbered->snapshot = snapshot;
    const bool has_room =
        numbering_init(&numbered->strings, (size_t)sizes->strings + NUMBERED_MAX_TEXTS) &&
        numbering_init(&numbered->functions, sizes->functions) &&
        numbering_init(&numbered->frames, sizes->frames) &&
        numbering_init(&numbered->nodes, sizes->nodes) &&
        numbering_init(&numbered->libraries, sizes->libraries);
    const enum err_code rc = has_room ? strtab_init(&numbered->texts, err) : err_nomem(err);
    if (rc)
        numbered_deinit(numbered);
    return rc;
}

void numbered_deinit(struct numbered *numbered)
{
    numbering_deinit(&numbered->strings);
    numbering_deinit(&numbered->functions);
    numbering_deinit(&numbered->frames);
    numbering_deinit(&numbered->nodes);
    numbering_deinit(&numbered->libraries);
    strtab_deinit(&numbered->texts);
    memset(numbered, 0, sizeof *numbered);
}

struct numbered_mark numbered_mark(const struct numbered *numbered)
{
    return (struct numbered_mark){ .strings = numbered->strings.count,
                                   .functions = numbered->functions.count,
                                   .frames = numbered->frames.count,
                                   .nodes = numbered->nodes.count,
                                   .libraries = numbered->libraries.count,
                                   .bytes = numbered->bytes };
}

void numbered_return(struct numbered *numbered, const struct numbered_mark *mark)
{
    numbering_return(&numbered->strings, mark->strings);
    numbering_return(&numbered->functions, mark->functions);
    numbering_return(&numbered->frames, mark->frames);
    numbering_return(&numbered->nodes, mark->nodes);
    numbering_return(&numbered->libraries, mark->libraries);
    numbered->bytes = mark->bytes;
}

void numbered_clear(struct numbered *numbered)
{
    numbered_return(numbered, &(struct numbered_mark){ .bytes = 0 });
}

static uint32_t add_string(struct numbered *numbered, uint32_t row, size_t length)
{
    if (numbering_add(&numbered->strings, row))
        numbered->bytes += STRING_BYTES + length;
    return numbered->strings.number[row];
}

uint32_t numbered_string(struct numbered *numbered, str_id id)
{
    const uint32_t length = id == 0 ? 0 : profile_string(numbered->snapshot, id).length;
    return length == 0 ? 0 : add_string(numbered, id, length);
}

/* Their rows follow those of the snapshot.  One without memory is left out. */
uint32_t numbered_text(struct numbered *numbered, const char *text, size_t length)
{
    str_id id = 0;
    if (!numbered->texts.is_closed && numbered->texts.strings.count >= NUMBERED_MAX_TEXTS - 1 &&
        strtab_close(&numbered->texts, other, NULL))
        return 0;
    if (length > STRTAB_MAX_LENGTH)
        length = STRTAB_MAX_LENGTH;
    if (strtab_intern(&numbered->texts, text, length, &id, NULL) || id == 0)
        return 0;
    const uint32_t row = numbered->snapshot->sizes.strings + id;
    return add_string(numbered, row, strtab_get(&numbered->texts, id).length);
}

uint32_t numbered_library(struct numbered *numbered, library_id id)
{
    if (numbering_add(&numbered->libraries, id)) {
        numbered->bytes += LIBRARY_BYTES;
        if (id > 0) {
            const struct profile_library row = profile_library_at(numbered->snapshot, id);
            numbered_string(numbered, row.path);
            numbered_string(numbered, row.build_id);
        }
    }
    return numbered->libraries.number[id];
}

uint32_t numbered_function(struct numbered *numbered, function_id id)
{
    if (id == 0)
        return 0;
    if (numbering_add(&numbered->functions, id)) {
        const struct profile_function row = profile_function_at(numbered->snapshot, id);
        numbered->bytes += FUNCTION_BYTES;
        numbered_string(numbered, row.name);
        numbered_string(numbered, row.file);
    }
    return numbered->functions.number[id];
}

uint32_t numbered_frame(struct numbered *numbered, frame_id id)
{
    if (id == 0)
        return 0;
    if (numbering_add(&numbered->frames, id)) {
        const struct profile_frame row = profile_frame_at(numbered->snapshot, id);
        numbered->bytes += FRAME_BYTES;
        numbered_library(numbered,
                         profile_function_at(numbered->snapshot, row.function).library);
        numbered_function(numbered, row.function);
    }
    return numbered->frames.number[id];
}

uint32_t numbered_node(struct numbered *numbered, node_id id)
{
    if (id == 0)
        return 0;
    (void)numbering_add(&numbered->nodes, id);
    return numbered->nodes.number[id];
}

struct strtab_string numbered_string_at(const struct numbered *numbered, uint32_t number)
{
    const uint32_t row = numbered->strings.rows[number],
                   own = numbered->snapshot->sizes.strings;
    return row < own ? profile_string(numbered->snapshot, row)
                     : strtab_get(&numbered->texts, row - own);
}
