/* Measures beside time: what a session counts, and the answers that are of one of them. */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tests/support/fake_session.h"
#include "tests/support/test.h"
#include "tests/unit/server/api/answer.h"
#include "tests/unit/server/client.h"
#include "tests/unit/server/fixture.h"

static void expect_refusal(const struct server *server, const char *target, const char *detail)
{
    struct reply reply;
    server_get(server, target, BEARER, &reply);
    assert_int_equal(reply.status, 400);
    if (!strstr(reply.body, detail))
        fail_msg("%s: %s", target, reply.body);
    reply_deinit(&reply);
}

static void expect_text(const struct server *server, const char *target, const char *text)
{
    struct reply reply;
    server_get(server, target, BEARER, &reply);
    assert_int_equal(reply.status, 200);
    if (!strstr(reply.body, text))
        fail_msg("%s lacks %s", target, text);
    reply_deinit(&reply);
}

static void a_session_says_what_it_counts(void **state)
{
    struct server server;
    (void)state;
    server_start(&server, FAKE_PID_GROWS);
    cJSON *const session = get_json(&server, "/api/v1/sessions/1");
    const cJSON *const measures = member(session, "measures");
    assert_int_equal(cJSON_GetArraySize(measures), 3);
    const cJSON *const time = cJSON_GetArrayItem(measures, 0);
    const cJSON *const pages = cJSON_GetArrayItem(measures, 1);
    assert_string_equal(member(time, "name")->valuestring, "time");
    assert_string_equal(member(time, "unit")->valuestring, "seconds");
    assert_true(number(time, "value") == FAKE_TOTAL / 1000.0);
    assert_string_equal(member(pages, "name")->valuestring, "page-faults");
    assert_string_equal(member(pages, "title")->valuestring, "memory growth");
    assert_string_equal(member(pages, "unit")->valuestring, "bytes");
    assert_true(number(pages, "value") == (double)FAKE_PAGES * FAKE_PAGE_BYTES);
    cJSON_Delete(session);
    server_stop(&server);
}

static void a_session_of_time_counts_only_that(void **state)
{
    cJSON *const session = get_json(*state, "/api/v1/sessions/1");
    assert_int_equal(cJSON_GetArraySize(member(session, "measures")), 1);
    cJSON_Delete(session);
}

static void a_view_is_of_one_measure(void **state)
{
    struct server server;
    (void)state;
    server_start(&server, FAKE_PID_GROWS);
    cJSON *const usual = get_json(&server, "/api/v1/sessions/1/view");
    cJSON *const time = get_json(&server, "/api/v1/sessions/1/view?measure=time");
    cJSON *const pages = get_json(&server, "/api/v1/sessions/1/view?measure=page-faults");
    cJSON *const focused =
        get_json(&server, "/api/v1/sessions/1/view?measure=page-faults&focus=keeps");
    cJSON *const none =
        get_json(&server, "/api/v1/sessions/1/view?measure=page-faults&ignore=keeps");
    assert_true(cJSON_Compare(usual, time, true));
    assert_true(number(time, "total") == FAKE_TOTAL);
    assert_null(cJSON_GetObjectItem(time, "measure"));
    assert_true(number(pages, "total") == FAKE_PAGES);
    assert_true(number(pages, "period") == FAKE_PAGE_BYTES);
    assert_null(cJSON_GetObjectItem(pages, "seconds"));
    assert_true(number(member(pages, "measure"), "value") ==
                (double)FAKE_PAGES * FAKE_PAGE_BYTES);
    assert_true(number(pages, "returned") == (double)FAKE_RETURNED_PAGES * FAKE_PAGE_BYTES);
    assert_null(cJSON_GetObjectItem(time, "returned"));
    assert_null(cJSON_GetObjectItem(focused, "returned"));
    assert_true(number(focused, "total") == FAKE_PAGES);
    assert_true(number(member(focused, "measure"), "value") ==
                (double)FAKE_PAGES * FAKE_PAGE_BYTES);
    assert_true(number(none, "total") == 0);
    cJSON_Delete(none);
    cJSON_Delete(focused);
    cJSON_Delete(pages);
    cJSON_Delete(time);
    cJSON_Delete(usual);
    server_stop(&server);
}

static void hottest_functions_are_of_the_measure(void **state)
{
    struct server server;
    (void)state;
    server_start(&server, FAKE_PID_GROWS);
    cJSON *const grown = get_json(&server, "/api/v1/sessions/1/own-lines?measure=page-faults");
    const cJSON *const line = cJSON_GetArrayItem(member(grown, "lines"), 0);
    const cJSON *const function = cJSON_GetArrayItem(member(grown, "functions"), 0);
    assert_int_equal(cJSON_GetArraySize(member(grown, "functions")), 1);
    assert_string_equal(member(line, "file")->valuestring, "/srv/grow.py");
    assert_true(number(line, "line") == 7);
    assert_true(number(line, "samples") == FAKE_PAGES);
    assert_string_equal(member(function, "name")->valuestring, "keeps");
    assert_true(number(function, "total_samples") == FAKE_PAGES);
    assert_string_equal(member(member(grown, "measure"), "unit")->valuestring, "bytes");
    cJSON_Delete(grown);
    server_stop(&server);
}

static void files_are_of_the_measure_or_refused(void **state)
{
    struct server server;
    char bytes[32];
    (void)state;
    server_start(&server, FAKE_PID_GROWS);
    snprintf(bytes, sizeof bytes, " %d\n", FAKE_PAGES * FAKE_PAGE_BYTES);
    struct reply reply;
    server_get(&server, "/api/v1/sessions/1/export?format=collapsed&measure=page-faults",
               BEARER, &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "keeps"));
    assert_non_null(strstr(reply.body, bytes));
    assert_null(strstr(reply.body, "hot"));
    reply_deinit(&reply);
    expect_refusal(&server, "/api/v1/sessions/1/export?format=gecko&measure=page-faults",
                   "format \\\"gecko\\\" is of time alone");
    expect_text(&server, "/api/v1/sessions/1/export?format=jsonl&measure=time", "/srv/app.py");
    expect_text(&server, "/api/v1/sessions/1/summary?measure=page-faults&format=text",
                "% of the memory growth is in `keeps`");
    expect_text(&server, "/api/v1/sessions/1/summary?measure=page-faults",
                "\"measure\":{\"name\":\"page-faults\"");
    expect_text(&server, "/api/v1/sessions/1/summary?measure=page-faults", "\"seconds\":0,");
    server_stop(&server);
}

static void a_measure_that_is_not_there_is_refused_with_those_that_are(void **state)
{
    static const char *const routes[] = { "view", "own-lines", "export?format=collapsed",
                                          "report.html", "summary" };
    static const char *const measures[] = { "page-faults", "cycles", "" };
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        for (size_t k = 0; k < sizeof measures / sizeof *measures; k++) {
            char target[128], detail[128];
            snprintf(target, sizeof target, "/api/v1/sessions/1/%s%cmeasure=%s", routes[i],
                     strchr(routes[i], '?') ? '&' : '?', measures[k]);
            snprintf(detail, sizeof detail,
                     "invalid parameter \\\"measure\\\" (\\\"%s\\\"): the session has time\"",
                     measures[k]);
            expect_refusal(*state, target, detail);
        }
    expect_refusal(*state, "/api/v1/sessions/1/timeline?measure=time",
                   "unknown parameter \\\"measure\\\"");
}

static void answers_of_two_measures_have_two_tags(void **state)
{
    struct server server;
    struct reply time, pages;
    char time_tag[80], pages_tag[80];
    (void)state;
    server_start(&server, FAKE_PID_GROWS);
    server_get(&server, "/api/v1/sessions/1/view?measure=time", BEARER, &time);
    server_get(&server, "/api/v1/sessions/1/view?measure=page-faults", BEARER, &pages);
    reply_header(&time, "ETag", time_tag, sizeof time_tag);
    reply_header(&pages, "ETag", pages_tag, sizeof pages_tag);
    assert_string_not_equal(time_tag, pages_tag);
    reply_deinit(&time);
    reply_deinit(&pages);
    server_stop(&server);
}

TEST_GROUP(cmocka_unit_test(a_session_says_what_it_counts),
           WITH_SERVER(a_session_of_time_counts_only_that),
           cmocka_unit_test(a_view_is_of_one_measure),
           cmocka_unit_test(hottest_functions_are_of_the_measure),
           cmocka_unit_test(files_are_of_the_measure_or_refused),
           WITH_SERVER(a_measure_that_is_not_there_is_refused_with_those_that_are),
           cmocka_unit_test(answers_of_two_measures_have_two_tags))
