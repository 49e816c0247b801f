/*
 * continuous - a session of all Python processes of the host, for ever.
 *
 * It is one session at a time, of all that may be read; new processes join within a few seconds,
 * or later where looking for them would cost more than its part of the CPU budget.
 * Every CONTINUOUS_TURN_NS the next one takes its place, so that captures are of a size to be
 * opened and old ones can go: the days before are in the folder of captures.
 *
 * Ownership: continuous_start makes, continuous_stop ends its thread and frees; NULL is fine.  To be
 * stopped before the sessions are destroyed.
 * Threads: its own.
 * Limits: those of a session (SAMPLER_MAX_PROCESSES).
 * Depends on: dashboard, sessions, sampler/processes.
 */
#ifndef SERVER_SESSIONS_CONTINUOUS_H
#define SERVER_SESSIONS_CONTINUOUS_H

#include "sampler/base/err.h"

#define CONTINUOUS_RATE_HZ     19.0
#define CONTINUOUS_CPU_PERCENT 1.0
/* Of that budget, for finding new processes; the rest is for sampling. */
#define CONTINUOUS_SCAN_SHARE 0.25
#define CONTINUOUS_TURN_NS    3600000000000ull

struct continuous;
struct dashboard;
struct sampler_options;

struct continuous_settings {
    double rate_hz, max_cpu_percent;
    unsigned long long turn_ns;
};

MUST_CHECK enum err_code continuous_start(struct dashboard *dashboard,
                                          const struct continuous_settings *settings,
                                          struct continuous **out, struct err *err);
void continuous_stop(struct continuous *continuous);

#endif /* SERVER_SESSIONS_CONTINUOUS_H */
