/*
 * http - sockets and the protocol.  The only file that sees libmicrohttpd.
 *
 * Every complete request is given to one function, from one of a few threads.  Connections are
 * multiplexed, so a slow client holds no thread, only its connection.  A request that may take long or
 * cost much is answered on another thread, when it is its turn (fair_queue.h), so that those that cost
 * little never wait for it.
 * How many connections there may be, and how long a request may take to come in: connections.h.
 *
 * Ownership: http_start takes the listening socket, on success only; texts are borrowed until then.
 * Threads: start and stop from one; the handler is called from several at once.
 * Limits: the enum below; a client over them is refused or dropped.
 */
#ifndef SERVER_HTTP_HTTP_H
#define SERVER_HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum {
    HTTP_THREADS = 3,
    HTTP_SPARE_FILES = 8, /* descriptors that connections leave free */
    HTTP_IDLE_TIMEOUT_S = 30,
    HTTP_CONNECTION_MEMORY = 32 * 1024, /* request line and headers must fit */
};

struct client;
struct http;
struct request;
struct response;
struct traffic;

enum http_turn { HTTP_NO_TURN, HTTP_SHORT_TURN, HTTP_LONG_TURN };

typedef void http_handler(void *context, struct request *request, struct response *response);

struct http_options {
    int listen_fd; /* TCP or Unix */
    http_handler *handler;
    /* Called once the headers are known: the file for a large body, which is closed with the request,
     * and its maximum size.  -1: the body stays in memory.  NULL: so does every body. */
    int (*admit)(void *context, struct request *request, size_t *most_out);
    /* Answers a request that costs little, and leaves the response as it is if the request must wait for its
     * turn; the handler answers it then, or if there are too many: request->refusal is set.  NULL: the handler
     * answers everything at once. */
    enum http_turn (*answer_at_once)(void *context, struct request *request,
                                     struct response *response);
    /* Sets standing and id of the client.  NULL: everybody is an operator. */
    void (*identify)(void *context, const struct request *request, struct client *out);
    void *context;                  /* for all of them */
    struct traffic *traffic;        /* counts the requests that wait; NULL: nobody does */
    const char *tls_cert, *tls_key; /* PEM texts; NULL: no TLS */
};

/* ERR_INVALID: the certificate or the key is invalid, or they do not match. */
MUST_CHECK enum err_code http_start(const struct http_options *options, struct http **out,
                                    struct err *err);
/* Ends all connections and threads; slow handlers see request->is_ending.  NULL is fine. */
void http_stop(struct http *http);

#endif /* SERVER_HTTP_HTTP_H */
