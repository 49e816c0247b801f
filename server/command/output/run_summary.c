#include "server/command/output/run_summary.h"

#include <stdio.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/states.h"
#include "sampler/profile/views/view.h"
#include "sampler/sampler.h"
#include "server/command/options/options.h"
#include "server/command/output/capture_output.h"
#include "server/command/output/summary.h"
#include "server/command/process/exit.h"
#include "server/sessions/sessions.h"
#include "server/wire/json.h"
#include "server/wire/quality.h"
#include "server/wire/session.h"
#include "server/wire/usage.h"

/* A look takes less, unless it hangs. */
enum { STOP_MS = 600 };

enum err_code run_summary_open(struct run_summary *summary, const struct options *options,
                               struct err *err)
{
    *summary = (struct run_summary){ .options = options, .quality.fd = -1 };
    const enum err_code rc = audit_open(options->access.audit_file, &summary->audit, err);
    if (rc != ERR_OK || !options->quality_file)
        return rc;
    return output_init(&summary->quality, options->quality_file, err);
}

/* {"pids":[4711]}, as a start by HTTP says it; {"all":true}. */
static void audit_start(struct run_summary *summary)
{
    struct buffer body = { 0 };
    struct json json;
    const struct sampler_options *const sampling = sampler_options(summary->session->sampler);
    json_init(&json, &body);
    json_object(&json);
    json_key(&json, sampling->all ? "all" : "pids");
    if (sampling->all) {
        json_bool(&json, true);
    } else {
        json_array(&json);
        for (size_t i = 0; i < sampling->pid_count; i++)
            json_int(&json, sampling->pids[i]);
        json_end(&json);
    }
    json_end(&json);
    if (json_finish(&json, NULL) == ERR_OK) {
        const struct audit_deed deed = { "start", "command line", summary->id,
                                         buffer_string(&body) };
        audit_tell(&summary->audit, &deed);
        summary->is_audited = true;
    }
    buffer_deinit(&body);
}

static void audit_stop(struct run_summary *summary, const char *reason)
{
    const struct audit_deed deed = { "stop", "command line", summary->id,
                                     *reason ? reason : NULL };
    if (summary->is_audited)
        audit_tell(&summary->audit, &deed);
    summary->is_audited = false;
}

void run_summary_begin(struct run_summary *summary, struct session *session)
{
    summary->session = session;
    stats_init(&summary->stats);
    snprintf(summary->id, sizeof summary->id, "%s", session->id);
    audit_start(summary);
}

void run_summary_close(struct run_summary *summary)
{
    output_deinit(&summary->quality);
    audit_stop(summary, "");
    audit_close(&summary->audit);
}

static void say_stats(struct run_summary *summary)
{
    struct profile_snapshot snapshot;
    struct session_info info;
    if (profile_snapshot(session_profile(summary->session), &snapshot, NULL) != ERR_OK)
        return;
    session_describe(summary->session, &snapshot, &info);
    stats_say(&summary->stats, &info, clock_now_ns());
    profile_snapshot_release(&snapshot);
}

enum signals_event run_summary_wait(struct run_summary *summary, struct signals *signals,
                                    int fd)
{
    if (!summary->options->wants_stats || summary->is_finished)
        return signals_wait(signals, fd, -1);
    for (;;) {
        const int wait_ms = stats_wait_ms(&summary->stats, clock_now_ns());
        const enum signals_event event = signals_wait(signals, fd, wait_ms);
        if (event != SIGNALS_TIMEOUT)
            return event;
        say_stats(summary);
    }
}

enum run_summary_end run_summary_stop(struct run_summary *summary, struct signals *signals)
{
    struct sampler *const sampler = summary->session->sampler;
    const uint64_t end_ns = clock_now_ns() + STOP_MS * NS_PER_MS;
    sampler_stop(sampler);
    for (;;) {
        const uint64_t now_ns = clock_now_ns();
        const int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / NS_PER_MS) + 1 : 0;
        const enum signals_event event =
            signals_wait(signals, sampler_end_fd(sampler), left_ms);
        if (event == SIGNALS_READABLE)
            return RUN_SUMMARY_ENDED;
        if (event == SIGNALS_STOP)
            return RUN_SUMMARY_IMPATIENT;
        if (left_ms > 0)
            continue;
        say("a process keeps the sampling thread waiting: ending without it");
        return RUN_SUMMARY_HANGS;
    }
}

static enum err_code write_quality(struct run_summary *summary, const struct session_info *info,
                                   const struct state_sums *sums,
                                   const struct quality_capture *capture, struct err *err)
{
    struct buffer text = { 0 };
    struct json json;
    struct usage usage;
    json_init(&json, &text);
    usage_read(&usage);
    quality_write(&json, info, sums, &usage, capture);
    enum err_code rc = json_finish(&json, err);
    buffer_char(&text, '\n');
    if (rc == ERR_OK)
        rc = buffer_check(&text, err);
    if (rc == ERR_OK)
        rc = output_finish(&summary->quality, text.data, text.length, err);
    buffer_deinit(&text);
    return rc;
}

static enum err_code finish(struct run_summary *summary, struct capture_output *capture,
                            const struct profile_snapshot *snapshot, struct err *err)
{
    const struct view_query everything = { 0 };
    struct session_info info;
    struct states states;
    enum err_code rc = states_init(&states, snapshot, &everything, err);
    if (rc != ERR_OK)
        return rc;
    session_describe(summary->session, snapshot, &info);
    audit_stop(summary, info.status.reason);
    summary_say(&info, &states);
    rc = capture ? capture_output_finish(capture, err) : ERR_OK;
    if (summary->options->quality_file &&
        write_quality(summary, &info, &states.all,
                      capture ? capture_output_totals(capture) : NULL,
                      rc == ERR_OK ? err : NULL) != ERR_OK &&
        rc == ERR_OK)
        rc = err->code;
    states_deinit(&states);
    return rc;
}

enum err_code run_summary_finish(struct run_summary *summary, struct capture_output *capture,
                                 struct err *err)
{
    struct profile_snapshot snapshot;
    if (summary->is_finished)
        return ERR_OK;
    summary->is_finished = true;
    stats_end(&summary->stats);
    enum err_code rc = profile_snapshot(session_profile(summary->session), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    rc = finish(summary, capture, &snapshot, err);
    profile_snapshot_release(&snapshot);
    return rc;
}
