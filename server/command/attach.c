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
                           struct recording *recording, struct capturing *capturing,
                           struct signals *signals, struct err *err)
{
    struct sampler_options sampling = options->sampling;
    struct sampler *sampler = NULL;
    enum err_code rc = recording_open(recording, options, err);
    if (rc == ERR_OK)
        rc = capturing_open(capturing, options, err);
    sampling.sink = capturing_sink(capturing);
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
    recording_begin(recording, live_session(live));
    return capturing_begin(capturing, sampler, err);
}

/* Until the user has seen enough; the end of sampling is only news. */
static enum err_code serve(struct live *live, struct recording *recording,
                           struct capturing *capturing, struct signals *signals,
                           struct err *err)
{
    struct sampler *const sampler = recording->session->sampler;
    enum err_code rc = ERR_OK;
    int end_fd = sampler_end_fd(sampler);
    enum signals_event event = SIGNALS_TIMEOUT;
    while ((event = recording_wait(recording, signals, end_fd)) != SIGNALS_STOP)
        if (event == SIGNALS_READABLE) {
            rc = live_finish(live, recording, capturing, err);
            end_fd = -1;
        }
    if (!recording->is_finished && recording_stop(recording, signals) == RECORDING_ENDED)
        rc = recording_finish(recording, capturing, err);
    return rc;
}

int command_attach(const struct options *options)
{
    struct live live = { .listener.fd = -1 };
    struct recording recording = RECORDING_NONE;
    struct capturing capturing = CAPTURING_NONE;
    struct signals signals;
    struct err err = { 0 };
    enum err_code rc = options->report.no_source ? ERR_OK : source_helper_start(&err);
    if (rc == ERR_OK)
        rc = signals_init(&signals, &err);
    if (rc == ERR_OK)
        rc = start(&live, options, &recording, &capturing, &signals, &err);
    if (rc == ERR_OK)
        rc = serve(&live, &recording, &capturing, &signals, &err);
    signals_deinit(&signals);
    recording_close(&recording);
    const int status = exit_with(rc, &err);
    leave_within(LEAVE_MS, status);
    capturing_close(&capturing);
    live_close(&live);
    return status;
}
