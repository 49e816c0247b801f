/*
 * embedded - what a report has beside its cells, so that views which else ask the server work
 * without one: the bins of the heat map, the text of source files and, where they were recorded,
 * the instructions of their lines.
 *
 * All are bounded: EMBEDDED_HEAT_SECONDS, the last of the range; files, text and instructions by
 * one of two bounds.  Those of the hottest files add less than 48 KiB to a report.  Of a text that
 * is too long the lines around those with samples are kept; the others are empty.
 *
 * Depends on: profile, json, source, hotlines, wire/heat.
 */
#ifndef SERVER_REPORT_EMBEDDED_H
#define SERVER_REPORT_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

struct json;
struct report_source;

enum { EMBEDDED_HEAT_SECONDS = 120, EMBEDDED_AROUND_LINES = 6 };

struct embedded_bounds {
    size_t files;
    size_t text_bytes;   /* of all files */
    size_t whole_bytes;  /* a longer file is cut */
    size_t instructions; /* of all files */
    bool is_all;         /* no file is left out without saying why */
};

extern const struct embedded_bounds embedded_hottest, embedded_all;

/* The member `heat`; nothing where there are no bins. */
MUST_CHECK enum err_code embedded_write_heat(struct json *json,
                                             const struct report_source *source,
                                             struct err *err);
/* The members `holds_all_sources`, true or nothing, `sources`, nothing where no file is at hand, of {path, changed, whole, text} or
 * {path, error}, and `instructions` (instructions.h),
 * nothing where none were recorded. */
MUST_CHECK enum err_code embedded_write_sources(struct json *json,
                                                const struct report_source *source,
                                                const struct embedded_bounds *bounds,
                                                struct err *err);

#endif /* SERVER_REPORT_EMBEDDED_H */
