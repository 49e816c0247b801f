#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "server/access/auth.h"
#include "server/access/hosts.h"
#include "server/access/logins.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "tests/support/test.h"

static const char token[] = "0123456789abcdef-the-token";

static int setup(void **state)
{
    struct auth *const auth = calloc(1, sizeof *auth);
    if (!auth || auth_init(auth, true, token, 7997, NULL) != ERR_OK ||
        logins_create(&auth->logins, NULL) != ERR_OK)
        return -1;
    *state = auth;
    return 0;
}

static int teardown(void **state)
{
    struct auth *const auth = *state;
    logins_destroy(auth->logins);
    free(auth);
    return 0;
}

static enum scope scope_with(const struct auth *auth, const char *name, const char *value)
{
    struct request request;
    request_init(&request, "GET", "/");
    request_add_header(&request, name, value);
    struct identity who;
    auth_identify(auth, &request, &who);
    request_deinit(&request);
    return who.scope;
}

static void random_secrets_differ_and_are_long(void **state)
{
    struct auth a, b;
    (void)state;
    assert_int_equal(auth_init(&a, true, NULL, 1, NULL), ERR_OK);
    assert_int_equal(auth_init(&b, true, NULL, 1, NULL), ERR_OK);
    assert_int_equal(strlen(a.token), AUTH_SECRET_LENGTH);
    assert_int_equal(strspn(a.token, "0123456789abcdef"), AUTH_SECRET_LENGTH);
    assert_string_not_equal(a.token, b.token);
    assert_string_not_equal(a.token, a.once);
}

static void secrets_are_compared_whole(void **state)
{
    (void)state;
    assert_true(auth_secret_equals("secret", "secret"));
    assert_false(auth_secret_equals("secret", "secres"));
    assert_false(auth_secret_equals("secret", "Secret"));
    assert_false(auth_secret_equals("secret", "secre"));
    assert_false(auth_secret_equals("secret", "secrets"));
    assert_false(auth_secret_equals("secret", ""));
    assert_false(auth_secret_equals("", ""));
}

static void bearer_tokens_open(void **state)
{
    struct auth *const auth = *state;
    char value[256];
    snprintf(value, sizeof value, "Bearer %s", token);
    assert_int_equal(scope_with(auth, "Authorization", value), SCOPE_OPERATOR);
    snprintf(value, sizeof value, "bearer   %s", token);
    assert_int_equal(scope_with(auth, "authorization", value), SCOPE_OPERATOR);
    snprintf(value, sizeof value, "Bearer %sx", token);
    assert_int_equal(scope_with(auth, "Authorization", value), SCOPE_OPEN);
    assert_int_equal(scope_with(auth, "Authorization", "Bearer "), SCOPE_OPEN);
    assert_int_equal(scope_with(auth, "Authorization", token), SCOPE_OPEN);
    assert_int_equal(scope_with(auth, "Authorization", ""), SCOPE_OPEN);
    /* "x:0123456789abcdef-the-token", and without a colon, and another one */
    assert_int_equal(
        scope_with(auth, "Authorization", "Basic eDowMTIzNDU2Nzg5YWJjZGVmLXRoZS10b2tlbg=="),
        SCOPE_OPERATOR);
    assert_int_equal(
        scope_with(auth, "Authorization", "Basic MDEyMzQ1Njc4OWFiY2RlZi10aGUtdG9rZW4="),
        SCOPE_OPEN);
    assert_int_equal(scope_with(auth, "Authorization", "Basic eDo="), SCOPE_OPEN);
    assert_int_equal(scope_with(auth, "Authorization", "Basic !"), SCOPE_OPEN);
    assert_int_equal(scope_with(auth, "Authorization", "Basic "), SCOPE_OPEN);
}

struct cookie_row {
    const char *before, *after; /* of the cookie's value */
    enum scope scope;
};

static void cookies_open_and_the_token_is_no_cookie(void **state)
{
    static const struct cookie_row rows[] = {
        { "pyrometer-7997=", "", SCOPE_OPERATOR },
        { "a=b; pyrometer-7997=", "; c=d", SCOPE_OPERATOR },
        { "pyrometer-7997=stale;pyrometer-7997=", "", SCOPE_OPERATOR },
        { "pyrometer-7998=", "", SCOPE_OPEN },
        { "xpyrometer-7997=", "", SCOPE_OPEN },
        { "pyrometer-7997=", "x", SCOPE_OPEN },
        { "pyrometer-7997=\"", "\"", SCOPE_OPEN },
        { "a=pyrometer-7997=", "", SCOPE_OPEN },
    };
    struct auth *const auth = *state;
    char value[256];
    char cookie[AUTH_SECRET_LENGTH + 1];
    assert_int_equal(logins_add(auth->logins, clock_now_ns(), cookie, NULL), ERR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(value, sizeof value, "%s%s%s", rows[i].before, cookie, rows[i].after);
        assert_int_equal(scope_with(auth, "Cookie", value), rows[i].scope);
    }
    snprintf(value, sizeof value, "pyrometer-7997=%s", token);
    assert_int_equal(scope_with(auth, "Cookie", value), SCOPE_OPEN);
}

static bool login(struct auth *auth, const char *method, const char *target,
                  struct response *response)
{
    struct request request;
    response_init(response);
    request_init(&request, method, target);
    const bool handled = auth_login(auth, &request, response);
    request_deinit(&request);
    return handled;
}

/* The name and the value of the cookie that was set for the session of a browser. */
static void take_cookie(const struct response *response, char out[256])
{
    const char *const set = response_header(response, "Set-Cookie");
    assert_non_null(set);
    assert_int_equal(strncmp(set, "pyrometer-7997=", 15), 0);
    assert_int_equal(strspn(set + 15, "0123456789abcdef"), AUTH_SECRET_LENGTH);
    assert_string_equal(set + 15 + AUTH_SECRET_LENGTH, "; HttpOnly; SameSite=Lax; Path=/");
    snprintf(out, 256, "%.*s", 15 + AUTH_SECRET_LENGTH, set);
}

static void right_token_is_exchanged_for_a_cookie(void **state)
{
    struct auth *const auth = *state;
    struct response response;
    char target[256], cookie[256];
    snprintf(target, sizeof target, "/?v=1&token=%s&q=a%%26b%%0d%%0aX:y", token);
    assert_true(login(auth, "GET", target, &response));
    assert_int_equal(response.status, 303);
    assert_string_equal(response_header(&response, "Location"), "/?v=1&q=a%26b%0D%0AX%3Ay");
    take_cookie(&response, cookie);
    assert_int_equal(scope_with(auth, "Cookie", cookie), SCOPE_OPERATOR);
    response_deinit(&response);
}

static void each_login_has_a_cookie_that_ends(void **state)
{
    struct auth *const auth = *state;
    struct response response;
    struct request request;
    char target[256], cookies[2][256];
    snprintf(target, sizeof target, "/?token=%s", token);
    for (size_t i = 0; i < 2; i++) {
        assert_true(login(auth, "GET", target, &response));
        take_cookie(&response, cookies[i]);
        response_deinit(&response);
    }
    assert_string_not_equal(cookies[0], cookies[1]);
    request_init(&request, "DELETE", "/api/v1/access");
    request_add_header(&request, "Cookie", cookies[0]);
    response_init(&response);
    auth_renew(auth, &request, &response);
    assert_null(response_header(&response, "Set-Cookie"));
    auth_logout(auth, &request, &response);
    assert_string_equal(response_header(&response, "Set-Cookie"),
                        "pyrometer-7997=; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
    response_deinit(&response);
    request_deinit(&request);
    assert_int_equal(scope_with(auth, "Cookie", cookies[0]), SCOPE_OPEN);
    assert_int_equal(scope_with(auth, "Cookie", cookies[1]), SCOPE_OPERATOR);
}

static enum scope recognized(struct auth *auth, const char *target, const char *name,
                             const char *value)
{
    struct request request;
    struct identity who;
    request_init(&request, "GET", target);
    request_add_header(&request, name, value);
    auth_recognize(auth, &request, &who);
    request_deinit(&request);
    return who.scope;
}

static void who_brings_a_secret_is_known(void **state)
{
    struct auth *const auth = *state;
    char value[256], target[256];
    snprintf(value, sizeof value, "Bearer %s", token);
    assert_int_equal(recognized(auth, "/nothing", "Authorization", value), SCOPE_OPERATOR);
    assert_int_equal(recognized(auth, "/", "Authorization", "Bearer x"), SCOPE_OPEN);
    assert_int_equal(recognized(auth, "/healthz", "Cookie", "pyrometer-7997=x"), SCOPE_OPEN);
    assert_int_equal(recognized(auth, "/?token=x", "Accept", "*"), SCOPE_OPEN);
    snprintf(target, sizeof target, "/?token=%s", token);
    assert_int_equal(recognized(auth, target, "Accept", "*"), SCOPE_OPERATOR);
    /* To be asked is no use of it. */
    snprintf(target, sizeof target, "/?token=%s", auth->once);
    struct response response;
    assert_int_equal(recognized(auth, target, "Accept", "*"), SCOPE_OPERATOR);
    assert_true(login(auth, "GET", target, &response));
    response_deinit(&response);
    assert_int_equal(recognized(auth, target, "Accept", "*"), SCOPE_OPEN);
}

static void wrong_tokens_other_paths_and_methods_do_not_log_in(void **state)
{
    struct auth *const auth = *state;
    struct response response;
    char target[256];
    assert_false(login(auth, "GET", "/?token=wrong", &response));
    assert_false(login(auth, "GET", "/?token=", &response));
    assert_false(login(auth, "GET", "/", &response));
    snprintf(target, sizeof target, "//evil.example/?token=%s", token);
    assert_false(login(auth, "GET", target, &response));
    snprintf(target, sizeof target, "/api/v1/sessions?token=%s", token);
    assert_false(login(auth, "GET", target, &response));
    snprintf(target, sizeof target, "/?token=%s", token);
    assert_false(login(auth, "PATCH", target, &response));
}

static void one_time_code_works_once(void **state)
{
    struct auth *const auth = *state;
    struct response response;
    char target[256];
    snprintf(target, sizeof target, "/?token=%s", auth->once);
    assert_true(login(auth, "GET", target, &response));
    response_deinit(&response);
    assert_false(login(auth, "GET", target, &response));
}

static void without_a_token_everybody_may(void **state)
{
    struct auth auth;
    (void)state;
    assert_int_equal(auth_init(&auth, false, NULL, 1, NULL), ERR_OK);
    assert_int_equal(scope_with(&auth, "X", "y"), SCOPE_OPERATOR);
}

static void unsound_tokens_are_refused(void **state)
{
    struct auth auth;
    (void)state;
    assert_int_equal(auth_init(&auth, true, "short", 1, NULL), ERR_INVALID);
    assert_int_equal(auth_init(&auth, true, "sixteen letters&", 1, NULL), ERR_INVALID);
    assert_int_equal(auth_init(&auth, true, "sixteen-letters_", 1, NULL), ERR_OK);
}

struct change {
    const char *mark, *type, *origin;
    size_t body_bytes;
    int refusal;
};

static void changes_need_marks_no_other_site_can_send(void **state)
{
    static const struct change rows[] = {
        { "1", "application/json", NULL, 2, 0 },
        { "1", "application/json; charset=utf-8", "http://127.0.0.1:7997", 2, 0 },
        { "1", "application/json", "https://127.0.0.1:7997", 2, 0 },
        { "1", NULL, NULL, 0, 0 },
        { NULL, "application/json", NULL, 2, 403 },
        { "2", "application/json", NULL, 2, 403 },
        { "1", "text/plain", NULL, 2, 415 },
        { "1", NULL, NULL, 2, 415 },
        { "1", "application/jsonp", NULL, 2, 415 },
        { "1", "application/json", "http://evil.example", 2, 403 },
        { "1", "application/json", "http://127.0.0.1:7998", 2, 403 },
        { "1", "application/json", "null", 2, 403 },
        { "1", "application/json", "", 2, 403 },
        { "1", "application/json", "ftp://127.0.0.1:7997", 2, 403 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct request request;
        const char *fault = NULL;
        request_init(&request, "PATCH", "/");
        request_add_header(&request, "Host", "127.0.0.1:7997");
        if (rows[i].mark)
            request_add_header(&request, "X-Pyrometer", rows[i].mark);
        if (rows[i].type)
            request_add_header(&request, "Content-Type", rows[i].type);
        if (rows[i].origin)
            request_add_header(&request, "Origin", rows[i].origin);
        request.body_bytes = rows[i].body_bytes;
        assert_int_equal(auth_check_change(&request, &fault), rows[i].refusal);
        request_deinit(&request);
    }
}

static void only_the_user_or_our_page_sends_a_get_that_acts(void **state)
{
    static const struct {
        const char *headers[3][2];
        int refusal;
    } rows[] = {
        { { { "Sec-Fetch-Site", "same-origin" }, { "Cookie", "a=b" } }, 0 },
        { { { "Sec-Fetch-Site", "none" }, { "Cookie", "a=b" } }, 0 },
        { { { "Sec-Fetch-Site", "same-site" }, { "Cookie", "a=b" } }, 403 },
        { { { "Sec-Fetch-Site", "cross-site" }, { "Cookie", "a=b" } }, 403 },
        { { { "Sec-Fetch-Site", "" }, { "Cookie", "a=b" } }, 403 },
        { { { "Sec-Fetch-Site", "cross-site" } }, 403 },
        { { { "Sec-Fetch-Site", "cross-site" }, { "Authorization", "Basic eDp5" } }, 403 },
        { { { "Sec-Fetch-Site", "cross-site" }, { "Authorization", "Bearer x" } }, 0 },
        { { { "Sec-Fetch-Site", "same-origin" }, { "Origin", "http://evil.example" } }, 403 },
        { { { "Sec-Fetch-Site", "none" }, { "Sec-Purpose", "prefetch;prerender" } }, 403 },
        { { { "Sec-Fetch-Site", "none" }, { "Purpose", "prefetch" } }, 403 },
        /* A browser that does not say where the request comes from. */
        { { { "Cookie", "a=b" } }, 403 },
        { { { "User-Agent", "Mozilla/5.0" }, { "Authorization", "Basic eDp5" } }, 403 },
        { { { "User-Agent", "Mozilla/5.0" } }, 403 },
        { { { "Cookie", "a=b" }, { "X-Pyrometer", "1" } }, 0 },
        { { { "Cookie", "a=b" }, { "Origin", "http://127.0.0.1:7997" } }, 0 },
        { { { "Cookie", "a=b" }, { "Referer", "http://127.0.0.1:7997/manual" } }, 0 },
        { { { "Cookie", "a=b" }, { "Referer", "http://127.0.0.1:79971/" } }, 403 },
        { { { "Cookie", "a=b" }, { "Referer", "http://127.0.0.1:7997.evil.example/" } }, 403 },
        { { { "Cookie", "a=b" }, { "Referer", "http://127.0.0.1/" } }, 403 },
        /* Programs. */
        { { { "Authorization", "Bearer x" }, { "User-Agent", "Mozilla/5.0" } }, 0 },
        { { { "Authorization", "Basic eDp5" }, { "User-Agent", "curl/8.5.0" } }, 0 },
        { { { "Accept", "*/*" } }, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct request request;
        const char *fault = NULL;
        request_init(&request, "GET", "/debug/pprof/profile");
        request_add_header(&request, "Host", "127.0.0.1:7997");
        for (size_t k = 0; k < 3 && rows[i].headers[k][0]; k++)
            request_add_header(&request, rows[i].headers[k][0], rows[i].headers[k][1]);
        if (auth_check_act(&request, &fault) != rows[i].refusal)
            fail_msg("row %zu: %s", i, fault);
        assert_int_equal(*fault != '\0', rows[i].refusal != 0);
        request_deinit(&request);
    }
}

struct host_row {
    const char *host;
    int refusal;
};

static void only_names_that_cannot_be_rebound_are_served(void **state)
{
    static const struct host_row rows[] = {
        { "127.0.0.1", 0 },
        { "127.0.0.1:7997", 0 },
        { "192.168.1.20:80", 0 },
        { "[::1]", 0 },
        { "[::1]:7997", 0 },
        { "[fe80::1]:65535", 0 },
        { "localhost", 0 },
        { "LocalHost:1", 0 },
        { "build7.example", 0 },
        { "Build7.Example:8080", 0 },
        { "evil.example", 421 },
        { "evil.example:7997", 421 },
        { "localhost.evil.example", 421 },
        { "127.0.0.1.evil.example", 421 },
        { "127.0.0.1.nip.io:7997", 421 },
        { "localhost.", 421 },
        { "127.1", 421 },
        { "0x7f000001", 421 },
        { "2130706433", 421 },
        { "127.0.0.1@evil.example", 421 },
        { "", 400 },
        { ":7997", 400 },
        { "[::1", 400 },
        { "::1", 400 },
        { "[]", 400 },
        { "[evil.example]", 400 },
        { "[::1]x", 400 },
        { "localhost:port", 400 },
        { "localhost:123456", 400 },
        { "localhost:80:80", 400 },
    };
    struct hosts hosts;
    (void)state;
    assert_int_equal(hosts_init(&hosts, NULL), ERR_OK);
    assert_int_equal(hosts_allow(&hosts, "build7.example", NULL), ERR_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct request request;
        request_init(&request, "GET", "/");
        request_add_header(&request, "Host", rows[i].host);
        assert_int_equal(hosts_check(&hosts, &request), rows[i].refusal);
        request_deinit(&request);
    }
    hosts_deinit(&hosts);
}

static void missing_repeated_and_endless_hosts_are_bad(void **state)
{
    char endless[HOSTS_MAX_LENGTH + 2];
    struct hosts hosts;
    struct request request;
    (void)state;
    assert_int_equal(hosts_init(&hosts, NULL), ERR_OK);
    request_init(&request, "GET", "/");
    assert_int_equal(hosts_check(&hosts, &request), 400);
    request_add_header(&request, "Host", "localhost");
    assert_int_equal(hosts_check(&hosts, &request), 0);
    request_add_header(&request, "host", "localhost");
    assert_int_equal(hosts_check(&hosts, &request), 400);
    request_deinit(&request);
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = '\0';
    request_init(&request, "GET", "/");
    request_add_header(&request, "Host", endless);
    assert_int_equal(hosts_check(&hosts, &request), 400);
    request_deinit(&request);
    hosts_deinit(&hosts);
}

static void full_host_table_is_an_error(void **state)
{
    struct hosts hosts;
    (void)state;
    assert_int_equal(hosts_init(&hosts, NULL), ERR_OK);
    while (hosts.count < HOSTS_MAX_NAMES)
        assert_int_equal(hosts_allow(&hosts, "name", NULL), ERR_OK);
    assert_int_equal(hosts_allow(&hosts, "name", NULL), ERR_LIMIT);
    hosts_deinit(&hosts);
}

TEST_GROUP(cmocka_unit_test(random_secrets_differ_and_are_long),
           cmocka_unit_test(secrets_are_compared_whole),
           cmocka_unit_test_setup_teardown(bearer_tokens_open, setup, teardown),
           cmocka_unit_test_setup_teardown(cookies_open_and_the_token_is_no_cookie, setup,
                                           teardown),
           cmocka_unit_test_setup_teardown(right_token_is_exchanged_for_a_cookie, setup,
                                           teardown),
           cmocka_unit_test_setup_teardown(wrong_tokens_other_paths_and_methods_do_not_log_in,
                                           setup, teardown),
           cmocka_unit_test_setup_teardown(one_time_code_works_once, setup, teardown),
           cmocka_unit_test_setup_teardown(each_login_has_a_cookie_that_ends, setup, teardown),
           cmocka_unit_test_setup_teardown(who_brings_a_secret_is_known, setup, teardown),
           cmocka_unit_test(without_a_token_everybody_may),
           cmocka_unit_test(unsound_tokens_are_refused),
           cmocka_unit_test(changes_need_marks_no_other_site_can_send),
           cmocka_unit_test(only_the_user_or_our_page_sends_a_get_that_acts),
           cmocka_unit_test(only_names_that_cannot_be_rebound_are_served),
           cmocka_unit_test(missing_repeated_and_endless_hosts_are_bad),
           cmocka_unit_test(full_host_table_is_an_error))
