#include "server/command/hosting.h"

#include <stdio.h>
#include <string.h>

#include "sampler/session.h"
#include "server/command/live.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/sessions/continuous.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/sessions.h"

/* Any thread. */
static void note_fault(void *context, const char *session, const char *what)
{
    struct live *const live = context;
    const struct audit_event event = { "error", "server", session, what };
    say("session %s: %s", session, what);
    audit_write_event(&live->pipeline.audit, &event);
}

/* With the kernel engine it costs next to nothing, so it is the default there; who names captures wants to
 * see these. */
static void choose_continuous(struct dashboard *dashboard, const struct options *options)
{
    struct session_options wanted;
    struct err why = { 0 };
    char *const out = dashboard->not_continuous;
    dashboard_defaults(dashboard, &wanted);
    wanted.rate_hz = options->serve.continuous_hz;
    if (options->serve.is_continuous)
        return;
    if (options->command->bit != COMMAND_SERVE)
        snprintf(out, sizeof dashboard->not_continuous,
                 "continuous sampling is off: only pyrometer serve does it");
    else if (options->serve.no_continuous)
        snprintf(out, sizeof dashboard->not_continuous,
                 "continuous sampling is off (--no-continuous)");
    else if (options->file_count > 0)
        snprintf(out, sizeof dashboard->not_continuous,
                 "continuous sampling is off because captures are named; --continuous turns it "
                 "on");
    else if (session_check_engine(&wanted, &why))
        snprintf(out, sizeof dashboard->not_continuous,
                 "continuous sampling is off without the kernel engine (%.150s); --continuous "
                 "turns it on, for 1 %% of a core",
                 why.message);
}

enum err_code hosting_open(struct dashboard *dashboard, struct live *live,
                           const struct options *options, struct err *err)
{
    const struct serve_settings *const settings = &options->serve;
    enum err_code rc = dashboard_open(dashboard, live->sessions, err);
    if (rc)
        return rc;
    if (options->sampling.hides_arguments)
        dashboard_hide_arguments(dashboard);
    dashboard->say = note_fault;
    dashboard->say_context = live;
    dashboard->allows_locals = options->access.allows_locals;
    dashboard->memory_bytes = options->sampling.memory_bytes;
    dashboard->max_rate_hz = settings->max_rate_hz;
    dashboard->max_stop_percent = options->sampling.max_stop_percent;
    dashboard->engine = options->sampling.engine;
    memcpy(dashboard->context, options->sampling.context, sizeof dashboard->context);
    dashboard->measures = options->sampling.measures;
    live->pipeline.dashboard = dashboard;

    /* Without them `kernel` is an error, and the sessions say it otherwise. */
    struct session_options wanted;
    if (dashboard->engine != SESSION_ENGINE_REMOTE) {
        rc = session_open_engines(DASHBOARD_ENGINES, &dashboard->engines, err);
        dashboard_defaults(dashboard, &wanted);
        memcpy(wanted.context, dashboard->context, sizeof wanted.context);
        if (!rc && (wanted.engine == SESSION_ENGINE_KERNEL ||
                    measure_set_has_events(dashboard->measures)))
            rc = session_check_engine(&wanted, err);
    } else if (measure_set_has_events(dashboard->measures))
        rc = err_set(err, ERR_INVALID,
                     "--event needs the kernel engine: leave out --engine remote");
    if (rc)
        return rc;

    choose_continuous(dashboard, options);
    /* Finding the targets of the continuous session takes a part of the budget. */
    const double sampling_share = *dashboard->not_continuous ? 1 : 1 - CONTINUOUS_SCAN_SHARE;
    sessions_limit(live->sessions, settings->max_sessions,
                   options->sampling.max_cpu_percent * sampling_share);
    if (options->report.no_source)
        sessions_hide_source(live->sessions);
    return ERR_OK;
}
