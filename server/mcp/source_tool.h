/*
 * source_tool - source around a line, with the share of each line.
 */
#ifndef SERVER_MCP_SOURCE_TOOL_H
#define SERVER_MCP_SOURCE_TOOL_H

#include "server/mcp/call.h"

enum call_state source_tool_run(struct call *call);

#endif /* SERVER_MCP_SOURCE_TOOL_H */
