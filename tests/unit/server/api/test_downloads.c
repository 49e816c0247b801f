#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/report/report.h"
#include "tests/unit/server/client.h"
#include "tests/unit/server/fixture.h"

static void every_format_can_be_exported(void **state)
{
    const struct report_format *format = NULL;
    for (size_t i = 0; (format = report_at(i)); i++) {
        char target[128], ending[64];
        struct reply reply;
        snprintf(target, sizeof target, "/api/v1/sessions/1/export?format=%s", format->name);
        server_get(*state, target, BEARER, &reply);
        assert_int_equal(reply.status, format->needs_baseline ? 400 : 200);
        if (!format->needs_baseline) {
            char value[128];
            snprintf(ending, sizeof ending, ".%s\"", format->extension);
            reply_header(&reply, "Content-Type", value, sizeof value);
            assert_string_equal(value, format->mime);
            reply_header(&reply, "Content-Disposition", value, sizeof value);
            assert_non_null(strstr(value, ending));
            assert_true(reply.length > 0);
        }
        reply_deinit(&reply);
    }
}

static void an_anonymized_export_hides_a_live_target(void **state)
{
    static const char target[] = "/api/v1/sessions/1/export?format=jsonl";
    char anonymized[sizeof target + 16];
    struct reply reply;
    server_get(*state, target, BEARER, &reply);
    assert_non_null(strstr(reply.body, "app.py"));
    assert_non_null(strstr(reply.body, "password"));
    reply_deinit(&reply);
    snprintf(anonymized, sizeof anonymized, "%s&anonymize=1", target);
    server_get(*state, anonymized, BEARER, &reply);
    assert_int_equal(reply.status, 200);
    assert_null(strstr(reply.body, "app.py"));
    assert_null(strstr(reply.body, "password"));
    assert_non_null(strstr(reply.body, "\"[anonymized]\""));
    assert_non_null(strstr(reply.body, "\"anonymized\":true"));
    reply_deinit(&reply);
}

static void a_session_is_compared_with_another(void **state)
{
    static const struct {
        const char *query, *part;
        unsigned status;
    } cases[] = {
        { "&baseline=1", "<!doctype html>", 200 },
        { "", "baseline=ID", 400 },
        { "&baseline=9", "no session 9", 400 },
        { "&baseline=1&baseline=1", "given twice", 400 },
        { "&baseline=1&hide=x.py&anonymize=1", "<!doctype html>", 200 },
        { "&baseline=1&anonymize=yes", "1 or 0", 400 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char target[128];
        struct reply reply;
        snprintf(target, sizeof target, "/api/v1/sessions/1/export?format=diff-flamegraph%s",
                 cases[i].query);
        server_get(*state, target, BEARER, &reply);
        assert_int_equal(reply.status, cases[i].status);
        assert_non_null(strstr(reply.body, cases[i].part));
        reply_deinit(&reply);
    }
}

static void exports_are_downloads(void **state)
{
    struct reply reply;
    char value[128];
    server_get(*state, "/api/v1/sessions/1/export?format=collapsed", BEARER, &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(
        reply.body,
        "tid:4711 MainThread;app.py:main:14;app.py:work:22 50\n"
        "tid:4711 MainThread;app.py:main:14;app.py:work:23;<native> 30\n"
        "tid:4711 MainThread;app.py:main:15;deep.py:Tree.walk.<locals>.<lambda>:6 15\n"
        "tid:4712 Thread-4712;threading.py:Thread.run:910;"
        "app.py:</script><img src=x onerror=alert(1)>:31 5\n");
    reply_header(&reply, "Content-Disposition", value, sizeof value);
    assert_string_equal(value,
                        "attachment; filename=\"pyrometer-2000000002-20260131-100000.folded\"");
    reply_deinit(&reply);
    server_get(*state, "/api/v1/sessions/1/export?format=collapsed&state=on_cpu,!has_gil",
               BEARER, &reply);
    assert_string_equal(reply.body,
                        "tid:4711 MainThread;app.py:main:14;app.py:work:23;<native> 30\n");
    reply_deinit(&reply);
    server_get(*state, "/api/v1/sessions/1/report.html?thread=1", BEARER, &reply);
    assert_int_equal(reply.status, 200);
    reply_header(&reply, "Content-Type", value, sizeof value);
    assert_string_equal(value, "text/html; charset=utf-8");
    assert_null(strstr(reply.body, "onerror=alert"));
    reply_deinit(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(every_format_can_be_exported),
        WITH_SERVER(an_anonymized_export_hides_a_live_target),
        WITH_SERVER(a_session_is_compared_with_another),
        WITH_SERVER(exports_are_downloads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
