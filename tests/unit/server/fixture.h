/*
 * fixture - the real server on a free loopback port, showing a fake session.
 */
#ifndef TESTS_UNIT_SERVER_FIXTURE_H
#define TESTS_UNIT_SERVER_FIXTURE_H

#include "server/api/pipeline.h"
#include "server/http/listen.h"

struct http;
struct reply;
struct session;
struct sessions;

#define FIXTURE_TOKEN "0123456789abcdef-the-token"
#define BEARER        "Authorization: Bearer " FIXTURE_TOKEN "\r\n"
#define CHANGE        BEARER "X-Pyrometer: 1\r\nContent-Type: application/json\r\n"

struct server {
    struct listener listener;
    struct pipeline pipeline;
    struct sessions *sessions;
    struct session *session;
    struct http *http;
    unsigned port;
};

/* pid: an enum fake_pid. */
void server_start(struct server *server, int pid);
void server_stop(struct server *server);

/* For cmocka: *state is a struct server of FAKE_PID_STILL. */
int server_setup(void **state);
int server_teardown(void **state);
#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, server_setup, server_teardown)

/* The caller deinits the reply. */
void server_get(const struct server *server, const char *target, const char *headers,
                struct reply *reply);
int server_status(const struct server *server, const char *method, const char *target,
                  const char *headers, const char *body);

#endif /* TESTS_UNIT_SERVER_FIXTURE_H */
