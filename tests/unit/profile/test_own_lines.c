/* The hottest lines of your own code. */
#include <stdio.h>
#include <string.h>

#include "sampler/profile/views/own_lines.h"
#include "sampler/profile/views/view.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/shared_cases.h"
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

static void expect_programs(const struct profile_snapshot *snapshot, const cJSON *program)
{
    const cJSON *const expected = cJSON_GetObjectItem(program, "programs");
    struct own_programs found;
    struct err err = { 0 };
    assert_ok(own_lines_programs(snapshot, &found, &err), &err);
    if ((int)found.count != cJSON_GetArraySize(expected))
        fail_msg("%s: %zu programs", program->string, found.count);
    for (size_t i = 0; i < found.count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)found.packages[i].length,
                 found.packages[i].name);
        assert_true(shared_cases_has(expected, name));
    }
}

/* A line of its own for each function says whether it is yours. */
static void expect_own(const cJSON *program)
{
    enum { FIRST = 100 };
    struct profile *const profile = shared_cases_profile(program);
    const cJSON *const expected = cJSON_GetObjectItem(program, "own"), *function;
    int32_t line = FIRST;
    cJSON_ArrayForEach(function, cJSON_GetObjectItem(program, "functions"))
    {
        add(profile,
            under_function(profile, 0,
                           shared_cases_function(program, profile, function->string), line++),
            STATE_ON_CPU, 1);
    }
    made_seal(profile, 2);
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct own_lines own = lines_of(&snapshot, &(struct view_query){ 0 }, NULL, 100);
    expect_programs(&snapshot, program);
    line = FIRST;
    cJSON_ArrayForEach(function, cJSON_GetObjectItem(program, "functions"))
    {
        bool is_own = false;
        for (size_t i = 0; i < own.count; i++)
            is_own |= own.lines[i].line == line;
        line++;
        if (is_own != shared_cases_has(expected, function->string))
            fail_msg("%s: %s", program->string, function->string);
    }
    own_lines_deinit(&own);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void your_code_is_what_it_is_on_the_page(void **state)
{
    cJSON *const cases = shared_cases_read("origins.json");
    const cJSON *program;
    (void)state;
    shared_cases_check_patterns(cases);
    cJSON_ArrayForEach(program, cJSON_GetObjectItem(cases, "programs"))
    {
        expect_own(program);
    }
    cJSON_Delete(cases);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sample_counts_at_the_innermost_own_line, begin, end),
        cmocka_unit_test_setup_teardown(patterns_say_what_is_own, begin, end),
        cmocka_unit_test_setup_teardown(a_wrong_pattern_says_so, begin, end),
        cmocka_unit_test(your_code_is_what_it_is_on_the_page),
        cmocka_unit_test_setup_teardown(what_a_command_runs_is_own, begin, end),
        cmocka_unit_test_setup_teardown(no_memory_is_an_error, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
