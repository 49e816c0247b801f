/* The tools themselves: each asks routes of the API. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "sampler/base/utf8.h"
#include "server/http/response.h"
#include "server/mcp/call.h"
#include "server/wire/json.h"

enum { USUAL_ROWS = 20, MOST_ROWS = 100, USUAL_PROCESSES = 50 };
enum { USUAL_SECONDS = 10, MOST_SECONDS = 600 };
enum { USUAL_CONTEXT = 12, MOST_CONTEXT = 100 };

/* Ends the call if it is none. */
static const char *session_of(struct call *call, const char *name)
{
    const char *const session = call_text(call, name);
    const size_t length = session ? strlen(session) : 0;
    if (length > 0 && length < MCP_ID_BYTES &&
        strspn(session, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
            length)
        return session;
    call_refuse(call, "argument \"%s\" must be the id of a session, such as \"1\"", name);
    return NULL;
}

static uint32_t limit_of(const struct call *call, uint32_t usual, uint32_t most)
{
    const double wanted = call_number(call, "limit", usual);
    return wanted >= 1 ? wanted < most ? (uint32_t)wanted : most : 1;
}

static void put_number_query(struct buffer *target, const struct call *call, const char *name)
{
    const double value = call_number(call, name, -1);
    char text[32];
    if (value < 0)
        return;
    snprintf(text, sizeof text, "%.9g", value);
    call_put_query(target, name, text);
}

/* What part of a session, and of its stacks. */
static void put_selection(struct buffer *target, const struct call *call)
{
    static const char *const names[] = { "state", "focus", "ignore", "hide", "show" };
    put_number_query(target, call, "from");
    put_number_query(target, call, "to");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (call_text(call, names[i]))
            call_put_query(target, names[i], call_text(call, names[i]));
}

#define SELECTION                                                                              \
    { "from", JSON_NUMBER, false, "seconds since the start: leave out samples before", NULL }, \
        { "to", JSON_NUMBER, false,                                                            \
          "seconds since the start: leave out samples from there on", NULL },                  \
        { "state", JSON_TEXT, false,                                                           \
          "only samples in these states, such as on_cpu or waits_gil; without it the "         \
          "active ones",                                                                       \
          NULL },                                                                              \
        { "focus", JSON_TEXT, false,                                                           \
          "keep samples with a matching frame: function:TEXT, file:TEXT or module:TEXT",       \
          NULL },                                                                              \
        { "ignore", JSON_TEXT, false, "drop samples with a matching frame", NULL },            \
        { "hide", JSON_TEXT, false, "remove matching frames; libraries: all of libraries",     \
          NULL },                                                                              \
    {                                                                                          \
        "show", JSON_TEXT, false, "keep only matching frames", NULL                            \
    }

/* An answer made with a JSON writer. */
static void send(struct call *call, struct json *json, struct buffer *text)
{
    const bool is_whole = json_finish(json, NULL) == ERR_OK;
    const char *const document = buffer_string(text);
    if (is_whole && document)
        call_answer(call, document, true);
    else
        call_refuse(call, "out of memory");
    buffer_deinit(text);
}

static void copy_scalar(struct json *json, const struct json_value *from, const char *name,
                        const char *as)
{
    const struct json_value *const value = json_value_member(from, name);
    json_key(json, as);
    switch (json_value_type(value)) {
    case JSON_FLAG: json_bool(json, json_value_flag(value)); return;
    case JSON_NUMBER: json_number(json, json_value_number(value)); return;
    case JSON_TEXT: json_text(json, json_value_text(value)); return;
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT: break;
    }
    json_null(json);
}

/* The words of a command line as one text, which a search can be in. */
static void join_command(const struct json_value *from, struct buffer *out)
{
    enum { MAX_COMMAND = 300 };
    for (const struct json_value *word = json_value_first(json_value_member(from, "command"));
         word && out->length < MAX_COMMAND; word = json_value_next(word))
        buffer_printf(out, "%s%.300s", out->length > 0 ? " " : "",
                      json_value_text(word) ? json_value_text(word) : "");
}

static void write_process(struct json *json, const struct json_value *row,
                          struct buffer *command)
{
    json_object(json);
    copy_scalar(json, row, "pid", "pid");
    json_key(json, "command");
    json_text(json, buffer_string(command));
    copy_scalar(json, row, "python", "python");
    copy_scalar(json, row, "user", "user");
    copy_scalar(json, row, "cpu_percent", "cpu_percent");
    copy_scalar(json, row, "threads", "threads");
    copy_scalar(json, row, "can_attach", "can_profile");
    copy_scalar(json, row, "reason", "reason");
    json_end(json);
}

static void list_processes(struct call *call)
{
    const char *const search = call_text(call, "search");
    uint32_t left = limit_of(call, USUAL_PROCESSES, 1000);
    struct buffer target = { 0 }, text = { 0 };
    struct json_value *answer = NULL;
    struct json json;
    buffer_text(&target, "/api/v1/processes?limit=4096");
    if (call_ask_json(call, &target, &answer)) {
        json_init(&json, &text);
        json_object(&json);
        copy_scalar(&json, answer, "host", "host");
        copy_scalar(&json, answer, "total", "total");
        json_key(&json, "processes");
        json_array(&json);
        for (const struct json_value *row =
                 json_value_first(json_value_member(answer, "processes"));
             row && left > 0; row = json_value_next(row)) {
            struct buffer command = { 0 };
            join_command(row, &command);
            if (!search || (buffer_string(&command) && strstr(command.data, search))) {
                write_process(&json, row, &command);
                left--;
            }
            buffer_deinit(&command);
        }
        json_end(&json);
        json_end(&json);
        send(call, &json, &text);
    }
    json_value_destroy(answer);
    buffer_deinit(&target);
}

static void list_sessions(struct call *call)
{
    struct buffer target = { 0 }, text = { 0 };
    struct json_value *answer = NULL;
    struct json json;
    buffer_text(&target, "/api/v1/sessions");
    if (call_ask_json(call, &target, &answer)) {
        json_init(&json, &text);
        json_array(&json);
        for (const struct json_value *row =
                 json_value_first(json_value_member(answer, "sessions"));
             row; row = json_value_next(row)) {
            const struct json_value *const process = json_value_member(row, "target");
            struct buffer command = { 0 };
            join_command(process, &command);
            json_object(&json);
            copy_scalar(&json, row, "id", "session");
            copy_scalar(&json, row, "state", "state");
            copy_scalar(&json, row, "elapsed_s", "seconds");
            copy_scalar(&json, process, "pid", "pid");
            json_key(&json, "command");
            json_text(&json, buffer_string(&command));
            json_end(&json);
            buffer_deinit(&command);
        }
        json_end(&json);
        send(call, &json, &text);
    }
    json_value_destroy(answer);
    buffer_deinit(&target);
}

/* Removes the oldest session that has ended, if there are too many.  false: the call has ended. */
static bool make_room(struct call *call)
{
    struct buffer target = { 0 };
    struct json_value *answer = NULL;
    char oldest[MCP_ID_BYTES] = "";
    size_t count = 0;
    buffer_text(&target, "/api/v1/sessions");
    bool is_asked = call_ask_json(call, &target, &answer);
    for (const struct json_value *row = json_value_first(json_value_member(answer, "sessions"));
         row; row = json_value_next(row)) {
        const char *const id = json_value_text(json_value_member(row, "id"));
        const char *const state = json_value_text(json_value_member(row, "state"));
        count++;
        if (!*oldest && id && state &&
            (strcmp(state, "ended") == 0 || strcmp(state, "failed") == 0))
            snprintf(oldest, sizeof oldest, "%s", id);
    }
    if (is_asked && count >= MCP_MAX_SESSIONS && *oldest) {
        struct response response;
        buffer_clear(&target);
        buffer_printf(&target, "/api/v1/sessions/%s", oldest);
        is_asked = call_ask(call, METHOD_DELETE, &target, NULL, &response);
        if (is_asked)
            response_deinit(&response);
    }
    json_value_destroy(answer);
    buffer_deinit(&target);
    return is_asked;
}

static void write_settings(struct json *json, const struct call *call, double seconds)
{
    static const char *const texts[] = { "native", "async", "engine" };
    json_object(json);
    json_key(json, "pids");
    json_array(json);
    json_number(json, call_number(call, "pid", 0));
    json_end(json);
    json_key(json, "duration_s");
    json_number(json, seconds);
    json_key(json, "threads");
    json_text(json, call_flag(call, "all_threads", true) ? "all" : "main");
    json_key(json, "subprocesses");
    json_bool(json, call_flag(call, "subprocesses", false));
    if (call_number(call, "rate_hz", 0) > 0) {
        json_key(json, "rate_hz");
        json_number(json, call_number(call, "rate_hz", 0));
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (call_text(call, texts[i])) {
            json_key(json, texts[i]);
            json_text(json, call_text(call, texts[i]));
        }
    json_end(json);
}

static void wait_for_started(struct call *call, const struct response *response)
{
    struct json_value *session = NULL;
    const char *id = NULL;
    if (json_value_parse(response->body, response->body_bytes, &session, NULL) == ERR_OK)
        id = json_value_text(json_value_member(session, "id"));
    if (id)
        call_wait(call, id);
    else
        call_refuse(call, "the answer could not be read");
    json_value_destroy(session);
}

static void profile(struct call *call)
{
    const double seconds = call_number(call, "duration_s", USUAL_SECONDS);
    struct buffer target = { 0 }, body = { 0 };
    struct response response;
    struct json json;
    if (!(seconds > 0 && seconds <= MOST_SECONDS)) {
        call_refuse(call, "duration_s must be above 0 and at most %d", MOST_SECONDS);
        return;
    }
    if (!make_room(call))
        return;
    buffer_text(&target, "/api/v1/sessions");
    json_init(&json, &body);
    write_settings(&json, call, seconds);
    if (call_ask(call, METHOD_POST, &target, &body, &response)) {
        wait_for_started(call, &response);
        response_deinit(&response);
    }
    buffer_deinit(&body);
    buffer_deinit(&target);
}

static void end_session(struct call *call)
{
    static const char ended[] = "{\"state\":\"ended\"}";
    const char *const session = session_of(call, "session");
    struct buffer target = { 0 }, body = { 0 };
    struct response response;
    if (!session)
        return;
    buffer_printf(&target, "/api/v1/sessions/%s", session);
    buffer_text(&body, ended);
    if (call_ask(call, METHOD_PATCH, &target, &body, &response)) {
        call_answer(call, "It ends now. A call that waits for it is answered with its summary.",
                    false);
        response_deinit(&response);
    }
    buffer_deinit(&body);
    buffer_deinit(&target);
}

static void summary(struct call *call)
{
    const char *const session = session_of(call, "session");
    const char *const format = call_text(call, "format");
    struct buffer target = { 0 }, text = { 0 };
    struct response response;
    if (!session)
        return;
    buffer_printf(&target, "/api/v1/sessions/%s/summary", session);
    call_put_query(&target, "format", format ? format : "markdown");
    put_selection(&target, call);
    if (call_ask(call, METHOD_GET, &target, NULL, &response)) {
        buffer_append(&text, response.body, response.body_bytes);
        call_answer(call, buffer_string(&text) ? text.data : "", true);
        response_deinit(&response);
    }
    buffer_deinit(&text);
    buffer_deinit(&target);
}

static void copy_rows(struct json *json, const struct json_value *rows)
{
    static const char *const names[] = { "name",  "file",        "line",    "library",
                                         "share", "total_share", "function" };
    json_array(json);
    for (const struct json_value *row = json_value_first(rows); row;
         row = json_value_next(row)) {
        json_object(json);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (json_value_member(row, names[i]))
                copy_scalar(json, row, names[i], names[i]);
        json_end(json);
    }
    json_end(json);
}

/* Why threads wait, with the peers. */
static void copy_causes(struct json *json, const struct json_value *causes)
{
    static const char *const names[] = { "cause", "title", "idle", "share" };
    json_array(json);
    for (const struct json_value *row = json_value_first(causes); row;
         row = json_value_next(row)) {
        json_object(json);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            copy_scalar(json, row, names[i], names[i]);
        json_key(json, "peers");
        json_array(json);
        for (const struct json_value *peer = json_value_first(json_value_member(row, "peers"));
             peer; peer = json_value_next(peer)) {
            json_object(json);
            copy_scalar(json, peer, "peer", "peer");
            copy_scalar(json, peer, "share", "share");
            json_end(json);
        }
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

typedef void write_part(struct json *json, const struct json_value *summary);

/* Answers with what `write` takes of the summary of a session. */
static void answer_of_summary(struct call *call, write_part *write)
{
    const char *const session = session_of(call, "session");
    struct buffer target = { 0 }, text = { 0 };
    struct json_value *answer = NULL;
    struct json json;
    if (!session)
        return;
    buffer_printf(&target, "/api/v1/sessions/%s/summary?format=json&limit=%u", session,
                  limit_of(call, USUAL_ROWS, MOST_ROWS));
    put_selection(&target, call);
    if (call_ask_json(call, &target, &answer)) {
        json_init(&json, &text);
        json_object(&json);
        write(&json, answer);
        json_end(&json);
        send(call, &json, &text);
    }
    json_value_destroy(answer);
    buffer_deinit(&target);
}

static void copy_functions_and_lines(struct json *json, const struct json_value *part)
{
    json_key(json, "functions");
    copy_rows(json, json_value_member(part, "functions"));
    json_key(json, "lines_of_your_code");
    copy_rows(json, json_value_member(part, "lines"));
}

static void write_waits(struct json *json, const struct json_value *summary)
{
    const struct json_value *const waiting = json_value_member(summary, "waiting");
    copy_scalar(json, waiting, "share", "waiting_share");
    copy_scalar(json, waiting, "idle_share", "idle_share");
    json_key(json, "causes");
    copy_causes(json, json_value_member(waiting, "causes"));
    copy_functions_and_lines(json, waiting);
}

static void waits(struct call *call)
{
    answer_of_summary(call, write_waits);
}

static void write_top_functions(struct json *json, const struct json_value *summary)
{
    const struct json_value *const hot = json_value_member(summary, "hot");
    copy_scalar(json, hot, "of", "shares_of");
    copy_scalar(json, hot, "samples", "samples");
    copy_scalar(json, hot, "seconds", "seconds");
    copy_functions_and_lines(json, hot);
}

static void top_functions(struct call *call)
{
    answer_of_summary(call, write_top_functions);
}

/* Shares of the lines that are shown. */
struct shares {
    uint32_t first, last;
    double of[2 * MOST_CONTEXT + 1];
};

/* What they are is nice to have: without an answer there are none. */
static void read_shares(struct call *call, const char *session, const char *path,
                        struct shares *shares)
{
    struct buffer target = { 0 };
    struct json_value *answer = NULL;
    struct response response;
    buffer_printf(&target, "/api/v1/sessions/%s/own-lines?limit=4096&state=active", session);
    if (call_try(call, METHOD_GET, &target, NULL, &response) &&
        json_value_parse(response.body, response.body_bytes, &answer, NULL) == ERR_OK) {
        const double all = json_value_number(json_value_member(answer, "samples"));
        for (const struct json_value *row =
                 json_value_first(json_value_member(answer, "lines"));
             row && all > 0; row = json_value_next(row)) {
            const char *const file = json_value_text(json_value_member(row, "file"));
            const double line = json_value_number(json_value_member(row, "line"));
            if (file && strcmp(file, path) == 0 && line >= shares->first &&
                line <= shares->last)
                shares->of[(uint32_t)line - shares->first] +=
                    json_value_number(json_value_member(row, "samples")) / all;
        }
    }
    json_value_destroy(answer);
    response_deinit(&response);
    buffer_deinit(&target);
}

static void put_lines(struct buffer *out, const char *text, const struct shares *shares)
{
    enum { MAX_LINE = 300 };
    uint32_t line = 1;
    for (const char *at = text; *at && line <= shares->last; line++) {
        const size_t length = strcspn(at, "\n");
        const double share = line >= shares->first ? shares->of[line - shares->first] : 0;
        if (line >= shares->first && share > 0)
            buffer_printf(out, "%6.1f %% %6u  %.*s\n", 100 * share, line,
                          (int)utf8_cut(at, length, MAX_LINE), at);
        else if (line >= shares->first)
            buffer_printf(out, "         %6u  %.*s\n", line,
                          (int)utf8_cut(at, length, MAX_LINE), at);
        at += length + (at[length] == '\n');
    }
}

static void source_lines(struct call *call)
{
    const char *const session = session_of(call, "session");
    const double line = call_number(call, "line", 0);
    const double wanted = call_number(call, "context", USUAL_CONTEXT);
    const double context = fmin(fmax(wanted, 0), MOST_CONTEXT);
    struct buffer target = { 0 }, text = { 0 };
    struct json_value *answer = NULL;
    if (!session)
        return;
    if (!(line >= 1 && line <= INT32_MAX)) {
        call_refuse(call, "line must be the number of a line, from 1 on");
        return;
    }
    struct shares shares = { .first = (uint32_t)fmax(1, line - context),
                             .last = (uint32_t)(line + context) };
    buffer_printf(&target, "/api/v1/sessions/%s/source", session);
    put_number_query(&target, call, "function");
    if (call_ask_json(call, &target, &answer)) {
        const char *const path = json_value_text(json_value_member(answer, "path"));
        const char *const source = json_value_text(json_value_member(answer, "text"));
        read_shares(call, session, path ? path : "", &shares);
        buffer_printf(
            &text,
            "%s%s\nShare of active samples in which your code is at that line, with all "
            "it calls; line; text:\n",
            path ? path : "",
            json_value_flag(json_value_member(answer, "changed"))
                ? " (changed since the recording began)"
                : "");
        put_lines(&text, source ? source : "", &shares);
        call_answer(call, buffer_string(&text) ? text.data : "", true);
    }
    json_value_destroy(answer);
    buffer_deinit(&text);
    buffer_deinit(&target);
}

static void diff(struct call *call)
{
    const char *const baseline = session_of(call, "baseline");
    const char *const session = baseline ? session_of(call, "session") : NULL;
    struct buffer target = { 0 }, text = { 0 };
    struct response response;
    if (!session)
        return;
    buffer_printf(&target, "/api/v1/sessions/%s/export?format=diff-markdown&baseline=%s",
                  session, baseline);
    put_selection(&target, call);
    if (call_ask(call, METHOD_GET, &target, NULL, &response)) {
        buffer_append(&text, response.body, response.body_bytes);
        call_answer(call, buffer_string(&text) ? text.data : "", true);
        response_deinit(&response);
    }
    buffer_deinit(&text);
    buffer_deinit(&target);
}

static void open_capture(struct call *call)
{
    const struct mcp_host *const host = call_host(call);
    char session[MCP_ID_BYTES];
    struct err err = { 0 };
    if (!make_room(call))
        return;
    if (host->open(host->context, call_text(call, "path"), session, &err) != ERR_OK)
        call_refuse(call, "%s", err.message);
    else
        call_answer_summary(call, session);
}

#define SESSION                                                                         \
    {                                                                                   \
        "session", JSON_TEXT, true, "the id that profile or open_capture gave it", NULL \
    }

static const char *const forms[] = { "markdown", "json", "text", NULL };
static const char *const natives[] = { "off", "leaf", "full", NULL };
static const char *const asyncs[] = { "off", "running", "all", NULL };

static const struct mcp_tool tools[] = {
    { "list_processes",
      "List Python processes",
      "List the Python processes of this host, and whether each can be profiled.",
      false,
      list_processes,
      { { "search", JSON_TEXT, false, "only command lines that contain this", NULL },
        { "limit", JSON_NUMBER, false, "maximum number of processes; default 50", NULL } } },
    { "profile",
      "Profile a process",
      "Sample a running Python process for some seconds, then answer with a summary: hottest lines "
      "and functions, where it waits, GIL, garbage collection, data quality. The process is not "
      "changed.",
      true,
      profile,
      { { "pid", JSON_NUMBER, true, "process ID", NULL },
        { "duration_s", JSON_NUMBER, false, "seconds to record, up to 600; default 10", NULL },
        { "rate_hz", JSON_NUMBER, false, "samples per second; default 1000", NULL },
        { "all_threads", JSON_FLAG, false, "default true; false: the main thread only", NULL },
        { "subprocesses", JSON_FLAG, false, "profile child processes too", NULL },
        { "native", JSON_TEXT, false, "stacks of native code", natives },
        { "async", JSON_TEXT, false, "asyncio tasks that are recorded", asyncs } } },
    { "list_sessions",
      "List recordings",
      "List the recordings made or opened so far.",
      false,
      list_sessions,
      { { 0 } } },
    { "summary",
      "Summarize a recording",
      "Answer with the summary of a recording, or of a part of it.",
      false,
      summary,
      { SESSION, { "format", JSON_TEXT, false, "default markdown", forms }, SELECTION } },
    { "top_functions",
      "List the hottest functions and lines",
      "List the functions with the most samples of their own, and the hottest lines of your code, "
      "with the ids that source_lines takes.",
      false,
      top_functions,
      { SESSION,
        { "limit", JSON_NUMBER, false, "maximum number of rows; default 20", NULL },
        SELECTION } },
    { "waits",
      "List what threads wait for",
      "List why threads wait, idle or blocked and for which peer, and the functions and lines of your "
      "code that wait, as shares of the waiting samples.",
      false,
      waits,
      { SESSION,
        { "limit", JSON_NUMBER, false, "maximum number of functions and lines; default 20",
          NULL },
        SELECTION } },
    { "source_lines",
      "Show source lines",
      "Show the source around a line, with the share of samples of each line. Only files that "
      "functions of the recording name can be read, with the rights of the process.",
      false,
      source_lines,
      { SESSION,
        { "function", JSON_NUMBER, true, "its id in top_functions", NULL },
        { "line", JSON_NUMBER, true, "the line in the middle", NULL },
        { "context", JSON_NUMBER, false, "lines before and after; default 12, up to 100",
          NULL } } },
    { "diff",
      "Compare two recordings",
      "List what changed significantly from one recording to another.",
      false,
      diff,
      { { "baseline", JSON_TEXT, true, "the id of the session to compare with", NULL },
        SESSION,
        SELECTION } },
    { "open_capture",
      "Open a capture file",
      "Open a .pyro file that pyrometer record wrote, and answer with its summary.",
      true,
      open_capture,
      { { "path", JSON_TEXT, true, "the path of the file", NULL } } },
    { "end_session",
      "End a recording",
      "End a recording before its duration is over.",
      true,
      end_session,
      { SESSION } },
};

const struct mcp_tool *mcp_tool_at(size_t index)
{
    return index < sizeof tools / sizeof *tools ? &tools[index] : NULL;
}
