#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tests/support/fake_session.h"
#include "tests/support/test.h"
#include "tests/unit/server/api/answer.h"
#include "tests/unit/server/fixture.h"

static void session_says_what_is_sampled(void **state)
{
    cJSON *const list = get_json(*state, "/api/v1/sessions");
    cJSON *const session = get_json(*state, "/api/v1/sessions/1");
    const cJSON *const target = member(session, "target");
    const cJSON *const quality = member(session, "quality");
    assert_true(cJSON_Compare(cJSON_GetArrayItem(member(list, "sessions"), 0), session, true));
    assert_string_equal(member(session, "id")->valuestring, "1");
    assert_string_equal(member(session, "state")->valuestring, "running");
    assert_true(cJSON_IsNull(member(session, "reason")));
    assert_true(cJSON_IsNull(member(session, "ended_at")));
    assert_string_equal(member(session, "started_at")->valuestring, "2026-01-31T10:00:00Z");
    assert_int_equal(strlen(member(session, "epoch")->valuestring), 16);
    assert_string_equal(cJSON_GetArrayItem(member(target, "command"), 2)->valuestring,
                        "--password=<hidden>\xef\xbf\xbd");
    assert_true(cJSON_IsTrue(member(target, "validated")));
    assert_true(number(quality, "samples") == FAKE_TOTAL);
    assert_true(number(quality, "exact") == FAKE_TOTAL);
    assert_true(number(member(quality, "failed"), "perm") == 0);
    assert_true(cJSON_IsNull(member(member(session, "settings"), "duration_s")));
    assert_string_equal(member(member(session, "settings"), "threads")->valuestring, "main");
    assert_string_equal(member(member(session, "settings"), "mode")->valuestring, "wall");
    assert_true(cJSON_IsTrue(member(member(session, "settings"), "gc")));
    assert_true(cJSON_IsNull(member(member(session, "settings"), "max_cpu_percent")));
    cJSON_Delete(list);
    cJSON_Delete(session);
}

static void state_of(const struct server *server, char out[16])
{
    cJSON *const session = get_json(server, "/api/v1/sessions/1");
    snprintf(out, 16, "%s", member(session, "state")->valuestring);
    cJSON_Delete(session);
}

static void sessions_are_paused_resumed_and_ended(void **state)
{
    static const char *const steps[] = { "paused", "running", "ended" };
    static const char *const bodies[] = { "{\"state\":\"paused\"}", "{\"state\":\"running\"}",
                                          "{\"state\":\"ended\"}" };
    char now[16];
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(
            server_status(*state, "PATCH", "/api/v1/sessions/1", CHANGE, bodies[i]), 200);
        state_of(*state, now);
        assert_string_equal(now, steps[i]);
    }
    assert_int_equal(server_status(*state, "PATCH", "/api/v1/sessions/1", CHANGE, bodies[1]),
                     409);
}

static void changes_without_their_marks_do_nothing(void **state)
{
    static const char body[] = "{\"state\":\"paused\"}";
    static const char target[] = "/api/v1/sessions/1";
    char now[16];
    assert_int_equal(server_status(*state, "PATCH", target, BEARER, body), 403);
    assert_int_equal(server_status(*state, "PATCH", target, BEARER "X-Pyrometer: 1\r\n", body),
                     415);
    assert_int_equal(
        server_status(*state, "PATCH", target, CHANGE "Origin: http://evil.example\r\n", body),
        403);
    assert_int_equal(server_status(*state, "PATCH", target, CHANGE, "{\"state\":\"dancing\"}"),
                     400);
    assert_int_equal(server_status(*state, "PATCH", target, CHANGE, "{\"pid\":\"1\"}"), 400);
    assert_int_equal(server_status(*state, "PATCH", target, CHANGE, "paused"), 400);
    assert_int_equal(server_status(*state, "PATCH", "/api/v1/sessions/9", CHANGE, body), 404);
    state_of(*state, now);
    assert_string_equal(now, "running");
}

static void empty_session_is_a_session(void **state)
{
    struct server server;
    (void)state;
    server_start(&server, FAKE_PID_EMPTY);
    cJSON *const view = get_json(&server, "/api/v1/sessions/1/view");
    assert_true(number(view, "generation") == 0);
    assert_true(number(view, "total") == 0);
    assert_int_equal(server_status(&server, "GET", "/api/v1/sessions/1/tree", BEARER, NULL),
                     200);
    assert_int_equal(server_status(&server, "GET", "/api/v1/sessions/1/export?format=collapsed",
                                   BEARER, NULL),
                     200);
    cJSON_Delete(view);
    server_stop(&server);
}

static void ended_session_says_why(void **state)
{
    struct server *const server = *state;
    fake_session_end(server->session, "target exited");
    cJSON *const session = get_json(server, "/api/v1/sessions/1");
    assert_string_equal(member(session, "state")->valuestring, "ended");
    assert_string_equal(member(session, "reason")->valuestring, "target exited");
    assert_true(cJSON_IsString(member(session, "ended_at")));
    cJSON_Delete(session);
}

TEST_GROUP(WITH_SERVER(session_says_what_is_sampled),
           WITH_SERVER(sessions_are_paused_resumed_and_ended),
           WITH_SERVER(changes_without_their_marks_do_nothing),
           cmocka_unit_test(empty_session_is_a_session), WITH_SERVER(ended_session_says_why))
