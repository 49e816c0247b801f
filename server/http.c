#include "server/http.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "server/buffer.h"
#include "server/request.h"
#include "server/response.h"

/* A body over the limit is read to its end up to here, so that the client sees the refusal
 * instead of a reset connection. */
enum { DISCARD_MAX = 1024 * 1024 };

struct http {
    struct MHD_Daemon *daemon;
    http_handler *handler;
    void *context;
};

/* One request on its way in.  The target is known before the rest. */
struct exchange {
    char *target;
    bool has_begun;
    bool is_too_large;
    size_t discarded;
    struct buffer body;
};

static void *begin_exchange(void *cls, const char *target, struct MHD_Connection *connection)
{
    (void)cls;
    (void)connection;
    struct exchange *const exchange = calloc(1, sizeof *exchange);
    if (exchange)
        exchange->target = strdup(target);
    return exchange;
}

static void end_exchange(void *cls, struct MHD_Connection *connection, void **slot,
                         enum MHD_RequestTerminationCode how)
{
    struct exchange *const exchange = *slot;
    (void)cls;
    (void)connection;
    (void)how;
    if (!exchange)
        return;
    buffer_deinit(&exchange->body);
    free(exchange->target);
    free(exchange);
    *slot = NULL;
}

static enum MHD_Result add_header(void *request, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    (void)kind;
    request_add_header(request, name, value ? value : "");
    return MHD_YES;
}

static struct MHD_Response *make_response(struct response *response)
{
    if (!response->owned_body)
        return MHD_create_response_from_buffer(
            response->body_bytes, (void *)(uintptr_t)response->body, MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *const made = MHD_create_response_from_buffer(
        response->body_bytes, response->owned_body, MHD_RESPMEM_MUST_FREE);
    if (made)
        response->owned_body = NULL;
    return made;
}

static enum MHD_Result queue(struct MHD_Connection *connection, struct response *response)
{
    struct MHD_Response *const made = make_response(response);
    if (!made)
        return MHD_NO;
    if (response->body_bytes > 0)
        MHD_add_response_header(made, "Content-Type", response->mime);
    for (size_t i = 0; i < response->header_count; i++)
        MHD_add_response_header(made, response->headers[i].name, response->headers[i].value);
    const enum MHD_Result rc = MHD_queue_response(connection, (unsigned)response->status, made);
    MHD_destroy_response(made);
    return rc;
}

static enum MHD_Result answer(const struct http *http, struct MHD_Connection *connection,
                              const char *method, const struct exchange *exchange)
{
    struct request *const request = malloc(sizeof *request);
    struct response response;
    if (!request)
        return MHD_NO;
    request_init(request, method, exchange->target);
    MHD_get_connection_values(connection, MHD_HEADER_KIND, add_header, request);
    request->body = exchange->body.data;
    request->body_bytes = exchange->body.length;
    if (exchange->is_too_large && !request->refusal)
        request->refusal = 413;
    response_init(&response);
    http->handler(http->context, request, &response);
    const enum MHD_Result rc = queue(connection, &response);
    response_deinit(&response);
    request_deinit(request);
    free(request);
    return rc;
}

/* Known before the body comes. */
static bool announces_too_much(struct MHD_Connection *connection)
{
    const char *const length =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");
    return length && strtoull(length, NULL, 10) > REQUEST_MAX_BODY + DISCARD_MAX;
}

static enum MHD_Result take_body(struct exchange *exchange, const char *data, size_t *bytes)
{
    if (exchange->body.length + *bytes > REQUEST_MAX_BODY) {
        exchange->is_too_large = true;
        exchange->discarded += *bytes;
    } else {
        buffer_append(&exchange->body, data, *bytes);
    }
    *bytes = 0;
    return exchange->discarded > DISCARD_MAX || exchange->body.failed ? MHD_NO : MHD_YES;
}

/* Called once with the headers, then with each piece of the body, then to be answered. */
static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **slot)
{
    struct exchange *const exchange = *slot;
    (void)url;
    (void)version;
    if (!exchange || !exchange->target)
        return MHD_NO;
    if (!exchange->has_begun) {
        exchange->has_begun = true;
        exchange->is_too_large = announces_too_much(connection);
        return exchange->is_too_large ? answer(cls, connection, method, exchange) : MHD_YES;
    }
    if (*upload_bytes > 0)
        return take_body(exchange, upload, upload_bytes);
    return answer(cls, connection, method, exchange);
}

static struct MHD_Daemon *start_daemon(int listen_fd, struct http *http)
{
    const unsigned polling = MHD_is_feature_supported(MHD_FEATURE_EPOLL) == MHD_YES
                                 ? MHD_USE_EPOLL_INTERNAL_THREAD
                                 : MHD_USE_AUTO_INTERNAL_THREAD;
    struct MHD_OptionItem options[] = {
        { MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL },
        { MHD_OPTION_THREAD_POOL_SIZE, HTTP_THREADS, NULL },
        { MHD_OPTION_CONNECTION_LIMIT, HTTP_MAX_CONNECTIONS, NULL },
        { MHD_OPTION_PER_IP_CONNECTION_LIMIT, HTTP_MAX_CONNECTIONS_PER_ADDRESS, NULL },
        { MHD_OPTION_CONNECTION_TIMEOUT, HTTP_IDLE_TIMEOUT_S, NULL },
        { MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_MEMORY, NULL },
        { MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
        { MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, NULL },
        { MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)begin_exchange, NULL },
        { MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)end_exchange, NULL },
        { MHD_OPTION_END, 0, NULL },
    };
    return MHD_start_daemon(polling | MHD_USE_ITC, 0, NULL, NULL, handle, http,
                            MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

enum err_code http_start(int listen_fd, http_handler *handler, void *context, struct http **out,
                         struct err *err)
{
    struct http *const http = calloc(1, sizeof *http);
    if (!http)
        return err_set(err, ERR_NOMEM, "no memory for the HTTP server");
    http->handler = handler;
    http->context = context;
    http->daemon = start_daemon(listen_fd, http);
    if (!http->daemon) {
        free(http);
        return err_set(err, ERR_SYS, "the HTTP server does not start");
    }
    *out = http;
    return ERR_OK;
}

void http_stop(struct http *http)
{
    if (!http)
        return;
    MHD_stop_daemon(http->daemon);
    free(http);
}
