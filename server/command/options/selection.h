/*
 * selection - turns --from, --to, --thread, --process, --state and the choice of requests into a query of a profile, and
 * joins filters of the command line with those of a capture.
 *
 * Ownership: selection_deinit frees the lists; the query points into the struct, which must not
 * move.
 */
#ifndef SERVER_COMMAND_OPTIONS_SELECTION_H
#define SERVER_COMMAND_OPTIONS_SELECTION_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/profile/views/request_choice.h"
#include "sampler/profile/views/view.h"

struct frame_filters;
struct options;

struct selection {
    struct view_query query;
    uint32_t *threads, *processes;
    struct request_set requests;
};

/* wants_rest: the requests that the options leave out.  ERR_INVALID: an unknown thread or process, an empty range of
 * time, or requests of a capture that has none. */
MUST_CHECK enum err_code selection_init(struct selection *selection,
                                        const struct options *options, bool wants_rest,
                                        const struct profile_snapshot *snapshot,
                                        struct err *err);
void selection_deinit(struct selection *selection);

/* A kind of filter that an option names replaces that kind of `recorded`.  ERR_INVALID: there are
 * too many. */
MUST_CHECK enum err_code selection_filters(const struct options *options,
                                           const struct frame_filters *recorded,
                                           struct frame_filters *out, struct err *err);

#endif /* SERVER_COMMAND_OPTIONS_SELECTION_H */
