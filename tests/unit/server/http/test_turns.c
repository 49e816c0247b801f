/* Costly requests wait for their turn, and cheap ones do not wait for them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http/client.h"
#include "server/http/fair_queue.h"
#include "server/http/http.h"
#include "server/http/listen.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/http/traffic.h"
#include "tests/support/test.h"
#include "tests/unit/server/client.h"

/* A server of which /heavy of a viewer takes until the door is opened, or the server ends. */
struct served {
    struct listener listener;
    struct http *http;
    struct traffic traffic;
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool is_open;
};

static bool is_viewer(const struct request *request)
{
    return request_header(request, "X-Viewer") != NULL;
}

static void wait_for_door(struct served *served, const struct request *request)
{
    pthread_mutex_lock(&served->lock);
    while (!served->is_open && !atomic_load(request->is_ending)) {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_sec++;
        pthread_cond_timedwait(&served->opened, &served->lock, &soon);
    }
    pthread_mutex_unlock(&served->lock);
}

static void answer(void *context, struct request *request, struct response *response)
{
    if (request->refusal) {
        response_problem(response, request->refusal, "refused");
        return;
    }
    if (is_viewer(request) && strcmp(request->path, "/heavy") == 0)
        wait_for_door(context, request);
    response_fix_body(response, MIME_TEXT, "ok\n", 3);
}

static enum http_turn answer_at_once(void *context, struct request *request,
                                     struct response *response)
{
    if (strcmp(request->path, "/heavy") == 0)
        return HTTP_SHORT_TURN;
    answer(context, request, response);
    return HTTP_NO_TURN;
}

static void identify(void *context, const struct request *request, struct client *out)
{
    const char *const viewer = request_header(request, "X-Viewer");
    (void)context;
    out->standing = viewer ? CLIENT_VIEWER : CLIENT_OPERATOR;
    out->id = viewer ? (uint32_t)strtoul(viewer, NULL, 10) : 0;
}

static int setup(void **state)
{
    const struct listen_address address = { .host = "127.0.0.1" };
    struct served *const served = calloc(1, sizeof *served);
    assert_non_null(served);
    pthread_mutex_init(&served->lock, NULL);
    pthread_cond_init(&served->opened, NULL);
    assert_int_equal(listen_open(&address, &served->listener, NULL), ERR_OK);
    const struct http_options options = { .listen_fd = served->listener.fd,
                                          .handler = answer,
                                          .answer_at_once = answer_at_once,
                                          .identify = identify,
                                          .context = served,
                                          .traffic = &served->traffic };
    assert_int_equal(http_start(&options, &served->http, NULL), ERR_OK);
    *state = served;
    return 0;
}

static int teardown(void **state)
{
    struct served *const served = *state;
    http_stop(served->http);
    free(served);
    return 0;
}

static void open_door(struct served *served)
{
    pthread_mutex_lock(&served->lock);
    served->is_open = true;
    pthread_cond_broadcast(&served->opened);
    pthread_mutex_unlock(&served->lock);
}

/* The connection. */
static int ask(const struct served *served, const char *path, const char *headers)
{
    const int fd = client_connect(served->listener.port);
    assert_true(fd >= 0);
    dprintf(fd, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, headers);
    return fd;
}

static int status_of(int fd)
{
    struct reply reply;
    client_read(fd, true, &reply);
    const int status = reply.status;
    reply_deinit(&reply);
    close(fd);
    return status;
}

static bool has(const struct served *served, enum client_standing standing, size_t waiting,
                size_t running)
{
    return atomic_load(&served->traffic.turns[standing][TRAFFIC_WAITS]) == waiting &&
           atomic_load(&served->traffic.turns[standing][TRAFFIC_RUNS]) == running;
}

static void wait_until(const struct served *served, size_t waiting, size_t running)
{
    for (int tries = 0; !has(served, CLIENT_VIEWER, waiting, running) && tries < 3000; tries++)
        usleep(10000);
    assert_true(has(served, CLIENT_VIEWER, waiting, running));
}

static void what_costs_little_never_waits_for_what_costs_much(void **state)
{
    enum { HEAVY = 60 };
    struct served *const served = *state;
    int held[HEAVY];
    for (size_t i = 0; i < HEAVY; i++)
        held[i] = ask(served, "/heavy", "X-Viewer: 7\r\n");
    wait_until(served, HEAVY - FAIR_QUEUE_RUNNING_OF_VIEWER, FAIR_QUEUE_RUNNING_OF_VIEWER);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(status_of(ask(served, "/", "")), 200);
        assert_int_equal(status_of(ask(served, "/", "X-Viewer: 7\r\n")), 200);
        assert_int_equal(status_of(ask(served, "/heavy", "")), 200);
    }
    assert_true(has(served, CLIENT_VIEWER, HEAVY - FAIR_QUEUE_RUNNING_OF_VIEWER,
                    FAIR_QUEUE_RUNNING_OF_VIEWER));
    open_door(served);
    for (size_t i = 0; i < HEAVY; i++)
        assert_int_equal(status_of(held[i]), 200);
    wait_until(served, 0, 0);
}

static void one_too_many_is_refused_and_the_connection_stays(void **state)
{
    enum { ROOM = FAIR_QUEUE_WAITING_OF_CLIENT + FAIR_QUEUE_RUNNING_OF_VIEWER };
    struct served *const served = *state;
    struct reply reply;
    int held[ROOM];
    /* On a busy machine threads may take their turns later than all of these ask, and the queue would be full before. */
    for (size_t i = 0; i < ROOM; i++) {
        held[i] = ask(served, "/heavy", "X-Viewer: 7\r\n");
        if (i + 1 == FAIR_QUEUE_RUNNING_OF_VIEWER)
            wait_until(served, 0, FAIR_QUEUE_RUNNING_OF_VIEWER);
    }
    wait_until(served, FAIR_QUEUE_WAITING_OF_CLIENT, FAIR_QUEUE_RUNNING_OF_VIEWER);
    const int more = ask(served, "/heavy", "X-Viewer: 7\r\n");
    client_read(more, true, &reply);
    assert_int_equal(reply.status, 429);
    reply_deinit(&reply);
    dprintf(more, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_int_equal(status_of(more), 200);
    const int other = ask(served, "/heavy", "X-Viewer: 8\r\n");
    wait_until(served, FAIR_QUEUE_WAITING_OF_CLIENT, FAIR_QUEUE_RUNNING_OF_VIEWER + 1);
    open_door(served);
    assert_int_equal(status_of(other), 200);
    for (size_t i = 0; i < ROOM; i++)
        assert_int_equal(status_of(held[i]), 200);
}

static void the_end_of_the_server_is_the_end_of_waiting(void **state)
{
    enum { HEAVY = 20 };
    struct served *const served = *state;
    int held[HEAVY], refused = 0;
    for (size_t i = 0; i < HEAVY; i++)
        held[i] = ask(served, "/heavy", "X-Viewer: 7\r\n");
    wait_until(served, HEAVY - FAIR_QUEUE_RUNNING_OF_VIEWER, FAIR_QUEUE_RUNNING_OF_VIEWER);
    http_stop(served->http);
    served->http = NULL;
    /* An answer may be lost with its connection. */
    for (size_t i = 0; i < HEAVY; i++) {
        const int status = status_of(held[i]);
        assert_true(status == 503 || status == 200 || status == 0);
        refused += status != 200;
    }
    assert_true(refused >= HEAVY - FAIR_QUEUE_RUNNING_OF_VIEWER);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
TEST_GROUP(TEST(what_costs_little_never_waits_for_what_costs_much),
           TEST(one_too_many_is_refused_and_the_connection_stays),
           TEST(the_end_of_the_server_is_the_end_of_waiting))
