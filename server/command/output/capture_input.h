/*
 * capture_input - reads a capture of the command line, as a source of reports or as a session.
 *
 * Ownership: the caller's storage, which must not move; capture_input_close accepts
 * CAPTURE_INPUT_NONE.
 * Threads: the main one.
 */
#ifndef SERVER_COMMAND_OUTPUT_CAPTURE_INPUT_H
#define SERVER_COMMAND_OUTPUT_CAPTURE_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/command/options/selection.h"
#include "server/report/header.h"
#include "server/report/report.h"
#include "server/wire/reshaped.h"
#include "server/wire/session.h"

struct open_capture;
struct options;
struct session_entry;
struct sessions;

struct capture_input {
    struct open_capture *opened; /* NULL: none */
    struct profile_snapshot snapshot;
    struct session_info info;
    struct view_query everything;
    struct selection selected; /* zeroed: everything */
    struct reshaped reshaped;  /* zeroed: stacks are unchanged */
    struct report_selection selection;
    struct report_header header; /* of the whole capture, as the source */
    struct report_source source;
};

#define CAPTURE_INPUT_NONE \
    {                      \
        .opened = NULL     \
    }

/* Adds a capture, or the part of it between --from and --to, to the sessions of a server.  Its filters
 * become those of the capture and of the options.  Prints them, and which part is missing. */
MUST_CHECK enum err_code capture_input_show(struct sessions *sessions,
                                            const struct options *options, const char *path,
                                            struct session_entry **out, struct err *err);

/* Opens a whole capture.  If the capture was cut, prints what is missing.  memory_bytes: as --memory.
 * The filters it was recorded with are in opened. */
MUST_CHECK enum err_code capture_input_open(struct capture_input *capture, const char *path,
                                            size_t memory_bytes, bool hides_arguments,
                                            struct err *err);
/* ERR_NOT_FOUND, in words: what has no such measure, and what to do. */
enum err_code capture_input_lacks_measure(const char *what,
                                          const struct profile_snapshot *snapshot,
                                          const char *measure, struct err *err);
/* Takes the samples of the measure of that name.  ERR_NOT_FOUND: the capture has none.  Call it before capture_input_select. */
MUST_CHECK enum err_code capture_input_count(struct capture_input *capture, const char *measure,
                                             struct err *err);
/* Chooses a part of the capture: --from, --to, --thread, --process, --state and requests; wants_rest: the others of
 * these (selection.h).  Call it before capture_input_reshape. */
MUST_CHECK enum err_code capture_input_select(struct capture_input *capture,
                                              const struct options *options, bool wants_rest,
                                              struct err *err);
/* Prints how many requests and samples are kept, if some were chosen; is_rest: of the others. */
void capture_input_say_requests(const struct selection *selection, bool is_rest);
/* Narrows that part to a range of time, and to processes; pids NULL: all. */
MUST_CHECK enum err_code capture_input_narrow(struct capture_input *capture, uint64_t from_ns,
                                              uint64_t to_ns, const pid_t *pids, size_t count,
                                              struct err *err);
/* Applies the filters to the stacks of the source.  Without filters nothing changes. */
MUST_CHECK enum err_code capture_input_reshape(struct capture_input *capture,
                                               const struct frame_filters *filters,
                                               struct err *err);
void capture_input_close(struct capture_input *capture);

#endif /* SERVER_COMMAND_OUTPUT_CAPTURE_INPUT_H */
