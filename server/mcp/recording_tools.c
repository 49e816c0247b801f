#include "server/mcp/recording_tools.h"

#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/http/response.h"
#include "server/wire/json.h"

enum { USUAL_SECONDS = 10, MOST_SECONDS = 600 };

/* "Session 3", then its summary. */
static void answer_summary(struct call *call)
{
    struct buffer target = { 0 }, text = { 0 };
    struct response response;
    buffer_printf(&target, "/api/v1/sessions/%s/summary?format=markdown", call->session);
    if (call_ask(call, METHOD_GET, &target, NULL, &response)) {
        buffer_printf(&text, "Session %s.\n\n", call->session);
        buffer_append(&text, response.body, response.body_bytes);
        call_answer(call, buffer_string(&text) ? text.data : "", true);
        response_deinit(&response);
    }
    buffer_deinit(&text);
    buffer_deinit(&target);
}

static bool has_ended(const struct json_value *session)
{
    const char *const state = json_value_text(json_value_member(session, "state"));
    return state && (strcmp(state, "ended") == 0 || strcmp(state, "failed") == 0);
}

/* Removes the oldest session that has ended, if there are too many.  false: the call has ended. */
static bool make_room(struct call *call)
{
    struct buffer target = { 0 };
    struct json_value *answer = NULL;
    const char *oldest = NULL;
    size_t count = 0;
    buffer_text(&target, "/api/v1/sessions");
    bool has_room = call_ask_json(call, METHOD_GET, &target, NULL, &answer);
    for (const struct json_value *row = json_value_first(json_value_member(answer, "sessions"));
         row; row = json_value_next(row), count++)
        if (!oldest && has_ended(row))
            oldest = json_value_text(json_value_member(row, "id"));
    if (has_room && count >= RECORDINGS_MAX && oldest) {
        struct response response;
        buffer_printf(&target, "/%s", oldest);
        has_room = call_ask(call, METHOD_DELETE, &target, NULL, &response);
        if (has_room)
            response_deinit(&response);
    }
    json_value_destroy(answer);
    buffer_deinit(&target);
    return has_room;
}

enum call_state recording_profile(struct call *call)
{
    const double seconds = call_number(call, "duration_s", USUAL_SECONDS);
    struct buffer target = { 0 }, body = { 0 };
    struct json_value *session = NULL;
    struct json json;
    bool waits = false;
    if (!(seconds > 0 && seconds <= MOST_SECONDS)) {
        call_refuse(call, "duration_s must be above 0 and at most %d", MOST_SECONDS);
        return CALL_ANSWERED;
    }
    if (!make_room(call))
        return CALL_ANSWERED;
    buffer_text(&target, "/api/v1/sessions");
    json_init(&json, &body);

    static const char *const texts[] = { "native", "async" };
    const struct json_value *const given = call->arguments;
    const struct json_value *const all_threads = json_value_member(given, "all_threads");
    const bool main_only =
        json_value_type(all_threads) == JSON_FLAG && !json_value_flag(all_threads);
    json_object(&json);
    json_member_array(&json, "pids");
    json_number(&json, call_number(call, "pid", 0));
    json_end(&json);
    json_member_number(&json, "duration_s", seconds);
    json_member_text(&json, "threads", main_only ? "main" : "all");
    json_member_bool(&json, "subprocesses",
                     json_value_flag(json_value_member(given, "subprocesses")));
    if (call_number(call, "rate_hz", 0) > 0)
        json_member_number(&json, "rate_hz", call_number(call, "rate_hz", 0));
    if (json_value_flag(json_value_member(given, "memory"))) {
        json_member_array(&json, "events");
        json_text(&json, "time");
        json_text(&json, "page-faults");
        json_text(&json, "returned");
        json_end(&json);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (call_text(call, texts[i]))
            json_member_text(&json, texts[i], call_text(call, texts[i]));
    json_end(&json);

    if (call_ask_json(call, METHOD_POST, &target, buffer_string(&body), &session)) {
        const char *const id = json_value_text(json_value_member(session, "id"));
        if (!id)
            call_refuse(call, "the answer could not be read");
        else if (!call->may_wait)
            call_refuse(
                call,
                "session %s is recording, but too many calls wait already: ask for its summary later",
                id);
        else
            waits = snprintf(call->session, sizeof call->session, "%s", id) > 0;
    }
    json_value_destroy(session);
    buffer_deinit(&body);
    buffer_deinit(&target);
    return waits ? CALL_WAITS : CALL_ANSWERED;
}

enum call_state recording_open(struct call *call)
{
    struct err err = { 0 };
    if (!make_room(call))
        return CALL_ANSWERED;
    if (call->host->open(call->host->context, call_text(call, "path"), call->session, &err))
        call_refuse(call, "%s", err.message);
    else
        answer_summary(call);
    return CALL_ANSWERED;
}

enum call_state recording_poll(struct call *call)
{
    struct buffer target = { 0 };
    struct json_value *session = NULL;
    buffer_printf(&target, "/api/v1/sessions/%s", call->session);
    const bool is_asked = call_ask_json(call, METHOD_GET, &target, NULL, &session);
    const bool is_over = has_ended(session);
    const char *const state = json_value_text(json_value_member(session, "state"));
    const char *const reason = json_value_text(json_value_member(session, "reason"));
    if (is_over && strcmp(state, "failed") == 0)
        call_refuse(call, "%.900s", reason ? reason : "sampling failed");
    else if (is_over)
        answer_summary(call);
    json_value_destroy(session);
    buffer_deinit(&target);
    return is_asked && !is_over ? CALL_WAITS : CALL_ANSWERED;
}

void recording_end(struct call *call)
{
    struct buffer target = { 0 };
    struct response response;
    buffer_printf(&target, "/api/v1/sessions/%s", call->session);
    (void)call_try(call, METHOD_PATCH, &target, "{\"state\":\"ended\"}", &response);
    response_deinit(&response);
    buffer_deinit(&target);
}
