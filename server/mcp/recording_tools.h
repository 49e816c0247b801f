/*
 * recording_tools - the tools that start and open recordings, and what waits for the end of one.
 *
 * Limits: RECORDINGS_MAX sessions: the oldest one that has ended makes room.
 */
#ifndef SERVER_MCP_RECORDING_TOOLS_H
#define SERVER_MCP_RECORDING_TOOLS_H

#include "server/mcp/call.h"

enum { RECORDINGS_MAX = 32 };

/* Samples a process, and waits for the session. */
enum call_state recording_profile(struct call *call);
enum call_state recording_open(struct call *call);

/* Answers once the session of the call has ended. */
enum call_state recording_poll(struct call *call);
/* Ends the session of a call that has no answer. */
void recording_end(struct call *call);

#endif /* SERVER_MCP_RECORDING_TOOLS_H */
