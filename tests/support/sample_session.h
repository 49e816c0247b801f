/*
 * sample_session - a session for tests of reports: always the same, with everything that formats show.
 *
 * Two processes, threads with and without names, one of them born late; recursion, marks, unknown
 * lines, hostile names and files; every state, known and unknown;
 * instructions; three windows with a gap.  Also a big one: a tree of any size.
 *
 * Ownership: sample_session_destroy frees everything.
 */
#ifndef TESTS_SUPPORT_SAMPLE_SESSION_H
#define TESTS_SUPPORT_SAMPLE_SESSION_H

#include <stdint.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "sampler/session.h"
#include "server/report/header.h"
#include "server/report/report.h"
#include "server/wire/session.h"

struct sample_session {
    struct profile *profile;
    struct profile_snapshot snapshot;
    struct session_target target;
    struct session_options options;
    struct session_info info;
    struct view_query everything;
    struct report_header header;
    struct report_source source;
};

#define SAMPLE_HOSTILE                                                                        \
    "\x1b]0;a\x07\n\x7f\xc2\x9b"                                                              \
    "31m\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\x8b\xe2\x80\xa8\xef\xbb\xbf\xf3\xa0\x81\x81" \
    "\x9b\xed\xb2\x9b"

/* All samples of the small one. */
enum { SAMPLE_TOTAL = 1000 };

struct sample_session *sample_session_small(void);
/* The small session's counts without instructions, evenly in ten windows: to compare with. */
struct sample_session *sample_session_steady(void);
/* The steady session's program after a change, in ten windows too: `parse` takes more, `render`
 * less, `cache` is new, `log` is gone; lines have moved. */
struct sample_session *sample_session_changed(void);
/* Native stacks: NumPy, a thread without Python, callbacks. */
struct sample_session *sample_session_native(void);
struct sample_session *sample_session_empty(void);
/* Every text is SAMPLE_HOSTILE, which a terminal would obey, hide or reorder. */
struct sample_session *sample_session_hostile(void);
/* The empty one with this profile, which it owns then. */
struct sample_session *sample_session_of(struct profile *profile);
struct sample_session *sample_session_big(uint32_t nodes, uint64_t samples);
void sample_session_destroy(struct sample_session *session);

#endif /* TESTS_SUPPORT_SAMPLE_SESSION_H */
