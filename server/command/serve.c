#include "sampler/base/clock.h"
#include "server/command/command.h"
#include "server/command/hosting.h"
#include "server/command/live.h"
#include "server/command/options/options.h"
#include "server/command/output/capture_input.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/command/process/signals.h"
#include "server/command/process/supervisor.h"
#include "server/command/pushing.h"
#include "server/http/spool.h"
#include "server/push/push.h"
#include "server/sessions/capture_store.h"
#include "server/sessions/continuous.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/leave.h"
#include "server/sessions/sessions.h"

/* How often old captures are removed. */
enum { TIDY_MS = 60 * 1000 };
/* Live captures are complete by then, unless one delays the exit (leave.h). */
enum { SERVE_LEAVE_MS = 900 };

/* The URL opens a single capture at once; the page of the host lists several. */
static enum err_code load_all(struct live *live, const struct options *options, struct err *err)
{
    struct session_entry *entry = NULL;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < options->file_count && !rc; i++)
        rc = capture_input_show(live->sessions, options, options->files[i], &entry, err);
    if (!rc && options->file_count == 1)
        live->shows = entry->id;
    return rc;
}

static enum err_code open_captures(struct dashboard *dashboard,
                                   const struct serve_settings *settings, struct err *err)
{
    const struct captures_settings wanted = {
        .folder = settings->data,
        .keep_ns = settings->keep_days * 86400 * NS_PER_S,
        .keep_bytes = settings->keep_bytes,
        .max_upload = settings->max_upload,
        .hides_arguments = dashboard->hides_arguments,
    };
    if (settings->no_data)
        return ERR_OK;
    struct err why = { 0 };
    const enum err_code rc = captures_open(&wanted, &dashboard->captures, &why);
    if (rc)
        return err_set(err, rc,
                       "%s (--data DIR names another folder, --no-data records nothing)",
                       why.message);
    captures_tidy(dashboard->captures);
    /* The folder in which this process may write. */
    spool_use(captures_files(dashboard->captures));
    return ERR_OK;
}

/* --max-cpu limits all sessions together, and the continuous session alone. */
static enum err_code sample_all(struct dashboard *dashboard, const struct options *options,
                                struct continuous **out, struct err *err)
{
    const struct serve_settings *const settings = &options->serve;
    const double percent = options->sampling.max_cpu_percent;
    const struct continuous_settings wanted = {
        .rate_hz = settings->continuous_hz,
        .max_cpu_percent = percent > 0 ? percent : CONTINUOUS_CPU_PERCENT,
        .turn_ns = settings->turn_ns,
    };
    if (!*dashboard->not_continuous)
        return continuous_start(dashboard, &wanted, out, err);
    if (!settings->no_continuous && options->file_count == 0)
        say("%s", dashboard->not_continuous);
    return ERR_OK;
}

/* Begins to push the continuous session. */
static enum err_code begin_push(struct push *push, struct live *live,
                                const struct dashboard *dashboard, struct err *err)
{
    if (!push)
        return ERR_OK;
    if (*dashboard->not_continuous)
        return err_set(err, ERR_INVALID, "--push sends what continuous sampling sees: %.200s",
                       dashboard->not_continuous);
    live->pipeline.push_counters = push_counters(push);
    return push_begin(push, live->sessions, SESSION_CONTINUOUS, err);
}

/* Serves until a signal comes. */
static enum err_code wait_for_end(const struct live *live, const struct dashboard *dashboard,
                                  struct signals *signals, struct err *err)
{
    const int watchdog_ms = live->systemd.watchdog_ms;
    const int wait_ms = watchdog_ms && watchdog_ms < TIDY_MS ? watchdog_ms : TIDY_MS;
    enum err_code rc = ERR_OK;
    enum signals_event event = SIGNALS_TIMEOUT;
    while (!rc && (event = signals_wait(signals, -1, wait_ms)) != SIGNALS_STOP) {
        if (watchdog_ms)
            systemd_notify(&live->systemd, "WATCHDOG=1");
        if (event == SIGNALS_CHILD) {
            rc = supervisor_check(err);
            /* A service is started again, if it ends. */
            if (rc && !live->systemd.is_there) {
                say("%s", err->message);
                rc = ERR_OK;
            }
        } else if (dashboard->captures)
            captures_tidy(dashboard->captures);
    }
    return rc;
}

int command_serve(const struct options *options)
{
    struct live live = { .listener.fd = -1 };
    struct dashboard dashboard = { .processes = NULL };
    struct continuous *continuous = NULL;
    struct push *push = NULL;
    struct signals signals;
    struct err err = { 0 };
    enum err_code rc = supervisor_start(options, DASHBOARD_ENGINES, NULL, &err);
    if (!rc)
        rc = signals_init(&signals, &err);
    if (!rc)
        rc = live_open(&live, options, &signals, &err);
    if (!rc)
        rc = hosting_open(&dashboard, &live, options, &err);
    if (!rc)
        rc = open_captures(&dashboard, &options->serve, &err);
    if (!rc)
        rc = load_all(&live, options, &err);
    if (!rc)
        rc = pushing_open(options, &push, &err);
    if (!rc)
        rc = privilege_drop(options, &err);
    if (!rc)
        rc = begin_push(push, &live, &dashboard, &err);
    if (!rc)
        rc = live_start(&live, &err);
    if (!rc)
        rc = live_say_url(&live, options, &err);
    if (!rc)
        dashboard_begin(&dashboard);
    if (!rc)
        rc = sample_all(&dashboard, options, &continuous, &err);
    if (!rc)
        rc = wait_for_end(&live, &dashboard, &signals, &err);
    continuous_halt(continuous);
    push_end(push, signals_are_pending);
    signals_forget(&signals);
    signals_deinit(&signals);
    /* Losses are named on standard error; a server that ends as it should has done its work. */
    (void)!push_check(push, NULL);
    const int status = exit_with(rc, &err);
    leave_within(SERVE_LEAVE_MS, status);
    continuous_stop(continuous);
    live_close(&live);
    /* Requests for metrics read its counters until nothing is served. */
    push_close(push);
    dashboard_close(&dashboard);
    return status;
}
