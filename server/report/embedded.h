/*
 * embedded - what a report has beside its cells, so that views which else ask the server work
 * without one: the bins of the heat map, the text of the hottest source files and, where they were
 * recorded, the instructions of their lines.
 *
 * All are bounded, so that they add less than 48 KiB to a report: EMBEDDED_HEAT_SECONDS, the
 * last of the range; EMBEDDED_FILES files of together EMBEDDED_TEXT_BYTES and
 * EMBEDDED_INSTRUCTIONS.  Of a long file only the lines around those with samples are kept; the
 * others are empty.
 *
 * Depends on: profile, json, source, hotlines, wire/heat.
 */
#ifndef SERVER_REPORT_EMBEDDED_H
#define SERVER_REPORT_EMBEDDED_H

#include "sampler/base/err.h"

struct json;
struct report_source;

enum {
    EMBEDDED_HEAT_SECONDS = 120,
    EMBEDDED_FILES = 8,
    EMBEDDED_TEXT_BYTES = 48 << 10,
    EMBEDDED_WHOLE_BYTES = 12 << 10, /* a longer file is cut */
    EMBEDDED_AROUND_LINES = 6,
    EMBEDDED_INSTRUCTIONS = 1200,
};

/* The member `heat`; nothing where there are no bins. */
MUST_CHECK enum err_code embedded_write_heat(struct json *json,
                                             const struct report_source *source,
                                             struct err *err);
/* The members `sources`, nothing where no file is at hand, and `instructions` (instructions.h),
 * nothing where none were recorded. */
MUST_CHECK enum err_code embedded_write_sources(struct json *json,
                                                const struct report_source *source,
                                                struct err *err);

#endif /* SERVER_REPORT_EMBEDDED_H */
