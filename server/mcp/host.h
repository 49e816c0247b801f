/*
 * host - what the tools of a server ask.
 */
#ifndef SERVER_MCP_HOST_H
#define SERVER_MCP_HOST_H

#include "sampler/base/err.h"

struct request;
struct response;

enum { MCP_ID_BYTES = 32 };

struct mcp_host {
    void *context;
    /* Answers a request as the API does (pipeline_answer). */
    void (*answer)(void *context, struct request *request, struct response *response);
    /* Opens a capture file as a session. */
    enum err_code (*open)(void *context, const char *path, char id[MCP_ID_BYTES],
                          struct err *err);
};

#endif /* SERVER_MCP_HOST_H */
