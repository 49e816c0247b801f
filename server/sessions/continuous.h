/*
 * continuous - profiles all Python processes of the host for as long as the server runs.
 *
 * One session at a time samples all processes that can be read and are permitted (sampler/permission.h).
 * New processes join within a few seconds, or later if finding them would exceed its part of the CPU budget.  Every CONTINUOUS_TURN_NS
 * a new session begins, so that captures are small enough to open, and old ones can be removed.  It replaces the one
 * before after LAST_ACTIVITY_RANGE_NS (at most half a turn), when it has the last minutes itself; until then both
 * sample, each within half of the budget, and their captures overlap.
 *
 * Ownership: continuous_start makes, continuous_stop ends its thread and frees; NULL is fine.  Stop it
 * before the sessions are destroyed.
 * Threads: its own.
 * Limits: those of a session (SESSION_MAX_PROCESSES).
 */
#ifndef SERVER_SESSIONS_CONTINUOUS_H
#define SERVER_SESSIONS_CONTINUOUS_H

#include <stddef.h>

#include "sampler/base/err.h"

#define CONTINUOUS_RATE_HZ     19.0
#define CONTINUOUS_CPU_PERCENT 1.0
/* The part of that budget for finding new processes; the rest is for sampling. */
#define CONTINUOUS_SCAN_SHARE 0.25
#define CONTINUOUS_TURN_NS    3600000000000ull
/* Memory for the profile of such a session, and of the next one while both sample; less with
 * --memory. */
#define CONTINUOUS_MEMORY_BYTES ((size_t)64 << 20)

struct continuous;
struct dashboard;
struct session_options;

struct continuous_settings {
    double rate_hz, max_cpu_percent;
    unsigned long long turn_ns;
};

MUST_CHECK enum err_code continuous_start(struct dashboard *dashboard,
                                          const struct continuous_settings *settings,
                                          struct continuous **out, struct err *err);
/* No session begins from now on; returns at once.  NULL is fine. */
void continuous_halt(struct continuous *continuous);
void continuous_stop(struct continuous *continuous);

#endif /* SERVER_SESSIONS_CONTINUOUS_H */
