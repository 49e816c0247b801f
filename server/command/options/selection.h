/*
 * selection - turns --from, --to, --thread, --process and --state into a query of a profile.
 *
 * Ownership: selection_deinit frees the lists; the query points into the struct, which must not
 * move.
 * Depends on: options, profile.
 */
#ifndef SERVER_COMMAND_OPTIONS_SELECTION_H
#define SERVER_COMMAND_OPTIONS_SELECTION_H

#include "sampler/base/err.h"
#include "sampler/profile/views/view.h"

struct options;

struct selection {
    struct view_query query;
    uint32_t *threads, *processes;
};

/* ERR_INVALID: an unknown thread or process, or an empty range of time. */
MUST_CHECK enum err_code selection_init(struct selection *selection,
                                        const struct options *options,
                                        const struct profile_snapshot *snapshot,
                                        struct err *err);
void selection_deinit(struct selection *selection);

#endif /* SERVER_COMMAND_OPTIONS_SELECTION_H */
