#include "server/top/model.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/views/view.h"
#include "server/report/names.h"

static state_bits bits_of(enum look_kind kind)
{
    switch (kind) {
    case LOOK_CPU: return state_fact_yes(STATE_FACT_ON_CPU);
    case LOOK_GIL: return state_fact_yes(STATE_FACT_HAS_GIL);
    case LOOK_EXCEPTION: return state_fact_yes(STATE_FACT_HAS_EXCEPTION);
    case LOOK_WALL:
    case LOOK_KIND_COUNT: break;
    }
    return 0;
}

struct named_frame sheet_name(const struct sheet *sheet, uint32_t row)
{
    return sheet->by_line ? names_frame(sheet->snapshot, row)
                          : names_function(sheet->snapshot, row);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool has(struct strtab_string text, const char *wanted)
{
    const size_t length = strlen(wanted);
    for (size_t at = 0; at + length <= text.length; at++) {
        size_t i = 0;
        while (i < length && lower(text.text[at + i]) == lower(wanted[i]))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

static bool fits(const struct sheet *sheet, uint32_t row, const char *filter)
{
    if (!*filter)
        return true;
    const struct named_frame name = sheet_name(sheet, row);
    return has(name.name, filter) || has(name.file, filter);
}

static int compare_text(struct strtab_string a, struct strtab_string b)
{
    const uint32_t shorter = a.length < b.length ? a.length : b.length;
    const int order = memcmp(a.text, b.text, shorter);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int more(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

struct sorting {
    const struct sheet *sheet;
    enum look_sort sort;
};

/* Never equal, so that rows do not jump. */
static int compare_rows(const void *left, const void *right, void *context)
{
    const struct sorting *const sorting = context;
    const struct flat *const flat = &sorting->sheet->flat;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const int self = more(flat->self[a], flat->self[b]);
    const int total = more(flat->total[a], flat->total[b]);
    int order = 0;
    switch (sorting->sort) {
    case LOOK_BY_SELF: order = self != 0 ? self : total; break;
    case LOOK_BY_TOTAL: order = total != 0 ? total : self; break;
    case LOOK_BY_NAME:
        order = compare_text(sheet_name(sorting->sheet, a).name,
                             sheet_name(sorting->sheet, b).name);
        break;
    case LOOK_SORTS: break;
    }
    return order != 0 ? order : (a > b) - (a < b);
}

static enum err_code list_rows(struct sheet *sheet, const struct look *look, struct err *err)
{
    struct sorting sorting = { sheet, look->sort };
    sheet->order = malloc(((size_t)sheet->flat.row_count + 1) * sizeof *sheet->order);
    if (!sheet->order)
        return err_set(err, ERR_NOMEM, "no memory to sort %u rows", sheet->flat.row_count);
    for (uint32_t row = 1; row < sheet->flat.row_count; row++) {
        if (sheet->flat.total[row] == 0)
            continue;
        sheet->seen++;
        if (fits(sheet, row, look->filter))
            sheet->order[sheet->count++] = row;
    }
    qsort_r(sheet->order, sheet->count, sizeof *sheet->order, compare_rows, &sorting);
    return ERR_OK;
}

/* What a sample stands for, on average: the rate may have been changed. */
static enum err_code weigh(struct sheet *sheet, const struct view_query *query, struct err *err)
{
    struct view view;
    const enum err_code rc = view_init(&view, sheet->snapshot, query, err);
    if (rc != ERR_OK)
        return rc;
    if (view.total > 0)
        sheet->sample_s = (double)view.total_ns / (double)NS_PER_S / (double)view.total;
    view_deinit(&view);
    return ERR_OK;
}

static enum err_code look_at_threads(struct sheet *sheet, const struct view_query *query,
                                     const struct look *look, struct err *err)
{
    struct view_query all_kinds = *query;
    all_kinds.require = 0;
    const enum err_code rc = states_init(&sheet->states, sheet->snapshot, &all_kinds, err);
    if (rc != ERR_OK)
        return rc;
    if (look->thread == LOOK_NO_THREAD)
        sheet->doing = sheet->states.all;
    sheet->threads = calloc(sheet->states.count + 1, sizeof *sheet->threads);
    if (!sheet->threads)
        return err_set(err, ERR_NOMEM, "no memory for %zu threads", sheet->states.count);
    for (size_t i = 0; i < sheet->states.count; i++) {
        sheet->threads[i] = sheet->states.rows[i].thread;
        if (sheet->threads[i] == look->thread)
            sheet->doing = sheet->states.rows[i].sums;
    }
    return ERR_OK;
}

enum err_code sheet_init(struct sheet *sheet, const struct profile_snapshot *snapshot,
                         const struct look *look, struct err *err)
{
    const struct view_query query = { .from_ns = look_from_ns(look, snapshot->end_ns),
                                      .threads =
                                          look->thread == LOOK_NO_THREAD ? NULL : &look->thread,
                                      .thread_count = 1,
                                      .require = bits_of(look->kind) };
    *sheet = (struct sheet){ .snapshot = snapshot,
                             .by_line = look->by_line,
                             .from_ns = query.from_ns,
                             .to_ns = snapshot->end_ns };
    enum err_code rc = flat_init(&sheet->flat, snapshot, &query,
                                 look->by_line ? FLAT_FRAMES : FLAT_FUNCTIONS, err);
    if (rc == ERR_OK)
        rc = list_rows(sheet, look, err);
    if (rc == ERR_OK)
        rc = weigh(sheet, &query, err);
    if (rc == ERR_OK)
        rc = look_at_threads(sheet, &query, look, err);
    if (rc != ERR_OK)
        sheet_deinit(sheet);
    return rc;
}

void sheet_deinit(struct sheet *sheet)
{
    flat_deinit(&sheet->flat);
    states_deinit(&sheet->states);
    free(sheet->threads);
    free(sheet->order);
    *sheet = (struct sheet){ .snapshot = NULL };
}

size_t sheet_place(const struct sheet *sheet, uint32_t row)
{
    size_t at = 0;
    while (at < sheet->count && sheet->order[at] != row)
        at++;
    return at;
}

/* Puts it in its place among the largest; the last one makes room. */
static void insert(const struct flat_edge **edges, size_t count, const struct flat_edge *edge)
{
    size_t at = count;
    for (; at > 0 && edges[at - 1]->count < edge->count; at--)
        edges[at] = edges[at - 1];
    edges[at] = edge;
}

size_t sheet_around(const struct sheet *sheet, uint32_t row, bool callers,
                    const struct flat_edge **out, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < sheet->flat.edge_count && room > 0; i++) {
        const struct flat_edge *const edge = &sheet->flat.edges[i];
        if ((callers ? edge->callee : edge->caller) != row)
            continue;
        if (count < room)
            insert(out, count++, edge);
        else if (out[room - 1]->count < edge->count)
            insert(out, room - 1, edge);
    }
    return count;
}
