/*
 * wait - why a thread waits, and where that is kept: in a mark below the innermost frame of its stack.
 *
 * A sample of a thread that waits for a known cause counts at a node of such a mark, which has no
 * children: "<waits: sleep>", "<waits: network read 10.0.0.5:5432>".  Samples that wait without one have
 * an unknown cause.  Views show the mark unless it is to be left out (frame_filters.h); filters see it all
 * the same.
 */
#ifndef SAMPLER_PROFILE_WAIT_H
#define SAMPLER_PROFILE_WAIT_H

#include <stdbool.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/wait_cause.h"

/* Is the function such a mark? */
bool wait_of_function(const struct profile_snapshot *snapshot, function_id function,
                      struct wait_text *out);
/* Why a sample of this node waits, which is in this part. */
enum wait_cause wait_cause_of(const struct profile_snapshot *snapshot, node_id node,
                              enum part part);
/* The node without the mark that it may be. */
node_id wait_unmarked(const struct profile_snapshot *snapshot, node_id node);
/* Has the profile any? */
bool wait_has_any(const struct profile_snapshot *snapshot);

#endif /* SAMPLER_PROFILE_WAIT_H */
