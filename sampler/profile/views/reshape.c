#include "sampler/profile/views/reshape.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/context.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/run.h"
#include "sampler/profile/views/cell_filter.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/native_frames.h"
#include "sampler/profile/views/reshape_rows.h"
#include "sampler/profile/views/view.h"
#include "sampler/profile/wait.h"
#include "sampler/profile/window.h"

/* The place in `into` of a node's samples, or of Python frames that it called. */
struct place {
    node_id node;         /* of the nearest frame that is left */
    library_id library;   /* of `into`, if that frame stands for a library; 0: it does not */
    unsigned char known;  /* the FRAME_ bits of the stack */
    unsigned char native; /* the NATIVE_ bits of the node */
};

/* Bits by node: which of its places are needed. */
enum { NEEDS_HERE = 1 << 0, NEEDS_BELOW = 1 << 1 };

struct reshape {
    struct profile *into;
    const struct profile_snapshot *from;
    struct reshape_rows rows;
    struct frame_matcher matcher;
    enum native_frames native;
    bool shows_waits, shows_contexts;
    bool is_beside;             /* samples stay samples of their measure */
    unsigned char *kinds;       /* by function: the filters that match it */
    unsigned char *frame_kinds; /* by function: enum frame_kind */
    unsigned char *needs;       /* by node: NEEDS_ bits; 0: no samples in it and beneath it */
    struct place *here, *below; /* by node; the same without native frames */
    uint32_t *callers;          /* the spots of `into`, plus 1; 0: none */
};

static enum err_code reshape_init(struct reshape *reshape, const struct frame_filters *filters,
                                  struct err *err)
{
    const struct profile_sizes *const sizes = &reshape->from->sizes;
    reshape->native = filters ? filters->native : NATIVE_FRAMES_EVERYTHING;
    reshape->shows_waits = !filters || filters->waits == WAIT_MARKS_SHOWN;
    reshape->shows_contexts = !filters || filters->shows_contexts;
    reshape->kinds = calloc((size_t)sizes->functions + 1, 1);
    reshape->frame_kinds = calloc((size_t)sizes->functions + 1, 1);
    reshape->needs = calloc((size_t)sizes->nodes + 1, 1);
    reshape->here = calloc((size_t)sizes->nodes + 1, sizeof *reshape->here);
    reshape->below = sizes->libraries > 1
                         ? calloc((size_t)sizes->nodes + 1, sizeof *reshape->below)
                         : reshape->here;
    reshape->callers = calloc((size_t)sizes->spots + 1, sizeof *reshape->callers);
    if (!reshape->kinds || !reshape->frame_kinds || !reshape->needs || !reshape->here ||
        !reshape->below || !reshape->callers)
        return err_nomem(err);
    const enum err_code rc = reshape_rows_init(&reshape->rows, err);
    return rc ? rc : frame_matcher_init(&reshape->matcher, filters, err);
}

/* Moves a place by a frame that is left. */
static enum err_code add_frame(struct reshape *reshape, frame_id id, struct place *place,
                               struct err *err)
{
    const function_id function = profile_frame_at(reshape->from, id).function;
    const library_id library = profile_function_at(reshape->from, function).library;
    const library_id before = place->library;
    const bool folds = library && reshape->native == NATIVE_FRAMES_LIBRARY;
    frame_id frame;
    place->library = 0;
    enum err_code rc = folds ? reshape_rows_library_frame(&reshape->rows, library,
                                                          &place->library, &frame, err)
                             : reshape_rows_frame(&reshape->rows, id, &frame, err);
    if (rc || (before && before == place->library))
        return rc;
    return profile_node(reshape->into, place->node, frame, &place->node, err);
}

/* The place of a node below that of its parent. */
static enum err_code find_place(struct reshape *reshape, const struct profile_node *row,
                                const struct place *parent, bool is_shown, struct place *out,
                                struct err *err)
{
    const function_id function = profile_frame_at(reshape->from, row->frame).function;
    const unsigned kinds = reshape->kinds[function];
    *out = *parent;
    out->known =
        (unsigned char)(is_shown ? frame_matcher_step(&reshape->matcher, parent->known, kinds)
                                 : frame_matcher_leave(parent->known, kinds));
    return out->known & FRAME_KEPT ? add_frame(reshape, row->frame, out, err) : ERR_OK;
}

static bool shows_kind(const struct reshape *reshape, enum frame_kind kind)
{
    return kind == FRAME_WAIT      ? reshape->shows_waits
           : kind == FRAME_CONTEXT ? reshape->shows_contexts
                                   : true;
}

/* The caller is copied already. */
static enum err_code copy_node(struct reshape *reshape, node_id node, struct err *err)
{
    const struct profile_node row = profile_node_at(reshape->from, node);
    const function_id function = profile_frame_at(reshape->from, row.frame).function;
    const enum frame_kind kind = reshape->frame_kinds[function];
    const unsigned native = reshape->here[node].native;
    struct place *const here = &reshape->here[node], *const below = &reshape->below[node];
    const struct place *const parent = &reshape->here[row.parent];
    const struct place *const caller = &reshape->below[row.parent];
    enum err_code rc = ERR_OK;
    if (kind == FRAME_PYTHON || kind == FRAME_MARK || frame_kind_is_note(kind)) {
        rc = find_place(reshape, &row, kind == FRAME_PYTHON ? caller : parent,
                        shows_kind(reshape, kind), here, err);
        *below = *here;
    } else {
        if (reshape->needs[node] & NEEDS_HERE)
            rc = find_place(reshape, &row, native & NATIVE_REPLACES ? caller : parent,
                            native & NATIVE_KEPT_HERE, here, err);
        if (!rc && (reshape->needs[node] & NEEDS_BELOW))
            rc = find_place(reshape, &row, caller, native & NATIVE_KEPT_BELOW, below, err);
    }
    return rc;
}

/* A stack of which no frame is left is dropped; one that had none stays. */
static bool is_kept(const struct reshape *reshape, node_id node)
{
    const struct place *const place = &reshape->here[node];
    return frame_matcher_counts(&reshape->matcher, place->known) &&
           (!node || place->known & FRAME_BENEATH);
}

static enum err_code copy_cell(struct reshape *reshape, const struct view_cell *cell,
                               struct reshape_counts *counts, struct err *err)
{
    const struct place *const place = &reshape->here[cell->node];
    thread_id thread;
    if (!is_kept(reshape, cell->node)) {
        counts->filtered += cell->count;
        return ERR_OK;
    }
    enum err_code rc = reshape_rows_thread(&reshape->rows, cell->thread, &thread, err);
    if (!rc) {
        uint64_t left = cell->count, ns = cell->ns;
        rc = ERR_OK;
        /* A count may be larger than one call takes. */
        while (left > 0 && !rc) {
            const uint32_t count = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
            rc = reshape->is_beside
                     ? profile_add_measured(reshape->into, reshape->from->measure, thread,
                                            cell->state, place->node, count, err)
                     : profile_add_timed(reshape->into, thread, cell->state, place->node, count,
                                         ns, err);
            left -= count;
            ns = 0; /* the first call added all of it */
        }
    }
    if (!rc)
        counts->samples += cell->count;
    return rc;
}

static enum err_code copy_spot(struct reshape *reshape, spot_id id, uint32_t caller,
                               spot_id *out, struct err *err)
{
    struct profile_spot row = profile_spot_at(reshape->from, id);
    row.caller = caller;
    enum err_code rc = reshape_rows_function(&reshape->rows, row.function, &row.function, err);
    if (!rc)
        rc = reshape_rows_string(&reshape->rows, row.opcode, &row.opcode, err);
    if (!rc)
        rc = reshape_rows_string(&reshape->rows, row.base, &row.base, err);
    return rc ? rc : profile_spot(reshape->into, &row, out, err);
}

/* The spot of the caller replaces that of a removed frame. */
static enum err_code add_spot(struct reshape *reshape, const struct view_spot *spot,
                              struct err *err)
{
    const unsigned known = reshape->here[spot->node].known;
    node_id caller_node = spot->node;
    spot_id caller_id = spot->spot;
    /* Callers come first. */
    const uint32_t caller = view_spot_caller(reshape->from, &caller_node, &caller_id)
                                ? reshape->callers[caller_id]
                                : 0;
    const uint32_t count = spot->self < UINT32_MAX ? (uint32_t)spot->self : UINT32_MAX;
    spot_id id;
    reshape->callers[spot->spot] = caller;
    if (!(known & FRAME_KEPT))
        return ERR_OK;
    const enum err_code rc = copy_spot(reshape, spot->spot, caller, &id, err);
    if (rc)
        return rc;
    reshape->callers[spot->spot] = id + 1;
    return frame_matcher_counts(&reshape->matcher, known)
               ? profile_add_spot(reshape->into, reshape->here[spot->node].node, id, count, err)
               : ERR_OK;
}

static enum err_code copy_cells(struct reshape *reshape, const struct view_query *query,
                                struct reshape_counts *counts, struct err *err)
{
    struct view_cells cells;
    enum err_code rc = view_cells_init(&cells, reshape->from, query, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < cells.count && !rc; i++)
        rc = copy_cell(reshape, &cells.cells[i], counts, err);
    view_cells_deinit(&cells);

    if (rc)
        return rc;

    /* Spots have no threads, states and requests: a query that chooses some copies no spots. */
    struct view_spots spots;
    if (view_query_leaves_out_spots(query))
        return ERR_OK;
    rc = view_spots_init(&spots, reshape->from, query, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < spots.count && !rc; i++)
        rc = add_spot(reshape, &spots.spots[i], err);
    view_spots_deinit(&spots);
    return rc;
}

/* Copies everything except the samples of the query. */
static enum err_code copy_tables(struct reshape *reshape, const struct view_query *query,
                                 struct err *err)
{
    struct view view;
    enum err_code rc = view_init(&view, reshape->from, query, err);
    if (rc)
        return rc;

    /* Function 0 is the root's; no filter matches it. */
    for (function_id id = 1; id < reshape->from->sizes.functions && !rc; id++) {
        const struct profile_function function = profile_function_at(reshape->from, id);
        const struct profile_library library =
            profile_library_at(reshape->from, function.library);
        const struct pattern_subject subject = {
            .packages = profile_packages(reshape->from->profile),
            .name = profile_string(reshape->from, function.name).text,
            .file = profile_string(reshape->from, function.file).text,
            .library =
                function.library ? profile_string(reshape->from, library.path).text : NULL,
            .line = function.first_line,
        };
        unsigned kinds = 0;
        rc = frame_matcher_kinds(&reshape->matcher, &subject, &kinds, err);
        reshape->kinds[id] = (unsigned char)kinds;
        reshape->frame_kinds[id] = (unsigned char)frame_kind_of(reshape->from, id);
    }

    if (!rc) {
        /* A frame stays or not by its callers alone. */
        reshape->here[0].native = NATIVE_ROOT;
        for (node_id id = 1; id < reshape->from->sizes.nodes; id++) {
            const struct profile_node row = profile_node_at(reshape->from, id);
            const function_id function = profile_frame_at(reshape->from, row.frame).function;
            reshape->here[id].native = (unsigned char)native_frames_step(
                reshape->native, reshape->here[row.parent].native,
                reshape->frame_kinds[function]);
        }

        for (size_t i = 0; i < view.count; i++)
            reshape->needs[view.node[i]] = NEEDS_HERE;
        /* A Python frame needs its native caller's place for Python frames, all others that for samples.
         * A native frame that takes the place of its callers needs the former.  Parents come before children. */
        for (node_id id = reshape->from->sizes.nodes; id-- > 1;)
            if (reshape->needs[id]) {
                const struct profile_node row = profile_node_at(reshape->from, id);
                const function_id function =
                    profile_frame_at(reshape->from, row.frame).function;
                const enum frame_kind kind = reshape->frame_kinds[function];
                reshape->needs[row.parent] |=
                    kind == FRAME_PYTHON                             ? NEEDS_BELOW
                    : kind == FRAME_MARK || frame_kind_is_note(kind) ? NEEDS_HERE
                    : reshape->here[id].native & NATIVE_REPLACES     ? NEEDS_BELOW
                                                                     : reshape->needs[id];
            }
        reshape->here[0].known = (unsigned char)frame_matcher_start(&reshape->matcher);
        reshape->below[0] = reshape->here[0];
        for (node_id id = 1; id < reshape->from->sizes.nodes && !rc; id++)
            if (reshape->needs[id])
                rc = copy_node(reshape, id, err);
    }
    view_deinit(&view);
    return rc;
}

/* Called once the tables are there. */
typedef enum err_code copy_samples(struct reshape *reshape, const struct view_query *query,
                                   struct reshape_counts *counts, struct err *err);

static enum err_code reshape_with(struct reshape *reshape, const struct view_query *query,
                                  const struct reshape_settings *settings,
                                  struct reshape_counts *counts, copy_samples *copy,
                                  struct err *err)
{
    struct reshape_counts ignored = { 0 };
    reshape->rows = (struct reshape_rows){ .into = reshape->into,
                                           .from = reshape->from,
                                           .names = settings ? settings->names : NULL,
                                           .places = settings ? settings->places : NULL };
    enum err_code rc = reshape_init(reshape, settings ? settings->filters : NULL, err);
    if (!rc)
        rc = copy_tables(reshape, query, err);
    if (!rc)
        rc = copy(reshape, query, counts ? counts : &ignored, err);

    frame_matcher_deinit(&reshape->matcher);
    free(reshape->kinds);
    free(reshape->frame_kinds);
    free(reshape->needs);
    if (reshape->below != reshape->here)
        free(reshape->below);
    free(reshape->here);
    reshape_rows_deinit(&reshape->rows);
    free(reshape->callers);
    return rc;
}

bool reshape_is_needed(const struct profile_snapshot *from, const struct frame_filters *filters)
{
    return filters->count > 0 ||
           (from->sizes.libraries > 1 && filters->native != NATIVE_FRAMES_EVERYTHING) ||
           (filters->waits == WAIT_MARKS_HIDDEN && wait_has_any(from)) ||
           (!filters->shows_contexts && context_has_any(from));
}

enum err_code reshape_add(struct profile *into, const struct profile_snapshot *from,
                          const struct view_query *query,
                          const struct reshape_settings *settings,
                          struct reshape_counts *counts, struct err *err)
{
    struct reshape reshape = { .into = into, .from = from };
    return reshape_with(&reshape, query, settings, counts, copy_cells, err);
}

/* The query of what a window has of another one. */
static struct view_query query_of_window(const struct view_query *query,
                                         const struct window *window)
{
    struct view_query one = *query;
    one.since = window->first_generation - 1;
    one.from_ns = window->start_ns;
    one.to_ns = window->start_ns + 1;
    return one;
}

static enum err_code copy_measured(struct reshape *reshape, const struct view_query *query,
                                   struct reshape_counts *counts, struct err *err)
{
    const enum measure measure = reshape->from->measure;
    const struct window *before = NULL;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < reshape->from->window_count && !rc; i++) {
        const struct window *const window = reshape->from->windows[i];
        const struct view_query one = query_of_window(query, window);
        /* As in copy_windows. */
        if (!cell_filter_has_window(query, window) ||
            (before && before->start_ns == window->start_ns))
            continue;
        before = window;
        /* The first seal ends the time before the window. */
        rc = profile_seal_measured(reshape->into, measure, window->start_ns, window->period_ns,
                                   err);
        if (!rc)
            rc = copy_cells(reshape, &one, counts, err);
        if (!rc)
            rc = profile_seal_measured(reshape->into, measure, window->end_ns,
                                       window->period_ns, err);
    }
    return rc;
}

enum err_code reshape_measures(struct profile *into, const struct profile_snapshot *from,
                               const struct view_query *query,
                               const struct reshape_settings *settings, struct err *err)
{
    enum err_code rc = ERR_OK;
    for (enum measure i = MEASURE_TIME; i < MEASURE_COUNT && !rc; i++) {
        struct profile_snapshot other;
        if (!(from->beside & MEASURE_SET(i)))
            continue;
        rc = profile_snapshot_beside(from, i, &other, err);
        if (rc)
            return rc;
        struct reshape reshape = { .into = into, .from = &other, .is_beside = true };
        rc = reshape_with(&reshape, query, settings, NULL, copy_measured, err);
        profile_snapshot_release(&other);
    }
    return rc;
}

/* The first seal ends the time before the window. */
static enum err_code copy_window(struct reshape *reshape, const struct window *window,
                                 const struct view_query *query, struct reshape_counts *counts,
                                 struct err *err)
{
    const struct view_query one = query_of_window(query, window);
    enum err_code rc = profile_seal(reshape->into, window->start_ns, err);
    if (rc)
        return rc;
    profile_set_period(reshape->into, window->period_ns);
    rc = copy_cells(reshape, &one, counts, err);
    if (!rc) {
        struct view_runs runs;
        rc = view_runs_init(&runs, reshape->from, &one, err);
        for (size_t i = 0; i < runs.count && !rc; i++) {
            const struct view_run *const run = &runs.runs[i];
            thread_id thread;
            if (!is_kept(reshape, run->cell.node))
                continue;
            rc = reshape_rows_thread(&reshape->rows, run->cell.thread, &thread, err);
            if (!rc)
                profile_order(reshape->into,
                              &(struct run){ .thread = thread,
                                             .node = reshape->here[run->cell.node].node,
                                             .spot = PROFILE_NO_SPOT,
                                             .count = (uint32_t)run->cell.count,
                                             .state = run->cell.state,
                                             .first_ns = run->first_ns,
                                             .step_ns = run->step_ns });
        }
        view_runs_deinit(&runs);
        rc = rc == ERR_NOT_FOUND ? ERR_OK : rc;
    }
    return rc ? rc : profile_seal(reshape->into, window->end_ns, err);
}

static enum err_code copy_windows(struct reshape *reshape, const struct view_query *query,
                                  struct reshape_counts *counts, struct err *err)
{
    const struct window *before = NULL;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < reshape->from->window_count && !rc; i++) {
        const struct window *const window = reshape->from->windows[i];
        /* A window without length is copied together with the next, which starts at the same time. */
        if (!cell_filter_has_window(query, window) ||
            (before && before->start_ns == window->start_ns))
            continue;
        rc = copy_window(reshape, window, query, counts, err);
        before = window;
    }
    return rc;
}

enum err_code reshape_windows(struct profile *into, const struct profile_snapshot *from,
                              const struct view_query *query,
                              const struct reshape_settings *settings,
                              struct reshape_counts *counts, struct err *err)
{
    struct reshape reshape = { .into = into, .from = from };
    enum err_code rc = reshape_measures(into, from, query, settings, err);
    if (!rc)
        rc = reshape_with(&reshape, query, settings, counts, copy_windows, err);
    *profile_quality(into) = from->quality;
    return rc ? rc : profile_seal(into, from->end_ns, err);
}
