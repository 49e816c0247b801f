#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "sampler/sampler.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/output/capture_output.h"
#include "server/command/output/exports.h"
#include "server/command/output/run_summary.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/command/process/signals.h"
#include "server/command/process/starting.h"
#include "server/report/report.h"
#include "server/sessions/leave.h"
#include "server/sessions/sessions.h"
#include "server/source/helper.h"
#include "server/wire/session.h"

struct record {
    const struct options *options;
    struct signals signals;
    struct exports exports;
    struct run_summary summary;
    struct capture_output capture;
    struct sessions *sessions;
    struct session *session;
    enum run_summary_end end;
};

/* Files are named after process and time when the user does not. */
static enum err_code open_outputs(struct record *record, struct err *err)
{
    const struct sampler_target target = { .pid = record->options->sampling.pids[0] };
    const struct session_info info = { .target = &target,
                                       .status.started_at_ns = clock_wall_ns() };
    return exports_open(&record->exports, record->options, &info, err);
}

static enum err_code start(struct record *record, struct err *err)
{
    struct sampler_options sampling = record->options->sampling;
    struct sampler *sampler = NULL;
    enum err_code rc = signals_init(&record->signals, err);
    if (rc == ERR_OK)
        rc = open_outputs(record, err);
    if (rc == ERR_OK)
        rc = run_summary_open(&record->summary, record->options, err);
    if (rc == ERR_OK)
        rc = capture_output_open(&record->capture, record->options, err);
    sampling.sink = capture_output_sink(&record->capture);
    if (rc == ERR_OK)
        rc = sessions_create(&record->sessions, err);
    if (rc == ERR_OK)
        rc = privilege_drop(record->options, err);
    if (rc == ERR_OK)
        rc = starting_sampler(&sampling, &record->signals, &sampler, err);
    if (rc != ERR_OK)
        return rc;
    rc = sessions_add(record->sessions, sampler, &record->session, err);
    if (rc == ERR_OK)
        run_summary_begin(&record->summary, record->session);
    else
        sampler_destroy(sampler);
    return rc == ERR_OK ? capture_output_begin(&record->capture, sampler, err) : rc;
}

/* As one whom the signal ended, as who waits for us may want to know. */
static _Noreturn void end_at_once(struct record *record)
{
    const int signal = record->signals.stopped_by;
    exports_close(&record->exports);
    run_summary_close(&record->summary);
    signals_deinit(&record->signals);
    (void)raise(signal);
    _exit(128 + signal);
}

/* Until it ends; asked to stop, it still takes the moment to end cleanly. */
static void sample(struct record *record)
{
    const int end_fd = sampler_end_fd(record->session->sampler);
    enum signals_event event = SIGNALS_TIMEOUT;
    while (event != SIGNALS_READABLE && event != SIGNALS_STOP)
        event = run_summary_wait(&record->summary, &record->signals, end_fd);
    if (event == SIGNALS_STOP)
        record->end = run_summary_stop(&record->summary, &record->signals);
    if (record->end == RUN_SUMMARY_IMPATIENT)
        end_at_once(record);
    /* Writing may take a while on a slow disk; from here on a signal ends us at once. */
    signals_deinit(&record->signals);
}

static enum err_code finish(struct record *record, struct err *err)
{
    const struct view_query everything = { 0 };
    struct profile_snapshot snapshot;
    struct session_info info;
    enum err_code rc = profile_snapshot(session_profile(record->session), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    session_describe(record->session, &snapshot, &info);
    const struct report_source source = { .snapshot = &snapshot,
                                          .query = &everything,
                                          .session = &info,
                                          .settings = record->options->report,
                                          .files = session_files(record->session) };
    if (*info.status.reason)
        say("%s", info.status.reason);
    /* The sampling thread may still write to the capture. */
    rc = run_summary_finish(&record->summary,
                            record->end == RUN_SUMMARY_HANGS ? NULL : &record->capture, err);
    if (exports_write(&record->exports, &source, rc == ERR_OK ? err : NULL) != ERR_OK &&
        rc == ERR_OK)
        rc = err->code;
    if (rc == ERR_OK && snapshot.quality.samples == 0)
        rc = err_set(err, ERR_NOT_FOUND, "no samples were captured%s",
                     snapshot.quality.filtered > 0 ? ": --mode wanted none of those seen" : "");
    profile_snapshot_release(&snapshot);
    return rc;
}

/* A capture has none, and few formats do. */
static bool wants_source(const struct options *options)
{
    bool wants = false;
    for (size_t i = 0; i < options->format_count; i++)
        wants |= report_has_source(options->formats[i].format);
    return wants && !options->report.no_source;
}

int command_record(const struct options *options)
{
    struct record record = { .options = options,
                             .signals.fd = -1,
                             .summary = RUN_SUMMARY_NONE,
                             .capture = CAPTURE_OUTPUT_NONE };
    struct err err = { 0 };
    enum err_code rc = wants_source(options) ? source_helper_start(&err) : ERR_OK;
    if (rc == ERR_OK)
        rc = start(&record, &err);
    if (rc == ERR_OK) {
        sample(&record);
        rc = finish(&record, &err);
    }
    exports_close(&record.exports);
    run_summary_close(&record.summary);
    const int status = exit_with(rc, &err);
    leave_within(LEAVE_MS, status);
    capture_output_close(&record.capture);
    source_helper_stop();
    sessions_destroy(record.sessions);
    return status;
}
