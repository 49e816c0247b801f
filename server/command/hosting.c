#include "server/command/hosting.h"

#include "sampler/sampler.h"
#include "server/command/live.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/sessions/continuous.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/sessions.h"

/* Any thread. */
static void note_fault(void *context, const char *session, const char *what)
{
    const struct live *const live = context;
    const struct audit_event event = { "error", "server", session, what };
    say("session %s: %s", session, what);
    audit_write_event(&live->pipeline.audit, &event);
}

/* Without them `kernel` is an error, and the sessions say it otherwise. */
static enum err_code open_engines(struct dashboard *dashboard, struct err *err)
{
    struct sampler_options wanted;
    if (dashboard->engine == SAMPLER_ENGINE_REMOTE)
        return ERR_OK;
    const enum err_code rc = sampler_open_engines(DASHBOARD_ENGINES, &dashboard->engines, err);
    dashboard_defaults(dashboard, &wanted);
    return rc == ERR_OK && wanted.engine == SAMPLER_ENGINE_KERNEL
               ? sampler_check_engine(&wanted, err)
               : rc;
}

enum err_code hosting_open(struct dashboard *dashboard, struct live *live,
                           const struct options *options, struct err *err)
{
    const struct serve_settings *const settings = &options->serve;
    enum err_code rc = dashboard_open(dashboard, live->sessions, err);
    if (rc != ERR_OK)
        return rc;
    if (options->sampling.hides_arguments)
        dashboard_hide_arguments(dashboard);
    dashboard->say = note_fault;
    dashboard->say_context = live;
    dashboard->memory_bytes = options->sampling.memory_bytes;
    dashboard->max_rate_hz = settings->max_rate_hz;
    dashboard->engine = options->sampling.engine;
    /* Finding the targets of --continuous takes a part of the budget. */
    const double sampling_share = settings->is_continuous ? 1 - CONTINUOUS_SCAN_SHARE : 1;
    sessions_limit(live->sessions, settings->max_sessions,
                   options->sampling.max_cpu_percent * sampling_share);
    if (options->report.no_source)
        sessions_hide_source(live->sessions);
    live->pipeline.dashboard = dashboard;
    return open_engines(dashboard, err);
}
