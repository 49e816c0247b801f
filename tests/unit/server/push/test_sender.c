#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "server/push/http_client.h"
#include "server/push/sender.h"
#include "server/push/settings.h"
#include "server/report/encoding/protobuf.h"
#include "server/wire/push_counters.h"
#include "tests/support/test.h"

enum { MAX_REQUESTS = 8, MAX_BODY = 4096, HANGS = 0 };

/* Answers each connection once.  The last status is that of all further requests; HANGS: no answer. */
struct server {
    int fd;
    unsigned statuses[MAX_REQUESTS];
    size_t status_count;
    const char *text; /* of the answers; NULL: none */
    pthread_t thread;
    atomic_size_t requests;
    size_t bytes[MAX_REQUESTS]; /* of the bodies */
    char bodies[MAX_REQUESTS][MAX_BODY];
    int held[MAX_REQUESTS];
    char url[64];
};

static void take_request(struct server *server, int fd)
{
    static const char length_header[] = "Content-Length: ";
    char text[MAX_BODY + 2048], answer[MAX_BODY];
    size_t used = 0, wanted = SIZE_MAX, head = 0;
    ssize_t got = 0;
    const size_t at = atomic_load(&server->requests);
    while (used < wanted && (got = read(fd, text + used, sizeof text - 1 - used)) > 0) {
        used += (size_t)got;
        text[used] = '\0';
        const char *const end = head ? NULL : strstr(text, "\r\n\r\n");
        if (end) {
            head = (size_t)(end + 4 - text);
            wanted = head +
                     strtoul(strstr(text, length_header) + sizeof length_header - 1, NULL, 10);
        }
    }
    if (at >= MAX_REQUESTS || used < wanted)
        return;
    server->bytes[at] = used - head;
    memcpy(server->bodies[at], text + head, used - head);
    const unsigned status =
        server->statuses[at < server->status_count ? at : server->status_count - 1];
    const char *const said = server->text ? server->text : "";
    snprintf(answer, sizeof answer,
             "HTTP/1.1 %u X\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s", status,
             strlen(said), said);
    if (status == HANGS)
        server->held[at] = dup(fd);
    /* A client that has its answer reads the number. */
    atomic_fetch_add(&server->requests, 1);
    if (status != HANGS && write(fd, answer, strlen(answer)) < 0)
        perror("answer");
}

static void *run(void *context)
{
    struct server *const server = context;
    for (int fd; (fd = accept(server->fd, NULL, NULL)) >= 0; close(fd))
        take_request(server, fd);
    return NULL;
}

static struct server *begin(const unsigned *statuses, size_t count)
{
    struct server *const server = calloc(1, sizeof *server);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof address;
    assert_non_null(server);
    memset(server->held, 0xff, sizeof server->held);
    memcpy(server->statuses, statuses, count * sizeof *statuses);
    server->status_count = count;
    server->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->fd, 8), 0);
    assert_int_equal(getsockname(server->fd, (struct sockaddr *)&address, &length), 0);
    snprintf(server->url, sizeof server->url, "127.0.0.1:%u", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&server->thread, NULL, run, server), 0);
    return server;
}

static void end(struct server *server)
{
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    for (size_t i = 0; i < MAX_REQUESTS; i++)
        if (server->held[i] >= 0)
            close(server->held[i]);
    free(server);
}

/* The newest sentence. */
static char sentence[2048];

static void keep_sentence(void *context, const char *what)
{
    (void)context;
    snprintf(sentence, sizeof sentence, "%s", what);
}

static struct sender *make(const struct server *server, uint64_t error_ns,
                           struct push_endpoint_counters *counters)
{
    struct push_endpoint_setting endpoint = { .protocol = push_protocol_find("pyroscope", 9),
                                              .rest = server->url };
    const struct sender_settings settings = {
        .endpoint = &endpoint, .error_ns = error_ns, .counters = counters, .say = keep_sentence
    };
    struct sender *sender = NULL;
    struct err err = { 0 };
    if (!http_client_is_built())
        skip();
    assert_ok(sender_create(&settings, &sender, &err), &err);
    return sender;
}

static void wait_for_requests(const struct server *server, size_t count)
{
    const uint64_t end_ns = clock_now_ns() + 60 * NS_PER_S;
    while (atomic_load(&server->requests) < count && clock_now_ns() < end_ns)
        usleep(1000);
    assert_true(atomic_load(&server->requests) >= count);
}

/* A poisoned request must not keep all later ones from being sent. */
static void an_error_of_the_receiver_is_final_after_a_while(void **state)
{
    static const unsigned statuses[] = { 500, 501, 200 };
    struct server *const server = begin(statuses, 3);
    struct push_endpoint_counters counters = { 0 };
    const struct buffer body = { .data = (char[]){ "body" }, .length = 4 };
    struct sender *const sender = make(server, 1, &counters);
    struct err err = { 0 };
    (void)state;
    assert_int_equal(sender_send_now(sender, &body, &err), ERR_SYS);
    assert_int_equal(sender_send_now(sender, &body, &err), ERR_SYS);
    assert_int_equal(atomic_load(&counters.refused), 2);
    assert_ok(sender_send_now(sender, &body, &err), &err);
    assert_int_equal(atomic_load(&counters.sent), 1);
    sender_destroy(sender);
    end(server);
}

static void an_error_of_the_receiver_is_tried_again(void **state)
{
    static const unsigned statuses[] = { 500, 200 };
    struct server *const server = begin(statuses, 2);
    struct push_endpoint_counters counters = { 0 };
    const struct buffer body = { .data = (char[]){ "body" }, .length = 4 };
    struct sender *const sender = make(server, 0, &counters);
    struct err err = { 0 };
    (void)state;
    assert_ok(sender_send_now(sender, &body, &err), &err);
    assert_int_equal(atomic_load(&counters.retries), 1);
    assert_memory_equal(server->bodies[0], server->bodies[1], 4);
    sender_destroy(sender);
    end(server);
}

/* And so is each series of those that follow. */
static void after_a_limit_each_series_is_a_request(void **state)
{
    static const unsigned statuses[] = { 429, 200 };
    struct server *const server = begin(statuses, 2);
    struct push_endpoint_counters counters = { 0 };
    struct sender *const sender = make(server, 0, &counters);
    struct buffer body = { 0 }, part = { 0 };
    struct err err = { 0 };
    (void)state;
    protobuf_bytes(&body, 1, "first", 5);
    protobuf_bytes(&body, 1, "second", 6);
    assert_ok(sender_send_now(sender, &body, &err), &err);
    assert_ok(sender_send_now(sender, &body, &err), &err);
    assert_int_equal(atomic_load(&server->requests), 5);
    assert_int_equal(server->bytes[0], body.length);
    for (size_t i = 1; i < 5; i++) {
        buffer_clear(&part);
        protobuf_bytes(&part, 1, i % 2 ? "first" : "second", i % 2 ? 5 : 6);
        assert_int_equal(server->bytes[i], part.length);
        assert_memory_equal(server->bodies[i], part.data, part.length);
    }
    assert_int_equal(atomic_load(&counters.sent), 4);
    buffer_deinit(&body);
    buffer_deinit(&part);
    sender_destroy(sender);
    end(server);
}

static void a_refusal_keeps_both_ends_of_its_text_and_no_control_characters(void **state)
{
    static const unsigned statuses[] = { 400 };
    static const char piece[] = "labels \x1b[2J\r\n\xc2\x9b";
    struct server *const server = begin(statuses, 1);
    struct push_endpoint_counters counters = { 0 };
    const struct buffer body = { .data = (char[]){ "body" }, .length = 4 };
    struct sender *const sender = make(server, 0, &counters);
    char text[2001];
    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = piece[i % (sizeof piece - 1)];
    memcpy(text, "series 0:", 9);
    memcpy(text + sizeof text - 8, "too old", 8);
    server->text = text;
    assert_int_equal(sender_send_now(sender, &body, NULL), ERR_SYS);
    assert_non_null(strstr(sentence, "refuses a profile: 400 series 0:"));
    assert_string_equal(sentence + strlen(sentence) - 7, "too old");
    for (const char *at = sentence; *at; at++)
        assert_in_range(*at, ' ', '~');
    sender_destroy(sender);
    end(server);
}

static bool in_a_hurry(void)
{
    return true;
}

static void what_waits_and_what_is_lost_is_counted(void **state)
{
    static const unsigned statuses[] = { HANGS };
    struct server *const server = begin(statuses, 1);
    struct push_endpoint_counters counters = { 0 };
    const struct buffer body = { .data = (char[]){ "body" }, .length = 4 };
    struct sender *const sender = make(server, 0, &counters);
    struct err err = { 0 };
    (void)state;
    assert_ok(sender_start(sender, &err), &err);
    assert_ok(sender_add(sender, &body, &err), &err);
    wait_for_requests(server, 1);
    assert_int_equal(atomic_load(&counters.waiting), 1);
    assert_int_equal(atomic_load(&counters.memory_bytes), body.length);
    assert_ok(sender_add(sender, &body, &err), &err);
    assert_int_equal(atomic_load(&counters.waiting), 2);
    sender_finish(sender, clock_now_ns() + 60 * NS_PER_S, in_a_hurry);
    assert_int_equal(atomic_load(&counters.lost), 2);
    assert_int_equal(atomic_load(&counters.retries), 0);
    assert_int_equal(atomic_load(&counters.waiting), 0);
    sender_destroy(sender);
    end(server);
}

TEST_GROUP(cmocka_unit_test(an_error_of_the_receiver_is_final_after_a_while),
           cmocka_unit_test(an_error_of_the_receiver_is_tried_again),
           cmocka_unit_test(after_a_limit_each_series_is_a_request),
           cmocka_unit_test(a_refusal_keeps_both_ends_of_its_text_and_no_control_characters),
           cmocka_unit_test(what_waits_and_what_is_lost_is_counted))
