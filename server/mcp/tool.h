/*
 * tool - a tool as a row: its name, its arguments, what it asks of the API, and what it takes of the answer.
 */
#ifndef SERVER_MCP_TOOL_H
#define SERVER_MCP_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "server/http/request.h"
#include "server/mcp/call.h"
#include "server/wire/json_value.h"

struct tool_argument {
    const char *name;
    enum json_type type; /* JSON_TEXT, JSON_NUMBER or JSON_FLAG */
    bool is_required;
    const char *description;
    const char *usual;          /* asked for if it is not given; NULL: nothing */
    const char *const *choices; /* of a text; ends with NULL; NULL: any */
};

enum { TOOL_MAX_ARGUMENTS = 12 };

struct tool {
    const char *name, *title, *description;
    bool changes;                                       /* it starts or ends something */
    struct tool_argument arguments[TOOL_MAX_ARGUMENTS]; /* up to one without a name */
    enum method method;
    /* The path in the API: {session} and {pid} are arguments, and the others are added to the query.
     * NULL: `run` answers. */
    const char *path;
    const char *body; /* NULL: none */
    const char *says; /* instead of the API; NULL: its answer */
    /* Members of the answer that are taken, in this order, with a space between: `name`;
     * `name=from.there`; `name?`, which may be missing; `name+`, the words of a command line as
     * one text; `name[...]`, these of each row of an array; a name of no letters: it is all of
     * the answer. NULL: all of its text. */
    const char *members;
    bool picks; /* "search" and "limit" choose from its rows */
    enum call_state (*run)(struct call *call);
};

/* NULL: fewer than index + 1. */
const struct tool *tool_at(size_t index);

/* Writes the definition of a tool. */
void tool_describe(struct json *json, const struct tool *tool);
/* ERR_INVALID: what is wrong with the arguments. */
MUST_CHECK enum err_code tool_check(const struct tool *tool, const struct json_value *arguments,
                                    struct err *err);
enum call_state tool_run(const struct tool *tool, struct call *call);

#endif /* SERVER_MCP_TOOL_H */
