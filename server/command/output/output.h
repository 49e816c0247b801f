/*
 * output - a file that appears whole or not at all.
 *
 * It is opened before the work starts, so that an unwritable path is known then: a new file beside
 * the old one, renamed over it at the end.  What is not a regular file (a pipe, /dev/null) is written
 * in place, and "-" is standard output.
 *
 * Ownership: the caller's storage; output_deinit removes a file that was not finished.
 * Depends on: err, privilege.
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

/* A name that ends in a slash is a folder, whether it exists or not. */
bool output_is_folder(const char *path);
/* Makes the folder if the name (or NULL) ends in a slash.  Opening a file in it shows a failure. */
void output_make_folder(const char *path);

MUST_CHECK enum err_code output_init(struct output *output, const char *path, struct err *err);
void output_deinit(struct output *output);
/* It is a terminal, and the user has not disabled colours (NO_COLOR, TERM=dumb). */
bool output_wants_colours(const struct output *output);
/* false: it cannot be written; output_finish says why. */
bool output_write(struct output *output, const void *data, size_t bytes);
/* Writes these last bytes, if any, and lets the file appear. */
MUST_CHECK enum err_code output_finish(struct output *output, const void *data, size_t bytes,
                                       struct err *err);

#endif /* SERVER_COMMAND_OUTPUT_OUTPUT_H */
