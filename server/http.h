/*
 * http - sockets and the protocol.  The only file that sees libmicrohttpd.
 *
 * Every complete request is given to one function, from one of a few threads.  Connections are
 * multiplexed, so a slow client holds no thread, only its connection.
 *
 * Ownership: http_start takes the listening socket, on success only.
 * Threads: start and stop from one; the handler is called from several at once.
 * Limits: the enum below; a client over them is refused or dropped.
 * Depends on: request, response.
 */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "sampler/base/err.h"

enum {
    HTTP_THREADS = 3,
    HTTP_MAX_CONNECTIONS = 192,
    HTTP_MAX_CONNECTIONS_PER_ADDRESS = 96,
    HTTP_IDLE_TIMEOUT_S = 30,
    HTTP_CONNECTION_MEMORY = 32 * 1024, /* request line and headers must fit */
};

struct http;
struct request;
struct response;

typedef void http_handler(void *context, struct request *request, struct response *response);

MUST_CHECK enum err_code http_start(int listen_fd, http_handler *handler, void *context,
                                    struct http **out, struct err *err);
/* Ends all connections and threads.  NULL is fine. */
void http_stop(struct http *http);

#endif /* SERVER_HTTP_H */
