/*
 * capture_output - the capture that a command writes while it samples (--binary).
 *
 *     capture_output_open     before sampling, so that an unwritable path is reported early
 *     capture_output_sink     for the options of the session
 *     capture_output_begin    once sampling has started; empties an existing file
 *     capture_output_finish   once sampling has ended; completes the file and adds its name to `written`
 *     capture_output_close
 *
 * Unlike a report, a capture is written while sampling goes on, so that it is readable after a crash.
 *
 * Ownership: the caller's storage.  capture_output_close ends sampling and removes a new file that
 * is still empty; call it before the session is destroyed.
 * Threads: the main one.
 */
#ifndef SERVER_COMMAND_OUTPUT_CAPTURE_OUTPUT_H
#define SERVER_COMMAND_OUTPUT_CAPTURE_OUTPUT_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "server/command/output/output.h"
#include "server/wire/quality.h"

struct options;
struct live_capture;
struct session_entry;
struct sink;
struct written;

struct capture_output {
    struct live_capture *live;   /* NULL: no capture was requested */
    struct session_entry *entry; /* NULL: not begun */
    int fd;
    bool is_new, has_begun, is_finished;
    struct quality_capture totals; /* once it is finished */
    struct output_place place;
};

#define CAPTURE_OUTPUT_NONE                \
    {                                      \
        .fd = -1, .place.at.folder_fd = -1 \
    }

MUST_CHECK enum err_code capture_output_open(struct capture_output *capture,
                                             const struct options *options, struct err *err);
/* NULL: no capture was requested. */
const struct sink *capture_output_sink(const struct capture_output *capture);
MUST_CHECK enum err_code capture_output_begin(struct capture_output *capture,
                                              struct session_entry *entry, struct err *err);
MUST_CHECK enum err_code capture_output_finish(struct capture_output *capture,
                                               struct written *written, struct err *err);
/* NULL: no capture was written. */
const struct quality_capture *capture_output_totals(const struct capture_output *capture);
void capture_output_close(struct capture_output *capture);

#endif /* SERVER_COMMAND_OUTPUT_CAPTURE_OUTPUT_H */
