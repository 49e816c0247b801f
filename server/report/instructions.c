#include "server/report/instructions.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "server/report/hotlines.h"
#include "server/wire/json.h"

enum { NO_NAME = -1 };

struct rows {
    const struct profile_snapshot *snapshot;
    const struct hotspot **items; /* by line */
    size_t count;
    str_id *names; /* sorted, each once */
    size_t name_count;
};

static int by_total(const void *left, const void *right)
{
    const struct hotspot *const a = *(const struct hotspot *const *)left;
    const struct hotspot *const b = *(const struct hotspot *const *)right;
    if (a->total != b->total)
        return a->total < b->total ? 1 : -1;
    return (a > b) - (a < b);
}

/* As they stand in hotlines. */
static int by_place(const void *left, const void *right)
{
    const struct hotspot *const a = *(const struct hotspot *const *)left;
    const struct hotspot *const b = *(const struct hotspot *const *)right;
    return (a > b) - (a < b);
}

static int by_id(const void *left, const void *right)
{
    const str_id a = *(const str_id *)left, b = *(const str_id *)right;
    return (a > b) - (a < b);
}

static enum err_code rows_init(struct rows *rows, const struct profile_snapshot *snapshot,
                               const struct hotspot *spots, size_t count, size_t most,
                               struct err *err)
{
    *rows = (struct rows){ .snapshot = snapshot, .count = count < most ? count : most };
    rows->items = malloc((count + 1) * sizeof *rows->items);
    rows->names = malloc((2 * rows->count + 1) * sizeof *rows->names);
    if (!rows->items || !rows->names)
        return err_nomem(err);
    for (size_t i = 0; i < count; i++)
        rows->items[i] = &spots[i];
    if (count > most) {
        qsort(rows->items, count, sizeof *rows->items, by_total);
        qsort(rows->items, most, sizeof *rows->items, by_place);
    }

    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct profile_spot spot = profile_spot_at(rows->snapshot, rows->items[i]->spot);
        rows->names[2 * i] = spot.opcode;
        rows->names[2 * i + 1] = spot.base;
    }
    qsort(rows->names, 2 * rows->count, sizeof *rows->names, by_id);
    for (size_t i = 0; i < 2 * rows->count; i++)
        if (i == 0 || rows->names[i] != rows->names[i - 1])
            rows->names[kept++] = rows->names[i];
    rows->name_count = kept;
    return ERR_OK;
}

static int64_t name_number(const struct rows *rows, str_id name)
{
    const str_id *const found =
        bsearch(&name, rows->names, rows->name_count, sizeof name, by_id);
    return found ? found - rows->names : NO_NAME;
}

enum column { LINE, END_LINE, COLUMN, END_COLUMN, OPCODE, BASE, SELF, TOTAL, COLUMN_COUNT };

static const char *const column_names[] = { "line",   "end_line",    "column", "end_column",
                                            "opcode", "base_opcode", "self",   "total" };

static int64_t value_of(const struct rows *rows, const struct hotspot *row, enum column column)
{
    const struct profile_spot spot = profile_spot_at(rows->snapshot, row->spot);
    const int64_t values[] = { [LINE] = spot.line,
                               [END_LINE] = spot.end_line,
                               [COLUMN] = spot.column,
                               [END_COLUMN] = spot.end_column,
                               [OPCODE] = name_number(rows, spot.opcode),
                               [BASE] = name_number(rows, spot.base),
                               [SELF] = (int64_t)row->self,
                               [TOTAL] = (int64_t)row->total };
    return values[column];
}

enum err_code instructions_write(struct json *json, const struct profile_snapshot *snapshot,
                                 const struct hotlines *hot, const struct hotfile *file,
                                 size_t most, size_t *rows_out, struct err *err)
{
    const struct strtab_string path = profile_string(snapshot, file->file);
    const size_t count = hot->spots ? file->spot_count : 0;
    const struct hotspot *const spots = count ? &hot->spots[file->first_spot] : NULL;
    struct rows rows;
    const enum err_code rc = rows_init(&rows, snapshot, spots, count, most, err);
    if (!rc) {
        json_member_string(json, "path", path);

        json_member_array(json, "names");
        for (size_t i = 0; i < rows.name_count; i++) {
            const struct strtab_string name = profile_string(rows.snapshot, rows.names[i]);
            json_string(json, name.text, name.length);
        }
        json_end(json);

        for (int column = 0; column < COLUMN_COUNT; column++) {
            json_member_array(json, column_names[column]);
            for (size_t i = 0; i < rows.count; i++)
                json_int(json, value_of(&rows, rows.items[i], (enum column)column));
            json_end(json);
        }

        json_member_uint(json, "omitted", count - rows.count);
        *rows_out = rows.count;
    }
    free(rows.items);
    free(rows.names);
    return rc;
}
