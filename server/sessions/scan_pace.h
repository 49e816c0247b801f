/*
 * scan_pace - the pause of continuous sampling between two searches for new processes, which keeps searches within their
 * part of the CPU budget.
 *
 * A search that finds many new processes costs much once, so the cheaper one of the last two searches counts.
 *
 * Ownership: the caller's storage, zeroed at first.
 * Threads: one at a time.
 * Limits: SCAN_PACE_LEAST_NS to SCAN_PACE_MOST_NS.
 * Units: nanoseconds; of CPU unless a name says otherwise.
 */
#ifndef SERVER_SESSIONS_SCAN_PACE_H
#define SERVER_SESSIONS_SCAN_PACE_H

#include <stdint.h>

#include "sampler/base/clock.h"

#define SCAN_PACE_LEAST_NS (2 * NS_PER_S)
#define SCAN_PACE_MOST_NS  (10 * NS_PER_S)

struct scan_pace {
    uint64_t examined_ns; /* as given last */
    uint64_t cost_ns;     /* of the last search */
};

/* Time until the next search.  own_ns: what this search cost the caller; examined_ns: what all searches so far cost the
 * process that examines others, which begins again at 0 when another process takes its place; share: the part of a
 * processor that searches may take; 0: any. */
uint64_t scan_pace_rest_ns(struct scan_pace *pace, uint64_t own_ns, uint64_t examined_ns,
                           double share);

#endif /* SERVER_SESSIONS_SCAN_PACE_H */
