/* Requests: durations of the values of contexts, percentiles, and what a choice keeps. */
#include <stdio.h>
#include <string.h>

#include "sampler/profile/run.h"
#include "sampler/profile/state.h"
#include "sampler/profile/views/request_choice.h"
#include "sampler/profile/views/requests.h"
#include "sampler/profile/views/view.h"
#include "sampler/profile/views/view_function.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

#define MS(milliseconds) ((milliseconds)*NS_PER_MS)

static const uint64_t PERIOD = MS(1);

/* The stack with the mark of a request, and perhaps that of a wait. */
static const char *stack_of(char text[static 256], const char *stack, const char *mark,
                            const char *wait)
{
    snprintf(text, 256, "%s;<context id%s>%s%s", stack, mark, *wait ? ";" : "", wait);
    return text;
}

static void put(struct profile *profile, int tid, const char *stack, const char *mark,
                const char *wait, uint64_t first_ns, uint32_t count)
{
    const thread_id thread = made_thread(profile, 1, tid);
    char text[256];
    stack_of(text, stack, mark, wait);
    const node_id node = made_node(profile, text);
    const state_bits state = *wait ? 0 : STATE_ON_CPU;
    assert_ok(profile_add(profile, thread, state, node, count, NULL), NULL);
    profile_order(profile, &(struct run){ .thread = thread,
                                          .node = node,
                                          .spot = PROFILE_NO_SPOT,
                                          .count = count,
                                          .state = state,
                                          .first_ns = first_ns,
                                          .step_ns = PERIOD });
}

static struct profile *begin_profile(void)
{
    struct profile *const profile = made_profile();
    profile_set_period(profile, PERIOD);
    return profile;
}

/* `count` requests of 10 ms, 20 ms, ...: "1", "2", ...; 100 ms after the begin, 500 ms before the end. */
static struct profile *ten_requests(void)
{
    struct profile *const profile = begin_profile();
    uint64_t at_ns = MS(100);
    for (unsigned i = 1; i <= 10; i++) {
        char mark[32];
        snprintf(mark, sizeof mark, ": %u", i);
        put(profile, 1, i == 10 ? "main;slow" : "main;quick", mark, "", at_ns, 10 * i);
        at_ns += MS(10) * i;
    }
    made_seal(profile, 2);
    return profile;
}

static void expect_request(const struct profile_snapshot *snapshot,
                           const struct request *request, const char *value)
{
    struct context_text text;
    assert_true(context_of_function(snapshot, request->context, &text));
    assert_int_equal(text.value_length, strlen(value));
    assert_memory_equal(text.value, value, text.value_length);
}

static void a_request_lasts_from_its_first_to_its_last_sample(void **state)
{
    struct profile *const profile = begin_profile();
    struct requests requests;
    (void)state;
    put(profile, 1, "main;work", ": a", "", MS(100), 10);
    put(profile, 2, "pool;work", ": a", "<waits: lock>", MS(105), 20);
    put(profile, 1, "main;work", ": b", "", MS(300), 1);
    put(profile, 1, "main;work", " unset", "", MS(400), 7);
    put(profile, 1, "main;work", " other", "", MS(500), 5);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(requests_init(&requests, &snapshot, NULL), NULL);
    assert_int_equal(requests.count, 2);
    assert_int_equal(requests.whole, 2);
    expect_request(&snapshot, &requests.items[0], "a");
    assert_int_equal(requests.items[0].first_ns, MS(100));
    assert_int_equal(requests.items[0].last_ns, MS(124));
    assert_int_equal(requests.items[0].duration_ns, MS(25));
    assert_int_equal(requests.items[0].error_ns, PERIOD);
    assert_int_equal(requests.items[0].samples, 30);
    assert_int_equal(requests.items[0].parts_ns[PART_RUNNING], MS(10));
    assert_int_equal(requests.items[0].parts_ns[PART_BLOCKED], MS(20));
    expect_request(&snapshot, &requests.items[1], "b");
    assert_int_equal(requests.items[1].duration_ns, PERIOD);
    assert_int_equal(requests.samples_by_mark[CONTEXT_MARK_VALUE], 31);
    assert_int_equal(requests.samples_by_mark[CONTEXT_MARK_UNSET], 7);
    assert_int_equal(requests.samples_by_mark[CONTEXT_MARK_OTHER], 5);

    struct request_detail details[2];
    assert_ok(requests_detail(&requests, &snapshot, 2, details, NULL), NULL);
    assert_int_equal(details[0].causes_ns[WAIT_LOCK], MS(20));
    assert_int_equal(details[0].top_ns, MS(30));
    assert_int_equal(details[0].view, 0);
    requests_deinit(&requests);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void an_idle_worker_works_for_no_request(void **state)
{
    struct profile *const profile = begin_profile();
    struct requests requests;
    (void)state;
    put(profile, 1, "main;work", ": a", "", MS(100), 10);
    put(profile, 1, "main;get", ": a", "<waits: idle worker>", MS(110), 300);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(requests_init(&requests, &snapshot, NULL), NULL);
    assert_int_equal(requests.count, 1);
    assert_int_equal(requests.items[0].samples, 10);
    assert_int_equal(requests.items[0].duration_ns, MS(10));
    requests_deinit(&requests);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void requests_at_the_ends_of_a_recording_are_cut(void **state)
{
    struct profile *const profile = begin_profile();
    struct requests requests;
    (void)state;
    put(profile, 1, "main;work", ": first", "", MS(1), 50);
    put(profile, 1, "main;work", ": whole", "", MS(100), 20);
    put(profile, 1, "main;work", ": last", "", MS(900), 100);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(requests_init(&requests, &snapshot, NULL), NULL);
    assert_int_equal(requests.count, 3);
    assert_int_equal(requests.cut, 2);
    assert_int_equal(requests.whole, 1);
    assert_int_equal(requests.whole_ns[0], MS(20));
    requests_keep_range(&requests, MS(110), MS(500));
    assert_int_equal(requests.count, 1);
    assert_int_equal(requests.cut, 0);
    assert_int_equal(requests.whole, 1);
    expect_request(&snapshot, &requests.items[0], "whole");
    requests_keep_range(&requests, MS(600), 0);
    assert_int_equal(requests.count, 0);
    requests_deinit(&requests);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void without_an_order_of_samples_a_request_is_rough(void **state)
{
    struct profile *const profile = begin_profile();
    struct requests requests;
    struct requests_quantile quantile;
    (void)state;
    made_add(profile, made_thread(profile, 1, 1), STATE_ON_CPU, "main;<context id: a>", 5);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(requests_init(&requests, &snapshot, NULL), NULL);
    assert_int_equal(requests.count, 1);
    assert_int_equal(requests.rough, 1);
    assert_int_equal(requests.whole, 0);
    assert_int_equal(requests.items[0].duration_ns, MS(1000));
    assert_int_equal(requests.items[0].error_ns, MS(1000));
    assert_false(requests_quantile(&requests, 0.5, &quantile));
    requests_deinit(&requests);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void quantiles_have_the_intervals_of_order_statistics(void **state)
{
    enum { MANY = 10000 };
    static uint64_t durations[MANY];
    struct requests requests = { .whole_ns = durations };
    struct requests_quantile quantile;
    (void)state;
    for (size_t i = 0; i < MANY; i++)
        durations[i] = i + 1;

    /* The interval of the median of 10 is that of ranks 2 and 9 (97.9 %). */
    requests.whole = 10;
    assert_true(requests_quantile(&requests, 0.5, &quantile));
    assert_int_equal(quantile.duration_ns, 5);
    assert_true(quantile.has_low && quantile.has_high);
    assert_int_equal(quantile.low_ns, 2);
    assert_int_equal(quantile.high_ns, 9);

    /* Nothing is known of how slow the slowest hundredth of ten is at most. */
    assert_true(requests_quantile(&requests, 0.99, &quantile));
    assert_int_equal(quantile.duration_ns, 10);
    assert_false(quantile.has_high);
    assert_true(quantile.has_low);

    requests.whole = 1;
    assert_true(requests_quantile(&requests, 0.5, &quantile));
    assert_int_equal(quantile.duration_ns, 1);
    assert_false(quantile.has_low || quantile.has_high);

    /* 9900 of 10,000, with a standard deviation of 9.95. */
    requests.whole = MANY;
    assert_true(requests_quantile(&requests, 0.99, &quantile));
    assert_int_equal(quantile.duration_ns, 9900);
    assert_in_range(quantile.low_ns, 9878, 9882);
    assert_in_range(quantile.high_ns, 9919, 9923);
}

static void a_request_has_its_pieces_in_the_order_of_time(void **state)
{
    struct profile *const profile = begin_profile();
    struct request_pieces pieces;
    (void)state;
    put(profile, 1, "main;work", ": a", "", MS(100), 10);
    put(profile, 1, "main;work", ": a", "", MS(110), 10);
    put(profile, 2, "pool;get", ": a", "<waits: lock>", MS(105), 20);
    put(profile, 1, "main;work", ": b", "", MS(120), 10);
    put(profile, 1, "main;end", ": a", "", MS(130), 5);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    const function_id mark = made_function(profile, "<context id: a>", "~", 0);
    assert_ok(request_pieces_init(&pieces, &snapshot, mark, REQUEST_MAX_PIECES, NULL), NULL);
    assert_int_equal(pieces.count, 3);
    assert_int_equal(pieces.left_out, 0);
    assert_int_equal(pieces.items[0].start_ns, MS(99));
    assert_int_equal(pieces.items[0].end_ns, MS(119));
    assert_int_equal(pieces.items[0].part, PART_RUNNING);
    assert_int_equal(pieces.items[1].start_ns, MS(104));
    assert_int_equal(pieces.items[1].end_ns, MS(124));
    assert_int_equal(pieces.items[1].part, PART_BLOCKED);
    assert_int_equal(pieces.items[1].cause, WAIT_LOCK);
    assert_int_not_equal(pieces.items[1].thread, pieces.items[0].thread);
    assert_int_equal(pieces.items[2].start_ns, MS(129));
    assert_int_not_equal(pieces.items[2].top, pieces.items[0].top);
    request_pieces_deinit(&pieces);
    assert_ok(request_pieces_init(&pieces, &snapshot, 0, REQUEST_MAX_PIECES, NULL), NULL);
    assert_int_equal(pieces.count, 0);
    request_pieces_deinit(&pieces);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void a_long_request_has_its_longest_pieces(void **state)
{
    struct profile *const profile = begin_profile();
    struct request_pieces pieces;
    (void)state;
    for (uint32_t i = 0; i < REQUEST_MAX_PIECES + 50; i++)
        put(profile, 1, i % 2 ? "main;odd" : "main;even", ": a", "", MS(1000 + 10 * i),
            i % 100 == 7 ? 1 : 5);
    made_seal(profile, 30);
    struct profile_snapshot snapshot = made_snapshot(profile);
    const function_id mark = made_function(profile, "<context id: a>", "~", 0);
    assert_ok(request_pieces_init(&pieces, &snapshot, mark, REQUEST_MAX_PIECES, NULL), NULL);
    assert_int_equal(pieces.count, REQUEST_MAX_PIECES);
    assert_int_equal(pieces.left_out, 50);
    for (size_t i = 1; i < pieces.count; i++)
        assert_true(pieces.items[i].start_ns > pieces.items[i - 1].start_ns);
    request_pieces_deinit(&pieces);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void a_choice_keeps_the_samples_of_its_requests(void **state)
{
    static const struct {
        struct request_choice choice;
        size_t kept;
        uint64_t samples;
    } rows[] = {
        { { .slower_ns = MS(1) }, 10, 550 },
        { { .slower_ns = MS(80) }, 3, 270 },
        { { .slower_ns = MS(50), .faster_ns = MS(80) }, 3, 180 },
        { { .slowest = 10 }, 1, 100 },
        { { .slowest = 11 }, 2, 190 },
        { { .slowest = 10, .is_rest = true }, 9, 450 },
        { { .slowest = 0.01 }, 1, 100 },
        { { .pattern = "id: 1" }, 2, 110 },
        { { .pattern = "/: [12]$/" }, 2, 30 },
        { { .pattern = "/: [12]$/", .slowest = 50 }, 1, 20 },
        { { .pattern = "/: [12]$/", .slowest = 50, .is_rest = true }, 1, 10 },
        { { .pattern = "/: [12]$/", .is_rest = true }, 8, 520 },
        { { .slower_ns = MS(1000) }, 0, 0 },
    };
    struct profile *const profile = ten_requests();
    (void)state;
    put(profile, 1, "main;idle", " unset", "", MS(2100), 30);
    made_seal(profile, 3);
    struct profile_snapshot snapshot = made_snapshot(profile);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct request_set set;
        assert_true(request_choice_is_set(&rows[i].choice));
        assert_ok(request_choice_check(&rows[i].choice, NULL), NULL);
        assert_ok(request_set_init(&set, &snapshot, &rows[i].choice, NULL), NULL);
        assert_int_equal(set.requests, 10);
        assert_int_equal(set.samples, 550);
        assert_int_equal(set.kept, rows[i].kept);
        assert_int_equal(set.kept_samples, rows[i].samples);
        const struct view view = made_view(&snapshot, &(struct view_query){ .requests = &set });
        assert_int_equal(view.total, rows[i].samples);
        view_deinit(
            &(struct view){ .node = view.node, .self = view.self, .self_ns = view.self_ns });
        request_set_deinit(&set);
    }
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void a_wrong_choice_is_refused(void **state)
{
    struct err err = { 0 };
    (void)state;
    assert_int_equal(request_choice_check(&(struct request_choice){ .pattern = "/(/" }, &err),
                     ERR_INVALID);
    assert_int_equal(
        request_choice_check(&(struct request_choice){ .slower_ns = 2, .faster_ns = 2 }, &err),
        ERR_INVALID);
    assert_false(request_choice_is_set(&(struct request_choice){ 0 }));
}

/* The node of a stack of "name file" rows, outermost first. */
static node_id node_of(struct profile *profile, const char *const (*rows)[2])
{
    node_id node = 0;
    for (; (*rows)[0]; rows++) {
        frame_id frame;
        assert_ok(profile_frame(profile, made_function(profile, (*rows)[0], (*rows)[1], 1), 1,
                                &frame, NULL),
                  NULL);
        assert_ok(profile_node(profile, node, frame, &node, NULL), NULL);
    }
    return node;
}

static void a_view_function_is_what_a_framework_calls(void **state)
{
    static const char *const flask[][2] = {
        { "run", "/app/serve.py" },
        { "Flask.wsgi_app", "/usr/lib/python3/dist-packages/flask/app.py" },
        { "Flask.dispatch_request", "/usr/lib/python3/dist-packages/flask/app.py" },
        { "slow_page", "/app/serve.py" },
        { "helper", "/app/other.py" },
        { NULL, NULL },
    };
    static const char *const django[][2] = {
        { "BaseHandler._get_response", "/v/site-packages/django/core/handlers/base.py" },
        { "View.dispatch", "/v/site-packages/django/views/generic/base.py" },
        { "Page.get", "/app/django/views.py" },
        { "sleep", "/app/django/views.py" },
        { NULL, NULL },
    };
    static const char *const none[][2] = {
        { "main", "/app/serve.py" },
        { "dispatch_request", "/app/serve.py" },
        { "slow_page", "/app/serve.py" },
        { NULL, NULL },
    };
    static const char *const own_only[][2] = {
        { "handle", "/v/site-packages/aiohttp/web_protocol.py" },
        { "Application._handle", "/v/site-packages/aiohttp/web_app.py" },
        { NULL, NULL },
    };
    struct profile *const profile = made_profile();
    (void)state;
    const node_id a = node_of(profile, flask), b = node_of(profile, django),
                  c = node_of(profile, none), d = node_of(profile, own_only);
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_int_equal(view_function_of(&snapshot, a),
                     made_function(profile, "slow_page", "/app/serve.py", 1));
    assert_int_equal(view_function_of(&snapshot, b),
                     made_function(profile, "Page.get", "/app/django/views.py", 1));
    assert_int_equal(view_function_of(&snapshot, c), 0);
    assert_int_equal(view_function_of(&snapshot, d), 0);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void samples_before_the_name_was_known_are_of_a_guessed_request(void **state)
{
    static const char *const marks[] = { "<context guessed-requests: 0123abcd-1>",
                                         "<context guessed-requests: 0123abcd-1 slow>",
                                         "<context guessed-requests: 0123abcd-10 quick>",
                                         "<context guessed-requests: 0123abcd-2 quick>",
                                         "<context guessed-requests: 0123abcd-2>",
                                         "<context guessed-requests: ffffffff-1>" };
    struct profile *const profile = begin_profile();
    struct requests requests;
    char text[256];
    (void)state;
    for (unsigned i = 0; i < sizeof marks / sizeof *marks; i++) {
        snprintf(text, sizeof text, "main;%s", marks[i]);
        const node_id node = made_node(profile, text);
        const thread_id thread = made_thread(profile, 1, 1);
        assert_ok(profile_add(profile, thread, STATE_ON_CPU, node, 10, NULL), NULL);
        profile_order(profile, &(struct run){ .thread = thread,
                                              .node = node,
                                              .spot = PROFILE_NO_SPOT,
                                              .count = 10,
                                              .state = STATE_ON_CPU,
                                              .first_ns = MS(100 + 10 * i),
                                              .step_ns = PERIOD });
    }
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(requests_init(&requests, &snapshot, NULL), NULL);
    assert_int_equal(requests.count, 4);
    expect_request(&snapshot, &requests.items[0], "0123abcd-1 slow");
    assert_int_equal(requests.items[0].duration_ns, MS(20));
    assert_int_equal(requests.items[0].samples, 20);
    expect_request(&snapshot, &requests.items[1], "0123abcd-2 quick");
    assert_int_equal(requests.items[1].samples, 20);
    expect_request(&snapshot, &requests.items[2], "0123abcd-10 quick");
    expect_request(&snapshot, &requests.items[3], "ffffffff-1");
    requests_deinit(&requests);

    struct request_set set;
    assert_ok(request_set_init(&set, &snapshot,
                               &(struct request_choice){ .pattern = "0123abcd-1 slow" }, NULL),
              NULL);
    assert_true(set.are_guessed);
    assert_int_equal(set.kept, 1);
    assert_int_equal(set.kept_samples, 20);
    snprintf(text, sizeof text, "main;%s", marks[0]);
    assert_true(request_set_has(&set, made_node(profile, text)));
    request_set_deinit(&set);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void a_number_is_that_of_a_guessed_request(void **state)
{
    static const struct {
        const char *name;
        size_t length;
    } rows[] = {
        { "<context guessed-requests: 0123abcd-17 slow>", 11 },
        { "<context guessed-requests: 0123abcd-17>", 11 },
        { "<context guessed-requests: 0123abcd->", 0 },
        { "<context guessed-requests: 0123abcd-17x>", 0 },
        { "<context guessed-requests: secret>", 0 },
        { "<context guessed-requests: 0123abcdef-1 x>", 0 },
        { "<context request: 0123abcd-17 slow>", 0 },
        { "<context guessed-requests unset>", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct context_text text;
        assert_true(context_read_name(rows[i].name, &text));
        assert_int_equal(context_guessed_length(&text), rows[i].length);
    }
}

TEST_GROUP(cmocka_unit_test(samples_before_the_name_was_known_are_of_a_guessed_request),
           cmocka_unit_test(a_number_is_that_of_a_guessed_request),
           cmocka_unit_test(a_request_lasts_from_its_first_to_its_last_sample),
           cmocka_unit_test(an_idle_worker_works_for_no_request),
           cmocka_unit_test(requests_at_the_ends_of_a_recording_are_cut),
           cmocka_unit_test(without_an_order_of_samples_a_request_is_rough),
           cmocka_unit_test(quantiles_have_the_intervals_of_order_statistics),
           cmocka_unit_test(a_request_has_its_pieces_in_the_order_of_time),
           cmocka_unit_test(a_long_request_has_its_longest_pieces),
           cmocka_unit_test(a_choice_keeps_the_samples_of_its_requests),
           cmocka_unit_test(a_wrong_choice_is_refused),
           cmocka_unit_test(a_view_function_is_what_a_framework_calls))
