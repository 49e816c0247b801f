#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sampler/session.h"
#include "server/report/report.h"
#include "tests/support/fake_session.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"
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

/* A native frame with native code below it, and Python code below that. */
static void add_native(struct server *server)
{
    struct profile *const profile = session_profile(server->session);
    struct err err = { 0 };
    const thread_id thread = made_thread(profile, 7, 7);
    const node_id inner = made_node(profile, "run;dot@/lib/numpy.so;gemm@/lib/blas.so");
    const node_id called = made_node(profile, "run;dot@/lib/numpy.so;callback");
    assert_ok(profile_add(profile, thread, 0, inner, 3, &err), &err);
    assert_ok(profile_add(profile, thread, 0, called, 4, &err), &err);
    fake_session_seal(server->session);
}

static void native_frames_are_as_asked(void **state)
{
    static const struct {
        const char *query, *inner, *called;
    } rows[] = {
        { "", ";made.py:run:1;blas.so:gemm:0 3\n", ";made.py:run:1;made.py:callback:1 4\n" },
        { "&native=leaf", ";made.py:run:1;blas.so:gemm:0 3\n",
          ";made.py:run:1;made.py:callback:1 4\n" },
        { "&native=hidden", ";made.py:run:1 3\n", ";made.py:run:1;made.py:callback:1 4\n" },
        { "&native=library", ";numpy.so:numpy.so:0;blas.so:blas.so:0 3\n",
          ";made.py:run:1;numpy.so:numpy.so:0;made.py:callback:1 4\n" },
        { "&native=all", ";numpy.so:dot:0;blas.so:gemm:0 3\n",
          ";numpy.so:dot:0;made.py:callback:1 4\n" },
        { "&native=all&hide=library:blas", ";numpy.so:dot:0 3\n",
          ";numpy.so:dot:0;made.py:callback:1 4\n" },
    };
    add_native(*state);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char target[128];
        struct reply reply;
        snprintf(target, sizeof target, "/api/v1/sessions/1/export?format=collapsed%s",
                 rows[i].query);
        server_get(*state, target, BEARER, &reply);
        assert_int_equal(reply.status, 200);
        assert_non_null(strstr(reply.body, rows[i].inner));
        assert_non_null(strstr(reply.body, rows[i].called));
        reply_deinit(&reply);
    }
    assert_int_equal(server_status(*state, "GET",
                                   "/api/v1/sessions/1/export?format=collapsed&native=on",
                                   BEARER, ""),
                     400);
}

/* The page follows the tables of the session itself. */
static void a_view_of_everything_has_no_tree_of_its_own(void **state)
{
    struct reply reply;
    add_native(*state);
    server_get(*state, "/api/v1/sessions/1/view", BEARER, &reply);
    assert_non_null(strstr(reply.body, "\"tree\":"));
    assert_non_null(strstr(reply.body, "/lib/blas.so"));
    assert_null(strstr(reply.body, "/lib/numpy.so"));
    reply_deinit(&reply);
    server_get(*state, "/api/v1/sessions/1/view?native=everything", BEARER, &reply);
    assert_int_equal(reply.status, 200);
    assert_null(strstr(reply.body, "\"tree\":"));
    reply_deinit(&reply);
    server_get(*state, "/api/v1/sessions/1/tree", BEARER, &reply);
    assert_non_null(strstr(reply.body, "\"libraries\":{\"first\":0,\"path\":[0,"));
    reply_deinit(&reply);
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
    assert_string_equal(
        value, "attachment; filename=\"pyrometer-2000000002-20260131-100000Z.folded\"");
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

TEST_GROUP(WITH_SERVER(every_format_can_be_exported),
           WITH_SERVER(an_anonymized_export_hides_a_live_target),
           WITH_SERVER(a_session_is_compared_with_another),
           WITH_SERVER(native_frames_are_as_asked),
           WITH_SERVER(a_view_of_everything_has_no_tree_of_its_own),
           WITH_SERVER(exports_are_downloads))
