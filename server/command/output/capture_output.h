/*
 * capturing - the capture that a command writes while it samples (--binary).
 *
 *     capturing_open     before anything is sampled: a path that cannot be written is known then
 *     capturing_sink     for the sampler's options
 *     capturing_begin    once there is a sampler
 *     capturing_finish   once sampling has ended: the rest, the end, and a line about it
 *     capturing_close
 *
 * Unlike a report the file is there from the start and grows, so that it is of use whatever
 * becomes of us.  What stood in it before is gone once sampling begins, not before.
 *
 * Ownership: the caller's storage; capturing_close removes a file that was made and has nothing
 * in it and ends sampling.  To be called before the sampler is destroyed.
 * Threads: the main one.
 * Depends on: options, sampler.h, capture, loaded, wire/quality, exit.
 */
#ifndef SERVER_COMMAND_OUTPUT_CAPTURE_OUTPUT_H
#define SERVER_COMMAND_OUTPUT_CAPTURE_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

#include "sampler/base/err.h"
#include "server/wire/quality.h"

struct options;
struct recorder;
struct sampler;
struct sampler_options;
struct sink;

struct capturing {
    struct recorder *recorder; /* NULL: none is wanted */
    struct sampler *sampler;   /* NULL: not begun */
    int fd;
    bool is_new, has_begun, is_finished;
    struct quality_capture totals; /* once it is finished */
    char path[PATH_MAX];           /* "": standard output */
};

#define CAPTURING_NONE \
    {                  \
        .fd = -1       \
    }

MUST_CHECK enum err_code capturing_open(struct capturing *capturing,
                                        const struct options *options, struct err *err);
/* NULL: no capture is wanted. */
const struct sink *capturing_sink(const struct capturing *capturing);
MUST_CHECK enum err_code capturing_begin(struct capturing *capturing, struct sampler *sampler,
                                         struct err *err);
MUST_CHECK enum err_code capturing_finish(struct capturing *capturing, struct err *err);
/* NULL: no capture was written. */
const struct quality_capture *capturing_totals(const struct capturing *capturing);
void capturing_close(struct capturing *capturing);

#endif /* SERVER_COMMAND_OUTPUT_CAPTURE_OUTPUT_H */
