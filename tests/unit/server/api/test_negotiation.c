#include <string.h>

#include "server/api/routes.h"
#include "server/http/accept.h"
#include "server/http/encoding.h"
#include "server/http/etag.h"
#include "server/http/json_body.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "tests/support/test.h"

struct accept_row {
    const char *accept;
    enum encoding encoding;
};

static void encodings_follow_what_the_client_offers(void **state)
{
    static const struct accept_row rows[] = {
        { NULL, ENCODING_IDENTITY },
        { "", ENCODING_IDENTITY },
        { "identity", ENCODING_IDENTITY },
        { "br", ENCODING_IDENTITY },
        { "gzip, deflate", ENCODING_GZIP },
        { "gzip, deflate, br, zstd", ENCODING_ZSTD },
        { "zstd", ENCODING_ZSTD },
        { "ZSTD;q=0.1,gzip;q=1", ENCODING_ZSTD },
        { "zstd;q=0, gzip", ENCODING_GZIP },
        { "zstd;q=0.000, gzip;q=0.001", ENCODING_GZIP },
        { "gzip ; q=0", ENCODING_IDENTITY },
        { "gzip;q=0, *", ENCODING_IDENTITY },
        { "*", ENCODING_GZIP },
        { "*;q=0", ENCODING_IDENTITY },
        { "gzipped", ENCODING_IDENTITY },
        { "x-gzip", ENCODING_IDENTITY },
        { "gzip;", ENCODING_GZIP },
        { "gzip;q", ENCODING_GZIP },
        { ",,, gzip", ENCODING_GZIP },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(encoding_choose(rows[i].accept), rows[i].encoding);
}

static void media_types_follow_weights_and_precision(void **state)
{
    static const char *const types[] = { "application/json", "text/markdown", "text/plain" };
    static const struct {
        const char *accept;
        size_t chosen;
    } rows[] = {
        { NULL, 0 },
        { "", 0 },
        { "*/*", 0 },
        { "text/html", 0 },
        { "text/plain", 2 },
        { "TEXT/Markdown", 1 },
        { "text/*", 1 },
        { "text/*;q=0.5, */*;q=0.1", 1 },
        { "text/markdown;q=0.2, text/plain;q=0.20", 1 },
        { "text/markdown;q=0.2, text/plain;q=0.3", 2 },
        { "text/markdown;q=0, text/*", 2 },
        { "application/json;q=0, */*;q=0.5", 1 },
        { "text/html,application/xhtml+xml,*/*;q=0.8", 0 },
        { "text/plain;charset=utf-8 ; q=0.9, application/json;q=0.8", 2 },
        { "text/plainer", 0 },
        { "text/", 0 },
        { ";q=1,,text/plain;q=", 2 },
        { "text/plain;", 2 },
        { "text/plain;q=0.0009999999999999", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (accept_choose(rows[i].accept, types, 3) != rows[i].chosen)
            fail_msg("%s", rows[i].accept ? rows[i].accept : "none");
}

struct tag_row {
    const char *if_none_match;
    bool matches;
};

static void tags_are_compared_weakly(void **state)
{
    static const struct tag_row rows[] = {
        { "\"a-1\"", true },
        { "W/\"a-1\"", true },
        { "*", true },
        { " * ", true },
        { "\"x\", \"a-1\"", true },
        { "\"x\",W/\"a-1\" , \"y\"", true },
        { "\"x, \", \"a-1\"", true },
        { "", false },
        { "a-1", false },
        { "\"a-1", false },
        { "\"a-11\"", false },
        { "\"A-1\"", false },
        { "\"a-\"", false },
        { "\"\"", false },
        { "w/\"a-1\"", false },
        { "\"x\" a-1", false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(etag_matches(rows[i].if_none_match, "a-1"), rows[i].matches);
}

struct route_row {
    const char *method, *path;
    const char *pattern; /* NULL: none */
    const char *argument;
    const char *allow;
};

static void routes_are_found_by_method_and_path(void **state)
{
    static const struct route_row rows[] = {
        { "GET", "/", "/", "", "" },
        { "HEAD", "/", "/", "", "" },
        { "GET", "/healthz", "/healthz", "", "" },
        { "GET", "/api/v1/sessions", "/api/v1/sessions", "", "" },
        { "GET", "/api/v1/sessions/7", "/api/v1/sessions/*", "7", "" },
        { "PATCH", "/api/v1/sessions/7", "/api/v1/sessions/*", "7", "" },
        { "DELETE", "/api/v1/sessions/7", "/api/v1/sessions/*", "7", "" },
        { "POST", "/api/v1/sessions", "/api/v1/sessions", "", "" },
        { "GET", "/api/v1/sessions/1/tree", "/api/v1/sessions/*/tree", "1", "" },
        { "GET", "/api/v1/sessions/1/report.html", "/api/v1/sessions/*/report.html", "1", "" },
        { "POST", "/", NULL, "", "GET, HEAD" },
        { "PUT", "/api/v1/sessions/1", NULL, "", "GET, HEAD, PATCH, DELETE" },
        { "BREW", "/healthz", NULL, "", "GET, HEAD" },
        { "GET", "/api/v1/sessions/", NULL, "", "" },
        { "GET", "/api/v1/sessions//tree", NULL, "", "" },
        { "GET", "/api/v1/sessions/1/tree/", NULL, "", "" },
        { "GET", "/api/v1/sessions/1/trees", NULL, "", "" },
        { "GET", "/api/v1/sessions/1/2/tree", NULL, "", "" },
        { "GET", "//", NULL, "", "" },
        { "GET", "/index.html", NULL, "", "" },
        { "GET", "/api/v1/sessions/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL, "", "" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct request request;
        char argument[32], allow[ROUTES_ALLOW_BYTES];
        request_init(&request, rows[i].method, rows[i].path);
        const struct route *const route = routes_find(&request, argument, allow);
        if (!rows[i].pattern) {
            assert_null(route);
            assert_string_equal(allow, rows[i].allow);
        } else {
            assert_non_null(route);
            assert_string_equal(route->pattern, rows[i].pattern);
            assert_string_equal(argument, rows[i].argument);
        }
        request_deinit(&request);
    }
}

static void header_values_cannot_break_out(void **state)
{
    struct response response;
    (void)state;
    response_init(&response);
    response_set_header(&response, "Location", "/%s", "x\r\nSet-Cookie: a=b\x7f");
    assert_string_equal(response_header(&response, "location"), "/x__Set-Cookie: a=b_");
    response_set_header(&response, "LOCATION", "/y");
    assert_int_equal(response.header_count, 1);
    assert_string_equal(response_header(&response, "Location"), "/y");
    response_deinit(&response);
}

static void problems_are_json_whatever_they_tell(void **state)
{
    struct response response;
    (void)state;
    response_init(&response);
    response_problem(&response, 404, "no session %s", "\"<script>\n");
    static const char wanted[] =
        "{\"type\":\"about:blank\",\"title\":\"Not Found\","
        "\"status\":404,\"detail\":\"no session \\\"\\u003cscript>\\n\"}";
    assert_int_equal(response.body_bytes, sizeof wanted - 1);
    assert_memory_equal(response.body, wanted, sizeof wanted - 1);
    assert_string_equal(response.mime, "application/problem+json");
    response_deinit(&response);
}

struct body_row {
    const char *text;
    const char *fault; /* part of the message, NULL: accepted */
};

static void bodies_are_objects_of_known_texts(void **state)
{
    static const struct body_row rows[] = {
        { "{\"state\":\"paused\"}", NULL },
        { " {\"state\" : \"paused\" } \n", NULL },
        { "{}", NULL },
        { "", "not a JSON object" },
        { "[]", "not a JSON object" },
        { "\"state\"", "not a JSON object" },
        { "{\"state\":\"paused\"", "not a JSON object" },
        { "{\"state\":\"paused\"}x", "not a JSON object" },
        { "{\"state\":\"a\",\"state\":\"b\"}", "given twice" },
        { "{\"state\":1}", "short text" },
        { "{\"state\":null}", NULL },
        { "{\"state\":[\"paused\"]}", "short text" },
        { "{\"State\":\"paused\"}", "unknown member \"State\"" },
        { "{\"__proto__\":\"x\"}", "unknown member" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct body_member member = { .name = "state" };
        struct err err = { 0 };
        const enum err_code rc =
            body_read(rows[i].text, strlen(rows[i].text), &member, 1, &err);
        assert_int_equal(rc, rows[i].fault ? ERR_INVALID : ERR_OK);
        if (rows[i].fault)
            assert_non_null(strstr(err.message, rows[i].fault));
        else if (member.is_present)
            assert_string_equal(member.text, "paused");
    }
}

static void deeply_nested_bodies_are_refused(void **state)
{
    static char text[REQUEST_MAX_BODY];
    struct body_member member = { .name = "state" };
    (void)state;
    memset(text, '[', sizeof text);
    assert_int_equal(body_read(text, sizeof text, &member, 1, NULL), ERR_INVALID);
}

TEST_GROUP(cmocka_unit_test(encodings_follow_what_the_client_offers),
           cmocka_unit_test(media_types_follow_weights_and_precision),
           cmocka_unit_test(tags_are_compared_weakly),
           cmocka_unit_test(routes_are_found_by_method_and_path),
           cmocka_unit_test(header_values_cannot_break_out),
           cmocka_unit_test(problems_are_json_whatever_they_tell),
           cmocka_unit_test(bodies_are_objects_of_known_texts),
           cmocka_unit_test(deeply_nested_bodies_are_refused))
