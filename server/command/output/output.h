/*
 * output - writes a file that appears whole or not at all.
 *
 * output_init creates a temporary file in the same folder, so that an unwritable path is reported
 * early; output_finish renames it.  A path that is not a regular file (a pipe, /dev/null) is written
 * in place, and "-" is standard output.  A link is written through; see trusted_path for those that are
 * not.
 *
 * Ownership: the caller's storage; output_deinit removes an unfinished file.
 */
#ifndef SERVER_COMMAND_OUTPUT_OUTPUT_H
#define SERVER_COMMAND_OUTPUT_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/base/trusted_path.h"

struct output_place {
    char path[PATH_MAX];    /* as it was named; "": standard output */
    struct trusted_path at; /* where that leads to */
};

struct output {
    int fd;
    struct output_place place;
    char temporary[NAME_MAX + 1]; /* "": writes in place */
    size_t written;               /* bytes */
    int sys;                      /* errno of the write that failed, 0: none */
};

/* path: "-" is standard output.  A failure leaves nothing to close. */
MUST_CHECK enum err_code output_place_find(struct output_place *place, const char *path,
                                           struct err *err);
/* A zeroed one is fine. */
void output_place_close(struct output_place *place);
const char *output_place_name(const struct output_place *place);
bool output_place_is_same(const struct output_place *a, const struct output_place *b);
/* ERR_INVALID: they are the same, and one would take the place of the other.  Devices may be. */
MUST_CHECK enum err_code output_check_places(const struct output_place *a,
                                             const struct output_place *b, struct err *err);
/* Returns ERR_SYS, whatever sys is: ERR_PERM is about a target. */
enum err_code output_cannot_write(const struct output_place *place, int sys, struct err *err);

/* True for an existing folder, and for every name that ends in a slash. */
bool output_is_folder(const char *path);
/* Creates the folder if the name ends in a slash; path may be NULL.  A failure is reported by opening
 * a file in the folder. */
void output_make_folder(const char *path);

MUST_CHECK enum err_code output_init(struct output *output, const char *path, struct err *err);
void output_deinit(struct output *output);
/* True if the output is a terminal and colours are not disabled (NO_COLOR, TERM=dumb). */
bool output_wants_colours(const struct output *output);
/* false: writing failed; output_finish reports why. */
bool output_write(struct output *output, const void *data, size_t bytes);
/* Writes the last bytes, if any, and renames the file to its name. */
MUST_CHECK enum err_code output_finish(struct output *output, const void *data, size_t bytes,
                                       struct err *err);

#endif /* SERVER_COMMAND_OUTPUT_OUTPUT_H */
