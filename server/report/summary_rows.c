#include "server/report/summary_rows.h"

#include "sampler/profile/context.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/own_lines.h"
#include "sampler/profile/views/view.h"
#include "server/report/flat.h"
#include "server/report/report_source.h"
#include "server/settings/setting.h"

enum err_code summary_find_lines(const struct report_source *source,
                                 const struct view_query *query, size_t most,
                                 struct summary_rows *rows, uint64_t *own_out, struct err *err)
{
    const struct setting_texts *const patterns = source->settings.own;
    struct own_lines own;
    const enum err_code rc =
        own_lines_init(&own, source->snapshot, query, patterns ? patterns->items : NULL,
                       patterns ? patterns->count : 0, most, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < own.count && i < most; i++) {
        struct summary_row *const row = &rows->rows[rows->count++];
        row->frame = names_function(source->snapshot, own.lines[i].function);
        row->frame.line = own.lines[i].line > 0 ? own.lines[i].line : row->frame.first_line;
        row->self = own.lines[i].samples;
    }
    rows->own_code = own.level;
    rows->samples = own.samples;
    *own_out = own.own_samples;
    own_lines_deinit(&own);
    return ERR_OK;
}

enum err_code summary_find_functions(const struct report_source *source,
                                     const struct view_query *query, size_t most,
                                     struct summary_rows *rows, struct err *err)
{
    struct flat flat;
    const enum err_code rc = flat_init(&flat, source->snapshot, query, FLAT_FUNCTIONS, err);
    if (rc)
        return rc;

    /* Why a thread waits and what it works for are no functions: those samples are of the function above.  Only marks of waits
     * stand below one of a context. */
    const struct profile_snapshot *const snapshot = source->snapshot;
    for (size_t i = 0; i < flat.edge_count; i++) {
        const struct flat_edge *const edge = &flat.edges[i];
        struct wait_text wait;
        struct context_text context;
        const uint64_t moved = wait_of_function(snapshot, edge->callee, &wait) ? edge->self
                               : context_of_function(snapshot, edge->callee, &context)
                                   ? edge->count
                                   : 0;
        flat.self[edge->caller] += moved;
        flat.self[edge->callee] -= moved;
    }

    for (function_id id = 1; id < flat.row_count; id++) {
        struct summary_row row = { .self = flat.self[id], .total = flat.total[id] };
        if (row.self == 0 || (rows->count == most && row.self <= rows->rows[most - 1].self))
            continue;
        row.frame = names_function(source->snapshot, id);
        row.frame.line = row.frame.first_line;
        size_t at = rows->count < most ? rows->count++ : most - 1;
        for (; at > 0 && rows->rows[at - 1].self < row.self; at--)
            rows->rows[at] = rows->rows[at - 1];
        rows->rows[at] = row;
    }
    flat_deinit(&flat);
    return ERR_OK;
}

bool summary_narrow(const struct report_source *source, part_set parts, struct view_query *out)
{
    const unsigned own = source->query->states.parts ? source->query->states.parts : parts;
    *out = *source->query;
    out->states.parts = (part_set)(own & parts);
    return out->states.parts != 0;
}
