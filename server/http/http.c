#include "server/http/http.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <microhttpd.h>

#include "sampler/base/memory_limit.h"
#include "sampler/base/thread.h"
#include "server/http/client.h"
#include "server/http/connection_reaper.h"
#include "server/http/delivery.h"
#include "server/http/fair_workers.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/http/upload.h"

/* Versions of TLS that may be spoken. */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct http {
    struct MHD_Daemon *daemon;
    struct connection_reaper *reaper;
    struct http_options options;
    struct fair_workers workers;
    struct delivery_pool deliveries;
};

/* One request on its way in.  The target is known before the rest. */
struct exchange {
    char *target;
    struct http *http;
    struct MHD_Connection *connection;
    struct request *request; /* NULL: not complete yet */
    struct response response;
    struct fair_turn turn;
    bool is_answered; /* in its turn */
    bool has_begun;
    struct upload body;
};

/* The state of a connection: the library does not tell the end of every request that it
 * refuses. */
struct line {
    struct exchange *open; /* NULL: none */
    size_t place;          /* with the reaper */
};

static struct line *line_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void drop_request(struct exchange *exchange)
{
    if (!exchange->request)
        return;
    response_deinit(&exchange->response);
    request_deinit(exchange->request);
    free(exchange->request);
    exchange->request = NULL;
}

static void free_exchange(struct exchange *exchange)
{
    if (!exchange)
        return;
    drop_request(exchange);
    upload_deinit(&exchange->body);
    free(exchange->target);
    free(exchange);
}

static void *begin_exchange(void *cls, const char *target, struct MHD_Connection *connection)
{
    struct http *const http = cls;
    struct line *const line = line_of(connection);
    struct exchange *const exchange = line ? calloc(1, sizeof *exchange) : NULL;
    if (!exchange)
        return NULL;
    connection_reaper_begin(http->reaper, line->place);
    exchange->target = strdup(target);
    upload_init(&exchange->body);
    exchange->http = http;
    exchange->connection = connection;
    free_exchange(line->open);
    line->open = exchange;
    return exchange;
}

static void end_exchange(void *cls, struct MHD_Connection *connection, void **slot,
                         enum MHD_RequestTerminationCode how)
{
    const struct http *const http = cls;
    struct line *const line = line_of(connection);
    (void)how;
    if (line && line->open == *slot)
        line->open = NULL;
    if (line)
        connection_reaper_finish(http->reaper, line->place);
    free_exchange(*slot);
    *slot = NULL;
}

/* NULL: a Unix socket. */
static const struct sockaddr *address_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

static int socket_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* The library closes the socket after this callback. */
static void begin_or_end_line(void *cls, struct MHD_Connection *connection, void **slot,
                              enum MHD_ConnectionNotificationCode what)
{
    const struct http *const http = cls;
    struct line *line = *slot;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const int fd = socket_of(connection);
        struct rlimit files;
        /* Some descriptors stay free: a thread of the library whose accept() fails for want of one, and that has no
         * connection to wait for, tries again at once and for ever. */
        const bool are_left = getrlimit(RLIMIT_NOFILE, &files) != 0 ||
                              (rlim_t)fd + HTTP_SPARE_FILES < files.rlim_cur;
        line = are_left ? calloc(1, sizeof *line) : NULL;
        if (line)
            line->place = connection_reaper_open(http->reaper, address_of(connection), fd);
        else
            shutdown(fd, SHUT_RDWR);
        *slot = line;
    } else if (line) {
        connection_reaper_close(http->reaper, line->place);
        free_exchange(line->open);
        free(line);
        *slot = NULL;
    }
}

static enum MHD_Result has_room(void *cls, const struct sockaddr *address, socklen_t bytes)
{
    const struct http *const http = cls;
    (void)address;
    (void)bytes;
    return connection_reaper_has_room(http->reaper) ? MHD_YES : MHD_NO;
}

static enum MHD_Result add_header(void *request, enum MHD_ValueKind kind, const char *name,
                                  const char *value)
{
    (void)kind;
    request_add_header(request, name, value ? value : "");
    return MHD_YES;
}

static ssize_t read_delivery(void *delivery, uint64_t at, char *out, size_t room)
{
    const ssize_t bytes = delivery_read(delivery, at, out, room);
    if (bytes > 0)
        return bytes;
    return bytes == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void end_delivery(void *delivery)
{
    delivery_destroy(delivery);
}

static struct MHD_Response *make_response(const struct exchange *exchange,
                                          struct response *response)
{
    struct http *const http = exchange->http;
    struct delivery *delivery = NULL;
    struct err err = { 0 };
    const size_t bytes = response->body_bytes;
    const bool is_owned = response->file_fd >= 0 || response->owner;
    if (is_owned && bytes >= memory_limit_scale(DELIVERY_LEAST)) {
        if (!delivery_create(&http->deliveries, &exchange->turn.client, response, &delivery,
                             &err)) {
            enum { CHUNK_BYTES = 1 << 15 };
            struct MHD_Response *const made = MHD_create_response_from_callback(
                bytes, CHUNK_BYTES, read_delivery, delivery, end_delivery);
            if (!made)
                delivery_destroy(delivery);
            return made;
        }
        response_problem(response, 503, "%s", err.message);
        response_set_header(response, "Retry-After", "10");
    }
    if (response->file_fd >= 0) {
        struct MHD_Response *const file = MHD_create_response_from_fd(bytes, response->file_fd);
        if (file)
            response->file_fd = -1;
        return file;
    }
    if (!response->owner)
        return MHD_create_response_from_buffer(
            response->body_bytes, (void *)(uintptr_t)response->body, MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *const made = MHD_create_response_from_buffer_with_free_callback_cls(
        response->body_bytes, (void *)(uintptr_t)response->body, response->release,
        response->owner);
    if (made)
        response->owner = NULL;
    return made;
}

static enum MHD_Result queue_response(const struct exchange *exchange,
                                      struct response *response)
{
    struct MHD_Connection *const connection = exchange->connection;
    struct MHD_Response *const made = make_response(exchange, response);
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

static bool make_request(struct exchange *exchange, const char *method)
{
    struct request *const request = malloc(sizeof *request);
    if (!request)
        return false;
    request_init(request, method, exchange->target);
    MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, add_header, request);
    client_name(address_of(exchange->connection), socket_of(exchange->connection),
                request->peer);
    request->is_ending = &exchange->http->workers.is_ending;
    request->body = exchange->body.data.data;
    request->body_bytes = exchange->body.data.length;
    request->body_fd = exchange->body.file_fd;
    if (!request->refusal)
        request->refusal = exchange->body.refusal;
    /* Whoever stands between us and the client may read it as another request than we do. */
    if (request_count_headers(request, "Content-Length") +
            request_count_headers(request, "Transfer-Encoding") >
        1)
        request->refusal = 400;
    response_init(&exchange->response);
    if (request->refusal)
        response_set_header(&exchange->response, "Connection", "close");
    exchange->request = request;
    return true;
}

/* The body goes before its answer: a client that hears of a full disk may send again at once. */
static enum MHD_Result finish_exchange(struct exchange *exchange)
{
    upload_close(&exchange->body);
    const enum MHD_Result rc = queue_response(exchange, &exchange->response);
    drop_request(exchange);
    return rc;
}

static void answer_whole(struct exchange *exchange)
{
    const struct http_options *const options = &exchange->http->options;
    options->handler(options->context, exchange->request, &exchange->response);
}

static void suspend(struct fair_turn *turn)
{
    const struct exchange *const exchange = turn->request;
    MHD_suspend_connection(exchange->connection);
}

static void answer_turn(struct fair_turn *turn, int refusal)
{
    struct exchange *const exchange = turn->request;
    if (refusal)
        exchange->request->refusal = refusal;
    answer_whole(exchange);
}

/* Gives the exchange back to the daemon. */
static void resume(struct fair_turn *turn)
{
    struct exchange *const exchange = turn->request;
    exchange->is_answered = true;
    MHD_resume_connection(exchange->connection);
}

static const struct fair_workers_calls fair_workers_calls = { suspend, answer_turn, resume };

static void enter_phase(const struct exchange *exchange, enum connection_phase phase)
{
    const struct line *const line = line_of(exchange->connection);
    if (line)
        connection_reaper_enter(exchange->http->reaper, line->place, phase);
}

/* From now on the connection is no stranger's, if the request shows that. */
static void get_to_know(struct exchange *exchange)
{
    const struct http_options *const options = &exchange->http->options;
    const struct line *const line = line_of(exchange->connection);
    struct client *const client = &exchange->turn.client;
    client_network(address_of(exchange->connection), socket_of(exchange->connection),
                   &client->network);
    client->standing = CLIENT_OPERATOR;
    if (options->identify)
        options->identify(options->context, exchange->request, client);
    if (line && client->standing != CLIENT_STRANGER)
        connection_reaper_know(exchange->http->reaper, line->place, client->standing);
}

static enum MHD_Result answer_request(struct exchange *exchange, const char *method)
{
    const struct http_options *const options = &exchange->http->options;
    enum http_turn turn = HTTP_NO_TURN;
    enter_phase(exchange, CONNECTION_ANSWER);
    if (!make_request(exchange, method))
        return MHD_NO;
    get_to_know(exchange);
    if (options->answer_at_once)
        turn =
            options->answer_at_once(options->context, exchange->request, &exchange->response);
    else
        answer_whole(exchange);
    if (turn == HTTP_NO_TURN)
        return finish_exchange(exchange);
    exchange->turn.is_long = turn == HTTP_LONG_TURN;
    exchange->turn.request = exchange;
    const enum fair_answer queued =
        fair_workers_enter(&exchange->http->workers, &exchange->turn);
    /* The connection sleeps until its turn has ended. */
    if (queued == FAIR_WAITS)
        return MHD_YES;
    answer_turn(&exchange->turn, queued == FAIR_CLIENT_IS_FULL ? 429 : 503);
    return finish_exchange(exchange);
}

/* Called once with the headers, then with each piece of the body, then to be answered; once more
 * when a thread of its own has the answer. */
static enum MHD_Result handle_request(void *cls, struct MHD_Connection *connection,
                                      const char *url, const char *method, const char *version,
                                      const char *upload, size_t *upload_bytes, void **slot)
{
    struct exchange *const exchange = *slot;
    (void)cls;
    (void)url;
    (void)version;
    if (!exchange || !exchange->target)
        return MHD_NO;
    if (exchange->is_answered)
        return finish_exchange(exchange);
    if (!exchange->has_begun) {
        exchange->has_begun = true;
        enter_phase(exchange, CONNECTION_BODY);
        /* Asks where a large body may go. */
        const struct http_options *const options = &exchange->http->options;
        if (options->admit && strcmp(method, "PUT") == 0 && make_request(exchange, method)) {
            get_to_know(exchange);
            exchange->body.file_fd =
                options->admit(options->context, exchange->request, &exchange->body.file_left);
            exchange->body.refusal = exchange->request->refusal;
            drop_request(exchange);
        }
        return upload_announce(
                   &exchange->body,
                   MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length"))
                   ? MHD_YES
                   : answer_request(exchange, method);
    }
    if (*upload_bytes > 0) {
        const struct line *const line = line_of(exchange->connection);
        if (line)
            connection_reaper_receive(exchange->http->reaper, line->place, *upload_bytes);
        const bool goes_on = upload_take(&exchange->body, upload, *upload_bytes);
        *upload_bytes = 0;
        return goes_on ? MHD_YES : MHD_NO;
    }
    return answer_request(exchange, method);
}

static struct MHD_Daemon *start_daemon(struct http *http)
{
    const struct http_options *const own = &http->options;
    const bool is_tls = own->tls_cert != NULL;
    const unsigned polling = MHD_is_feature_supported(MHD_FEATURE_EPOLL) == MHD_YES
                                 ? MHD_USE_EPOLL_INTERNAL_THREAD
                                 : MHD_USE_AUTO_INTERNAL_THREAD;
    struct MHD_OptionItem options[] = {
        { MHD_OPTION_LISTEN_SOCKET, own->listen_fd, NULL },
        { MHD_OPTION_THREAD_POOL_SIZE, HTTP_THREADS, NULL },
        { MHD_OPTION_THREAD_STACK_SIZE, THREAD_STACK_BYTES, NULL },
        /* The library would stop accepting: connections.h says who goes instead. */
        { MHD_OPTION_CONNECTION_LIMIT, HTTP_THREADS * (CONNECTIONS_ROOM + 1), NULL },
        { MHD_OPTION_CONNECTION_TIMEOUT, HTTP_IDLE_TIMEOUT_S, NULL },
        { MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_MEMORY, NULL },
        { MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL },
        { MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, NULL },
        { MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)begin_exchange, http },
        { MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)end_exchange, http },
        { MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)begin_or_end_line, http },
        { is_tls ? MHD_OPTION_HTTPS_MEM_CERT : MHD_OPTION_END, 0,
          (void *)(uintptr_t)own->tls_cert },
        { MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)own->tls_key },
        { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES },
        { MHD_OPTION_END, 0, NULL },
    };
    return MHD_start_daemon(polling | MHD_ALLOW_SUSPEND_RESUME | (is_tls ? MHD_USE_TLS : 0U), 0,
                            has_room, http, handle_request, http, MHD_OPTION_ARRAY, options,
                            MHD_OPTION_END);
}

static enum err_code refuse_start(const struct http_options *options, int sys, struct err *err)
{
    if (!options->tls_cert && sys == 0)
        return err_set(err, ERR_SYS, "cannot start the HTTP server");
    if (!options->tls_cert) {
        err_sys(err, sys, "cannot start the HTTP server");
        return ERR_SYS;
    }
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
        return err_set(err, ERR_UNSUPPORTED, "this libmicrohttpd was built without TLS");
    return err_set(
        err, ERR_INVALID,
        "cannot use the TLS certificate and key: both must be PEM, and the key must match the "
        "certificate");
}

static void destroy_http(struct http *http)
{
    connection_reaper_stop(http->reaper);
    fair_workers_deinit(&http->workers);
    pthread_mutex_destroy(&http->deliveries.lock);
    free(http);
}

enum err_code http_start(const struct http_options *options, struct http **out, struct err *err)
{
    struct http *const http = calloc(1, sizeof *http);
    if (!http)
        return err_nomem(err);
    http->options = *options;
    fair_workers_init(&http->workers, &fair_workers_calls, options->traffic);
    pthread_mutex_init(&http->deliveries.lock, NULL);
    enum err_code rc = connection_reaper_start(&http->reaper, err);
    if (!rc) {
        errno = 0;
        http->daemon = start_daemon(http);
        if (http->daemon)
            *out = http;
        else
            rc = refuse_start(options, errno, err);
    }
    if (rc)
        destroy_http(http);
    return rc;
}

void http_stop(struct http *http)
{
    if (!http)
        return;
    /* A connection may not sleep when the daemon stops. */
    fair_workers_end(&http->workers);
    MHD_stop_daemon(http->daemon);
    destroy_http(http);
}
