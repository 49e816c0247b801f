#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tests/support/fake_session.h"
#include "tests/support/test.h"
#include "tests/unit/server/api/answer.h"
#include "tests/unit/server/client.h"
#include "tests/unit/server/fixture.h"

#define SESSION "/api/v1/sessions/1"

/* One second with a sample on a CPU. */
static void go_on(struct server *server, unsigned seconds)
{
    static const struct fake_frame frames[] = { { "/srv/app.py", "main", 10, 14 } };
    for (unsigned i = 0; i < seconds; i++) {
        fake_session_add(server->session, 4711, frames, 1, STATE_ON_CPU, 1);
        fake_session_seal(server->session);
    }
}

static const char *const parts[] = { "running", "needs_gil", "needs_processor", "blocked",
                                     "idle" };
enum { PARTS = sizeof parts / sizeof *parts };

static void the_timeline_adds_up_to_the_view(void **state)
{
    go_on(*state, 5);
    cJSON *const timeline = get_json(*state, SESSION "/timeline?slots=6");
    const cJSON *const samples = member(timeline, "samples");
    double all = 0;
    for (size_t i = 0; i < PARTS; i++)
        all += sum(member(samples, parts[i]));
    assert_true(number(timeline, "width") == 1);
    assert_true(number(timeline, "from") == 0);
    assert_true(number(timeline, "to") == 6);
    assert_int_equal(cJSON_GetArraySize(member(timeline, "slot")), 6);
    assert_true(sum(member(samples, "all")) == FAKE_TOTAL + 5);
    assert_true(all == FAKE_TOTAL + 5);
    assert_true(item(member(samples, "running"), 0) == 85);
    assert_true(item(member(samples, "needs_gil"), 0) == 15);
    assert_true(item(member(samples, "running"), 3) == 1);
    assert_true(item(member(timeline, "start"), 5) == 5);
    assert_true(item(member(timeline, "end"), 5) == 6);
    assert_int_equal(cJSON_GetArraySize(member(samples, "in_gc")), 6);
    assert_int_equal(cJSON_GetArraySize(member(member(timeline, "seconds"), "idle")), 6);
    cJSON_Delete(timeline);
}

static void the_timeline_takes_the_query_of_a_view(void **state)
{
    go_on(*state, 5);
    cJSON *const some = get_json(
        *state, SESSION "/timeline?from=1&to=3&state=on_cpu&thread=0&process=0&slots=1");
    assert_int_equal(cJSON_GetArraySize(member(some, "slot")), 1);
    assert_true(sum(member(member(some, "samples"), "all")) == 2);
    cJSON_Delete(some);
}

static void the_timeline_since_has_the_slots_with_news(void **state)
{
    go_on(*state, 5);
    cJSON *const news = get_json(*state, SESSION "/timeline?slots=6&since=5");
    assert_true(number(news, "since") == 5);
    assert_int_equal(cJSON_GetArraySize(member(news, "slot")), 1);
    assert_true(item(member(news, "slot"), 0) == 5);
    cJSON_Delete(news);
}

static void the_heatmap_has_fifty_bins_a_second(void **state)
{
    go_on(*state, 2);
    cJSON *const heatmap = get_json(*state, SESSION "/heatmap");
    const int seconds = cJSON_GetArraySize(member(heatmap, "second"));
    double all = 0;
    for (size_t i = 0; i < PARTS; i++) {
        assert_int_equal(cJSON_GetArraySize(member(heatmap, parts[i])), seconds * 50);
        all += sum(member(heatmap, parts[i]));
    }
    assert_int_equal(seconds, 3);
    assert_true(number(heatmap, "bins") == 50);
    assert_true(number(heatmap, "from") == 0);
    assert_true(number(heatmap, "to") == 3);
    assert_true(all == FAKE_TOTAL + 2);
    assert_true(item(member(heatmap, "running"), 0) == 85);
    assert_true(item(member(heatmap, "running"), 100) == 1);
    assert_true(number(heatmap, "lost") == 0);
    cJSON_Delete(heatmap);
}

static void the_heatmap_since_has_the_seconds_with_news(void **state)
{
    go_on(*state, 4);
    cJSON *const news = get_json(*state, SESSION "/heatmap?since=3");
    assert_int_equal(cJSON_GetArraySize(member(news, "second")), 2);
    assert_true(item(member(news, "second"), 0) == 3);
    assert_int_equal(cJSON_GetArraySize(member(news, "running")), 100);
    cJSON_Delete(news);
}

static void a_heatmap_is_bounded_and_old_seconds_come_as_steps(void **state)
{
    go_on(*state, 4999);
    cJSON *const usual = get_json(*state, SESSION "/heatmap");
    cJSON *const most = get_json(*state, SESSION "/heatmap?from=1");
    cJSON *const old = get_json(*state, SESSION "/heatmap?from=100&to=200");
    const cJSON *const steps = member(old, "steps");
    assert_true(number(usual, "from") == 4700 && number(usual, "to") == 5000);
    assert_true(number(most, "from") == 4100 && number(most, "to") == 5000);
    assert_int_equal(cJSON_GetArraySize(member(most, "second")), 900);
    assert_int_equal(cJSON_GetArraySize(member(old, "second")), 0);
    assert_true(number(old, "fine_from") == 5000 - 3600);
    assert_true(number(steps, "width") == 1 && number(steps, "first") == 100);
    assert_int_equal(cJSON_GetArraySize(member(steps, "running")), 100);
    assert_true(sum(member(steps, "running")) == 100);
    cJSON_Delete(usual);
    cJSON_Delete(most);
    cJSON_Delete(old);
}

static void merging_is_reported_and_clients_start_again(void **state)
{
    go_on(*state, 4999);
    cJSON *const session = get_json(*state, SESSION);
    cJSON *const quality = get_json(*state, SESSION "/quality");
    const cJSON *const ranges = member(member(session, "retention"), "ranges");
    const cJSON *const old = cJSON_GetArrayItem(ranges, 0);
    const cJSON *const young = cJSON_GetArrayItem(ranges, 1);
    assert_int_equal(cJSON_GetArraySize(ranges), 2);
    assert_true(number(old, "width") == 10 && number(old, "from") == 0);
    assert_true(number(old, "windows_recorded") == 10 * number(old, "windows"));
    assert_true(cJSON_IsNull(member(young, "width")));
    assert_true(number(young, "to") == 5000);
    assert_true(number(member(session, "retention"), "overflowed") == 0);
    assert_true(number(quality, "profile_bytes") > 0);
    cJSON_Delete(session);
    cJSON_Delete(quality);
    cJSON *const within = get_json(*state, SESSION "/view?since=5");
    cJSON *const between = get_json(*state, SESSION "/view?since=10");
    cJSON *const recent = get_json(*state, SESSION "/threads?since=4990");
    assert_true(number(within, "since") == 0);
    assert_true(number(within, "total") == FAKE_TOTAL + 4999);
    assert_true(number(between, "since") == 10);
    assert_true(number(between, "total") == 4990);
    assert_true(number(recent, "since") == 4990);
    assert_true(number(member(recent, "all"), "samples") == 10);
    cJSON_Delete(within);
    cJSON_Delete(between);
    cJSON_Delete(recent);
}

static void a_view_says_what_a_sample_stands_for(void **state)
{
    cJSON *const view = get_json(*state, SESSION "/view");
    const double period = number(view, "period");
    assert_true(period > 0);
    assert_true(number(view, "seconds") > 0.999 * period * FAKE_TOTAL &&
                number(view, "seconds") < 1.001 * period * FAKE_TOTAL);
    assert_null(cJSON_GetObjectItemCaseSensitive(view, "self_seconds"));
    cJSON_Delete(view);
}

static void expect_export(const struct server *server, const char *query, const char *expected)
{
    struct reply reply;
    char target[256];
    snprintf(target, sizeof target, SESSION "/export?format=collapsed%s", query);
    server_get(server, target, BEARER, &reply);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, expected);
    reply_deinit(&reply);
}

static void an_export_may_have_other_stacks(void **state)
{
    static const char lambda[] = "Tree.walk.<locals>.<lambda>";
    char text[512];
    snprintf(
        text, sizeof text,
        "tid:4711 MainThread;app.py:work:22 50\ntid:4711 MainThread;app.py:work:23;<native> 30\n"
        "tid:4711 MainThread;deep.py:%s:6 15\n",
        lambda);
    expect_export(*state, "&hide=function:main&ignore=function:script&ignore=file:threading",
                  text);
    expect_export(
        *state, "&show_from=function:work",
        "tid:4711 MainThread;app.py:work:22 50\ntid:4711 MainThread;app.py:work:23;<native> 30\n");
    expect_export(*state, "&show=function:/^(main|work)$/&state=has_gil",
                  "tid:4711 MainThread;app.py:main:14;app.py:work:22 50\n");
}

/* "name:line;..." of a node, by the view's own tree. */
static void stack_of(const cJSON *tree, int node, char *out, size_t room)
{
    const cJSON *const nodes = member(tree, "nodes");
    const cJSON *const functions = member(tree, "functions");
    const cJSON *const strings = member(member(tree, "strings"), "values");
    const int parent = cJSON_GetArrayItem(member(nodes, "parent"), node)->valueint;
    const int function = cJSON_GetArrayItem(member(nodes, "function"), node)->valueint;
    const int name = cJSON_GetArrayItem(member(functions, "name"), function)->valueint;
    const int line = cJSON_GetArrayItem(member(nodes, "line"), node)->valueint;
    size_t length = 0;
    *out = '\0';
    if (node == 0)
        return;
    stack_of(tree, parent, out, room);
    length = strlen(out);
    snprintf(out + length, room - length, "%s%s:%d", length ? ";" : "",
             cJSON_GetStringValue(cJSON_GetArrayItem(strings, name)), line);
}

/* The samples of a stack in a view with filters; 0: it is not there. */
static int samples_of(const cJSON *view, const char *stack)
{
    char text[256];
    for (int i = 0; i < cJSON_GetArraySize(member(view, "node")); i++) {
        stack_of(member(view, "tree"), cJSON_GetArrayItem(member(view, "node"), i)->valueint,
                 text, sizeof text);
        if (strcmp(text, stack) == 0)
            return cJSON_GetArrayItem(member(view, "self"), i)->valueint;
    }
    return 0;
}

/* As the same export of folded stacks, above. */
static void a_view_may_have_other_stacks_and_brings_their_tree(void **state)
{
    cJSON *const hidden =
        get_json(*state, SESSION
                 "/view?hide=function:main&ignore=function:script&ignore=file:threading");
    cJSON *const begun = get_json(*state, SESSION "/view?show_from=function:work&since=1");
    cJSON *const none = get_json(*state, SESSION "/view?show_from=nowhere.py");
    assert_int_equal(samples_of(hidden, "work:22"), 50);
    assert_int_equal(samples_of(hidden, "work:23;<native>:0"), 30);
    assert_int_equal(samples_of(hidden, "Tree.walk.<locals>.<lambda>:6"), 15);
    assert_true(number(hidden, "total") == 95);
    assert_int_equal(samples_of(begun, "work:22"), 50);
    assert_true(number(begun, "total") == 80 && number(begun, "since") == 0);
    assert_true(number(begun, "period") > 0);
    assert_true(number(begun, "seconds") > 0.999 * 80 * number(begun, "period") &&
                number(begun, "seconds") < 1.001 * 80 * number(begun, "period"));
    assert_true(number(none, "total") == 0);
    cJSON_Delete(hidden);
    cJSON_Delete(begun);
    cJSON_Delete(none);
}

static void bad_parameters_are_named(void **state)
{
    static const char *const rows[][2] = {
        { SESSION "/timeline?slots=0", "number from 1 to 4096" },
        { SESSION "/timeline?slots=4097", "number from 1 to 4096" },
        { SESSION "/timeline?slots=x", "parameter \\\"slots\\\"" },
        { SESSION "/timeline?from=3&to=3", "\\\"to\\\" must be later" },
        { SESSION "/heatmap?thread=1", "unknown parameter \\\"thread\\\"" },
        { SESSION "/export?format=collapsed&ignore=", "parameter \\\"ignore\\\"" },
        { SESSION "/export?format=collapsed&show_from=/(/", "lacks a )" },
        { SESSION "/tree?hide=x", "unknown parameter \\\"hide\\\"" },
        { SESSION "/view?omit=x", "unknown parameter \\\"omit\\\"" },
        { SESSION "/view?at=x", "unknown parameter \\\"at\\\"" },
        { SESSION "/view?focus=/(?=x)/", "parameter \\\"focus\\\"" },
        { SESSION "/view?hide=function:", "parameter \\\"hide\\\"" },
        { SESSION "/view?hide=/(.|.|.|.){9}[~!]/", "the filter hide /(.|.|.|.){9}[~!]/" },
        { SESSION "/heatmap?from=x", "parameter \\\"from\\\"" },
        { SESSION "/view?slots=3", "unknown parameter \\\"slots\\\"" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        server_get(*state, rows[i][0], BEARER, &reply);
        assert_int_equal(reply.status, 400);
        assert_non_null(strstr(reply.body, rows[i][1]));
        reply_deinit(&reply);
    }
    assert_int_equal(server_status(*state, "GET", "/api/v1/sessions/7/timeline", BEARER, NULL),
                     404);
    assert_int_equal(server_status(*state, "GET", "/api/v1/sessions/7/heatmap", BEARER, NULL),
                     404);
    assert_int_equal(server_status(*state, "GET", SESSION "/heatmap", "", NULL), 401);
}

static void too_many_filters_are_refused(void **state)
{
    char target[1024] = SESSION "/report.html?";
    for (int i = 0; i < 17; i++)
        strcat(target, "hide=a.py&");
    struct reply reply;
    target[strlen(target) - 1] = '\0';
    server_get(*state, target, BEARER, &reply);
    assert_int_equal(reply.status, 400);
    assert_non_null(strstr(reply.body, "at most 16 filters"));
    reply_deinit(&reply);
}

static void what_a_client_has_is_not_sent_again(void **state)
{
    static const char *const targets[] = { SESSION "/timeline", SESSION "/heatmap" };
    for (size_t i = 0; i < 2; i++) {
        struct reply reply;
        char headers[256];
        server_get(*state, targets[i], BEARER, &reply);
        char tag[128];
        reply_header(&reply, "ETag", tag, sizeof tag);
        assert_true(tag[0] != '\0');
        snprintf(headers, sizeof headers, BEARER "If-None-Match: %s\r\n", tag);
        assert_int_equal(server_status(*state, "GET", targets[i], headers, NULL), 304);
        go_on(*state, 1);
        assert_int_equal(server_status(*state, "GET", targets[i], headers, NULL), 200);
        reply_deinit(&reply);
    }
}

static void an_empty_session_has_empty_answers(void **state)
{
    struct server server;
    (void)state;
    server_start(&server, FAKE_PID_EMPTY);
    cJSON *const timeline = get_json(&server, SESSION "/timeline");
    cJSON *const heatmap = get_json(&server, SESSION "/heatmap");
    assert_int_equal(cJSON_GetArraySize(member(timeline, "slot")), 0);
    assert_int_equal(cJSON_GetArraySize(member(heatmap, "second")), 0);
    cJSON_Delete(timeline);
    cJSON_Delete(heatmap);
    server_stop(&server);
}

TEST_GROUP(WITH_SERVER(the_timeline_adds_up_to_the_view),
           WITH_SERVER(the_timeline_takes_the_query_of_a_view),
           WITH_SERVER(the_timeline_since_has_the_slots_with_news),
           WITH_SERVER(the_heatmap_has_fifty_bins_a_second),
           WITH_SERVER(the_heatmap_since_has_the_seconds_with_news),
           WITH_SERVER(a_heatmap_is_bounded_and_old_seconds_come_as_steps),
           WITH_SERVER(merging_is_reported_and_clients_start_again),
           WITH_SERVER(a_view_says_what_a_sample_stands_for),
           WITH_SERVER(an_export_may_have_other_stacks),
           WITH_SERVER(a_view_may_have_other_stacks_and_brings_their_tree),
           WITH_SERVER(too_many_filters_are_refused), WITH_SERVER(bad_parameters_are_named),
           WITH_SERVER(what_a_client_has_is_not_sent_again),
           cmocka_unit_test(an_empty_session_has_empty_answers))
