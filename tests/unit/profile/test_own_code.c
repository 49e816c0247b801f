/* Files that count as your code. */
#include <stdio.h>
#include <string.h>

#include "sampler/profile/views/own_code.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/shared_cases.h"
#include "tests/support/test.h"

enum { MAX_FUNCTIONS = 64 };

static void expect_levels(const struct own_code *own, const cJSON *program)
{
    const cJSON *const levels = cJSON_GetObjectItem(program, "own_code");
    if ((int)own->count != cJSON_GetArraySize(levels))
        fail_msg("%s: %zu levels", program->string, own->count);
    for (size_t i = 0; i < own->count; i++) {
        const cJSON *const level = cJSON_GetArrayItem(levels, (int)i);
        const cJSON *const packages = cJSON_GetObjectItem(level, "packages");
        const struct own_code_level *const found = &own->levels[i];
        const char *const kind = cJSON_GetStringValue(cJSON_GetObjectItem(level, "kind"));
        if (strcmp(own_code_kind_texts[found->kind], kind) != 0 ||
            (int)found->package_count != cJSON_GetArraySize(packages))
            fail_msg("%s: level %zu is %s of %zu", program->string, i,
                     own_code_kind_texts[found->kind], found->package_count);
        for (size_t k = 0; k < found->package_count; k++) {
            const char *const name = shared_cases_text(packages, (int)k);
            assert_int_equal(found->packages[k].length, strlen(name));
            assert_memory_equal(found->packages[k].name, name, strlen(name));
        }
    }
}

static void expect_own(const cJSON *program)
{
    struct profile *const profile = shared_cases_profile(program);
    const cJSON *const expected = cJSON_GetObjectItem(program, "own"), *function;
    unsigned char marks[MAX_FUNCTIONS] = { 0 };
    struct own_code own;
    struct err err = { 0 };
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_in_range(snapshot.sizes.functions, 1, MAX_FUNCTIONS);
    assert_ok(own_code_find(&snapshot, &own, marks, &err), &err);
    expect_levels(&own, program);
    cJSON_ArrayForEach(function, cJSON_GetObjectItem(program, "functions"))
    {
        const function_id id = shared_cases_function(program, profile, function->string);
        const bool is_own = id < snapshot.sizes.functions && (marks[id] & 1);
        if (is_own != shared_cases_has(expected, function->string))
            fail_msg("%s: %s", program->string, function->string);
    }
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

static node_id add(struct profile *profile, node_id parent, const char *name, const char *file,
                   int32_t line)
{
    struct err err = { 0 };
    frame_id frame;
    node_id node;
    assert_ok(profile_frame(profile, made_function(profile, name, file, 1), line, &frame, &err),
              &err);
    assert_ok(profile_node(profile, parent, frame, &node, &err), &err);
    assert_ok(profile_add(profile, made_thread(profile, 1, 1), STATE_ON_CPU, node, 1, &err),
              &err);
    return node;
}

static enum own_code_kind first_kind(struct profile *profile)
{
    struct own_code own;
    struct err err = { 0 };
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(own_code_find(&snapshot, &own, NULL, &err), &err);
    profile_snapshot_release(&snapshot);
    assert_in_range(own.count, 1, OWN_CODE_MAX_LEVELS);
    return own.levels[0].kind;
}

/* Text that defines a method has one line, and calls nothing. */
static void text_with_several_lines_is_a_program(void **state)
{
    struct profile *const profile = made_profile();
    const node_id run =
        add(profile, 0, "run", "/v/lib/python3.13/site-packages/worker/pool.py", 1);
    (void)state;
    add(profile, run, "<module>", "<string>", 1);
    made_seal(profile, 1);
    assert_int_equal(first_kind(profile), OWN_CODE_PACKAGES);
    add(profile, run, "<module>", "<string>", 2);
    made_seal(profile, 2);
    assert_int_equal(first_kind(profile), OWN_CODE_DYNAMIC);
    profile_destroy(profile);
}

static void packages_of_a_level_are_bounded(void **state)
{
    struct profile *const profile = made_profile();
    struct own_code own;
    struct err err = { 0 };
    char file[64];
    (void)state;
    for (int i = 0; i < 2 * OWN_CODE_MAX_PACKAGES; i++) {
        snprintf(file, sizeof file, "/v/site-packages/package%d/api.py", i);
        add(profile, 0, "run", file, 1);
    }
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_ok(own_code_find(&snapshot, &own, NULL, &err), &err);
    assert_int_equal(own.levels[0].package_count, OWN_CODE_MAX_PACKAGES);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void no_memory_is_an_error(void **state)
{
    struct profile *const profile = made_profile();
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct own_code own;
    struct err err = { 0 };
    enum err_code rc = ERR_NOMEM;
    (void)state;
    for (unsigned i = 0; rc == ERR_NOMEM; i++) {
        failing_alloc_at(i);
        rc = own_code_find(&snapshot, &own, NULL, &err);
        failing_alloc_never();
    }
    assert_ok(rc, &err);
    assert_int_equal(own.count, 0);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

TEST_GROUP(cmocka_unit_test(your_code_is_what_it_is_on_the_page),
           cmocka_unit_test(text_with_several_lines_is_a_program),
           cmocka_unit_test(packages_of_a_level_are_bounded),
           cmocka_unit_test(no_memory_is_an_error))
