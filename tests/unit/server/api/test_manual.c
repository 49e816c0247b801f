#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/unit/server/client.h"
#include "tests/unit/server/fixture.h"

static void the_manual_is_one_document(void **state)
{
    static const char *const parts[] = {
        "<section id=\"manual\">",           "<section id=\"start\">",
        "<section id=\"recipes\">",          "id=\"views-flame-graph\"",
        "<code>GET /api/v1/sessions</code>", "</html>"
    };
    struct reply reply;
    char value[64];
    server_get(*state, "/manual", BEARER, &reply);
    assert_int_equal(reply.status, 200);
    reply_header(&reply, "Content-Type", value, sizeof value);
    assert_string_equal(value, "text/html; charset=utf-8");
    assert_int_equal(strncmp(reply.body, "<!doctype html>", 15), 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        assert_non_null(strstr(reply.body, parts[i]));
    reply_deinit(&reply);
}

/* Its own policy, not that of the page: no script but the one that sets the theme, and no request at all. */
static void a_browser_asks_for_nothing_else(void **state)
{
    struct reply page, manual;
    char of_page[2048], of_manual[2048];
    server_get(*state, "/", BEARER, &page);
    server_get(*state, "/manual", BEARER, &manual);
    reply_header(&page, "Content-Security-Policy", of_page, sizeof of_page);
    reply_header(&manual, "Content-Security-Policy", of_manual, sizeof of_manual);
    assert_string_not_equal(of_page, of_manual);
    assert_non_null(strstr(of_manual, "default-src 'none'"));
    assert_non_null(strstr(of_manual, "img-src data:"));
    assert_non_null(strstr(of_manual, "frame-ancestors 'none'"));
    assert_null(strstr(of_manual, "connect-src"));
    assert_null(strstr(of_manual, "'self'"));
    for (const char *at = manual.body; (at = strstr(at, " src=\"")); at++)
        assert_int_equal(strncmp(at, " src=\"data:image/webp;base64,", 29), 0);
    reply_deinit(&page);
    reply_deinit(&manual);
}

static void only_those_with_a_token_read_it(void **state)
{
    assert_int_equal(server_status(*state, "GET", "/manual", "", NULL), 401);
    assert_int_equal(server_status(*state, "HEAD", "/manual", BEARER, NULL), 200);
    assert_int_equal(server_status(*state, "GET", "/manual/", BEARER, NULL), 404);
}

static void it_is_only_read(void **state)
{
    struct reply reply;
    char allow[64];
    client_request(((const struct server *)*state)->port, "POST", "/manual", CHANGE, "{}",
                   &reply);
    assert_int_equal(reply.status, 405);
    reply_header(&reply, "Allow", allow, sizeof allow);
    assert_string_equal(allow, "GET, HEAD");
    reply_deinit(&reply);
}

TEST_GROUP(WITH_SERVER(the_manual_is_one_document),
           WITH_SERVER(a_browser_asks_for_nothing_else),
           WITH_SERVER(only_those_with_a_token_read_it), WITH_SERVER(it_is_only_read))
