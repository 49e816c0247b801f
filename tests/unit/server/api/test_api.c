#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/profile/packages.h"
#include "sampler/profile/profile.h"
#include "sampler/session.h"
#include "tests/support/fake_session.h"
#include "tests/support/test.h"
#include "tests/unit/server/api/answer.h"
#include "tests/unit/server/client.h"
#include "tests/unit/server/fixture.h"

static void bad_parameters_are_named(void **state)
{
    static const char *const rows[][2] = {
        { "/api/v1/sessions/1/tree?sinse=1", "unknown parameter \\\"sinse\\\"" },
        { "/api/v1/sessions/1/tree?since=x", "parameter \\\"since\\\"" },
        { "/api/v1/sessions/1/tree?thread=1", "unknown parameter \\\"thread\\\"" },
        { "/api/v1/sessions/1/view?thread=-1", "parameter \\\"thread\\\"" },
        { "/api/v1/sessions/1/export", "parameter \\\"format\\\"" },
        { "/api/v1/sessions/1/export?format=%3Cscript%3E", "parameter \\\"format\\\"" },
        { "/api/v1/sessions/1/view?state=on_cup", "(\\\"on_cup\\\"): want on_cpu" },
        { "/api/v1/sessions/1/view?state=", "(\\\"\\\"): want on_cpu" },
        { "/api/v1/sessions/1/view?state=on_cpu,", "\\\"\\\" is not a state" },
        { "/api/v1/sessions/1/view?state=on_cpu,!!has_gil",
          "\\\"!!has_gil\\\" is not a state" },
        { "/api/v1/sessions/1/view?state=unknown_,in_gc", "\\\"unknown_\\\" is not a state" },
        { "/api/v1/sessions/1/view?state=on_cpu,!on_cpu", "\\\"!on_cpu\\\" contradicts" },
        { "/api/v1/sessions/1/view?state=unknown_in_gc,in_gc", "\\\"in_gc\\\" contradicts" },
        { "/api/v1/sessions/1/view?state=in_gc&state=on_cpu", "\\\"state\\\" is given twice" },
        { "/api/v1/sessions/1/export?format=collapsed&state=x", "(\\\"x\\\"): want on_cpu" },
        { "/api/v1/sessions/1/report.html?state=x", "(\\\"x\\\"): want on_cpu" },
        { "/api/v1/sessions/1/view?slower_than=fast", "(\\\"fast\\\"): want" },
        { "/api/v1/sessions/1/view?slowest=0", "(\\\"0\\\"): want a percentage" },
        { "/api/v1/sessions/1/view?context_value=/(/", "(\\\"/(/\\\"): the regular" },
        { "/api/v1/sessions/1/view?slower_than=2&faster_than=1",
          "no request is both slower and faster" },
        { "/api/v1/sessions/1/tree?slowest=5", "unknown parameter \\\"slowest\\\"" },
        { "/api/v1/sessions/1/threads?thread=1", "unknown parameter \\\"thread\\\"" },
        { "/api/v1/sessions/1/quality?since=1", "unknown parameter \\\"since\\\"" },
        { "/api/v1/sessions/1/source?function=x", "parameter \\\"function\\\"" },
        { "/api/v1/sessions/1/lines?function=1&state=on_cpu", "unknown parameter \\\"state" },
        { "/api/v1/sessions/1/source?thread=1", "unknown parameter \\\"thread\\\"" },
        { "/api/v1/sessions?x", "unknown parameter \\\"x\\\"" },
        { "/api/v1/sessions/1?x", "unknown parameter \\\"x\\\"" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply reply;
        server_get(*state, rows[i][0], BEARER, &reply);
        assert_int_equal(reply.status, 400);
        assert_non_null(strstr(reply.body, rows[i][1]));
        reply_deinit(&reply);
    }
}

static size_t length_of(const cJSON *tree, const char *table, const char *column)
{
    return (size_t)cJSON_GetArraySize(member(member(tree, table), column));
}

static void tree_has_parents_before_children(void **state)
{
    cJSON *const tree = get_json(*state, "/api/v1/sessions/1/tree");
    const cJSON *const nodes = member(tree, "nodes");
    const size_t count = length_of(tree, "nodes", "parent");
    int id = 0;
    const cJSON *parent = NULL;
    assert_true(number(nodes, "first") == 0);
    assert_true(count > FAKE_STACK_COUNT);
    assert_int_equal(length_of(tree, "nodes", "function"), count);
    assert_int_equal(length_of(tree, "nodes", "line"), count);
    cJSON_ArrayForEach(parent, member(nodes, "parent"))
    {
        assert_true(id == 0 ? parent->valueint == 0 : parent->valueint < id);
        id++;
    }
    const double name =
        cJSON_GetArrayItem(member(member(tree, "functions"), "name"), 0)->valuedouble;
    assert_true(name == 0);
    assert_string_equal(
        cJSON_GetArrayItem(member(member(tree, "strings"), "values"), 0)->valuestring, "");
    assert_int_equal(length_of(tree, "threads", "tid"), 2);
    assert_true(sum(member(member(tree, "threads"), "main")) == 1);
    cJSON_Delete(tree);
}

/* Columns a client holds after following `since` must be those of one full answer. */
static void expect_same_column(const cJSON *whole, const cJSON *first, const cJSON *second,
                               const char *table, const char *column)
{
    const int held = (int)length_of(first, table, column);
    const int at = (int)number(member(second, table), "first");
    const cJSON *const all = member(member(whole, table), column);
    const cJSON *const old = member(member(first, table), column);
    const cJSON *const new = member(member(second, table), column);
    assert_true(at <= held);
    assert_int_equal(cJSON_GetArraySize(all), at + cJSON_GetArraySize(new));
    for (int i = 0; i < cJSON_GetArraySize(all); i++)
        assert_true(cJSON_Compare(
            cJSON_GetArrayItem(all, i),
            i < at ? cJSON_GetArrayItem(old, i) : cJSON_GetArrayItem(new, i - at), true));
}

static void grow(struct server *server)
{
    static const struct fake_frame frames[] = { { "/srv/app.py", "main", 10, 14 },
                                                { "/srv/new.py", "fresh", 1, 2 } };
    fake_session_add(server->session, 4711, frames, 2, STATE_ON_CPU, 7);
    fake_session_add(server->session, 4713, frames, 1, 0, 3);
    fake_session_seal(server->session);
}

static void a_tree_has_packages_only_as_a_whole(void **state)
{
    const struct server *const server = *state;
    struct packages *const packages = profile_packages(session_profile(server->session));
    assert_int_equal(packages_add(packages, "/srv/vendored", "six", NULL), ERR_OK);
    cJSON *const whole = get_json(*state, "/api/v1/sessions/1/tree");
    cJSON *const part = get_json(*state, "/api/v1/sessions/1/tree?since=1");
    assert_true(number(part, "since") == 1);
    assert_string_equal(member(member(whole, "packages"), "/srv/vendored")->valuestring, "six");
    assert_null(cJSON_GetObjectItem(part, "packages"));
    cJSON_Delete(whole);
    cJSON_Delete(part);
}

/* A target decides how many rows there are: these are of forty moments. */
static void viewers_do_not_begin_again_for_each_package(void **state)
{
    const struct server *const server = *state;
    struct packages *const packages = profile_packages(session_profile(server->session));
    char path[32], known[32] = "";
    unsigned changes = 0;
    for (unsigned i = 0; i < 40; i++) {
        snprintf(path, sizeof path, "/srv/%u", i);
        assert_int_equal(packages_add(packages, path, "six", NULL), ERR_OK);
        cJSON *const tree = get_json(*state, "/api/v1/sessions/1/tree");
        const char *const epoch = member(tree, "epoch")->valuestring;
        changes += strcmp(known, epoch) != 0;
        snprintf(known, sizeof known, "%s", epoch);
        cJSON_Delete(tree);
    }
    assert_in_range(changes, 1, 20);
}

static void tree_since_adds_up(void **state)
{
    static const char *const columns[][2] = {
        { "strings", "values" },  { "functions", "name" }, { "functions", "file" },
        { "functions", "line" },  { "nodes", "parent" },   { "nodes", "function" },
        { "nodes", "line" },      { "threads", "tid" },    { "threads", "name" },
        { "threads", "process" }, { "threads", "main" },   { "processes", "pid" },
        { "processes", "name" },
    };
    char target[64];
    cJSON *const first = get_json(*state, "/api/v1/sessions/1/tree");
    grow(*state);
    snprintf(target, sizeof target, "/api/v1/sessions/1/tree?since=%.0f",
             number(first, "generation"));
    cJSON *const second = get_json(*state, target);
    cJSON *const whole = get_json(*state, "/api/v1/sessions/1/tree?since=0");
    assert_true(number(second, "generation") == number(first, "generation") + 1);
    assert_true(number(second, "since") == number(first, "generation"));
    assert_true(length_of(second, "nodes", "parent") < length_of(whole, "nodes", "parent"));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        expect_same_column(whole, first, second, columns[i][0], columns[i][1]);
    cJSON_Delete(first);
    cJSON_Delete(second);
    cJSON_Delete(whole);
}

static void add_view(const cJSON *view, double *counts, size_t room)
{
    const cJSON *const self = member(view, "self");
    int i = 0, last = -1;
    const cJSON *node = NULL;
    cJSON_ArrayForEach(node, member(view, "node"))
    {
        assert_true(node->valueint > last && (size_t)node->valueint < room);
        last = node->valueint;
        counts[node->valueint] += cJSON_GetArrayItem(self, i++)->valuedouble;
    }
    assert_int_equal(cJSON_GetArraySize(self), i);
    assert_true(sum(self) == number(view, "total"));
}

static void view_since_adds_up(void **state)
{
    double followed[64] = { 0 }, whole[64] = { 0 };
    char target[64];
    cJSON *const first = get_json(*state, "/api/v1/sessions/1/view");
    grow(*state);
    snprintf(target, sizeof target, "/api/v1/sessions/1/view?since=%.0f",
             number(first, "generation"));
    cJSON *const second = get_json(*state, target);
    cJSON *const all = get_json(*state, "/api/v1/sessions/1/view");
    add_view(first, followed, 64);
    add_view(second, followed, 64);
    add_view(all, whole, 64);
    assert_memory_equal(followed, whole, sizeof whole);
    assert_true(number(second, "total") == 10);
    assert_true(number(all, "total") == FAKE_TOTAL + 10);
    cJSON_Delete(first);
    cJSON_Delete(second);
    cJSON_Delete(all);
}

static void nothing_new_is_an_empty_answer(void **state)
{
    cJSON *const view = get_json(*state, "/api/v1/sessions/1/view?since=1");
    cJSON *const tree = get_json(*state, "/api/v1/sessions/1/tree?since=1");
    assert_true(number(view, "total") == 0);
    assert_int_equal(cJSON_GetArraySize(member(view, "node")), 0);
    assert_int_equal(length_of(tree, "nodes", "parent"), 0);
    cJSON_Delete(view);
    cJSON_Delete(tree);
}

static void client_from_the_future_gets_everything(void **state)
{
    cJSON *const view = get_json(*state, "/api/v1/sessions/1/view?since=99");
    cJSON *const tree = get_json(*state, "/api/v1/sessions/1/tree?since=99");
    assert_true(number(view, "since") == 0);
    assert_true(number(view, "total") == FAKE_TOTAL);
    assert_true(number(tree, "since") == 0);
    assert_true(number(member(tree, "nodes"), "first") == 0);
    cJSON_Delete(view);
    cJSON_Delete(tree);
}

static double total_of(const struct server *server, const char *target)
{
    cJSON *const view = get_json(server, target);
    const double total = number(view, "total");
    cJSON_Delete(view);
    return total;
}

static void views_filter_by_thread_process_and_time(void **state)
{
    grow(*state);
    assert_true(total_of(*state, "/api/v1/sessions/1/view?thread=0") == 95 + 7);
    assert_true(total_of(*state, "/api/v1/sessions/1/view?thread=1") == 5);
    assert_true(total_of(*state, "/api/v1/sessions/1/view?thread=1&thread=2") == 5 + 3);
    assert_true(total_of(*state, "/api/v1/sessions/1/view?thread=4294967295") == 0);
    assert_true(total_of(*state, "/api/v1/sessions/1/view?process=0") == 110);
    assert_true(total_of(*state, "/api/v1/sessions/1/view?process=9") == 0);
    assert_true(total_of(*state, "/api/v1/sessions/1/view?to=1") == FAKE_TOTAL);
    assert_true(total_of(*state, "/api/v1/sessions/1/view?from=1") == 10);
    assert_true(total_of(*state, "/api/v1/sessions/1/view?from=1&to=1.5&thread=2") == 3);
}

static void views_filter_by_state(void **state)
{
    static const struct {
        const char *words;
        double total;
    } rows[] = {
        { "on_cpu", 80 },
        { "has_gil", 50 },
        { "on_cpu,has_gil", 50 },
        { "on_cpu,!has_gil", 30 },
        { "!on_cpu", 15 },
        { "unknown_on_cpu", 5 },
        { "!unknown_on_cpu", 95 },
        { "!unknown_on_cpu,!on_cpu", 15 },
        { "!on_cpu,!waits_gil", 0 },
        { "has_exception,waits_gil,has_exception", 15 },
        { "~on_cpu", 20 },
        { "~on_cpu,!unknown_on_cpu", 15 },
        { "!on_cpu,~waits_gil", 0 },
        { "~on_cpu,~waits_gil", 5 },
        { "in_gc", 0 },
        { "!in_gc", FAKE_TOTAL },
        { "in_native", 0 },
        { "!in_native", 0 },
        { "unknown_in_native", FAKE_TOTAL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char target[128];
        snprintf(target, sizeof target, "/api/v1/sessions/1/view?state=%s", rows[i].words);
        assert_true(total_of(*state, target) == rows[i].total);
    }
    assert_true(total_of(*state, "/api/v1/sessions/1/view?state=on_cpu&thread=1") == 0);
}

/* Code of the JIT executed a part of one function's samples: only its row is there, whatever else is asked for. */
static void views_say_what_code_of_the_jit_executed(void **state)
{
    static const struct fake_frame cold = { "/srv/app.py", "cold", 10, 14 };
    static const struct fake_frame hot = { "/srv/app.py", "hot", 20, 21 };
    static const char *const targets[] = { "/api/v1/sessions/1/view",
                                           "/api/v1/sessions/1/view?since=1",
                                           "/api/v1/sessions/1/view?state=on_cpu&thread=0",
                                           "/api/v1/sessions/1/view?focus=hot" };
    const struct server *const server = *state;
    cJSON *const before = get_json(server, targets[0]);
    assert_null(cJSON_GetObjectItem(before, "in_jit"));
    fake_session_add(server->session, 4711, &cold, 1, STATE_ON_CPU, 7);
    fake_session_add(server->session, 4711, &hot, 1, STATE_ON_CPU | STATE_IN_JIT, 5);
    fake_session_add(server->session, 4711, &hot, 1, STATE_ON_CPU | STATE_UNKNOWN_IN_JIT, 2);
    fake_session_seal(server->session);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        cJSON *const view = get_json(server, targets[i]);
        const cJSON *const in_jit = member(view, "in_jit");
        assert_int_equal(cJSON_GetArraySize(member(in_jit, "node")), 1);
        assert_true(sum(member(in_jit, "self")) == 5);
        cJSON_Delete(view);
    }
    assert_true(total_of(server, "/api/v1/sessions/1/view?state=in_jit") == 5);
    cJSON_Delete(before);
}

static void tag_of(const struct server *server, const char *target, char out[128])
{
    struct reply reply;
    server_get(server, target, BEARER, &reply);
    assert_int_equal(reply.status, 200);
    reply_header(&reply, "ETag", out, 128);
    reply_deinit(&reply);
}

static void lines_are_of_the_file_of_a_function(void **state)
{
    cJSON *const lines = get_json(*state, "/api/v1/sessions/1/lines?function=1&from=0");
    assert_int_equal(*member(lines, "path")->valuestring, '/');
    assert_true(number(lines, "samples") == FAKE_TOTAL);
    assert_int_equal(cJSON_GetArraySize(member(lines, "line")), 0); /* none were recorded */
    assert_int_equal(cJSON_GetArraySize(member(lines, "names")), 0);
    assert_int_equal(
        server_status(*state, "GET", "/api/v1/sessions/1/lines?function=99999", BEARER, NULL),
        404);
    cJSON_Delete(lines);
}

static void post_matches(const struct server *server, const char *body, int status,
                         struct reply *reply)
{
    client_request(server->port, "POST", "/api/v1/sessions/1/matches", CHANGE, body, reply);
    assert_int_equal(reply->status, status);
}

static void matches_are_counted_for_each_window(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "{\"functions\": [1]}",
        "{\"functions\": [2, 1]}",
        "{\"functions\": [1, 2, 2, 3]}",
        "{\"functions\": [-1, 2]}",
        "{\"functions\": [0, 4294967296]}",
        "{\"functions\": [0.5, 1]}",
        "{\"functions\": \"all\"}",
    };
    struct reply reply;
    post_matches(*state, "{\"functions\": [0, 4294967295]}", 200, &reply);
    cJSON *const all = cJSON_Parse(reply.body);
    assert_true(sum(member(all, "samples")) == FAKE_TOTAL);
    assert_true(sum(member(all, "matching")) == FAKE_TOTAL);
    cJSON_Delete(all);
    reply_deinit(&reply);
    post_matches(*state, "{\"functions\": []}", 200, &reply);
    cJSON *const none = cJSON_Parse(reply.body);
    assert_true(sum(member(none, "samples")) == FAKE_TOTAL);
    assert_true(sum(member(none, "matching")) == 0);
    cJSON_Delete(none);
    reply_deinit(&reply);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        post_matches(*state, wrong[i], 400, &reply);
        assert_non_null(strstr(reply.body, "functions"));
        reply_deinit(&reply);
    }
}

static void equal_states_have_equal_tags_whatever_their_spelling(void **state)
{
    char tag[128], same[128], other[128];
    tag_of(*state, "/api/v1/sessions/1/view?state=on_cpu,!has_gil", tag);
    tag_of(*state, "/api/v1/sessions/1/view?state=%21has_gil,on_cpu,on_cpu", same);
    tag_of(*state, "/api/v1/sessions/1/view?state=on_cpu,has_gil", other);
    assert_string_equal(tag, same);
    assert_string_not_equal(tag, other);
    tag_of(*state, "/api/v1/sessions/1/view", other);
    assert_string_not_equal(tag, other);
}

static void threads_sum_to_the_view(void **state)
{
    static const char *const queries[] = { "", "?state=on_cpu", "?to=1", "?from=1",
                                           "?since=1" };
    grow(*state);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        char target[64];
        snprintf(target, sizeof target, "/api/v1/sessions/1/threads%s", queries[i]);
        cJSON *const answer = get_json(*state, target);
        const cJSON *const threads = member(answer, "threads");
        const cJSON *const all = member(answer, "all");
        const cJSON *part = NULL;
        double done = 0;
        snprintf(target, sizeof target, "/api/v1/sessions/1/view%s", queries[i]);
        assert_true(number(all, "samples") == total_of(*state, target));
        assert_true(sum(member(threads, "samples")) == number(all, "samples"));
        assert_true(sum(member(member(threads, "on_cpu"), "yes")) ==
                    number(member(all, "on_cpu"), "yes"));
        cJSON_ArrayForEach(part, member(all, "parts")) done += part->valuedouble;
        assert_true(done == number(all, "samples"));
        cJSON_Delete(answer);
    }
}

static void threads_say_what_each_was_doing(void **state)
{
    cJSON *const answer = get_json(*state, "/api/v1/sessions/1/threads");
    const cJSON *const threads = member(answer, "threads");
    const cJSON *const parts = member(threads, "parts");
    assert_int_equal(cJSON_GetArraySize(member(threads, "thread")), 2);
    assert_true(item(member(threads, "samples"), 0) == 95);
    assert_true(item(member(member(threads, "on_cpu"), "yes"), 0) == 80);
    assert_true(item(member(member(threads, "on_cpu"), "unknown"), 1) == 5);
    assert_true(item(member(member(threads, "in_native"), "unknown"), 0) == 95);
    assert_true(item(member(parts, "running"), 0) == 80);
    assert_true(item(member(parts, "needs_gil"), 0) == 15);
    assert_true(item(member(parts, "running"), 1) == 5);
    cJSON_Delete(answer);
}

static void quality_explains_every_number(void **state)
{
    static const char *const costs[] = { "rss_bytes",    "rss_peak_bytes", "duration_s",
                                         "requested_hz", "current_hz",     "achieved_hz" };
    cJSON *const answer = get_json(*state, "/api/v1/sessions/1/quality");
    const cJSON *const meaning = member(answer, "descriptions");
    const cJSON *const states = member(answer, "states");
    const cJSON *value = NULL;
    cJSON_ArrayForEach(value, answer) if (cJSON_IsNumber(value))
        assert_true(strlen(member(meaning, value->string)->valuestring) > 10);
    cJSON_ArrayForEach(value, member(answer, "failed"))
    {
        char name[32];
        snprintf(name, sizeof name, "failed_%s", value->string);
        assert_true(cJSON_IsString(member(meaning, name)));
    }
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        assert_true(number(answer, costs[i]) > 0);
    assert_true(number(answer, "samples") == FAKE_TOTAL);
    assert_true(number(answer, "cpu_user_s") >= 0);
    assert_true(number(answer, "filtered") == 0);
    assert_true(number(member(states, "has_gil"), "at_least") == 0.5);
    assert_true(number(member(states, "on_cpu"), "at_least") == 0.8);
    assert_true(number(member(states, "on_cpu"), "at_most") == 0.85);
    assert_true(number(member(states, "in_native"), "at_least") == 0);
    assert_true(number(member(states, "in_native"), "at_most") == 1);
    cJSON_Delete(answer);
}

static void hostile_names_stay_text(void **state)
{
    static const char *const targets[] = { "/api/v1/sessions/1/tree", "/api/v1/sessions/1",
                                           "/api/v1/sessions/%3Cb%3E" };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct reply reply;
        server_get(*state, targets[i], BEARER, &reply);
        assert_null(strchr(reply.body, '<'));
        reply_deinit(&reply);
    }
    cJSON *const tree = get_json(*state, "/api/v1/sessions/1/tree");
    bool is_there = false;
    const cJSON *value = NULL;
    cJSON_ArrayForEach(value, member(member(tree, "strings"), "values")) is_there |=
        strcmp(value->valuestring, "</script><img src=x onerror=alert(1)>") == 0;
    assert_true(is_there);
    cJSON_Delete(tree);
}

TEST_GROUP(WITH_SERVER(bad_parameters_are_named), WITH_SERVER(tree_has_parents_before_children),
           WITH_SERVER(a_tree_has_packages_only_as_a_whole),
           WITH_SERVER(viewers_do_not_begin_again_for_each_package),
           WITH_SERVER(tree_since_adds_up), WITH_SERVER(view_since_adds_up),
           WITH_SERVER(nothing_new_is_an_empty_answer),
           WITH_SERVER(client_from_the_future_gets_everything),
           WITH_SERVER(views_filter_by_thread_process_and_time),
           WITH_SERVER(views_filter_by_state),
           WITH_SERVER(views_say_what_code_of_the_jit_executed),
           WITH_SERVER(lines_are_of_the_file_of_a_function),
           WITH_SERVER(matches_are_counted_for_each_window),
           WITH_SERVER(equal_states_have_equal_tags_whatever_their_spelling),
           WITH_SERVER(threads_sum_to_the_view), WITH_SERVER(threads_say_what_each_was_doing),
           WITH_SERVER(quality_explains_every_number), WITH_SERVER(hostile_names_stay_text))
