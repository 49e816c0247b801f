/*
 * hotlines - the source files that have samples: their functions, lines and instructions.
 *
 * Files come hottest first; within a file functions, lines and instructions ascend by line.
 *
 * Ownership: the struct owns its arrays; hotlines_deinit accepts a zeroed one.
 */
#ifndef SERVER_REPORT_HOTLINES_H
#define SERVER_REPORT_HOTLINES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct report_source;

struct hotlines {
    uint64_t samples;
    size_t line_count;
    struct hotline {
        str_id file;
        int32_t line;
    } * lines; /* on stacks, and where functions with samples begin */
    size_t file_count;
    struct hotfile {
        str_id file;
        uint64_t self, total;
        size_t first_line, line_count;         /* in lines */
        size_t first_function, function_count; /* in functions */
        size_t first_spot, spot_count;         /* in spots */
    } * files;                                 /* by self, then total */
    size_t function_count;
    function_id *functions; /* with samples, by file, then first line */
    size_t spot_count;
    struct hotspot {
        spot_id spot;         /* one of those of this instruction */
        uint64_t self, total; /* an instruction counts once per stack, whoever called it */
    } * spots;                /* by file, line, then most frequent first */
};

MUST_CHECK enum err_code hotlines_init(struct hotlines *hot, const struct report_source *source,
                                       struct err *err);
void hotlines_deinit(struct hotlines *hot);

/* Fills spots and nothing else: captures without opcodes, and views by thread, process or state,
 * have none. */
MUST_CHECK enum err_code hotlines_find_spots(struct hotlines *hot,
                                             const struct report_source *source,
                                             struct err *err);
/* The file of a spot's function. */
str_id hotlines_spot_file(const struct profile_snapshot *snapshot, spot_id id);

#endif /* SERVER_REPORT_HOTLINES_H */
