#include "tests/support/shared_cases.h"

#include <stdio.h>
#include <string.h>

#include "sampler/profile/packages.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/reshape.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { LINE_MAX_LENGTH = 256 };

cJSON *shared_cases_read(const char *name)
{
    static char text[1 << 15];
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TEST_SOURCE_DIR, name);
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_in_range(length, 100, sizeof text - 2);
    cJSON *const cases = cJSON_ParseWithLength(text, length);
    assert_non_null(cases);
    return cases;
}

const char *shared_cases_text(const cJSON *list, int index)
{
    return cJSON_GetStringValue(cJSON_GetArrayItem(list, index));
}

bool shared_cases_has(const cJSON *list, const char *text)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(item->valuestring, text) == 0)
            return true;
    }
    return false;
}

void shared_cases_check_patterns(const cJSON *cases)
{
    const cJSON *row, *function;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "patterns"))
    {
        struct pattern pattern;
        struct err err = { 0 };
        assert_ok(pattern_init(&pattern, shared_cases_text(row, 0), &err), &err);
        cJSON_ArrayForEach(function, cJSON_GetObjectItem(cases, "functions"))
        {
            const struct pattern_subject subject = {
                .name = shared_cases_text(function, 0),
                .file = shared_cases_text(function, 1),
                .line = cJSON_GetArrayItem(function, 2)->valueint,
                .library = shared_cases_text(function, 3),
            };
            bool matches;
            assert_ok(pattern_matches(&pattern, &subject, &matches, &err), &err);
            if (matches != shared_cases_has(cJSON_GetArrayItem(row, 1), function->string))
                fail_msg("'%s' and %s", shared_cases_text(row, 0), function->string);
        }
        pattern_deinit(&pattern);
    }
}

function_id shared_cases_function(const cJSON *cases, struct profile *profile, const char *key)
{
    const cJSON *const row = cJSON_GetObjectItem(cJSON_GetObjectItem(cases, "functions"), key);
    const char *const name = shared_cases_text(row, 0), *const file = shared_cases_text(row, 1),
                      *const library = shared_cases_text(row, 3);
    const int line = cJSON_GetArrayItem(row, 2)->valueint;
    return library ? made_native_function(profile, name, library, file, line)
                   : made_function(profile, name, file, line);
}

node_id shared_cases_node(const cJSON *cases, struct profile *profile, const char *stack)
{
    char copy[LINE_MAX_LENGTH];
    char *rest = copy;
    node_id node = 0;
    struct err err = { 0 };
    snprintf(copy, sizeof copy, "%s", stack);
    for (const char *key; (key = strtok_r(rest, ";", &rest));) {
        const function_id function = shared_cases_function(cases, profile, key);
        frame_id frame;
        assert_ok(profile_frame(profile, function, 1, &frame, &err), &err);
        assert_ok(profile_node(profile, node, frame, &node, &err), &err);
    }
    return node;
}

struct profile *shared_cases_profile(const cJSON *cases)
{
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 7, 7);
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "packages"))
    {
        struct err err = { 0 };
        assert_ok(packages_add(profile_packages(profile), row->string, row->valuestring, &err),
                  &err);
    }
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "stacks"))
    {
        const node_id node = shared_cases_node(cases, profile, shared_cases_text(row, 0));
        struct err err = { 0 };
        assert_ok(profile_add(profile, thread, STATE_ON_CPU, node,
                              (uint32_t)cJSON_GetArrayItem(row, 1)->valueint, &err),
                  &err);
    }
    made_seal(profile, 1);
    return profile;
}

static void add_term(struct frame_filters *filters, const char *term)
{
    const char *const pattern = strchr(term, ' ') + 1;
    char word[16];
    struct err err = { 0 };
    snprintf(word, sizeof word, "%.*s", (int)(pattern - term - 1), term);
    if (strchr(word, '-'))
        *strchr(word, '-') = '_';
    for (int kind = 0; kind < FRAME_FILTER_KIND_COUNT; kind++)
        if (strcmp(frame_filter_name((enum frame_filter_kind)kind), word) == 0) {
            assert_ok(frame_filters_add(filters, (enum frame_filter_kind)kind, pattern, &err),
                      &err);
            return;
        }
    fail_msg("no filter is called '%s'", word);
}

void shared_cases_add_terms(struct frame_filters *filters, const cJSON *terms)
{
    const cJSON *term;
    cJSON_ArrayForEach(term, terms)
    {
        add_term(filters, term->valuestring);
    }
}

/* The key of the function, or the name of a frame that stands for a library. */
static const char *key_of(const cJSON *cases, const struct profile_snapshot *snapshot,
                          node_id node)
{
    const frame_id frame = profile_node_at(snapshot, node).frame;
    const struct profile_function function =
        profile_function_at(snapshot, profile_frame_at(snapshot, frame).function);
    const char *const name = profile_string(snapshot, function.name).text;
    const cJSON *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cases, "functions"))
    {
        if (strcmp(shared_cases_text(row, 0), name) == 0)
            return row->string;
    }
    return name;
}

static uint64_t expect_lines(const cJSON *cases, struct profile *profile, const cJSON *lines)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct view view = made_view(&snapshot, &(struct view_query){ 0 });
    uint64_t samples = 0;
    for (size_t i = 0; i < view.count; i++) {
        char text[LINE_MAX_LENGTH] = "", rest[LINE_MAX_LENGTH];
        for (node_id node = view.node[i]; node;
             node = profile_node_at(&snapshot, node).parent) {
            snprintf(rest, sizeof rest, "%s", text);
            snprintf(text, sizeof text, "%s%s%.200s", key_of(cases, &snapshot, node),
                     *rest ? ";" : "", rest);
        }
        sprintf(text + strlen(text), " %d", (int)view.self[i]);
        if (!shared_cases_has(lines, text))
            fail_msg("'%s' is left", text);
        samples += view.self[i];
    }
    assert_int_equal(view.count, cJSON_GetArraySize(lines));
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    return samples;
}

void shared_cases_check(const cJSON *cases, const struct frame_filters *filters,
                        const cJSON *lines)
{
    const struct reshape_settings settings = { .filters = filters };
    struct reshape_counts counts = { 0 };
    struct err err = { 0 };
    struct profile *const from = shared_cases_profile(cases), *const into = made_profile();
    struct profile_snapshot snapshot = made_snapshot(from);
    struct view all = made_view(&snapshot, &(struct view_query){ 0 });
    assert_ok(reshape_add(into, &snapshot, &(struct view_query){ 0 }, &settings, &counts, &err),
              &err);
    made_seal(into, 1);
    assert_int_equal(expect_lines(cases, into, lines), counts.samples);
    assert_int_equal(counts.samples + counts.filtered, all.total);
    view_deinit(&all);
    profile_snapshot_release(&snapshot);
    profile_destroy(into);
    profile_destroy(from);
}
