/*
 * output - a file that appears whole or not at all.
 *
 * It is opened before the work starts, so that a path that cannot be written is known then: a
 * new file beside the old one, renamed over it at the end.  What is not a regular file (a pipe,
 * /dev/null) is written as it is, and "-" is standard output.
 *
 * Ownership: the caller's storage; output_deinit removes what was not finished.
 * Depends on: err.
 */
#ifndef SERVER_COMMAND_OUTPUT_OUTPUT_H
#define SERVER_COMMAND_OUTPUT_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

struct output {
    int fd;
    char path[PATH_MAX];
    char temporary[PATH_MAX + 16]; /* "": writes in place */
    size_t written;                /* bytes */
    int sys;                       /* errno of the write that failed, 0: none */
};

MUST_CHECK enum err_code output_init(struct output *output, const char *path, struct err *err);
void output_deinit(struct output *output);
/* Escape sequences are for a terminal whose user did not say no (NO_COLOR, TERM=dumb). */
bool output_wants_colours(const struct output *output);
/* false: it cannot be written; output_finish says why. */
bool output_write(struct output *output, const void *data, size_t bytes);
/* Writes these last bytes, if any, and lets the file appear. */
MUST_CHECK enum err_code output_finish(struct output *output, const void *data, size_t bytes,
                                       struct err *err);

#endif /* SERVER_COMMAND_OUTPUT_OUTPUT_H */
