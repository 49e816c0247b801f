/*
 * call - one call of a tool: its arguments, what it asks of the API, and its answer.
 *
 * A tool answers or refuses once, or says that it is to be asked again.
 */
#ifndef SERVER_MCP_CALL_H
#define SERVER_MCP_CALL_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "server/http/request.h"
#include "server/mcp/host.h"
#include "server/wire/json_value.h"

struct buffer;
struct json;
struct response;

struct call {
    const struct mcp_host *host;
    struct buffer *out;
    const char *id;                     /* of the request, as in JSON */
    const struct json_value *arguments; /* checked against those of the tool; NULL: none */
    bool may_wait;
    char session[MCP_ID_BYTES]; /* it waits for the end of that one */
};

enum call_state { CALL_ANSWERED, CALL_WAITS };

const char *call_text(const struct call *call, const char *name); /* NULL: not given */
double call_number(const struct call *call, const char *name, double otherwise);
/* The id of a session; NULL: it is none, and the call has ended. */
const char *call_session(struct call *call, const char *name);
/* false: "pid" is no process ID, and the call has ended. */
bool call_pid(struct call *call, double *out);

/* Answers with a text; it is foreign if it has names of the profiled program. */
void call_answer(struct call *call, const char *text, bool is_foreign);
/* Answers that the tool failed, and why. */
void call_refuse(struct call *call, const char *format, ...) PRINTF_LIKE(2, 3);
/* Answers with what was written to `json`, and frees the text. */
void call_send(struct call *call, struct json *json, struct buffer *text);

/* Asks the API; response_deinit the response.  body: NULL: none.  false: it refused. */
bool call_try(struct call *call, enum method method, struct buffer *target, const char *body,
              struct response *response);
/* Asks the API as call_try does. If the API refuses, ends the call with what it says; then
 * there is no response. */
bool call_ask(struct call *call, enum method method, struct buffer *target, const char *body,
              struct response *response);
/* Asks, and reads the JSON of the answer, which json_value_destroy frees, NULL too. */
bool call_ask_json(struct call *call, enum method method, struct buffer *target,
                   const char *body, struct json_value **out);

/* Appends "name=value" to the query of a target. */
void call_put_query(struct buffer *target, const char *name, const char *value);

#endif /* SERVER_MCP_CALL_H */
