#include "server/report/formats/gecko_rows.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/profile/state.h"
#include "sampler/profile/views/view.h"
#include "sampler/profile/wait.h"
#include "server/report/names.h"
#include "server/report/report_source.h"
#include "server/report/slices.h"

enum { NO_MARKER = GECKO_MARKER_COUNT };

static const struct {
    const char *category, *text;
} marker_names[] = {
#define X(name, category, text) { category, text },
    GECKO_MARKERS(X)
#undef X
};

const char *gecko_marker_text(enum gecko_marker_name name)
{
    return marker_names[name].text;
}

const char *gecko_marker_category(enum gecko_marker_name name)
{
    return marker_names[name].category;
}

/* The rows of one thread in the making. */
struct making {
    struct gecko_rows *rows;
    struct slices *slices;
    const struct preorder *order;
    thread_id thread;
};

static enum err_code add_marker(struct gecko_rows *rows, const struct gecko_marker *marker,
                                struct err *err)
{
    if (rows->marker_count == GECKO_MAX_MARKERS) {
        rows->cut++;
        return ERR_OK;
    }
    if (!VEC_RESERVE(rows->markers, rows->marker_room, rows->marker_count + 1))
        return err_nomem(err);
    rows->markers[rows->marker_count++] = *marker;
    return ERR_OK;
}

/* A row's time is shared among the instructions seen in its frame in that slice. */
static enum err_code add_opcodes(struct making *making, const struct gecko_row *row,
                                 const struct view_spots *spots, struct err *err)
{
    const struct profile_snapshot *const snapshot = making->slices->source->snapshot;
    /* The frame that executes instructions is the one under marks such as <native>. */
    node_id node = row->node;
    while (node != 0 &&
           names_frame(snapshot, profile_node_at(snapshot, node).frame).is_synthetic)
        node = profile_node_at(snapshot, node).parent;

    /* The first spot of the node or after it. */
    size_t first;
    LOWER_BOUND(first, spots->count, spots->spots[first].node < node);
    const double room = (double)(row->end_ns - row->start_ns);
    uint64_t all = 0, before = 0;
    enum err_code rc = ERR_OK;
    for (size_t i = first; i < spots->count && spots->spots[i].node == node; i++)
        all += spots->spots[i].self;
    for (size_t i = first; i < spots->count && spots->spots[i].node == node && !rc; i++) {
        const uint64_t after = before + spots->spots[i].self;
        const struct gecko_marker marker = {
            .name = GECKO_OPCODE,
            .spot = spots->spots[i].spot,
            .start_ns = row->start_ns + (uint64_t)(room * (double)before / (double)all),
            .end_ns = row->start_ns + (uint64_t)(room * (double)after / (double)all),
        };
        if (after > before)
            rc = add_marker(making->rows, &marker, err);
        before = after;
    }
    return rc;
}

static bool has_spots(const struct making *making)
{
    const struct view_query *const query = making->slices->source->query;
    return making->slices->source->snapshot->sizes.spots > 0 &&
           !view_query_leaves_out_spots(query);
}

static enum err_code add_slice(struct making *making, size_t slice, struct err *err)
{
    struct slice_part part;
    const size_t first_row = making->rows->count;
    enum err_code rc = slices_part(making->slices, slice, making->thread, SLICES_BY_STATE,
                                   making->order, &part, err);
    if (rc)
        return rc;

    for (size_t i = 0; i < part.cells.count && !rc; i++) {
        const struct view_cell *const cell = &part.cells.cells[i];
        const struct gecko_row row = {
            .node = cell->node,
            .state = cell->state,
            .samples = cell->count,
            .ns = view_cell_ns(cell, making->slices->period_ns),
            .start_ns = part.times[i].start_ns,
            .end_ns = part.times[i].end_ns,
        };
        if (!VEC_RESERVE(making->rows->rows, making->rows->row_room, making->rows->count + 1)) {
            rc = err_nomem(err);
            break;
        }
        making->rows->rows[making->rows->count++] = row;
    }

    slice_part_deinit(&part);

    if (rc)
        return rc;

    struct view_query query = *making->slices->source->query;
    struct view_spots spots;
    if (!has_spots(making))
        return ERR_OK;
    query.from_ns = making->slices->items[slice].from_ns;
    query.to_ns = making->slices->items[slice].to_ns;
    rc = view_spots_init(&spots, making->slices->source->snapshot, &query, err);
    if (rc)
        return rc;
    for (size_t i = first_row; i < making->rows->count && !rc; i++) {
        const struct gecko_row row = making->rows->rows[i];
        rc = add_opcodes(making, &row, &spots, err);
    }
    view_spots_deinit(&spots);
    return rc;
}

static unsigned of_flag(state_bits state, state_bits yes, state_bits unknown, unsigned if_yes,
                        unsigned if_no)
{
    if (state & unknown)
        return NO_MARKER;
    return state & yes ? if_yes : if_no;
}

static unsigned ask_gil(state_bits state)
{
    return of_flag(state, STATE_HAS_GIL, STATE_UNKNOWN_HAS_GIL, GECKO_HAS_GIL, GECKO_NO_GIL);
}

static unsigned ask_waiting(state_bits state)
{
    return of_flag(state, STATE_WAITS_GIL, STATE_UNKNOWN_WAITS_GIL, GECKO_WAITS_GIL, NO_MARKER);
}

static unsigned ask_cpu(state_bits state)
{
    return of_flag(state, STATE_ON_CPU, STATE_UNKNOWN_ON_CPU, GECKO_ON_CPU, GECKO_OFF_CPU);
}

/* C code that has released the GIL, or Python code; of what is off the CPU nothing is said. */
static unsigned ask_code_type(state_bits state)
{
    if (!(state & STATE_ON_CPU) || (state & STATE_UNKNOWN_ON_CPU))
        return NO_MARKER;
    return of_flag(state, STATE_HAS_GIL, STATE_UNKNOWN_HAS_GIL, GECKO_PYTHON_CODE,
                   GECKO_NATIVE_CODE);
}

static unsigned ask_exception(state_bits state)
{
    return of_flag(state, STATE_HAS_EXCEPTION, STATE_UNKNOWN_HAS_EXCEPTION, GECKO_EXCEPTION,
                   GECKO_NO_EXCEPTION);
}

static unsigned ask_collecting(state_bits state)
{
    return of_flag(state, STATE_IN_GC, STATE_UNKNOWN_IN_GC, GECKO_GC, NO_MARKER);
}

/* One question asked of all rows.  A gap ends a stretch. */
static enum err_code add_track(struct gecko_rows *rows, unsigned (*ask)(state_bits state),
                               uint64_t gap_ns, struct err *err)
{
    enum err_code rc = ERR_OK;
    struct gecko_marker open = { 0 };
    unsigned name = NO_MARKER;
    for (size_t i = 0; i < rows->count && !rc; i++) {
        const struct gecko_row *const row = &rows->rows[i];
        const unsigned said = ask(row->state);
        if (said == name && row->start_ns <= open.end_ns + gap_ns) {
            open.end_ns = row->end_ns;
            continue;
        }
        if (name != NO_MARKER)
            rc = add_marker(rows, &open, err);
        name = said;
        open = (struct gecko_marker){ .name = (enum gecko_marker_name)said,
                                      .start_ns = row->start_ns,
                                      .end_ns = row->end_ns };
    }
    return name != NO_MARKER && !rc ? add_marker(rows, &open, err) : rc;
}

static enum err_code add_tracks(struct making *making, struct err *err)
{
    static unsigned (*const questions[])(state_bits state) = { ask_gil,       ask_waiting,
                                                               ask_cpu,       ask_code_type,
                                                               ask_exception, ask_collecting };
    const uint64_t gap_ns = 2 * making->slices->period_ns;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < sizeof questions / sizeof *questions && !rc; i++)
        rc = add_track(making->rows, questions[i], gap_ns, err);

    if (rc)
        return rc;

    /* Why the thread waited, where its stack says so. */
    struct gecko_rows *const rows = making->rows;
    const struct profile_snapshot *const snapshot = making->slices->source->snapshot;
    struct gecko_marker open = { .wait = 0 };
    for (size_t i = 0; i < rows->count && !rc; i++) {
        const struct gecko_row *const row = &rows->rows[i];
        const frame_id frame = profile_node_at(snapshot, row->node).frame;
        const function_id function = profile_frame_at(snapshot, frame).function;
        struct wait_text wait;
        const function_id mark = wait_of_function(snapshot, function, &wait) ? function : 0;
        if (mark == open.wait && row->start_ns <= open.end_ns + gap_ns) {
            open.end_ns = row->end_ns;
            continue;
        }
        if (open.wait)
            rc = add_marker(rows, &open, err);
        open = (struct gecko_marker){
            .name = GECKO_WAIT, .wait = mark, .start_ns = row->start_ns, .end_ns = row->end_ns
        };
    }
    return open.wait && !rc ? add_marker(rows, &open, err) : rc;
}

enum err_code gecko_rows_init(struct gecko_rows *rows, struct slices *slices,
                              const struct preorder *order, thread_id thread, struct err *err)
{
    struct making making = { rows, slices, order, thread };
    enum err_code rc = ERR_OK;
    memset(rows, 0, sizeof *rows);
    for (size_t i = 0; i < slices->count && !rc; i++)
        rc = add_slice(&making, i, err);
    if (!rc)
        rc = add_tracks(&making, err);
    if (rc)
        gecko_rows_deinit(rows);
    return rc;
}

void gecko_rows_deinit(struct gecko_rows *rows)
{
    free(rows->rows);
    free(rows->markers);
    memset(rows, 0, sizeof *rows);
}
