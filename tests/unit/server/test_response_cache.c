#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/http/request.h"
#include "server/http/response_cache.h"

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

static void keep(struct answers *answers, const char *target, const char *tag, size_t bytes)
{
    struct exchange exchange;
    begin(&exchange, target, tag, NULL);
    void *const body = calloc(1, bytes ? bytes : 1);
    response_own_body(&exchange.response, MIME_JSON, body, bytes);
    answers_keep(answers, &exchange.request, &exchange.response);
    end(&exchange);
}

/* The bytes of the answer, 0: there is none. */
static size_t take(struct answers *answers, const char *target, const char *tag,
                   const char *coding)
{
    struct exchange exchange;
    begin(&exchange, target, tag, coding);
    const bool has = answers_take(answers, &exchange.request, &exchange.response);
    const size_t bytes = has ? exchange.response.body_bytes : 0;
    assert_int_equal(exchange.response.is_encoded, has);
    end(&exchange);
    return bytes;
}

static void the_same_is_given_to_all_and_nothing_else(void **state)
{
    struct answers answers;
    (void)state;
    answers_init(&answers);
    keep(&answers, "/a?since=1", "e-1", 100);
    assert_int_equal(take(&answers, "/a?since=1", "e-1", NULL), 100);
    assert_int_equal(take(&answers, "/a", "e-1", NULL), 100); /* the tag has the query */
    assert_int_equal(take(&answers, "/a", "e-2", NULL), 0);
    assert_int_equal(take(&answers, "/b", "e-1", NULL), 0);
    assert_int_equal(take(&answers, "/a", "e-1", "gzip"), 0);
    keep(&answers, "/a", "e-1", 50); /* it is there */
    assert_int_equal(take(&answers, "/a", "e-1", NULL), 100);
    keep(&answers, "/empty", "e-1", 0);
    assert_int_equal(take(&answers, "/empty", "e-1", NULL), 0);
    answers_deinit(&answers);
}

static void what_is_compressed_stays_so(void **state)
{
    struct answers answers;
    struct exchange made, asked;
    (void)state;
    answers_init(&answers);
    begin(&made, "/a", "e-1", "gzip");
    void *const body = calloc(1, 10000);
    response_own_body(&made.response, MIME_JSON, body, 10000);
    response_finish(&made.response, &made.request);
    answers_keep(&answers, &made.request, &made.response);
    begin(&asked, "/a", "e-1", "gzip");
    assert_true(answers_take(&answers, &asked.request, &asked.response));
    response_finish(&asked.response, &asked.request);
    assert_string_equal(response_header(&asked.response, "Content-Encoding"), "gzip");
    assert_string_equal(response_header(&asked.response, "ETag"),
                        response_header(&made.response, "ETag"));
    assert_int_equal(asked.response.body_bytes, made.response.body_bytes);
    assert_memory_equal(asked.response.body, made.response.body, made.response.body_bytes);
    end(&asked);
    end(&made);
    answers_deinit(&answers);
}

static void the_one_unused_for_longest_goes(void **state)
{
    const size_t large = ANSWERS_MAX_BYTES / 8;
    struct answers answers;
    char path[16];
    (void)state;
    answers_init(&answers);
    keep(&answers, "/too-large", "e", large + 1);
    assert_int_equal(take(&answers, "/too-large", "e", NULL), 0);
    for (int i = 0; i < 8; i++) {
        snprintf(path, sizeof path, "/%d", i);
        keep(&answers, path, "e", large);
    }
    assert_int_equal(take(&answers, "/0", "e", NULL), large);
    keep(&answers, "/8", "e", large);
    assert_int_equal(take(&answers, "/1", "e", NULL), 0);
    assert_int_equal(take(&answers, "/0", "e", NULL), large);
    assert_true(answers.bytes <= ANSWERS_MAX_BYTES);
    for (int i = 10; i < 10 + ANSWERS_MAX; i++) {
        snprintf(path, sizeof path, "/%d", i);
        keep(&answers, path, "e", 1);
    }
    assert_int_equal(take(&answers, "/0", "e", NULL), 0);
    assert_int_equal(take(&answers, "/10", "e", NULL), 1);
    assert_int_equal(answers.bytes, ANSWERS_MAX);
    answers_deinit(&answers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_given_to_all_and_nothing_else),
        cmocka_unit_test(what_is_compressed_stays_so),
        cmocka_unit_test(the_one_unused_for_longest_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
