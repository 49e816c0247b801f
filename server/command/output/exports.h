/*
 * exports - the reports that a command writes at its end, one file for each format.
 *
 * All are opened before the work starts, so that a path that cannot be written is known then.
 * A format's own name counts first, then --output (a file, or a folder in which the files get
 * their usual names), then a name made of process and time in the working folder.
 *
 * Ownership: the caller's storage; exports_close removes what was not finished.
 * Depends on: options, output, report, reshaped, split.
 */
#ifndef SERVER_COMMAND_OUTPUT_EXPORTS_H
#define SERVER_COMMAND_OUTPUT_EXPORTS_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "server/command/options/options.h"
#include "server/command/output/capture_input.h"
#include "server/command/output/output.h"

struct frame_filters;
struct report_source;
struct session_info;

struct exports {
    size_t count;
    const struct frame_filters *filters;
    bool splits; /* one file per process; those opened only prove that they can be */
    struct capture_input baseline; /* read before the work starts too */
    struct export
    {
        const struct report_format *format;
        struct output output;
    }
    items[OPTIONS_MAX_FORMATS];
};

/* info: process id and start, for file names. */
MUST_CHECK enum err_code exports_open(struct exports *exports, const struct options *options,
                                      const struct session_info *info, struct err *err);
void exports_close(struct exports *exports);

/* Writes all of them, of the stacks that the filters make; says what was written.  Goes on after a failure and reports the first. */
MUST_CHECK enum err_code exports_write(struct exports *exports,
                                       const struct report_source *source, struct err *err);

#endif /* SERVER_COMMAND_OUTPUT_EXPORTS_H */
