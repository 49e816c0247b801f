#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http/client.h"
#include "server/http/delivery.h"
#include "server/http/http.h"
#include "server/http/listen.h"
#include "server/http/response.h"
#include "tests/support/test.h"
#include "tests/unit/server/client.h"

static struct response response_of(size_t bytes)
{
    struct response response;
    char *const body = malloc(bytes);
    assert_non_null(body);
    memset(body, 'x', bytes);
    response_init(&response);
    response_own_body(&response, MIME_TEXT, body, bytes);
    return response;
}

static const struct client operator_client = { .standing = CLIENT_OPERATOR };

static struct delivery *deliver(struct delivery_pool *pool, const struct client *client,
                                size_t bytes)
{
    struct delivery *delivery = NULL;
    struct err err = { 0 };
    struct response response = response_of(bytes);
    assert_ok(delivery_create(pool, client, &response, &delivery, &err), &err);
    response_deinit(&response);
    return delivery;
}

static void what_is_sent_is_what_was_made(void **state)
{
    struct delivery_pool pool = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct delivery *const delivery = deliver(&pool, &operator_client, 1000);
    char out[600];
    (void)state;
    assert_int_equal(delivery_read(delivery, 0, out, sizeof out), 600);
    assert_int_equal(delivery_read(delivery, 600, out, sizeof out), 400);
    assert_int_equal(delivery_read(delivery, 1000, out, sizeof out), 0);
    assert_int_equal(delivery_read(delivery, 2000, out, sizeof out), 0);
    assert_int_equal(out[0], 'x');
    assert_int_equal(pool.cost.memory, 1000);
    delivery_destroy(delivery);
    assert_int_equal(pool.cost.memory, 0);
    delivery_destroy(NULL);
}

static void a_file_that_became_shorter_is_a_failure(void **state)
{
    struct delivery_pool pool = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct delivery *delivery = NULL;
    struct response response;
    struct err err = { 0 };
    char path[] = "/tmp/pyrometer-delivery.XXXXXX", out[100];
    const int fd = mkstemp(path);
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "0123456789", 10), 10);
    response_init(&response);
    response_own_file(&response, MIME_TEXT, fd, 20);
    assert_ok(delivery_create(&pool, &operator_client, &response, &delivery, &err), &err);
    assert_int_equal(delivery_read(delivery, 2, out, sizeof out), 8);
    assert_memory_equal(out, "23456789", 8);
    assert_int_equal(delivery_read(delivery, 10, out, sizeof out), -1);
    /* It has a name: it is there anyway. */
    assert_int_equal(pool.cost.disk, 0);
    delivery_destroy(delivery);
    unlink(path);
}

static bool is_refused(struct delivery_pool *pool, const struct client *client, size_t bytes)
{
    struct delivery *more = NULL;
    struct response response = response_of(bytes);
    const enum err_code rc = delivery_create(pool, client, &response, &more, NULL);
    /* It still has its body. */
    assert_int_equal(response.body_bytes, bytes);
    assert_int_equal(response.owner != NULL, rc != ERR_OK);
    response_deinit(&response);
    delivery_destroy(more);
    assert_true(rc == ERR_OK || rc == ERR_LIMIT);
    return rc != ERR_OK;
}

static void what_nobody_reads_has_a_limit(void **state)
{
    enum { EACH = 64 << 20, MOST = DELIVERY_MAX_MEMORY / EACH };
    struct delivery_pool pool = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct delivery *held[MOST];
    (void)state;
    for (uint32_t i = 0; i < MOST; i++) {
        const struct client one = { .standing = CLIENT_OPERATOR, .id = i / 2 + 1 };
        held[i] = deliver(&pool, &one, EACH);
    }
    assert_true(is_refused(&pool, &operator_client, 1));
    delivery_destroy(held[1]);
    assert_false(is_refused(&pool, &operator_client, 1));
    delivery_destroy(held[0]);
    for (size_t i = 2; i < MOST; i++)
        delivery_destroy(held[i]);
    assert_int_equal(pool.cost.memory, 0);
    assert_null(pool.first);
}

static void one_client_and_all_viewers_have_a_part_of_it(void **state)
{
    const size_t part = DELIVERY_MAX_MEMORY / 4;
    const struct client viewers[] = { { .standing = CLIENT_VIEWER, .id = 1 },
                                      { .standing = CLIENT_VIEWER, .id = 2 },
                                      { .standing = CLIENT_VIEWER, .id = 3 } };
    struct delivery_pool pool = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct delivery *held[4];
    (void)state;
    held[0] = deliver(&pool, &viewers[0], part);
    assert_true(is_refused(&pool, &viewers[0], 1));
    held[1] = deliver(&pool, &viewers[1], part);
    assert_true(is_refused(&pool, &viewers[2], 1));
    held[2] = deliver(&pool, &operator_client, 2 * part - 1);
    assert_true(is_refused(&pool, &operator_client, 2));
    held[3] = deliver(&pool, &operator_client, 1);
    for (size_t i = 0; i < 4; i++)
        delivery_destroy(held[i]);
}

static void and_so_it_is_with_descriptors(void **state)
{
    enum { PART = DELIVERY_MAX_FILES / 4 };
    const struct client viewer = { .standing = CLIENT_VIEWER, .id = 1 };
    struct delivery_pool pool = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct delivery *held[PART] = { NULL }, *more = NULL;
    struct response response;
    (void)state;
    for (size_t i = 0; i <= PART; i++) {
        const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        response_init(&response);
        response_own_file(&response, MIME_TEXT, fd, 1);
        assert_int_equal(
            delivery_create(&pool, &viewer, &response, i < PART ? &held[i] : &more, NULL),
            i < PART ? ERR_OK : ERR_LIMIT);
        response_deinit(&response);
    }
    for (size_t i = 0; i < PART; i++)
        delivery_destroy(held[i]);
}

static void files_without_a_name_have_one_too(void **state)
{
    struct delivery_pool pool = { .lock = PTHREAD_MUTEX_INITIALIZER,
                                  .cost.disk = DELIVERY_MAX_DISK };
    struct delivery *delivery = NULL;
    struct response response;
    struct err err = { 0 };
    char path[] = "/tmp/pyrometer-delivery.XXXXXX";
    (void)state;
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    response_init(&response);
    response_own_file(&response, MIME_TEXT, fd, 1);
    assert_int_equal(delivery_create(&pool, &operator_client, &response, &delivery, &err),
                     ERR_LIMIT);
    assert_int_equal(pool.cost.disk, DELIVERY_MAX_DISK);
    response_deinit(&response);
}

static void who_is_too_slow_is_cut_off(void **state)
{
    const uint64_t window_ns = DELIVERY_WINDOW_NS, least = DELIVERY_SLOWEST;
    struct delivery_pace pace = { .since_ns = 5 };
    (void)state;
    /* However little it is, until the window is over. */
    assert_true(delivery_keeps_pace(&pace, 0, 5 + window_ns - 1));
    assert_true(delivery_keeps_pace(&pace, least, 5 + window_ns));
    assert_true(delivery_keeps_pace(&pace, least, 5 + 2 * window_ns - 1));
    /* Bytes that were read fast before do not count. */
    assert_false(delivery_keeps_pace(&pace, 2 * least - 1, 5 + 2 * window_ns));
}

/* All are one operator. */
enum { LARGE = 16 << 20, UNREAD = DELIVERY_MAX_MEMORY / 2 / LARGE };

static void answer_large(void *context, struct request *request, struct response *response)
{
    (void)context;
    (void)request;
    response_own_body(response, MIME_TEXT, calloc(1, LARGE), LARGE);
}

/* The status of an answer that is not read; the connection stays open. */
static int ask(unsigned port, int *fd_out)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char line[13] = "";
    const int fd = client_connect(port), room = 4096;
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    client_send(fd, request, sizeof request - 1);
    assert_int_equal(recv(fd, line, sizeof line - 1, MSG_WAITALL), sizeof line - 1);
    *fd_out = fd;
    return atoi(line + strlen("HTTP/1.1 "));
}

static void a_server_holds_so_much_for_those_who_do_not_read(void **state)
{
    struct listen_address address = { .host = "127.0.0.1" };
    struct listener listener;
    struct http *http = NULL;
    struct err err = { 0 };
    int held[UNREAD], more = -1, status = 0;
    (void)state;
    assert_ok(listen_open(&address, &listener, &err), &err);
    const struct http_options options = { .listen_fd = listener.fd, .handler = answer_large };
    assert_ok(http_start(&options, &http, &err), &err);
    for (size_t i = 0; i < UNREAD; i++)
        assert_int_equal(ask(listener.port, &held[i]), 200);
    assert_int_equal(ask(listener.port, &more), 503);
    close(more);
    close(held[0]);
    for (int tries = 0; tries < 1000 && status != 200; tries++) {
        usleep(10000);
        status = ask(listener.port, &more);
        close(more);
    }
    assert_int_equal(status, 200);
    for (size_t i = 1; i < UNREAD; i++)
        close(held[i]);
    http_stop(http);
}

TEST_GROUP(cmocka_unit_test(what_is_sent_is_what_was_made),
           cmocka_unit_test(a_file_that_became_shorter_is_a_failure),
           cmocka_unit_test(what_nobody_reads_has_a_limit),
           cmocka_unit_test(one_client_and_all_viewers_have_a_part_of_it),
           cmocka_unit_test(and_so_it_is_with_descriptors),
           cmocka_unit_test(files_without_a_name_have_one_too),
           cmocka_unit_test(who_is_too_slow_is_cut_off),
           cmocka_unit_test(a_server_holds_so_much_for_those_who_do_not_read))
