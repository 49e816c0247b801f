#include <stdlib.h>
#include <string.h>

#include "server/api/query.h"
#include "server/http/request.h"
#include "tests/support/test.h"

struct target {
    const char *text;
    int refusal;
    const char *path;
};

static void targets_are_decoded_or_refused(void **state)
{
    static const struct target rows[] = {
        { "/", 0, "/" },
        { "/api/v1/sessions?since=3", 0, "/api/v1/sessions" },
        { "/a%20b%2Fc", 0, "/a b/c" },
        { "/plus+stays", 0, "/plus+stays" },
        { "/%e2%82%ac", 0, "/\xe2\x82\xac" },
        { "/%00", 400, "/" },
        { "/%", 400, "/" },
        { "/%4", 400, "/" },
        { "/%zz", 400, "/" },
        { "/?a=%00", 400, "/" },
        { "/?%=1", 400, "/" },
        { "", 400, "/" },
        { "*", 400, "/" },
        { "http://evil.example/", 400, "/" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct request request;
        request_init(&request, "GET", rows[i].text);
        assert_int_equal(request.refusal, rows[i].refusal);
        assert_string_equal(request.path, rows[i].path);
        request_deinit(&request);
    }
}

static void query_pairs_are_split_before_they_are_decoded(void **state)
{
    struct request request;
    (void)state;
    request_init(&request, "GET", "/?a=1%262&b=%3D&c&&d=+%2B&=e&a=second");
    assert_int_equal(request.refusal, 0);
    assert_string_equal(request_query(&request, "a"), "1&2");
    assert_string_equal(request_query(&request, "b"), "=");
    assert_string_equal(request_query(&request, "c"), "");
    assert_string_equal(request_query(&request, "d"), " +");
    assert_string_equal(request_query(&request, ""), "e");
    assert_null(request_query(&request, "A"));
    assert_int_equal(request.query_count, 6);
    request_deinit(&request);
}

static void long_targets_are_refused(void **state)
{
    char text[REQUEST_MAX_TARGET + 2];
    struct request request;
    (void)state;
    memset(text, 'a', sizeof text);
    text[0] = '/';
    text[REQUEST_MAX_TARGET] = '\0';
    request_init(&request, "GET", text);
    assert_int_equal(request.refusal, 0);
    request_deinit(&request);
    text[REQUEST_MAX_TARGET] = 'a';
    text[REQUEST_MAX_TARGET + 1] = '\0';
    request_init(&request, "GET", text);
    assert_int_equal(request.refusal, 414);
    request_deinit(&request);
}

static void too_many_pairs_or_headers_are_refused(void **state)
{
    char text[2 + 2 * (REQUEST_MAX_QUERY + 1) + 1] = "/?";
    struct request request;
    (void)state;
    for (int i = 0; i <= REQUEST_MAX_QUERY; i++)
        strcat(text, "a&");
    request_init(&request, "GET", text);
    assert_int_equal(request.refusal, 400);
    request_deinit(&request);
    request_init(&request, "GET", "/");
    for (int i = 0; i < REQUEST_MAX_HEADERS; i++)
        request_add_header(&request, "X", "y");
    assert_int_equal(request.refusal, 0);
    request_add_header(&request, "X", "y");
    assert_int_equal(request.refusal, 431);
    request_deinit(&request);
}

static void header_names_ignore_case(void **state)
{
    struct request request;
    (void)state;
    request_init(&request, "PATCH", "/");
    assert_int_equal(request.method, METHOD_PATCH);
    assert_false(request_is_safe(&request));
    request_add_header(&request, "hOsT", "one");
    request_add_header(&request, "HOST", "two");
    assert_string_equal(request_header(&request, "Host"), "one");
    assert_int_equal(request_count_headers(&request, "host"), 2);
    assert_null(request_header(&request, "Origin"));
    request_deinit(&request);
}

static void unknown_methods_are_other(void **state)
{
    static const char *const texts[] = { "", "get", "BREW", "OTHER", "GETS" };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct request request;
        request_init(&request, texts[i], "/");
        assert_int_equal(request.method, METHOD_OTHER);
        request_deinit(&request);
    }
}

struct query_row {
    const char *target;
    const char *fault; /* part of the message, NULL: accepted */
};

enum { ALL_PARAMETERS = QUERY_SINCE | QUERY_VIEW | QUERY_PAGE | QUERY_DUMP | QUERY_PULL };

static void parameters_are_checked(void **state)
{
    static const struct query_row rows[] = {
        { "/", NULL },
        { "/?since=0", NULL },
        { "/?since=4294967295", NULL },
        { "/?since=4294967296", "since" },
        { "/?since=99999999999999999999", "since" },
        { "/?since=", "since" },
        { "/?since=-1", "since" },
        { "/?since=1x", "since" },
        { "/?since=+1", "since" },
        { "/?since=1&since=1", "given twice" },
        { "/?from=0.5&to=1.25", NULL },
        { "/?from=.5", NULL },
        { "/?from=1e3", "from" },
        { "/?from=nan", "from" },
        { "/?from=1.2.3", "from" },
        { "/?from=.", "from" },
        { "/?from=9999999999999", "from" },
        { "/?to=0", "to" },
        { "/?from=2&to=2", "later" },
        { "/?thread=1&thread=2&process=0", NULL },
        { "/?thread=a", "thread" },
        { "/?process=-0", "process" },
        { "/?format=collapsed", "unknown parameter \"format\"" },
        { "/?evil=%3Cscript%3E", "unknown parameter \"evil\"" },
        { "/?Since=1", "Since" },
        { "/?limit=0", "want a whole number from 1 to 4096" },
        { "/?limit=4096&offset=0", NULL },
        { "/?limit=4097", "limit" },
        { "/?tasks=yes", "want 1 or 0" },
        { "/?tasks=1", NULL },
        { "/?state=sleepy", "\"state\"" },
        { "/?seconds=301", "want a whole number from 1 to 300" },
        { "/?pid=2147483648", "pid" },
        { "/?pid=1&seconds=1&rate_hz=1000", NULL },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct request request;
        struct query query;
        struct err err = { 0 };
        request_init(&request, "GET", rows[i].target);
        const enum err_code rc = query_read(&request, ALL_PARAMETERS, &query, &err);
        assert_int_equal(rc, rows[i].fault ? ERR_INVALID : ERR_OK);
        if (rows[i].fault)
            assert_non_null(strstr(err.message, rows[i].fault));
        request_deinit(&request);
    }
}

static uint64_t hash_of(const char *target)
{
    struct request request;
    struct query query;
    request_init(&request, "GET", target);
    assert_int_equal(query_read(&request, ALL_PARAMETERS, &query, NULL), ERR_OK);
    const uint64_t hash = query_hash(&query);
    request_deinit(&request);
    return hash;
}

static void equal_queries_hash_alike_and_others_do_not(void **state)
{
    (void)state;
    assert_true(hash_of("/?thread=1&thread=2") == hash_of("/?thread=2&thread=01"));
    assert_true(hash_of("/?from=1&to=2") == hash_of("/?to=2.0&from=1.000"));
    assert_true(hash_of("/?thread=1") != hash_of("/?process=1"));
    assert_true(hash_of("/?thread=1&thread=2") != hash_of("/?thread=1&process=2"));
    assert_true(hash_of("/?since=1") != hash_of("/"));
    assert_true(hash_of("/?from=1") != hash_of("/?to=1"));
}

static void seconds_become_nanoseconds(void **state)
{
    struct request request;
    struct query query;
    (void)state;
    request_init(&request, "GET", "/?from=0.25&to=1.5&thread=7");
    assert_int_equal(query_read(&request, ALL_PARAMETERS, &query, NULL), ERR_OK);
    assert_int_equal(query.view.from_ns, 250000000);
    assert_int_equal(query.view.to_ns, 1500000000);
    assert_int_equal(query.view.thread_count, 1);
    assert_int_equal(query.view.threads[0], 7);
    assert_null(query.view.processes);
    request_deinit(&request);
}

TEST_GROUP(cmocka_unit_test(targets_are_decoded_or_refused),
           cmocka_unit_test(query_pairs_are_split_before_they_are_decoded),
           cmocka_unit_test(long_targets_are_refused),
           cmocka_unit_test(too_many_pairs_or_headers_are_refused),
           cmocka_unit_test(header_names_ignore_case),
           cmocka_unit_test(unknown_methods_are_other),
           cmocka_unit_test(parameters_are_checked),
           cmocka_unit_test(equal_queries_hash_alike_and_others_do_not),
           cmocka_unit_test(seconds_become_nanoseconds))
