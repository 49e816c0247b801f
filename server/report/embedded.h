/*
 * embedded - data in a report for views that otherwise ask the server: the bins of the heat map, the memory of
 * processes, the text of source files and, if recorded, the instructions of their lines.
 *
 * All are bounded: the heat map to the last EMBEDDED_HEAT_SECONDS of the range; memory to EMBEDDED_MEMORY_SLOTS; files, text and
 * instructions by one of two bounds.  embedded_hottest adds less than 48 KiB to a report.  In a text
 * that is too long, only the lines around those with samples are kept; the others are empty.
 */
#ifndef SERVER_REPORT_EMBEDDED_H
#define SERVER_REPORT_EMBEDDED_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

struct json;
struct report_source;

enum { EMBEDDED_HEAT_SECONDS = 120, EMBEDDED_MEMORY_SLOTS = 240, EMBEDDED_AROUND_LINES = 6 };

struct embedded_bounds {
    size_t files;
    size_t text_bytes;   /* of all files */
    size_t whole_bytes;  /* a longer file is cut */
    size_t instructions; /* of all files */
    bool is_all;         /* no file is left out without saying why */
};

extern const struct embedded_bounds embedded_hottest, embedded_all;

/* Writes the member `heat` if there are bins. */
MUST_CHECK enum err_code embedded_write_heat(struct json *json,
                                             const struct report_source *source,
                                             struct err *err);
/* Writes the member `memory`, if memory was read: the answer of /memory for the range, without `epoch` and `generation`. */
MUST_CHECK enum err_code embedded_write_memory(struct json *json,
                                               const struct report_source *source,
                                               struct err *err);
/* Writes up to three members: `holds_all_sources`, if true; `sources`, an array of {path, changed,
 * whole, text} or {path, error}, if there are any; `instructions` (instructions.h), if recorded. */
MUST_CHECK enum err_code embedded_write_sources(struct json *json,
                                                const struct report_source *source,
                                                const struct embedded_bounds *bounds,
                                                struct err *err);

#endif /* SERVER_REPORT_EMBEDDED_H */
