#include "server/top/model.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/views/view.h"
#include "server/report/names.h"

static struct state_condition states_of(const struct display *display)
{
    struct state_condition states = { 0 };
    switch (display->mode) {
    case DISPLAY_PARTS: states.parts = display->parts ? display->parts : PART_SET_USUAL; break;
    case DISPLAY_RUNNING: states.parts = 1U << PART_RUNNING; break;
    case DISPLAY_GIL: states.require = STATE_HAS_GIL; break;
    case DISPLAY_EXCEPTION: states.require = STATE_HAS_EXCEPTION; break;
    case DISPLAY_WALL:
    case DISPLAY_MODE_COUNT: break;
    }
    return states;
}

struct named_frame model_name(const struct model *model, uint32_t row)
{
    return model->by_line ? names_frame(model->snapshot, row)
                          : names_function(model->snapshot, row);
}

static char lower_case(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool has_text(struct strtab_string text, const char *wanted)
{
    const size_t length = strlen(wanted);
    for (size_t at = 0; at + length <= text.length; at++) {
        size_t i = 0;
        while (i < length && lower_case(text.text[at + i]) == lower_case(wanted[i]))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

static int compare_text(struct strtab_string a, struct strtab_string b)
{
    const uint32_t shorter = a.length < b.length ? a.length : b.length;
    const int order = memcmp(a.text, b.text, shorter);
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_counts(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

struct sorting {
    const struct model *model;
    enum display_sort sort;
};

/* No two rows are equal, so that rows do not swap places between updates. */
static int compare_rows(const void *left, const void *right, void *context)
{
    const struct sorting *const sorting = context;
    const struct flat *const flat = &sorting->model->flat;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const int self = compare_counts(flat->self[a], flat->self[b]);
    const int total = compare_counts(flat->total[a], flat->total[b]);
    int order = 0;
    switch (sorting->sort) {
    case DISPLAY_BY_SELF: order = self != 0 ? self : total; break;
    case DISPLAY_BY_TOTAL: order = total != 0 ? total : self; break;
    case DISPLAY_BY_NAME:
        order = compare_text(model_name(sorting->model, a).name,
                             model_name(sorting->model, b).name);
        break;
    case DISPLAY_SORTS: break;
    }
    return order != 0 ? order : (a > b) - (a < b);
}

static enum err_code list_rows(struct model *model, const struct display *display,
                               struct err *err)
{
    struct sorting sorting = { model, display->sort };
    model->order = malloc(((size_t)model->flat.row_count + 1) * sizeof *model->order);
    if (!model->order)
        return err_nomem(err);
    for (uint32_t row = 1; row < model->flat.row_count; row++) {
        if (model->flat.total[row] == 0)
            continue;
        model->seen++;
        const struct named_frame name = model_name(model, row);
        if (!*display->filter || has_text(name.name, display->filter) ||
            has_text(name.file, display->filter))
            model->order[model->count++] = row;
    }
    qsort_r(model->order, model->count, sizeof *model->order, compare_rows, &sorting);
    return ERR_OK;
}

static enum err_code sum_threads(struct model *model, const struct view_query *query,
                                 const struct display *display, struct err *err)
{
    struct view_query every_mode = *query;
    every_mode.states = (struct state_condition){ 0 };
    const enum err_code rc = states_init(&model->states, model->snapshot, &every_mode, err);
    if (rc)
        return rc;
    if (display->thread == DISPLAY_NO_THREAD)
        model->sums = model->states.all;
    model->threads = calloc(model->states.count + 1, sizeof *model->threads);
    if (!model->threads)
        return err_nomem(err);
    for (size_t i = 0; i < model->states.count; i++) {
        model->threads[i] = model->states.rows[i].thread;
        if (model->threads[i] == display->thread)
            model->sums = model->states.rows[i].sums;
    }
    return ERR_OK;
}

enum err_code model_init(struct model *model, const struct profile_snapshot *snapshot,
                         const struct profile_snapshot *recorded, const struct display *display,
                         struct err *err)
{
    const struct view_query query = { .from_ns = display_from_ns(display, snapshot->end_ns),
                                      .threads = display->thread == DISPLAY_NO_THREAD
                                                     ? NULL
                                                     : &display->thread,
                                      .thread_count = 1,
                                      .states = states_of(display) };
    *model = (struct model){ .snapshot = snapshot,
                             .recorded = recorded,
                             .by_line = display->by_line,
                             .from_ns = query.from_ns,
                             .to_ns = snapshot->end_ns };
    enum err_code rc = flat_init(&model->flat, snapshot, &query,
                                 display->by_line ? FLAT_FRAMES : FLAT_FUNCTIONS, err);
    if (!rc)
        rc = list_rows(model, display, err);
    if (!rc) {
        /* The mean time that a sample stands for, because the rate may have changed. */
        struct view view;
        rc = view_init(&view, model->snapshot, &query, err);
        if (!rc) {
            if (view.total > 0)
                model->sample_s = (double)view.total_ns / (double)NS_PER_S / (double)view.total;
            view_deinit(&view);
        }
    }
    if (!rc)
        rc = sum_threads(model, &query, display, err);
    if (!rc) {
        const struct view_query every_thread = { .from_ns = query.from_ns };
        rc = thread_waits_init(&model->waits, model->recorded, &every_thread, err);
    }
    if (rc)
        model_deinit(model);
    return rc;
}

void model_deinit(struct model *model)
{
    flat_deinit(&model->flat);
    states_deinit(&model->states);
    thread_waits_deinit(&model->waits);
    free(model->threads);
    free(model->order);
    *model = (struct model){ .snapshot = NULL };
}

size_t model_place(const struct model *model, uint32_t row)
{
    size_t at = 0;
    while (at < model->count && model->order[at] != row)
        at++;
    return at;
}

/* True if these are one thread in two profiles. */
static bool is_same_thread(const struct profile_snapshot *left, thread_id a,
                           const struct profile_snapshot *right, thread_id b)
{
    const struct profile_thread one = profile_thread_at(left, a);
    const struct profile_thread other = profile_thread_at(right, b);
    return one.tid == other.tid && one.ident == other.ident &&
           profile_process_at(left, one.process).pid ==
               profile_process_at(right, other.process).pid &&
           strcmp(profile_string(left, one.name).text,
                  profile_string(right, other.name).text) == 0;
}

const struct thread_wait *model_wait(const struct model *model, thread_id thread)
{
    const struct thread_waits *const waits = &model->waits;
    if (thread == DISPLAY_NO_THREAD)
        return waits->all.waiting > 0 ? &waits->all : NULL;
    for (size_t i = 0; i < waits->count; i++)
        if (is_same_thread(model->snapshot, thread, model->recorded, waits->rows[i].thread))
            return &waits->rows[i];
    return NULL;
}

/* Inserts an edge into a list that is sorted by count; the last edge of a full list is dropped. */
static void insert_edge(const struct flat_edge **edges, size_t count,
                        const struct flat_edge *edge)
{
    size_t at = count;
    for (; at > 0 && edges[at - 1]->count < edge->count; at--)
        edges[at] = edges[at - 1];
    edges[at] = edge;
}

size_t model_around(const struct model *model, uint32_t row, bool callers,
                    const struct flat_edge **out, size_t room)
{
    size_t count = 0;
    for (size_t i = 0; i < model->flat.edge_count && room > 0; i++) {
        const struct flat_edge *const edge = &model->flat.edges[i];
        if ((callers ? edge->callee : edge->caller) != row)
            continue;
        if (count < room)
            insert_edge(out, count++, edge);
        else if (out[room - 1]->count < edge->count)
            insert_edge(out, room - 1, edge);
    }
    return count;
}
