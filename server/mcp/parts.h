/*
 * parts - what the files of mcp/ share: the state of the server, and how answers begin and end.
 */
#ifndef SERVER_MCP_PARTS_H
#define SERVER_MCP_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/buffer.h"
#include "server/mcp/call.h"
#include "server/mcp/mcp.h"

struct json;

/* A call that waits for a session to end, or is run again until it has an answer. */
struct mcp_waiting {
    char *id; /* as in JSON */
    char session[MCP_ID_BYTES];
    void (*run)(struct call *call); /* NULL: it waits for the session */
    char *arguments;                /* of that call, as JSON */
    uint64_t until_ns;              /* it answers then at the latest */
};

struct mcp {
    struct mcp_host host;
    struct buffer *out;
    struct buffer line; /* the beginning of one */
    bool skips;         /* the line is too long */
    struct mcp_waiting waiting[MCP_MAX_WAITING];
    size_t waiting_count;
};

/* Begins an answer with this id, as in JSON.  Write one value to `json`, then call mcp_end. */
void mcp_begin(struct mcp *mcp, const char *id, const char *member, struct json *json);
void mcp_end(struct mcp *mcp);
void mcp_fail(struct mcp *mcp, const char *id, enum mcp_fault fault, const char *text);

/* The methods of tools. */
void mcp_list_tools(struct mcp *mcp, const char *id, const struct json_value *params);
void mcp_call_tool(struct mcp *mcp, const char *id, const struct json_value *params);

/* Ends the session that the call with this id waits for; the call has no answer. */
void mcp_cancel(struct mcp *mcp, const char *id);

#endif /* SERVER_MCP_PARTS_H */
