#include <stdio.h>
#include <string.h>

#include "sampler/profile/window.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static int begin(void **state)
{
    *state = made_profile();
    return 0;
}

static int end(void **state)
{
    profile_destroy(*state);
    return 0;
}

static uint32_t generation_now(struct profile *profile)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    const uint32_t generation = snapshot.generation;
    profile_snapshot_release(&snapshot);
    return generation;
}

static void assert_same_sizes(struct profile_sizes a, struct profile_sizes b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

static void before_the_first_seal_there_is_nothing(void **state)
{
    static const struct profile_sizes none;
    made_add(*state, made_thread(*state, 1, 1), 0, "f", 1);
    profile_quality(*state)->samples = 1;
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(snapshot.generation, 0);
    assert_int_equal(snapshot.window_count, 0);
    assert_int_equal(snapshot.quality.samples, 0);
    assert_int_equal(snapshot.end_ns, 0);
    assert_same_sizes(snapshot.sizes, none);
    assert_same_sizes(profile_snapshot_sizes_at(&snapshot, 0), none);
    assert_same_sizes(profile_snapshot_sizes_at(&snapshot, 100), none);
    profile_snapshot_release(&snapshot);
}

static void a_seal_makes_one_generation_and_one_window(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    for (uint32_t i = 1; i <= 300; i++) {
        made_add(*state, thread, 0, "f", i);
        made_seal(*state, i);
        assert_int_equal(generation_now(*state), i);
    }
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(snapshot.window_count, 300);
    assert_int_equal(snapshot.end_ns, 300 * NS_PER_S);
    for (uint32_t i = 0; i < 300; i++) {
        const struct window *const window = snapshot.windows[i];
        assert_int_equal(window->generation, i + 1);
        assert_int_equal(window->start_ns, i * NS_PER_S);
        assert_int_equal(window->end_ns, (i + 1) * NS_PER_S);
        assert_int_equal(window->cells[0].count, i + 1);
    }
    profile_snapshot_release(&snapshot);
}

static void a_seal_without_news_makes_no_generation(void **state)
{
    made_seal(*state, 1);
    assert_int_equal(generation_now(*state), 0);
    made_add(*state, made_thread(*state, 1, 1), 0, "f", 1);
    made_seal(*state, 2);
    made_seal(*state, 3);
    made_seal(*state, 4);
    assert_int_equal(generation_now(*state), 1);
}

static void counters_go_on_without_a_generation(void **state)
{
    profile_quality(*state)->failed_perm = 12;
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(snapshot.generation, 0);
    assert_int_equal(snapshot.quality.failed_perm, 12);
    profile_snapshot_release(&snapshot);
}

static void time_without_news_belongs_to_no_window(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    made_add(*state, thread, 0, "f", 1);
    made_seal(*state, 1);
    made_seal(*state, 5);
    made_add(*state, thread, 0, "f", 1);
    made_seal(*state, 6);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(snapshot.window_count, 2);
    assert_int_equal(snapshot.windows[1]->start_ns, 5 * NS_PER_S);
    assert_int_equal(snapshot.windows[1]->end_ns, 6 * NS_PER_S);
    profile_snapshot_release(&snapshot);
}

static void time_does_not_go_back(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    made_add(*state, thread, 0, "f", 1);
    made_seal(*state, 5);
    made_add(*state, thread, 0, "f", 1);
    made_seal(*state, 3);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(snapshot.windows[1]->start_ns, 5 * NS_PER_S);
    assert_int_equal(snapshot.windows[1]->end_ns, 5 * NS_PER_S);
    assert_int_equal(snapshot.end_ns, 5 * NS_PER_S);
    profile_snapshot_release(&snapshot);
}

static void rows_without_samples_are_news(void **state)
{
    (void)made_thread(*state, 1, 1);
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    assert_int_equal(snapshot.generation, 1);
    assert_int_equal(snapshot.sizes.threads, 1);
    assert_int_equal(snapshot.windows[0]->cell_count, 0);
    profile_snapshot_release(&snapshot);
}

static void sizes_are_those_of_the_generation(void **state)
{
    struct profile_sizes sizes[6] = { { 0 } };
    for (uint32_t i = 1; i <= 5; i++) {
        char stack[32];
        sprintf(stack, "f;g%u", i);
        made_add(*state, made_thread(*state, 1, (int32_t)i), 0, stack, 1);
        made_seal(*state, i);
        struct profile_snapshot snapshot = made_snapshot(*state);
        sizes[i] = snapshot.sizes;
        assert_int_equal(sizes[i].nodes, i + 2);
        assert_int_equal(sizes[i].threads, i);
        profile_snapshot_release(&snapshot);
    }
    struct profile_snapshot snapshot = made_snapshot(*state);
    for (uint32_t i = 0; i <= 5; i++)
        assert_same_sizes(profile_snapshot_sizes_at(&snapshot, i), sizes[i]);
    assert_same_sizes(profile_snapshot_sizes_at(&snapshot, UINT32_MAX), sizes[5]);
    profile_snapshot_release(&snapshot);
}

static void a_snapshot_stays_as_it_was_while_the_writer_goes_on(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    made_add(*state, thread, 0, "main;first", 1);
    made_seal(*state, 1);
    struct profile_snapshot snapshot = made_snapshot(*state);
    const struct profile_sizes sizes = snapshot.sizes;
    for (unsigned i = 0; i < 3000; i++) {
        char stack[64];
        sprintf(stack, "main;later%u", i);
        made_add(*state, thread, 0, stack, 1);
        if (i % 10 == 0)
            made_seal(*state, 2 + i);
    }
    assert_int_equal(snapshot.generation, 1);
    assert_int_equal(snapshot.window_count, 1);
    assert_same_sizes(snapshot.sizes, sizes);
    const struct profile_frame frame = profile_frame_at(&snapshot, sizes.frames - 1);
    const struct profile_function function = profile_function_at(&snapshot, frame.function);
    assert_string_equal(profile_string(&snapshot, function.name).text, "first");
    assert_string_equal(profile_string(&snapshot, function.file).text, "made.py");
    assert_int_equal(snapshot.windows[0]->cells[0].count, 1);
    profile_snapshot_release(&snapshot);
    assert_null(snapshot.windows);
    profile_snapshot_release(&snapshot); /* a second time is harmless */
}

/* A client that asks for news from time to time. */
struct client {
    uint32_t generation;
    uint32_t nodes;
    uint64_t self[4096];
};

static void poll_news(struct client *client, struct profile *profile)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct view news =
        made_view(&snapshot, &(struct view_query){ .since = client->generation });
    assert_int_equal(profile_snapshot_sizes_at(&snapshot, client->generation).nodes,
                     client->nodes);
    for (size_t i = 0; i < news.count; i++)
        client->self[news.node[i]] += news.self[i];
    client->generation = news.generation;
    client->nodes = snapshot.sizes.nodes;
    view_deinit(&news);
    profile_snapshot_release(&snapshot);
}

static void what_a_client_adds_up_is_the_whole(void **state)
{
    struct client client = { 0 };
    const thread_id thread = made_thread(*state, 1, 1);
    for (unsigned i = 0; i < 200; i++) {
        for (unsigned j = 0; j < 20; j++) {
            char stack[64];
            sprintf(stack, "main;f%u;g%u", (i + j) % 13, i * j % 101);
            made_add(*state, thread, 0, stack, 1 + j);
        }
        made_seal(*state, i + 1);
        if (i % 7 == 0)
            poll_news(&client, *state);
    }
    poll_news(&client, *state);
    poll_news(&client, *state); /* nothing new: nothing added */
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct view whole = made_view(&snapshot, &(struct view_query){ 0 });
    assert_int_equal(whole.total, 200 * 210);
    for (node_id id = 0; id < snapshot.sizes.nodes; id++)
        assert_int_equal(client.self[id], made_self(&whole, id));
    view_deinit(&whole);
    profile_snapshot_release(&snapshot);
}

static void a_seal_that_failed_can_be_made_again(void **state)
{
    const thread_id thread = made_thread(*state, 1, 1);
    unsigned failures = 0;
    for (uint32_t i = 1; i <= 200; i++) {
        made_add(*state, thread, 0, "f", 3);
        for (unsigned nth = 0;; nth++) {
            failing_alloc_at(nth);
            const enum err_code rc = profile_seal(*state, i, NULL);
            failing_alloc_never();
            if (!rc)
                break;
            assert_int_equal(rc, ERR_NOMEM);
            assert_int_equal(generation_now(*state), i - 1);
            failures++;
        }
    }
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct view view = made_view(&snapshot, &(struct view_query){ 0 });
    assert_int_equal(view.total, 600);
    assert_true(failures > 200);
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
}

static void a_snapshot_without_memory_is_an_error(void **state)
{
    struct profile_snapshot snapshot;
    made_add(*state, made_thread(*state, 1, 1), 0, "f", 1);
    made_seal(*state, 1);
    failing_alloc_at(0);
    assert_int_equal(profile_snapshot(*state, &snapshot, NULL), ERR_NOMEM);
    failing_alloc_never();
    assert_int_equal(generation_now(*state), 1);
}

#define WITH_PROFILE(test) cmocka_unit_test_setup_teardown(test, begin, end)

TEST_GROUP(WITH_PROFILE(before_the_first_seal_there_is_nothing),
           WITH_PROFILE(a_seal_makes_one_generation_and_one_window),
           WITH_PROFILE(a_seal_without_news_makes_no_generation),
           WITH_PROFILE(counters_go_on_without_a_generation),
           WITH_PROFILE(time_without_news_belongs_to_no_window),
           WITH_PROFILE(time_does_not_go_back), WITH_PROFILE(rows_without_samples_are_news),
           WITH_PROFILE(sizes_are_those_of_the_generation),
           WITH_PROFILE(a_snapshot_stays_as_it_was_while_the_writer_goes_on),
           WITH_PROFILE(what_a_client_adds_up_is_the_whole),
           WITH_PROFILE(a_seal_that_failed_can_be_made_again),
           WITH_PROFILE(a_snapshot_without_memory_is_an_error))
