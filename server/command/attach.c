#include "sampler/sampler.h"
#include "server/command/live.h"
#include "server/command/options/commands.h"
#include "server/command/options/options.h"
#include "server/command/output/capture_output.h"
#include "server/command/output/run_summary.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/command/process/signals.h"
#include "server/command/process/starting.h"
#include "server/sessions/leave.h"
#include "server/sessions/sessions.h"
#include "server/source/helper.h"

static enum err_code start(struct live *live, const struct options *options,
                           struct run_summary *summary, struct capture_output *capture,
                           struct signals *signals, struct err *err)
{
    struct sampler_options sampling = options->sampling;
    struct sampler *sampler = NULL;
    enum err_code rc = run_summary_open(summary, options, err);
    if (rc == ERR_OK)
        rc = capture_output_open(capture, options, err);
    sampling.sink = capture_output_sink(capture);
    if (rc == ERR_OK)
        rc = live_open(live, options, signals, err);
    if (rc == ERR_OK)
        rc = privilege_drop(options, err);
    if (rc == ERR_OK)
        rc = starting_sampler(&sampling, signals, &sampler, err);
    if (rc != ERR_OK)
        return rc;
    rc = live_start(live, options, sampler, err);
    if (rc != ERR_OK)
        return rc;
    run_summary_begin(summary, live_session(live));
    return capture_output_begin(capture, sampler, err);
}

/* Until the user has seen enough; the end of sampling is only news. */
static enum err_code serve(struct live *live, struct run_summary *summary,
                           struct capture_output *capture, struct signals *signals,
                           struct err *err)
{
    struct sampler *const sampler = summary->session->sampler;
    enum err_code rc = ERR_OK;
    int end_fd = sampler_end_fd(sampler);
    enum signals_event event = SIGNALS_TIMEOUT;
    while ((event = run_summary_wait(summary, signals, end_fd)) != SIGNALS_STOP)
        if (event == SIGNALS_READABLE) {
            rc = live_finish(live, summary, capture, err);
            end_fd = -1;
        }
    if (!summary->is_finished && run_summary_stop(summary, signals) == RUN_SUMMARY_ENDED)
        rc = run_summary_finish(summary, capture, err);
    return rc;
}

int command_attach(const struct options *options)
{
    struct live live = { .listener.fd = -1 };
    struct run_summary summary = RUN_SUMMARY_NONE;
    struct capture_output capture = CAPTURE_OUTPUT_NONE;
    struct signals signals;
    struct err err = { 0 };
    enum err_code rc = options->report.no_source ? ERR_OK : source_helper_start(&err);
    if (rc == ERR_OK)
        rc = signals_init(&signals, &err);
    if (rc == ERR_OK)
        rc = start(&live, options, &summary, &capture, &signals, &err);
    if (rc == ERR_OK)
        rc = serve(&live, &summary, &capture, &signals, &err);
    signals_deinit(&signals);
    run_summary_close(&summary);
    const int status = exit_with(rc, &err);
    leave_within(LEAVE_MS, status);
    capture_output_close(&capture);
    live_close(&live);
    return status;
}
