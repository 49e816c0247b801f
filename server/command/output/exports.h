/*
 * exports - the reports that a command writes at its end, one file for each format.
 *
 * All files are opened before sampling or reading starts, so that an unwritable path is reported
 * early.  The name of a file is that of its format option (--collapsed=FILE), or else --output, or
 * else a default name in the working folder.  If --output is a folder, files in it have default names.
 *
 * Ownership: the caller's storage; exports_close removes unfinished files.
 */
#ifndef SERVER_COMMAND_OUTPUT_EXPORTS_H
#define SERVER_COMMAND_OUTPUT_EXPORTS_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile_rows.h"
#include "sampler/profile/views/frame_filters.h"
#include "server/command/options/options.h"
#include "server/command/output/capture_input.h"
#include "server/command/output/output.h"

struct report_source;
struct session_info;
struct written;

struct exports {
    size_t count;
    /* A page has all native frames unless some were chosen; it and a summary always have the causes of waits; it and formats
     * with labels have what threads work for. */
    struct frame_filters filters, label_filters, summary_filters, page_filters;
    bool
        splits; /* one file per process; the opened files only prove that the folder is writable */
    struct capture_input baseline;
    struct profile_snapshot measured; /* for formats that take measures; zeroed: time */
    bool has_one_measure;             /* it was named */
    struct written *written;          /* while reports are written */
    struct export
    {
        const struct report_format *format;
        part_set parts; /* of time; 0: all */
        struct output output;
    }
    items[OPTIONS_MAX_FORMATS];
};

/* info: process id and start, for file names.  filters: borrowed; they apply to the baseline too. */
MUST_CHECK enum err_code exports_open(struct exports *exports, const struct options *options,
                                      const struct frame_filters *filters,
                                      const struct session_info *info, struct err *err);
/* ERR_INVALID: one of them is written to the place of this other output. */
MUST_CHECK enum err_code exports_check(const struct exports *exports,
                                       const struct output_place *other, struct err *err);
/* Chooses the measure of the reports: the one that was named, or the only one of the session.  ERR_NOT_FOUND: it was not
 * counted. */
MUST_CHECK enum err_code exports_take_measure(struct exports *exports,
                                              const struct options *options,
                                              const struct profile_snapshot *session,
                                              struct err *err);
void exports_close(struct exports *exports);

/* Applies the filters, writes all reports and adds their names to `written`.  Continues after a failure, and
 * returns the first one. */
MUST_CHECK enum err_code exports_write(struct exports *exports,
                                       const struct report_source *source,
                                       struct written *written, struct err *err);

#endif /* SERVER_COMMAND_OUTPUT_EXPORTS_H */
