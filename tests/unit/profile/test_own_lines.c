/* The hottest lines of your own code. */
#include <string.h>

#include "sampler/profile/views/own_lines.h"
#include "sampler/profile/views/view.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static const char package[] = "/srv/lib/python3.13/site-packages/numpy/core.py";

static node_id under_function(struct profile *profile, node_id parent, function_id function,
                              int32_t line)
{
    struct err err = { 0 };
    frame_id frame;
    node_id node;
    assert_ok(profile_frame(profile, function, line, &frame, &err), &err);
    assert_ok(profile_node(profile, parent, frame, &node, &err), &err);
    return node;
}

static node_id under(struct profile *profile, node_id parent, const char *name,
                     const char *file, int32_t line)
{
    return under_function(profile, parent, made_function(profile, name, file, 1), line);
}

static void add(struct profile *profile, node_id node, state_bits state, uint32_t count)
{
    struct err err = { 0 };
    assert_ok(profile_add(profile, made_thread(profile, 1, 1), state, node, count, &err), &err);
}

static int begin(void **state)
{
    struct profile *const profile = made_profile();
    const node_id launcher = under(profile, 0, "<module>", "/srv/venv/bin/serve", 8);
    const node_id main = under(profile, 0, "main", "/srv/app.py", 3);
    const node_id load = under(profile, main, "load", "/srv/app.py", 10);
    const node_id decode = under(profile, load, "decode", "/usr/lib/python3.13/json.py", 40);
    const node_id listing = under(profile, load, "load.<listcomp>", "/srv/app.py", 10);
    const node_id dot = under(profile, main, "dot", package, 8);
    const node_id callback = under(profile, dot, "callback", "/srv/app.py", 20);
    const node_id made = under(profile, 0, "run", "<string>", 1);
    add(profile, decode, STATE_ON_CPU, 30);
    add(profile, under(profile, decode, "<native>", "~", 0), STATE_ON_CPU, 20);
    add(profile, listing, STATE_ON_CPU, 5);
    add(profile, callback, STATE_ON_CPU, 25);
    add(profile, dot, 0, 15);
    add(profile, made, STATE_ON_CPU, 10);
    add(profile, under(profile, launcher, "serve", "/usr/lib/python3.13/serve.py", 5),
        STATE_ON_CPU, 7);
    made_seal(profile, 1);
    *state = profile;
    return 0;
}

static int end(void **state)
{
    profile_destroy(*state);
    return 0;
}

static struct own_lines lines_of(struct profile_snapshot *snapshot,
                                 const struct view_query *query, const char *pattern,
                                 size_t most)
{
    struct own_lines own;
    struct err err = { 0 };
    assert_ok(own_lines_init(&own, snapshot, query, &pattern, pattern ? 1 : 0, most, &err),
              &err);
    return own;
}

static void expect_line(const struct own_lines *own, size_t at, int32_t line, uint64_t samples)
{
    assert_true(at < own->count);
    assert_int_equal(own->lines[at].line, line);
    assert_int_equal(own->lines[at].samples, samples);
}

static void a_sample_counts_at_the_innermost_own_line(void **state)
{
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct own_lines own = lines_of(&snapshot, &(struct view_query){ 0 }, NULL, 10);
    assert_int_equal(own.samples, 112);
    assert_int_equal(own.own_samples, 95);
    assert_int_equal(own.count, 3);
    expect_line(&own, 0, 10, 55);
    expect_line(&own, 1, 20, 25);
    expect_line(&own, 2, 3, 15);
    own_lines_deinit(&own);
    own = lines_of(
        &snapshot,
        &(struct view_query){ .states.parts = PART_SET_COMPARED & ~(1U << PART_BLOCKED) }, NULL,
        1);
    assert_int_equal(own.count, 1);
    expect_line(&own, 0, 10, 55);
    assert_int_equal(own.own_samples, 80);
    own_lines_deinit(&own);
    profile_snapshot_release(&snapshot);
}

static void patterns_say_what_is_own(void **state)
{
    struct profile_snapshot snapshot = made_snapshot(*state);
    struct own_lines own = lines_of(&snapshot, &(struct view_query){ 0 }, "/NUMPY/i", 10);
    assert_int_equal(own.count, 1);
    expect_line(&own, 0, 8, 40);
    own_lines_deinit(&own);
    profile_snapshot_release(&snapshot);
}

static void a_wrong_pattern_says_so(void **state)
{
    struct profile_snapshot snapshot = made_snapshot(*state);
    static const char *const wrong[] = { "/a**/", "" };
    const struct view_query everything = { 0 };
    const char *many[OWN_LINES_MAX_PATTERNS + 1];
    struct own_lines own;
    struct err err = { 0 };
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(own_lines_init(&own, &snapshot, &everything, &wrong[i], 1, 10, &err),
                         ERR_INVALID);
    for (size_t i = 0; i <= OWN_LINES_MAX_PATTERNS; i++)
        many[i] = "a";
    assert_int_equal(own_lines_init(&own, &snapshot, &everything, many,
                                    OWN_LINES_MAX_PATTERNS + 1, 10, &err),
                     ERR_INVALID);
    assert_int_equal(own.count, 0);
    profile_snapshot_release(&snapshot);
}

/* A consumer's thread runs only packages, though the program has files of its own. */
static void a_selection_without_your_files_has_lines_of_the_next_level(void **state)
{
    struct profile *const profile = *state;
    static const char client[] = "/v/lib/python3.13/site-packages/kafka/client.py";
    const thread_id consumer = made_thread(profile, 1, 2);
    const node_id run = under(profile, 0, "run", "/usr/lib/python3.13/threading.py", 5);
    const node_id poll = under(profile, run, "poll", client, 9);
    struct err err = { 0 };
    assert_ok(profile_add(profile, consumer, STATE_ON_CPU, poll, 40, &err), &err);
    made_seal(profile, 2);
    struct profile_snapshot snapshot = made_snapshot(profile);
    const struct view_query query = { .threads = &consumer, .thread_count = 1 };
    struct own_lines own = lines_of(&snapshot, &query, NULL, 10);
    assert_int_equal(own.level.kind, OWN_CODE_PACKAGES);
    assert_int_equal(own.own_samples, 40);
    expect_line(&own, 0, 9, 40);
    own_lines_deinit(&own);
    own = lines_of(&snapshot, &(struct view_query){ 0 }, NULL, 10);
    assert_int_equal(own.level.kind, OWN_CODE_FILES);
    own_lines_deinit(&own);
    profile_snapshot_release(&snapshot);
}

static void what_a_command_runs_is_own(void **state)
{
    struct profile *const profile = *state;
    add(profile, under(profile, 0, "spin", "<command>", 4), STATE_ON_CPU, 99);
    made_seal(profile, 2);
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct own_lines own = lines_of(&snapshot, &(struct view_query){ 0 }, NULL, 10);
    assert_int_equal(own.own_samples, 95 + 99);
    expect_line(&own, 0, 4, 99);
    own_lines_deinit(&own);
    profile_snapshot_release(&snapshot);
}

static void no_memory_is_an_error(void **state)
{
    struct profile_snapshot snapshot = made_snapshot(*state);
    const struct view_query everything = { 0 };
    struct own_lines own;
    struct err err = { 0 };
    enum err_code rc = ERR_NOMEM;
    for (unsigned i = 0; rc == ERR_NOMEM; i++) {
        failing_alloc_at(i);
        rc = own_lines_init(&own, &snapshot, &everything, NULL, 0, 10, &err);
        failing_alloc_never();
    }
    assert_ok(rc, &err);
    own_lines_deinit(&own);
    profile_snapshot_release(&snapshot);
}

TEST_GROUP(
    cmocka_unit_test_setup_teardown(a_sample_counts_at_the_innermost_own_line, begin, end),
    cmocka_unit_test_setup_teardown(patterns_say_what_is_own, begin, end),
    cmocka_unit_test_setup_teardown(a_wrong_pattern_says_so, begin, end),
    cmocka_unit_test_setup_teardown(a_selection_without_your_files_has_lines_of_the_next_level,
                                    begin, end),
    cmocka_unit_test_setup_teardown(what_a_command_runs_is_own, begin, end),
    cmocka_unit_test_setup_teardown(no_memory_is_an_error, begin, end))
