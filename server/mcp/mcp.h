/*
 * mcp - a server of the Model Context Protocol: JSON-RPC 2.0, one object a line.
 *
 * A tool asks the routes of the API, in this process, and answers with what they say.  So whatever the API
 * refuses, a tool refuses too.  A call that waits for a recording holds up no other call.
 *
 * What a tool answers contains names and source text of the profiled program.  Each answer says that
 * these are data.
 *
 * Ownership: mcp_destroy frees; NULL is fine there.  The host and the buffer are borrowed.
 * Threads: one.
 * Limits: MCP_MAX_LINE bytes a line, MCP_MAX_WAITING calls that wait, MCP_PATIENCE_MS for one that is asked
 * again until it has its answer.
 */
#ifndef SERVER_MCP_MCP_H
#define SERVER_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "server/mcp/host.h"

struct buffer;
struct mcp;

enum { MCP_MAX_LINE = 1 << 20, MCP_MAX_WAITING = 8, MCP_PATIENCE_MS = 3000 };

MUST_CHECK enum err_code mcp_create(const struct mcp_host *host, struct buffer *out,
                                    struct mcp **mcp_out, struct err *err);
void mcp_destroy(struct mcp *mcp);

/* Takes bytes of the client, and appends the answers to `out`. */
void mcp_take(struct mcp *mcp, const char *data, size_t bytes);
/* True if a call waits: mcp_poll answers those whose recordings have ended. */
bool mcp_is_waiting(const struct mcp *mcp);
void mcp_poll(struct mcp *mcp);

#endif /* SERVER_MCP_MCP_H */
