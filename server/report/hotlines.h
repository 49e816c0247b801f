/*
 * hotlines - samples by file and line, and which lines call which functions.
 *
 * A line is a line of a file, whatever functions share it; marks such as <native> stand as lines
 * of the file "~", one each.  Files come hottest first; within a file lines ascend.
 *
 * Ownership: the struct owns its arrays; hotlines_deinit accepts a zeroed one.
 * Depends on: profile, view, flat.
 */
#ifndef SERVER_REPORT_HOTLINES_H
#define SERVER_REPORT_HOTLINES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "server/report/flat.h"

struct report_source;

struct hotlines {
    uint64_t samples;
    uint64_t max_self, max_total; /* of a line */
    size_t line_count;
    struct hotline {
        str_id file;
        int32_t line;
        function_id mark; /* of "~": which one; else 0 */
        uint64_t self, total;
        size_t first_call, call_count; /* in calls */
    } * lines; /* [0] is for nothing; by file (as a number), then line, then mark */
    size_t file_count;
    struct hotfile {
        str_id file;
        uint64_t self, total;
        size_t first_line, line_count;         /* in lines */
        size_t first_function, function_count; /* in functions */
        size_t first_spot, spot_count;         /* in spots */
    } * files;                                 /* by self, then total */
    uint32_t *file_number; /* by str_id: the place in files; UINT32_MAX: none */
    size_t function_count;
    function_id *functions;  /* with samples, by file, then first line */
    struct flat by_function; /* row: function */
    struct flat by_line;     /* row: line; its edges are caller line -> callee function */
    uint32_t *calls;         /* edges of by_line, by caller, most frequent first */
    uint32_t *callers;       /* the same, by callee */
    size_t spot_count;
    struct hotspot {
        spot_id spot;         /* one of those at this place */
        uint64_t self, total; /* a place counts once per stack */
    } * spots;                /* by file, line, then most frequent first */
};

MUST_CHECK enum err_code hotlines_init(struct hotlines *hot, const struct report_source *source,
                                       struct err *err);
void hotlines_deinit(struct hotlines *hot);

/* Where in `callers` the edges that lead to a function stand: [*first_out, result). */
size_t hotlines_callers(const struct hotlines *hot, function_id function, size_t *first_out);

#endif /* SERVER_REPORT_HOTLINES_H */
