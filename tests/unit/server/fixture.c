#include "tests/unit/server/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sampler/session.h"
#include "server/http/http.h"
#include "server/sessions/sessions.h"
#include "tests/support/fake_session.h"
#include "tests/unit/server/client.h"

void server_start(struct server *server, int pid)
{
    const struct session_options options = { .pids = { pid }, .pid_count = 1, .rate_hz = 1000 };
    const struct listen_address address = { .host = "127.0.0.1", .port = 0 };
    struct pipeline_options pipeline = { .needs_token = true, .token = FIXTURE_TOKEN };
    struct session_entry *entry = NULL;
    memset(server, 0, sizeof *server);
    assert_int_equal(sessions_create(&server->sessions, NULL), ERR_OK);
    assert_int_equal(listen_open(&address, &server->listener, NULL), ERR_OK);
    server->port = server->listener.port;
    pipeline.sessions = server->sessions;
    pipeline.port = server->port;
    assert_int_equal(pipeline_init(&server->pipeline, &pipeline, NULL), ERR_OK);
    assert_int_equal(session_start(&options, &server->session, NULL), ERR_OK);
    assert_int_equal(sessions_add(server->sessions, server->session, NULL, &entry, NULL),
                     ERR_OK);
    const struct http_options http = { .listen_fd = server->listener.fd,
                                       .handler = pipeline_answer,
                                       .admit = pipeline_admit,
                                       .answer_at_once = pipeline_answer_at_once,
                                       .identify = pipeline_identify,
                                       .context = &server->pipeline,
                                       .traffic = &server->pipeline.traffic };
    assert_int_equal(http_start(&http, &server->http, NULL), ERR_OK);
}

void server_stop(struct server *server)
{
    http_stop(server->http);
    pipeline_deinit(&server->pipeline);
    sessions_destroy(server->sessions);
}

int server_setup(void **state)
{
    struct server *const server = malloc(sizeof *server);
    if (!server)
        return -1;
    server_start(server, FAKE_PID_STILL);
    *state = server;
    return 0;
}

int server_teardown(void **state)
{
    server_stop(*state);
    free(*state);
    return 0;
}

void server_get(const struct server *server, const char *target, const char *headers,
                struct reply *reply)
{
    client_request(server->port, "GET", target, headers, NULL, reply);
}

int server_status(const struct server *server, const char *method, const char *target,
                  const char *headers, const char *body)
{
    struct reply reply;
    client_request(server->port, method, target, headers, body, &reply);
    const int status = reply.status;
    reply_deinit(&reply);
    return status;
}
