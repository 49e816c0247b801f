/*
 * message - what a server of the Model Context Protocol sends: JSON-RPC 2.0, one object a line.
 */
#ifndef SERVER_MCP_MESSAGE_H
#define SERVER_MCP_MESSAGE_H

#include <stdbool.h>

struct buffer;
struct json;

/* JSON-RPC 2.0, and what a client of this protocol expects. */
enum message_fault {
    MESSAGE_PARSE_ERROR = -32700,
    MESSAGE_INVALID_REQUEST = -32600,
    MESSAGE_NO_METHOD = -32601,
    MESSAGE_INVALID_PARAMS = -32602,
};

/* Begins an answer with this id, as in JSON.  Write one value to `json`, then call message_end. */
void message_begin(struct buffer *out, const char *id, const char *member, struct json *json);
void message_end(struct buffer *out);
void message_fail(struct buffer *out, const char *id, enum message_fault fault,
                  const char *text);
/* The result of a tool: `before`, then `text`, whose characters are all made visible. */
void message_answer(struct buffer *out, const char *id, const char *before, const char *text,
                    bool is_error);

#endif /* SERVER_MCP_MESSAGE_H */
