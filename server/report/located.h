/*
 * located - the same profile with the source file and line of native functions, where debug information has them.
 *
 * Debug information is read while the process runs, and only for the report that is being written: the hottest
 * functions first, library by library, as many as LOCATED_MAX_FUNCTIONS and two seconds allow.  A function
 * gets the file and the line of its definition.  Which of its lines ran is not recorded.
 *
 * Ownership: the caller's storage, which must not move; located_deinit accepts a zeroed one.  It borrows
 * the source, which must have its header.
 * Threads: any, on a snapshot of one's own.
 * Cost: a copy of the profile if a place was found; otherwise none.
 */
#ifndef SERVER_REPORT_LOCATED_H
#define SERVER_REPORT_LOCATED_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/report/report_source.h"

enum { LOCATED_MAX_FUNCTIONS = 2048 };

struct located {
    struct profile *profile; /* NULL: nothing was found */
    struct profile_snapshot snapshot;
    struct view_query query;
    struct report_selection selection;
    struct report_source source; /* of all this, or as it was */
};

/* Places that cannot be had are not an error. */
MUST_CHECK enum err_code located_init(struct located *located, const struct report_source *from,
                                      struct err *err);
void located_deinit(struct located *located);

#endif /* SERVER_REPORT_LOCATED_H */
