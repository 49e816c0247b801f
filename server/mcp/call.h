/*
 * call - one call of a tool: its arguments, what it asks of the API, and its answer.
 *
 * A tool ends its call with call_answer, call_refuse, call_wait or call_again; each of them once.
 *
 * Ownership: internal to mcp/.
 */
#ifndef SERVER_MCP_CALL_H
#define SERVER_MCP_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/buffer.h"
#include "server/http/request.h"
#include "server/mcp/mcp.h"
#include "server/wire/json_value.h"

struct json;
struct response;

struct call {
    struct mcp *mcp;
    const char *id;                     /* of the request, as in JSON */
    const struct json_value *arguments; /* checked against those of the tool; NULL: none */
    uint64_t until_ns; /* of a call that is run again; 0: this is the first time */
    bool waits;        /* it is to be run once more */
};

/* JSON-RPC 2.0, and what a client of this protocol expects. */
enum mcp_fault {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_NO_METHOD = -32601,
    MCP_INVALID_PARAMS = -32602,
};

/* An argument of a tool. */
struct mcp_argument {
    const char *name;
    enum json_type type; /* JSON_TEXT, JSON_NUMBER or JSON_FLAG */
    bool is_required;
    const char *description;
    const char *const *choices; /* of a text; ends with NULL; NULL: any */
};

enum { MCP_MAX_ARGUMENTS = 12, CALL_PATIENCE_MS = 3000 };

struct mcp_tool {
    const char *name, *title, *description;
    bool changes; /* it starts or ends something */
    void (*run)(struct call *call);
    struct mcp_argument arguments[MCP_MAX_ARGUMENTS]; /* up to one without a name */
};

/* NULL: fewer than index + 1. */
const struct mcp_tool *mcp_tool_at(size_t index);

const char *call_text(const struct call *call, const char *name); /* NULL: not given */
double call_number(const struct call *call, const char *name, double otherwise);
bool call_flag(const struct call *call, const char *name, bool otherwise);

/* Answers with a text; it is foreign if it has names of the profiled program. */
void call_answer(struct call *call, const char *text, bool is_foreign);
/* Answers that the tool failed, and why. */
void call_refuse(struct call *call, const char *format, ...) PRINTF_LIKE(2, 3);
/* Answers with the summary of a session, once that has ended. */
void call_wait(struct call *call, const char *session);
/* Runs the call again a moment later.  false: CALL_PATIENCE_MS have passed, or too many calls wait. */
bool call_again(struct call *call, void (*run)(struct call *call));

const struct mcp_host *call_host(const struct call *call);

/* Asks the API; response_deinit the response.  body: NULL: none.  false: it refused. */
bool call_try(struct call *call, enum method method, struct buffer *target, struct buffer *body,
              struct response *response);
/* The same.  If the API refuses, ends the call with what it says; then there is no response. */
bool call_ask(struct call *call, enum method method, struct buffer *target, struct buffer *body,
              struct response *response);
/* The same, and reads the JSON of the answer. */
bool call_ask_json(struct call *call, struct buffer *target, struct json_value **out);

/* Appends "name=value" to the query of a target. */
void call_put_query(struct buffer *target, const char *name, const char *value);

/* "Session 3", then its summary. */
void call_answer_summary(struct call *call, const char *session);

#endif /* SERVER_MCP_CALL_H */
