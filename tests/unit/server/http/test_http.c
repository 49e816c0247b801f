#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "server/http/connections.h"
#include "server/http/http.h"
#include "server/http/request.h"
#include "tests/support/fake_session.h"
#include "tests/support/test.h"
#include "tests/unit/server/client.h"
#include "tests/unit/server/fixture.h"

static void health_needs_no_token(void **state)
{
    struct reply reply;
    server_get(*state, "/healthz", "", &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "ok\n");
    reply_deinit(&reply);
}

static void everything_else_needs_the_token(void **state)
{
    static const char *const targets[] = {
        "/",
        "/?token=wrong",
        "/nothing",
        "/api/v1/sessions",
        "/api/v1/sessions/1",
        "/api/v1/sessions/1/tree",
        "/api/v1/sessions/1/view",
        "/api/v1/sessions/1/report.html",
        "/api/v1/sessions?token=0123456789abcdef-the-token"
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        assert_int_equal(server_status(*state, "GET", targets[i], "", NULL), 401);
    assert_int_equal(
        server_status(*state, "PATCH", "/api/v1/sessions/1", "X-Pyrometer: 1\r\n", "{}"), 401);
    assert_int_equal(server_status(*state, "GET", "/", BEARER, NULL), 200);
}

static void refusals_suit_browsers_and_programs(void **state)
{
    struct reply reply;
    char value[128];
    server_get(*state, "/", "Accept: text/html,*/*\r\n", &reply);
    assert_int_equal(reply.status, 401);
    reply_header(&reply, "Content-Type", value, sizeof value);
    assert_string_equal(value, "text/html; charset=utf-8");
    assert_non_null(strstr(reply.body, "Share"));
    assert_non_null(strstr(reply.body, "?token="));
    reply_deinit(&reply);
    server_get(*state, "/api/v1/sessions", "Accept: text/html,*/*\r\n", &reply);
    reply_header(&reply, "Content-Type", value, sizeof value);
    assert_string_equal(value, "application/problem+json");
    reply_header(&reply, "WWW-Authenticate", value, sizeof value);
    assert_string_equal(value, "Bearer realm=\"pyrometer\"");
    reply_deinit(&reply);
}

static void token_of_the_url_becomes_a_cookie(void **state)
{
    const struct server *const server = *state;
    struct reply reply;
    char cookie[256], value[256], headers[320];
    server_get(server, "/?token=" FIXTURE_TOKEN "&v=1", "", &reply);
    assert_int_equal(reply.status, 303);
    reply_header(&reply, "Location", value, sizeof value);
    assert_string_equal(value, "/?v=1");
    reply_header(&reply, "Referrer-Policy", value, sizeof value);
    assert_string_equal(value, "no-referrer");
    reply_header(&reply, "Set-Cookie", cookie, sizeof cookie);
    assert_non_null(strstr(cookie, "; HttpOnly; SameSite=Lax; Path=/"));
    assert_null(strstr(cookie, FIXTURE_TOKEN));
    cookie[strcspn(cookie, ";")] = '\0';
    snprintf(headers, sizeof headers, "Cookie: theme=dark; %s\r\n", cookie);
    reply_deinit(&reply);
    assert_int_equal(server_status(server, "GET", "/api/v1/sessions", headers, NULL), 200);
    assert_int_equal(server_status(server, "GET", "/", headers, NULL), 200);
    /* An old link in a logged-in browser. */
    assert_int_equal(server_status(server, "GET", "/?token=old", headers, NULL), 303);
}

static void foreign_hosts_are_turned_away_before_anything_else(void **state)
{
    const struct server *const server = *state;
    assert_int_equal(server_status(server, "GET", "/", BEARER "Host: evil.example\r\n", NULL),
                     421);
    assert_int_equal(server_status(server, "GET", "/healthz", "Host: evil.example\r\n", NULL),
                     421);
    assert_int_equal(
        server_status(server, "GET", "/?token=" FIXTURE_TOKEN, "Host: a.b\r\n", NULL), 421);
    assert_int_equal(server_status(server, "GET", "/healthz", "Host: a:b\r\n", NULL), 400);
    assert_int_equal(server_status(server, "GET", "/healthz",
                                   "Host: localhost\r\nHost: localhost\r\n", NULL),
                     400);
    assert_int_equal(server_status(server, "GET", "/healthz", "Host: [::1]:7997\r\n", NULL),
                     200);
    assert_int_equal(server_status(server, "GET", "/healthz", "Host: localhost\r\n", NULL),
                     200);
}

static void every_answer_carries_the_security_headers(void **state)
{
    static const char *const targets[] = { "/", "/manual", "/healthz", "/api/v1/sessions",
                                           "/nothing" };
    static const char *const headers[][2] = { { "X-Content-Type-Options", "nosniff" },
                                              { "Referrer-Policy", "no-referrer" },
                                              { "Cross-Origin-Resource-Policy", "same-origin" },
                                              { "Vary", "Accept-Encoding" } };
    char value[2048];
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct reply reply;
        server_get(*state, targets[i], BEARER, &reply);
        for (size_t j = 0; j < sizeof headers / sizeof *headers; j++) {
            reply_header(&reply, headers[j][0], value, sizeof value);
            assert_string_equal(value, headers[j][1]);
        }
        reply_header(&reply, "Content-Security-Policy", value, sizeof value);
        assert_non_null(strstr(value, "default-src 'none'"));
        reply_header(&reply, "Access-Control-Allow-Origin", value, sizeof value);
        assert_string_equal(value, "");
        reply_deinit(&reply);
    }
}

static void all_encodings_hold_the_same_bytes(void **state)
{
    static const char *const targets[] = { "/", "/manual", "/api/v1/sessions/1",
                                           "/api/v1/sessions/1/tree",
                                           "/api/v1/sessions/1/export?format=collapsed" };
    static const char *const offers[][2] = {
        { BEARER "Accept-Encoding: gzip, deflate\r\n", "gzip" },
        { BEARER "Accept-Encoding: gzip, deflate, br, zstd\r\n", "zstd" }
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct reply plain;
        server_get(*state, targets[i], BEARER, &plain);
        for (size_t j = 0; j < 2; j++) {
            struct reply packed;
            char encoding[16];
            /* The program holds the page and the manual as gzip has made them. */
            const bool is_held = !strstr(targets[i], "/api/");
            const char *const best = is_held ? "gzip" : offers[j][1];
            server_get(*state, targets[i], offers[j][0], &packed);
            reply_header(&packed, "Content-Encoding", encoding, sizeof encoding);
            assert_string_equal(encoding, plain.length < 256 ? "" : best);
            reply_decode(&packed);
            assert_string_equal(packed.body, plain.body);
            reply_deinit(&packed);
        }
        reply_deinit(&plain);
    }
}

static void tag_of(const struct server *server, const char *target, const char *headers,
                   char *out, size_t bytes)
{
    struct reply reply;
    server_get(server, target, headers, &reply);
    assert_int_equal(reply.status, 200);
    reply_header(&reply, "ETag", out, bytes);
    assert_true(*out == '"');
    reply_deinit(&reply);
}

/* A body that is not sent has no coding either. */
static int status_if_none_match(const struct server *server, const char *target,
                                const char *accepting, const char *tag)
{
    struct reply reply;
    char headers[512];
    snprintf(headers, sizeof headers, "%sIf-None-Match: \"other\", W/%s\r\n", accepting, tag);
    server_get(server, target, headers, &reply);
    const int status = reply.status;
    if (status == 304) {
        char encoding[16];
        assert_int_equal(reply.length, 0);
        reply_header(&reply, "Content-Encoding", encoding, sizeof encoding);
        assert_string_equal(encoding, "");
    }
    reply_deinit(&reply);
    return status;
}

static void known_content_is_not_sent_again(void **state)
{
    static const char *const targets[] = {
        "/",
        "/manual",
        "/healthz",
        "/api/v1/sessions",
        "/api/v1/sessions/1",
        "/api/v1/sessions/1/tree",
        "/api/v1/sessions/1/view",
        "/api/v1/sessions/1/view?thread=0",
        "/api/v1/sessions/1/export?format=collapsed",
        "/api/v1/sessions/1/report.html",
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char tag[128];
        static const char *const accepting[] = { BEARER, BEARER "Accept-Encoding: gzip\r\n",
                                                 BEARER "Accept-Encoding: zstd\r\n" };
        for (size_t j = 0; j < sizeof accepting / sizeof *accepting; j++) {
            tag_of(*state, targets[i], accepting[j], tag, sizeof tag);
            assert_int_equal(status_if_none_match(*state, targets[i], accepting[j], tag), 304);
            assert_int_equal(status_if_none_match(*state, targets[i], accepting[j], "\"x\""),
                             200);
        }
    }
}

static void tags_change_with_content_query_and_encoding(void **state)
{
    struct server *const server = *state;
    char tree[128], packed[128], view[128], filtered[128];
    tag_of(server, "/api/v1/sessions/1/tree", BEARER, tree, sizeof tree);
    tag_of(server, "/api/v1/sessions/1/tree", BEARER "Accept-Encoding: gzip\r\n", packed,
           sizeof packed);
    tag_of(server, "/api/v1/sessions/1/view", BEARER, view, sizeof view);
    tag_of(server, "/api/v1/sessions/1/view?thread=0", BEARER, filtered, sizeof filtered);
    assert_string_not_equal(tree, packed);
    assert_string_not_equal(view, filtered);
    assert_int_equal(status_if_none_match(server, "/api/v1/sessions/1/view", BEARER, view),
                     304);
    fake_session_add(server->session, 4711, NULL, 0, 0, 1);
    fake_session_seal(server->session);
    assert_int_equal(status_if_none_match(server, "/api/v1/sessions/1/view", BEARER, view),
                     200);
    assert_int_equal(status_if_none_match(server, "/api/v1/sessions/1/tree", BEARER, tree),
                     200);
}

static void head_is_get_without_a_body(void **state)
{
    struct reply get_reply, head_reply;
    char wanted[64], given[64];
    server_get(*state, "/api/v1/sessions/1/tree", BEARER, &get_reply);
    client_request(((struct server *)*state)->port, "HEAD", "/api/v1/sessions/1/tree", BEARER,
                   NULL, &head_reply);
    assert_int_equal(head_reply.status, 200);
    assert_int_equal(head_reply.length, 0);
    reply_header(&get_reply, "Content-Length", wanted, sizeof wanted);
    reply_header(&head_reply, "Content-Length", given, sizeof given);
    assert_string_equal(given, wanted);
    reply_deinit(&get_reply);
    reply_deinit(&head_reply);
}

static void unknown_paths_and_methods_have_their_status(void **state)
{
    struct reply reply;
    char allow[64];
    assert_int_equal(server_status(*state, "GET", "/nothing", BEARER, NULL), 404);
    assert_int_equal(server_status(*state, "GET", "/api/v1/sessions/2", BEARER, NULL), 404);
    assert_int_equal(server_status(*state, "GET", "/api/v1/sessions/01", BEARER, NULL), 404);
    assert_int_equal(server_status(*state, "GET", "/../../etc/passwd", BEARER, NULL), 404);
    client_request(((struct server *)*state)->port, "PUT", "/api/v1/sessions/1", BEARER, NULL,
                   &reply);
    assert_int_equal(reply.status, 405);
    reply_header(&reply, "Allow", allow, sizeof allow);
    assert_string_equal(allow, "GET, HEAD, PATCH, DELETE");
    reply_deinit(&reply);
    assert_int_equal(server_status(*state, "OPTIONS", "/", BEARER, NULL), 405);
    assert_int_equal(server_status(*state, "BREW", "/", BEARER, NULL), 405);
}

static void large_bodies_are_refused(void **state)
{
    char *const body = malloc(REQUEST_MAX_BODY + 2);
    assert_non_null(body);
    memset(body, ' ', REQUEST_MAX_BODY + 1);
    body[REQUEST_MAX_BODY + 1] = '\0';
    assert_int_equal(server_status(*state, "PATCH", "/api/v1/sessions/1", CHANGE, body), 413);
    body[REQUEST_MAX_BODY] = '\0';
    body[0] = '{';
    body[1] = '}';
    assert_int_equal(server_status(*state, "PATCH", "/api/v1/sessions/1", CHANGE, body), 200);
    free(body);
    assert_int_equal(server_status(*state, "PATCH", "/api/v1/sessions/1",
                                   CHANGE "Content-Length: 99999999999\r\n", "{"),
                     413);
}

static void long_targets_and_headers_are_refused(void **state)
{
    char *const text = malloc(70000);
    assert_non_null(text);
    memset(text, 'a', 69999);
    text[69999] = '\0';
    text[0] = '/';
    text[5000] = '\0';
    assert_int_equal(server_status(*state, "GET", text, BEARER, NULL), 414);
    char *many = NULL;
    assert_true(asprintf(&many, "%sX-Long: %.60000s\r\n", BEARER, text + 5001) > 0);
    assert_in_range(server_status(*state, "GET", "/", many, NULL), 400, 499);
    free(many);
    text[0] = '\0';
    for (int i = 0; i < REQUEST_MAX_HEADERS + 1; i++)
        strcat(text, "X-Many: 1\r\n");
    assert_int_equal(server_status(*state, "GET", "/", text, NULL), 431);
    free(text);
    assert_int_equal(server_status(*state, "GET", "/", BEARER, NULL), 200);
}

static void malformed_requests_are_survived(void **state)
{
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {
#define ROW(text) { text, sizeof(text) - 1 }
        ROW("\r\n\r\n"),
        ROW("GET\r\n\r\n"),
        ROW("GET /\r\n\r\n"),
        ROW("GET / HTTP/9.9\r\nHost: localhost\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost localhost\r\n\r\n"),
        ROW("GET /\0x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        ROW("GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: localhost\r\n folded: yes\r\n\r\n"),
        ROW("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        ROW("PATCH / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"),
        ROW("PATCH / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        ROW("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        ROW("\xff\xfe\xfd\r\n\r\n"),
#undef ROW
    };
    const struct timeval patience = { .tv_usec = 300000 };
    const struct server *const server = *state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        const int fd = client_connect(server->port);
        assert_true(fd >= 0);
        /* Some are no request yet: the server waits for the rest, and we need not. */
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        client_send(fd, rows[i].text, rows[i].length);
        shutdown(fd, SHUT_WR);
        client_read(fd, true, &reply);
        assert_true(reply.status == 0 || (reply.status >= 400 && reply.status < 600));
        reply_deinit(&reply);
        close(fd);
    }
    assert_int_equal(server_status(server, "GET", "/healthz", "", NULL), 200);
}

static void slow_clients_block_nobody(void **state)
{
    enum { SLOW = HTTP_THREADS * 4 };
    const struct server *const server = *state;
    int slow[SLOW];
    for (size_t i = 0; i < SLOW; i++) {
        slow[i] = client_connect(server->port);
        assert_true(slow[i] >= 0);
        client_send(slow[i], "GET / HTTP/1.1\r\nHo", 18);
    }
    for (int i = 0; i < 20; i++)
        assert_int_equal(server_status(server, "GET", "/healthz", "", NULL), 200);
    for (size_t i = 0; i < SLOW; i++) {
        struct reply reply;
        static const char rest[] = "st: localhost\r\n\r\n";
        client_send(slow[i], rest, sizeof rest - 1);
        client_read(slow[i], true, &reply);
        assert_int_equal(reply.status, 401);
        reply_deinit(&reply);
        close(slow[i]);
    }
}

/* Opens `count` connections that ask the same, and stay. */
static void hold(const struct server *server, const char *headers, int *held, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct reply reply;
        held[i] = client_connect(server->port);
        assert_true(held[i] >= 0);
        dprintf(held[i], "GET /healthz HTTP/1.1\r\nHost: localhost\r\n%s\r\n", headers);
        client_read(held[i], true, &reply);
        assert_int_equal(reply.status, 200);
        reply_deinit(&reply);
    }
}

static size_t count_ended(const int *held, size_t count)
{
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        char byte;
        ended += recv(held[i], &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    }
    return ended;
}

static void drop(const int *held, size_t count)
{
    for (size_t i = 0; i < count; i++)
        close(held[i]);
}

static void connections_are_bounded_and_newcomers_let_in(void **state)
{
    enum { MORE = 40, KNOWN = 60, ALL = CONNECTIONS_MAX_STRANGERS_OF_LOOPBACK + MORE };
    const struct server *const server = *state;
    int known[KNOWN], held[ALL];
    hold(server, BEARER, known, KNOWN);
    hold(server, "", held, ALL);
    assert_int_equal(server_status(server, "GET", "/healthz", "", NULL), 200);
    /* Those that were answered at almost the same time may go in another order. */
    assert_int_equal(count_ended(held, MORE / 2), MORE / 2);
    assert_int_equal(count_ended(held + 2 * MORE, ALL - 2 * MORE), 0);
    assert_int_equal(count_ended(known, KNOWN), 0);
    assert_in_range(count_ended(held, ALL), MORE, MORE + 1);
    drop(held, ALL);
    drop(known, KNOWN);
}

struct crowd {
    const struct server *server;
    atomic_uint failures;
};

static void *visit(void *argument)
{
    static const char *const targets[] = { "/", "/api/v1/sessions/1", "/api/v1/sessions/1/tree",
                                           "/api/v1/sessions/1/view?since=1",
                                           "/api/v1/sessions/1/report.html" };
    struct crowd *const crowd = argument;
    for (size_t i = 0; i < 40; i++)
        crowd->failures += server_status(crowd->server, "GET", targets[i % 5],
                                         BEARER "Accept-Encoding: gzip\r\n", NULL) != 200;
    return NULL;
}

static void many_clients_read_a_growing_profile(void **state)
{
    struct server server;
    struct crowd crowd = { .server = &server };
    pthread_t threads[4];
    (void)state;
    server_start(&server, FAKE_PID_LIVE);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, visit, &crowd), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(crowd.failures, 0);
    server_stop(&server);
}

TEST_GROUP(WITH_SERVER(health_needs_no_token), WITH_SERVER(everything_else_needs_the_token),
           WITH_SERVER(refusals_suit_browsers_and_programs),
           WITH_SERVER(token_of_the_url_becomes_a_cookie),
           WITH_SERVER(foreign_hosts_are_turned_away_before_anything_else),
           WITH_SERVER(every_answer_carries_the_security_headers),
           WITH_SERVER(all_encodings_hold_the_same_bytes),
           WITH_SERVER(known_content_is_not_sent_again),
           WITH_SERVER(tags_change_with_content_query_and_encoding),
           WITH_SERVER(head_is_get_without_a_body),
           WITH_SERVER(unknown_paths_and_methods_have_their_status),
           WITH_SERVER(large_bodies_are_refused),
           WITH_SERVER(long_targets_and_headers_are_refused),
           WITH_SERVER(malformed_requests_are_survived), WITH_SERVER(slow_clients_block_nobody),
           WITH_SERVER(connections_are_bounded_and_newcomers_let_in),
           cmocka_unit_test(many_clients_read_a_growing_profile))
