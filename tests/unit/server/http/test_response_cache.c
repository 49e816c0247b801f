#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/request.h"
#include "server/http/response_cache.h"
#include "tests/support/test.h"

struct exchange {
    struct request request;
    struct response response;
};

static void begin(struct exchange *exchange, const char *target, const char *tag,
                  const char *coding)
{
    request_init(&exchange->request, "GET", target);
    if (coding)
        request_add_header(&exchange->request, "Accept-Encoding", coding);
    response_init(&exchange->response);
    snprintf(exchange->response.tag, sizeof exchange->response.tag, "%s", tag);
}

static void end(struct exchange *exchange)
{
    response_deinit(&exchange->response);
    request_deinit(&exchange->request);
}

static void keep(struct response_cache *cache, const char *target, const char *tag,
                 size_t bytes)
{
    struct exchange exchange;
    begin(&exchange, target, tag, NULL);
    void *const body = calloc(1, bytes ? bytes : 1);
    response_own_body(&exchange.response, MIME_JSON, body, bytes);
    response_cache_keep(cache, &exchange.request, &exchange.response);
    end(&exchange);
}

/* The bytes of the answer, 0: there is none. */
static size_t take(struct response_cache *cache, const char *target, const char *tag,
                   const char *coding)
{
    struct exchange exchange;
    begin(&exchange, target, tag, coding);
    const bool has = response_cache_take(cache, &exchange.request, &exchange.response);
    const size_t bytes = has ? exchange.response.body_bytes : 0;
    assert_int_equal(exchange.response.is_encoded, has);
    end(&exchange);
    return bytes;
}

static void the_same_is_given_to_all_and_nothing_else(void **state)
{
    struct response_cache cache;
    (void)state;
    response_cache_init(&cache);
    keep(&cache, "/a?since=1", "e-1", 100);
    assert_int_equal(take(&cache, "/a?since=1", "e-1", NULL), 100);
    /* Whatever the tag says of the query. */
    assert_int_equal(take(&cache, "/a?since=2", "e-1", NULL), 0);
    assert_int_equal(take(&cache, "/a", "e-1", NULL), 0);
    assert_int_equal(take(&cache, "/a?since=1&since=1", "e-1", NULL), 0);
    assert_int_equal(take(&cache, "/a?since=1", "e-2", NULL), 0);
    assert_int_equal(take(&cache, "/b?since=1", "e-1", NULL), 0);
    assert_int_equal(take(&cache, "/a?since=1", "e-1", "gzip"), 0);
    keep(&cache, "/a?since=1", "e-1", 50); /* it is there */
    assert_int_equal(take(&cache, "/a?since=1", "e-1", NULL), 100);
    keep(&cache, "/empty", "e-1", 0);
    assert_int_equal(take(&cache, "/empty", "e-1", NULL), 0);
    response_cache_deinit(&cache);
}

static void what_is_compressed_stays_so(void **state)
{
    struct response_cache cache;
    struct exchange made, asked;
    (void)state;
    response_cache_init(&cache);
    begin(&made, "/a", "e-1", "gzip");
    void *const body = calloc(1, 10000);
    response_own_body(&made.response, MIME_JSON, body, 10000);
    response_finish(&made.response, &made.request);
    response_cache_keep(&cache, &made.request, &made.response);
    begin(&asked, "/a", "e-1", "gzip");
    assert_true(response_cache_take(&cache, &asked.request, &asked.response));
    response_finish(&asked.response, &asked.request);
    assert_string_equal(response_header(&asked.response, "Content-Encoding"), "gzip");
    assert_string_equal(response_header(&asked.response, "ETag"),
                        response_header(&made.response, "ETag"));
    assert_int_equal(asked.response.body_bytes, made.response.body_bytes);
    assert_memory_equal(asked.response.body, made.response.body, made.response.body_bytes);
    end(&asked);
    end(&made);
    response_cache_deinit(&cache);
}

static void the_one_unused_for_longest_goes(void **state)
{
    const size_t large = RESPONSE_CACHE_MAX_BYTES / 8;
    struct response_cache cache;
    char path[16];
    (void)state;
    response_cache_init(&cache);
    keep(&cache, "/too-large", "e", large + 1);
    assert_int_equal(take(&cache, "/too-large", "e", NULL), 0);
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "/%d", i);
        keep(&cache, path, "e", large);
    }
    assert_int_equal(take(&cache, "/0", "e", NULL), large);
    keep(&cache, "/8", "e", large);
    assert_int_equal(take(&cache, "/1", "e", NULL), 0);
    assert_int_equal(take(&cache, "/0", "e", NULL), large);
    assert_true(cache.bytes <= RESPONSE_CACHE_MAX_BYTES);
    for (int i = 10; i < 10 + RESPONSE_CACHE_MAX; i++) {
        snprintf(path, sizeof path, "/%d", i);
        keep(&cache, path, "e", 1);
    }
    assert_int_equal(take(&cache, "/0", "e", NULL), 0);
    assert_int_equal(take(&cache, "/10", "e", NULL), 1);
    assert_int_equal(cache.bytes, RESPONSE_CACHE_MAX);
    response_cache_deinit(&cache);
}

/* Keeps one for a viewer. */
static void keep_for_viewer(struct response_cache *cache, int number, size_t bytes)
{
    struct exchange exchange;
    char target[32];
    snprintf(target, sizeof target, "/viewer?focus=%d", number);
    begin(&exchange, target, "e", NULL);
    exchange.response.is_viewers = true;
    response_own_body(&exchange.response, MIME_JSON, calloc(1, bytes), bytes);
    response_cache_keep(cache, &exchange.request, &exchange.response);
    end(&exchange);
}

static void queries_of_viewers_leave_half_to_operators(void **state)
{
    const size_t large = RESPONSE_CACHE_MAX_BYTES / 8;
    struct response_cache cache;
    char path[16];
    (void)state;
    response_cache_init(&cache);
    for (int i = 0; i < RESPONSE_CACHE_MAX; i++) {
        snprintf(path, sizeof path, "/%d", i);
        keep(&cache, path, "e", 1);
    }
    for (int i = 0; i < 3 * RESPONSE_CACHE_MAX; i++)
        keep_for_viewer(&cache, i, i % 2 ? 1 : large);
    for (int i = RESPONSE_CACHE_MAX / 2; i < RESPONSE_CACHE_MAX; i++) {
        snprintf(path, sizeof path, "/%d", i);
        assert_int_equal(take(&cache, path, "e", NULL), 1);
    }
    /* And so it is in bytes, and the other way round. */
    for (int i = 0; i < 8; i++)
        keep(&cache, i % 2 ? "/a" : "/b", i % 4 < 2 ? "e" : "f", large);
    assert_true(cache.bytes <= RESPONSE_CACHE_MAX_BYTES);
    for (int i = 0; i < 20; i++)
        keep_for_viewer(&cache, 1000 + i, large);
    assert_int_equal(take(&cache, "/a", "e", NULL), large);
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof path, "/more/%d", i);
        keep(&cache, path, "e", large);
    }
    assert_int_equal(take(&cache, "/viewer?focus=1019", "e", NULL), large);
    response_cache_deinit(&cache);
}

static void count_release(void *owner)
{
    ++*(int *)owner;
}

/* Nothing is copied, and the bytes are there until the last one let them go. */
static void all_hold_the_same_bytes(void **state)
{
    static const char text[] = "the same bytes";
    struct response_cache cache;
    struct exchange made, asked;
    int released = 0;
    (void)state;
    response_cache_init(&cache);
    begin(&made, "/a", "e-1", NULL);
    response_hold_body(&made.response, MIME_TEXT, text, sizeof text, &released, count_release);
    response_cache_keep(&cache, &made.request, &made.response);
    begin(&asked, "/a", "e-1", NULL);
    assert_true(response_cache_take(&cache, &asked.request, &asked.response));
    assert_ptr_equal(made.response.body, text);
    assert_ptr_equal(asked.response.body, text);
    end(&made);
    response_cache_deinit(&cache);
    assert_int_equal(released, 0);
    end(&asked);
    assert_int_equal(released, 1);
}

TEST_GROUP(cmocka_unit_test(the_same_is_given_to_all_and_nothing_else),
           cmocka_unit_test(what_is_compressed_stays_so),
           cmocka_unit_test(the_one_unused_for_longest_goes),
           cmocka_unit_test(queries_of_viewers_leave_half_to_operators),
           cmocka_unit_test(all_hold_the_same_bytes))
