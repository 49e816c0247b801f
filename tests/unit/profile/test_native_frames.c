/* tests/native-frames.json, which tests/web/model/native-frames.test.mjs runs through the page's half. */
#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/base/enum_text.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/reshape.h"
#include "tests/support/made_profile.h"
#include "tests/support/shared_cases.h"
#include "tests/support/test.h"

static cJSON *cases;

static int begin(void **state)
{
    (void)state;
    cases = shared_cases_read("native-frames.json");
    return 0;
}

static int end(void **state)
{
    (void)state;
    cJSON_Delete(cases);
    return 0;
}

static void patterns_match_what_they_match_in_the_page(void **state)
{
    (void)state;
    shared_cases_check_patterns(cases);
}

static void stacks_are_what_they_are_in_the_page(void **state)
{
    const cJSON *row;
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "cases"))
    {
        const int native = enum_find(native_frames_texts, shared_cases_text(row, 0));
        struct frame_filters filters = { .native = (enum native_frames)native };
        assert_true(native > NATIVE_FRAMES_DEFAULT);
        shared_cases_add_terms(&filters, cJSON_GetArrayItem(row, 1));
        shared_cases_check(cases, &filters, cJSON_GetArrayItem(row, 2));
    }
}

static void leaf_is_the_default(void **state)
{
    for (unsigned parent = 0; parent < 16; parent++)
        for (int kind = FRAME_PYTHON; kind <= FRAME_INTERPRETER; kind++)
            assert_int_equal(
                native_frames_step(NATIVE_FRAMES_DEFAULT, parent, (enum frame_kind)kind),
                native_frames_step(NATIVE_FRAMES_LEAF, parent, (enum frame_kind)kind));
    (void)state;
}

/* Only what is shown gets a node. */
static void no_node_is_without_samples(void **state)
{
    (void)state;
    for (int native = NATIVE_FRAMES_HIDDEN; native <= NATIVE_FRAMES_EVERYTHING; native++) {
        const struct frame_filters filters = { .native = (enum native_frames)native };
        const struct reshape_settings settings = { .filters = &filters };
        uint64_t total[64] = { 0 };
        struct err err = { 0 };
        struct profile *const from = shared_cases_profile(cases), *const into = made_profile();
        struct profile_snapshot snapshot = made_snapshot(from);
        assert_ok(
            reshape_add(into, &snapshot, &(struct view_query){ 0 }, &settings, NULL, &err),
            &err);
        profile_snapshot_release(&snapshot);
        made_seal(into, 1);
        snapshot = made_snapshot(into);
        struct view view = made_view(&snapshot, &(struct view_query){ 0 });
        assert_in_range(snapshot.sizes.nodes, 2, sizeof total / sizeof *total);
        view_totals(&view, &snapshot, total);
        for (node_id node = 1; node < snapshot.sizes.nodes; node++)
            assert_true(total[node] > 0);
        view_deinit(&view);
        profile_snapshot_release(&snapshot);
        profile_destroy(into);
        profile_destroy(from);
    }
}

static void only_profiles_with_libraries_need_another_shape(void **state)
{
    struct profile *const profile = made_profile();
    struct frame_filters filters = { 0 };
    struct err err = { 0 };
    (void)state;
    (void)made_node(profile, "main;<GC>");
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    assert_false(reshape_is_needed(&snapshot, &filters));
    profile_snapshot_release(&snapshot);
    (void)made_node(profile, "main;read@libc.so");
    made_seal(profile, 2);
    snapshot = made_snapshot(profile);
    assert_true(reshape_is_needed(&snapshot, &filters));
    filters.native = NATIVE_FRAMES_EVERYTHING;
    assert_false(reshape_is_needed(&snapshot, &filters));
    assert_ok(frame_filters_add(&filters, FRAME_FILTER_HIDE, "read", &err), &err);
    assert_true(reshape_is_needed(&snapshot, &filters));
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

TEST_GROUP_WITHIN(begin, end, cmocka_unit_test(patterns_match_what_they_match_in_the_page),
                  cmocka_unit_test(stacks_are_what_they_are_in_the_page),
                  cmocka_unit_test(leaf_is_the_default),
                  cmocka_unit_test(no_node_is_without_samples),
                  cmocka_unit_test(only_profiles_with_libraries_need_another_shape))
