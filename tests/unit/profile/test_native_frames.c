/* tests/native-frames.json, which tests/web/model/native-frames.test.mjs runs through the page's half. */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "sampler/base/enum_text.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/reshape.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static cJSON *cases;

static int begin(void **state)
{
    static char text[1 << 15];
    FILE *const file = fopen(TEST_SOURCE_DIR "/native-frames.json", "r");
    (void)state;
    assert_non_null(file);
    assert_in_range(fread(text, 1, sizeof text - 1, file), 100, sizeof text - 2);
    fclose(file);
    cases = cJSON_Parse(text);
    assert_non_null(cases);
    return 0;
}

static int end(void **state)
{
    (void)state;
    cJSON_Delete(cases);
    return 0;
}

static const char *text_at(const cJSON *row, int index)
{
    const cJSON *const item = cJSON_GetArrayItem(row, index);
    return item ? item->valuestring : NULL;
}

static bool names(const cJSON *list, const char *text)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(item->valuestring, text) == 0)
            return true;
    }
    return false;
}

static void patterns_match_what_they_match_in_the_page(void **state)
{
    const cJSON *row, *function;
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "patterns"))
    {
        struct pattern pattern;
        struct err err = { 0 };
        assert_ok(pattern_init(&pattern, text_at(row, 0), &err), &err);
        cJSON_ArrayForEach(function, cJSON_GetObjectItem(cases, "functions"))
        {
            const struct pattern_subject subject = {
                .name = text_at(function, 0),
                .file = text_at(function, 1),
                .line = cJSON_GetArrayItem(function, 2)->valueint,
                .library = text_at(function, 3),
            };
            bool matches;
            assert_ok(pattern_matches(&pattern, &subject, &matches, &err), &err);
            if (matches != names(cJSON_GetArrayItem(row, 1), function->string))
                fail_msg("'%s' and %s", text_at(row, 0), function->string);
        }
        pattern_deinit(&pattern);
    }
}

static function_id function_of(struct profile *profile, const char *key)
{
    const cJSON *const row = cJSON_GetObjectItem(cJSON_GetObjectItem(cases, "functions"), key);
    const int line = cJSON_GetArrayItem(row, 2)->valueint;
    if (!text_at(row, 3))
        return made_function(profile, text_at(row, 0), text_at(row, 1), line);
    return made_native_function(profile, text_at(row, 0), text_at(row, 3), text_at(row, 1),
                                line);
}

static node_id node_of(struct profile *profile, const char *stack)
{
    char copy[128];
    char *rest = copy;
    node_id node = 0;
    struct err err = { 0 };
    snprintf(copy, sizeof copy, "%s", stack);
    for (const char *key; (key = strtok_r(rest, ";", &rest));) {
        frame_id frame;
        assert_ok(profile_frame(profile, function_of(profile, key), 1, &frame, &err), &err);
        assert_ok(profile_node(profile, node, frame, &node, &err), &err);
    }
    return node;
}

static struct profile *made_session(uint64_t *samples_out)
{
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 7, 7);
    const cJSON *row;
    *samples_out = 0;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "stacks"))
    {
        const uint32_t count = (uint32_t)cJSON_GetArrayItem(row, 1)->valueint;
        struct err err = { 0 };
        assert_ok(profile_add(profile, thread, STATE_ON_CPU, node_of(profile, text_at(row, 0)),
                              count, &err),
                  &err);
        *samples_out += count;
    }
    made_seal(profile, 1);
    return profile;
}

/* The key of the function, or the name of a frame that stands for a library. */
static const char *key_of(const struct profile_snapshot *snapshot, node_id node)
{
    const frame_id frame = profile_node_at(snapshot, node).frame;
    const struct profile_function function =
        profile_function_at(snapshot, profile_frame_at(snapshot, frame).function);
    const char *const name = profile_string(snapshot, function.name).text;
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "functions"))
    {
        if (strcmp(text_at(row, 0), name) == 0)
            return row->string;
    }
    return name;
}

static void expect_lines(struct profile *profile, const cJSON *lines, const char *setting)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct view view = made_view(&snapshot, &(struct view_query){ 0 });
    for (size_t i = 0; i < view.count; i++) {
        char text[256] = "", rest[256];
        for (node_id node = view.node[i]; node;
             node = profile_node_at(&snapshot, node).parent) {
            snprintf(rest, sizeof rest, "%s", text);
            snprintf(text, sizeof text, "%s%s%.200s", key_of(&snapshot, node), *rest ? ";" : "",
                     rest);
        }
        sprintf(text + strlen(text), " %d", (int)view.self[i]);
        if (!names(lines, text))
            fail_msg("%s: '%s' is left", setting, text);
    }
    assert_int_equal(view.count, cJSON_GetArraySize(lines));
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
}

/* "show-from function:a" */
static void add_term(struct frame_filters *filters, const char *term)
{
    const char *const pattern = strchr(term, ' ') + 1;
    const size_t length = (size_t)(pattern - term - 1);
    struct err err = { 0 };
    for (int kind = 0; kind < FRAME_FILTER_KIND_COUNT; kind++)
        if (strncmp(frame_filter_name((enum frame_filter_kind)kind), term, 4) == 0 &&
            strlen(frame_filter_name((enum frame_filter_kind)kind)) == length) {
            assert_ok(frame_filters_add(filters, (enum frame_filter_kind)kind, pattern, &err),
                      &err);
            return;
        }
    fail_msg("no filter is called so: '%s'", term);
}

static void stacks_are_what_they_are_in_the_page(void **state)
{
    const cJSON *row;
    (void)state;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "cases"))
    {
        const int native = enum_find(native_frames_texts, text_at(row, 0));
        struct frame_filters filters = { .native = (enum native_frames)native };
        struct reshape_counts counts = { 0 };
        struct err err = { 0 };
        uint64_t samples;
        struct profile *const from = made_session(&samples), *const into = made_profile();
        struct profile_snapshot snapshot = made_snapshot(from);
        assert_true(native > NATIVE_FRAMES_DEFAULT);
        for (int i = 0; i < cJSON_GetArraySize(cJSON_GetArrayItem(row, 1)); i++)
            add_term(&filters, text_at(cJSON_GetArrayItem(row, 1), i));
        const struct reshape_settings settings = { .filters = &filters };
        assert_ok(
            reshape_add(into, &snapshot, &(struct view_query){ 0 }, &settings, &counts, &err),
            &err);
        made_seal(into, 1);
        expect_lines(into, cJSON_GetArrayItem(row, 2), text_at(row, 0));
        assert_int_equal(counts.samples + counts.filtered, samples);
        profile_snapshot_release(&snapshot);
        profile_destroy(into);
        profile_destroy(from);
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
        uint64_t samples, total[64] = { 0 };
        struct err err = { 0 };
        struct profile *const from = made_session(&samples), *const into = made_profile();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_what_they_match_in_the_page),
        cmocka_unit_test(stacks_are_what_they_are_in_the_page),
        cmocka_unit_test(leaf_is_the_default),
        cmocka_unit_test(no_node_is_without_samples),
        cmocka_unit_test(only_profiles_with_libraries_need_another_shape),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
