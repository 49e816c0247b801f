/*
 * hotspots - samples by instruction: the part of hotlines that only captures with opcodes have.
 *
 * Whoever called it, a place is one; recursion counts it once per stack.
 *
 * Depends on: profile, view, hotlines.
 */
#ifndef SERVER_REPORT_HOTSPOTS_H
#define SERVER_REPORT_HOTSPOTS_H

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct hotlines;
struct report_source;

/* Fills hot->spots; views by thread, process or state have none. */
MUST_CHECK enum err_code hotspots_find(struct hotlines *hot, const struct report_source *source,
                                       struct err *err);
/* The file of a spot's function. */
str_id hotspots_file(const struct profile_snapshot *snapshot, spot_id id);

#endif /* SERVER_REPORT_HOTSPOTS_H */
