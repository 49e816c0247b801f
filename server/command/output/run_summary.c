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

enum err_code recording_open(struct recording *recording, const struct options *options,
                             struct err *err)
{
    *recording = (struct recording){ .options = options, .quality.fd = -1 };
    const enum err_code rc = audit_open(options->access.audit_file, &recording->audit, err);
    if (rc != ERR_OK || !options->quality_file)
        return rc;
    return output_init(&recording->quality, options->quality_file, err);
}

/* {"pids":[4711]}, as a start by HTTP says it; {"all":true}. */
static void audit_start(struct recording *recording)
{
    struct buffer body = { 0 };
    struct json json;
    const struct sampler_options *const sampling = sampler_options(recording->session->sampler);
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
        const struct audit_deed deed = { "start", "command line", recording->id,
                                         buffer_string(&body) };
        audit_tell(&recording->audit, &deed);
        recording->is_audited = true;
    }
    buffer_deinit(&body);
}

static void audit_stop(struct recording *recording, const char *reason)
{
    const struct audit_deed deed = { "stop", "command line", recording->id,
                                     *reason ? reason : NULL };
    if (recording->is_audited)
        audit_tell(&recording->audit, &deed);
    recording->is_audited = false;
}

void recording_begin(struct recording *recording, struct session *session)
{
    recording->session = session;
    stats_init(&recording->stats);
    snprintf(recording->id, sizeof recording->id, "%s", session->id);
    audit_start(recording);
}

void recording_close(struct recording *recording)
{
    output_deinit(&recording->quality);
    audit_stop(recording, "");
    audit_close(&recording->audit);
}

static void say_stats(struct recording *recording)
{
    struct profile_snapshot snapshot;
    struct session_facts facts;
    if (profile_snapshot(session_profile(recording->session), &snapshot, NULL) != ERR_OK)
        return;
    session_describe(recording->session, &snapshot, &facts);
    stats_say(&recording->stats, &facts, clock_now_ns());
    profile_snapshot_release(&snapshot);
}

enum signals_event recording_wait(struct recording *recording, struct signals *signals, int fd)
{
    if (!recording->options->wants_stats || recording->is_finished)
        return signals_wait(signals, fd, -1);
    for (;;) {
        const int wait_ms = stats_wait_ms(&recording->stats, clock_now_ns());
        const enum signals_event event = signals_wait(signals, fd, wait_ms);
        if (event != SIGNALS_TIMEOUT)
            return event;
        say_stats(recording);
    }
}

enum recording_end recording_stop(struct recording *recording, struct signals *signals)
{
    struct sampler *const sampler = recording->session->sampler;
    const uint64_t end_ns = clock_now_ns() + STOP_MS * NS_PER_MS;
    sampler_stop(sampler);
    for (;;) {
        const uint64_t now_ns = clock_now_ns();
        const int left_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / NS_PER_MS) + 1 : 0;
        const enum signals_event event =
            signals_wait(signals, sampler_end_fd(sampler), left_ms);
        if (event == SIGNALS_READABLE)
            return RECORDING_ENDED;
        if (event == SIGNALS_STOP)
            return RECORDING_IMPATIENT;
        if (left_ms > 0)
            continue;
        say("a process keeps the sampling thread waiting: ending without it");
        return RECORDING_HANGS;
    }
}

static enum err_code write_quality(struct recording *recording,
                                   const struct session_facts *facts,
                                   const struct state_sums *sums,
                                   const struct quality_capture *capture, struct err *err)
{
    struct buffer text = { 0 };
    struct json json;
    struct usage usage;
    json_init(&json, &text);
    usage_read(&usage);
    quality_write(&json, facts, sums, &usage, capture);
    enum err_code rc = json_finish(&json, err);
    buffer_char(&text, '\n');
    if (rc == ERR_OK)
        rc = buffer_check(&text, err);
    if (rc == ERR_OK)
        rc = output_finish(&recording->quality, text.data, text.length, err);
    buffer_deinit(&text);
    return rc;
}

static enum err_code finish(struct recording *recording, struct capturing *capturing,
                            const struct profile_snapshot *snapshot, struct err *err)
{
    const struct view_query everything = { 0 };
    struct session_facts facts;
    struct states states;
    enum err_code rc = states_init(&states, snapshot, &everything, err);
    if (rc != ERR_OK)
        return rc;
    session_describe(recording->session, snapshot, &facts);
    audit_stop(recording, facts.status.reason);
    summary_say(&facts, &states);
    rc = capturing ? capturing_finish(capturing, err) : ERR_OK;
    if (recording->options->quality_file &&
        write_quality(recording, &facts, &states.all,
                      capturing ? capturing_totals(capturing) : NULL,
                      rc == ERR_OK ? err : NULL) != ERR_OK &&
        rc == ERR_OK)
        rc = err->code;
    states_deinit(&states);
    return rc;
}

enum err_code recording_finish(struct recording *recording, struct capturing *capturing,
                               struct err *err)
{
    struct profile_snapshot snapshot;
    if (recording->is_finished)
        return ERR_OK;
    recording->is_finished = true;
    stats_end(&recording->stats);
    enum err_code rc = profile_snapshot(session_profile(recording->session), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    rc = finish(recording, capturing, &snapshot, err);
    profile_snapshot_release(&snapshot);
    return rc;
}
