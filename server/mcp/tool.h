/*
 * tool - what tools share: the arguments that several have, and answers made of JSON.  And the tools themselves,
 * for their table.
 *
 * Ownership: internal to mcp/.
 */
#ifndef SERVER_MCP_TOOL_H
#define SERVER_MCP_TOOL_H

#include <stdint.h>

#include "sampler/base/buffer.h"
#include "server/mcp/call.h"
#include "server/wire/json_value.h"

struct json;

/* The id of a session; NULL: it is none, and the call has ended. */
const char *tool_session(struct call *call, const char *name);
/* The argument "limit", from 1 to `most`. */
uint32_t tool_limit(const struct call *call, uint32_t usual, uint32_t most);

/* Append to the query of a target what was given: a number, and what part of a session and of its stacks. */
void tool_put_number(struct buffer *target, const struct call *call, const char *name);
void tool_put_selection(struct buffer *target, const struct call *call);

/* Copies a member that is no array or object; null: there is none. */
void tool_copy(struct json *json, const struct json_value *from, const char *name,
               const char *as);
/* Answers with what was written to `json`, and frees the text. */
void tool_send(struct call *call, struct json *json, struct buffer *text);

/* Of session_tools.c */
void tool_list_processes(struct call *call);
void tool_list_sessions(struct call *call);
void tool_profile(struct call *call);
void tool_end_session(struct call *call);
void tool_open_capture(struct call *call);

/* Of profile_tools.c */
void tool_summary(struct call *call);
void tool_waits(struct call *call);
void tool_top_functions(struct call *call);
void tool_source_lines(struct call *call);
void tool_diff(struct call *call);

#endif /* SERVER_MCP_TOOL_H */
