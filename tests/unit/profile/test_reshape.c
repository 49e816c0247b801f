#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/packages.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/reshape.h"
#include "sampler/profile/window.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

/* The stack of a node as text: "main;run;work". */
static void text_of(const struct profile_snapshot *snapshot, node_id node, char *out)
{
    char rest[512];
    *out = '\0';
    for (; node; node = profile_node_at(snapshot, node).parent) {
        const frame_id frame = profile_node_at(snapshot, node).frame;
        const function_id function = profile_frame_at(snapshot, frame).function;
        const str_id name = profile_function_at(snapshot, function).name;
        snprintf(rest, sizeof rest, "%s", out);
        sprintf(out, "%s%s%s", profile_string(snapshot, name).text, *rest ? ";" : "", rest);
    }
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines "stack count", in order. */
static void folded(struct profile *profile, const struct view_query *query, char *out)
{
    struct profile_snapshot snapshot = made_snapshot(profile);
    struct view view = made_view(&snapshot, query);
    char *lines[64];
    for (size_t i = 0; i < view.count; i++) {
        char stack[512];
        lines[i] = malloc(600);
        text_of(&snapshot, view.node[i], stack);
        snprintf(lines[i], 600, "%s %llu\n", stack, (unsigned long long)view.self[i]);
    }
    qsort(lines, view.count, sizeof *lines, compare_lines);
    *out = '\0';
    for (size_t i = 0; i < view.count; i++) {
        strcat(out, lines[i]);
        free(lines[i]);
    }
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
}

static frame_id frame_in(struct profile *profile, const char *file, const char *name)
{
    const function_id function = made_function(profile, name, file, 1);
    frame_id frame;
    struct err err = { 0 };
    assert_ok(profile_frame(profile, function, 1, &frame, &err), &err);
    return frame;
}

/* "app.py:main;lib/pool.py:run" */
static node_id stack_of(struct profile *profile, const char *stack)
{
    node_id node = 0;
    struct err err = { 0 };
    while (*stack) {
        char file[64], name[64];
        int used = 0;
        assert_int_equal(sscanf(stack, "%63[^:]:%63[^;]%n", file, name, &used), 2);
        assert_ok(profile_node(profile, node, frame_in(profile, file, name), &node, &err),
                  &err);
        stack += used + (stack[used] == ';');
    }
    return node;
}

static const struct {
    const char *stack;
    uint32_t count;
} rows[] = {
    { "/a/app.py:main;/lib/pool.py:run;/a/app.py:Job.work", 1 },
    { "/a/app.py:main;/lib/pool.py:run;/a/app.py:Job.work;/lib/json.py:dumps", 2 },
    { "/a/app.py:main;/lib/pool.py:run;/lib/pool.py:run;/a/app.py:Job.work", 4 },
    { "/a/app.py:main;/lib/pool.py:wait;~:<native> acquire", 8 },
    { "/a/app.py:main", 16 },
};

static struct profile *made_session(void)
{
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 7, 7);
    struct err err = { 0 };
    profile_set_period(profile, NS_PER_MS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_ok(profile_add(profile, thread, STATE_ON_CPU, stack_of(profile, rows[i].stack),
                              rows[i].count, &err),
                  &err);
    made_seal(profile, 1);
    return profile;
}

static struct reshape_counts add(struct profile *into, struct profile *from,
                                 const struct view_query *query,
                                 const struct reshape_settings *settings)
{
    struct reshape_counts counts = { 0 };
    struct profile_snapshot snapshot = made_snapshot(from);
    struct err err = { 0 };
    assert_ok(reshape_add(into, &snapshot, query, settings, &counts, &err), &err);
    profile_snapshot_release(&snapshot);
    return counts;
}

static const struct view_query everything;

static void without_filters_it_is_a_copy(void **state)
{
    struct profile *const from = made_session();
    struct profile *const into = made_profile();
    char text[4096];
    (void)state;
    const struct reshape_counts counts = add(into, from, &everything, NULL);
    made_seal(into, 1);
    folded(into, &everything, text);
    assert_string_equal(text, "main 16\nmain;run;Job.work 1\nmain;run;Job.work;dumps 2\n"
                              "main;run;run;Job.work 4\nmain;wait;<native> acquire 8\n");
    assert_int_equal(counts.filtered, 0);
    assert_int_equal(counts.samples, 31);
    profile_destroy(into);
    profile_destroy(from);
}

static void packages_are_known_only_of_files_that_are_copied(void **state)
{
    struct profile *const from = made_session(), *const into = made_profile();
    static const char *const known[][2] = { { "/a/app.py", "app" },
                                            { "/lib", "pool" },
                                            { "/a", "unused" },
                                            { "/srv/secret", "secret" },
                                            { "/opt/core", "core" } };
    struct err err = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_ok(packages_add(profile_packages(from), known[i][0], known[i][1], &err), &err);
    const function_id native =
        made_native_function(from, "dot", "/opt/core/dot.so", NULL, 4096);
    frame_id frame;
    node_id node;
    assert_ok(profile_frame(from, native, 0, &frame, &err), &err);
    assert_ok(profile_node(from, 0, frame, &node, &err), &err);
    assert_ok(profile_add(from, made_thread(from, 7, 7), STATE_ON_CPU, node, 1, &err), &err);
    made_seal(from, 2);
    (void)add(into, from, &everything, NULL);
    const struct packages *const packages = profile_packages(into);
    assert_string_equal(packages_find(packages, "/a/app.py"), "app");
    assert_string_equal(packages_find(packages, "/lib/pool.py"), "pool");
    assert_string_equal(packages_find(packages, "/opt/core/dot.so"), "core");
    assert_int_equal(packages_count(packages), 3);
    profile_destroy(into);
    profile_destroy(from);
}

/* Another order of tables, other ids: the texts decide. */
/* Functions of several sessions are several processes', whoever they belong to. */
static void functions_keep_the_process_they_come_from(void **state)
{
    struct profile *const one = made_session();
    struct profile *const two = made_session();
    struct profile *const into = made_profile();
    struct err err = { 0 };
    const function_id function = 1;
    (void)state;
    profile_set_origin(one, function, 5);
    profile_set_origin(two, function, 6);
    struct profile_snapshot snapshot = made_snapshot(one);
    assert_ok(reshape_add(into, &snapshot, &(struct view_query){ 0 }, NULL, NULL, &err), &err);
    profile_snapshot_release(&snapshot);
    const struct profile_snapshot before = made_snapshot(one);
    const str_id name = profile_function_at(&before, function).name;
    made_seal(into, 1);
    snapshot = made_snapshot(into);
    function_id found = 0;
    for (function_id id = 1; id < snapshot.sizes.functions; id++)
        if (strcmp(profile_string(&snapshot, profile_function_at(&snapshot, id).name).text,
                   profile_string(&before, name).text) == 0)
            found = id;
    profile_snapshot_release(&snapshot);
    assert_true(found > 0 && profile_origin_of(into, found) == 5);
    snapshot = made_snapshot(two);
    assert_ok(reshape_add(into, &snapshot, &(struct view_query){ 0 }, NULL, NULL, &err), &err);
    profile_snapshot_release(&snapshot);
    assert_true(profile_origin_of(into, found) == PROFILE_ORIGIN_SEVERAL);
    struct profile_snapshot old = before;
    profile_snapshot_release(&old);
    profile_destroy(one);
    profile_destroy(two);
    profile_destroy(into);
}

static void sessions_become_one_tree(void **state)
{
    struct profile *const one = made_session();
    struct profile *const two = made_profile();
    struct profile *const into = made_profile();
    struct err err = { 0 };
    char text[4096];
    (void)state;
    const thread_id thread = made_thread(two, 7, 8);
    const node_id other = stack_of(two, "/a/other.py:main");
    const node_id same = stack_of(two, "/a/app.py:main");
    profile_set_period(two, 10 * NS_PER_MS);
    assert_ok(profile_add(two, thread, 0, other, 100, &err), &err);
    assert_ok(profile_add(two, thread, 0, same, 200, &err), &err);
    made_seal(two, 1);
    (void)add(into, one, &everything, NULL);
    (void)add(into, two, &everything, NULL);
    made_seal(into, 2);
    folded(into, &everything, text);
    assert_string_equal(text, "main 100\nmain 216\nmain;run;Job.work 1\n"
                              "main;run;Job.work;dumps 2\nmain;run;run;Job.work 4\n"
                              "main;wait;<native> acquire 8\n");
    struct profile_snapshot snapshot = made_snapshot(into);
    struct view view = made_view(&snapshot, &everything);
    assert_int_equal(snapshot.sizes.processes, 1);
    assert_int_equal(snapshot.sizes.threads, 2);
    assert_int_equal(view.total_ns, (31 + 300 * 10) * NS_PER_MS);
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    profile_destroy(one);
    profile_destroy(two);
    profile_destroy(into);
}

static void ranges_stay_apart_where_they_are_sealed_apart(void **state)
{
    struct profile *const from = made_session();
    struct profile *const into = made_profile();
    char text[4096];
    (void)state;
    made_add(from, 0, 0, "later", 5);
    made_seal(from, 2);
    (void)add(into, from, &(struct view_query){ .to_ns = NS_PER_S }, NULL);
    made_seal(into, 1);
    (void)add(into, from, &(struct view_query){ .from_ns = NS_PER_S }, NULL);
    made_seal(into, 2);
    folded(into, &(struct view_query){ .from_ns = NS_PER_S }, text);
    assert_string_equal(text, "later 5\n");
    profile_destroy(from);
    profile_destroy(into);
}

static void window_by_window_times_stay_as_they_were(void **state)
{
    struct profile *const from = made_session();
    struct profile *const into = made_profile();
    const struct frame_filters filters = {
        .count = 1, .items = { { FRAME_FILTER_IGNORE, "function:dumps" } }
    };
    const struct reshape_settings settings = { .filters = &filters };
    struct reshape_counts counts = { 0 };
    struct err err = { 0 };
    char text[4096];
    (void)state;
    made_seal(from, 3);
    profile_set_period(from, 5 * NS_PER_MS);
    made_add(from, 0, 0, "later", 5);
    profile_quality(from)->samples = 36;
    made_seal(from, 4);
    struct profile_snapshot snapshot = made_snapshot(from);
    assert_ok(reshape_windows(into, &snapshot, &everything, &settings, &counts, &err), &err);
    profile_snapshot_release(&snapshot);
    assert_int_equal(counts.samples, 34);
    assert_int_equal(counts.filtered, 2);
    folded(into, &(struct view_query){ .from_ns = NS_PER_S }, text);
    assert_string_equal(text, "later 5\n");
    snapshot = made_snapshot(into);
    assert_int_equal(snapshot.end_ns, 4 * NS_PER_S);
    assert_int_equal(snapshot.quality.samples, 36);
    struct view view = made_view(&snapshot, &everything);
    assert_int_equal(view.total_ns, (29 + 5 * 5) * NS_PER_MS);
    for (size_t i = 0; i < snapshot.window_count; i++)
        assert_null(snapshot.windows[i]->cell_ns);
    view_deinit(&view);
    profile_snapshot_release(&snapshot);
    profile_destroy(from);
    profile_destroy(into);
}

static void measures_beside_go_along_through_the_same_filters(void **state)
{
    struct profile *const from = made_session();
    struct profile *const into = made_profile();
    const struct frame_filters filters = {
        .count = 1, .items = { { FRAME_FILTER_IGNORE, "function:dumps" } }
    };
    const struct reshape_settings settings = { .filters = &filters };
    struct profile_snapshot other;
    struct err err = { 0 };
    (void)state;
    for (uint64_t second = 2; second < 4; second++) {
        for (size_t i = 0; i < 2; i++)
            assert_ok(profile_add_measured(from, MEASURE_RETURNED, 0, 0,
                                           stack_of(from, rows[i].stack), 100, &err),
                      &err);
        assert_ok(profile_seal_measured(from, MEASURE_RETURNED, second * NS_PER_S, 4096, &err),
                  &err);
        made_seal(from, second);
    }
    struct profile_snapshot snapshot = made_snapshot(from);
    /* A later window is in no copy of this one. */
    assert_ok(profile_add_measured(from, MEASURE_RETURNED, 0, 0, 0, 7, &err), &err);
    assert_ok(profile_seal_measured(from, MEASURE_RETURNED, 5 * NS_PER_S, 4096, &err), &err);
    made_seal(from, 5);
    snapshot.beside = MEASURE_SET(MEASURE_RETURNED);
    assert_ok(reshape_windows(into, &snapshot, &everything, &settings, NULL, &err), &err);
    struct profile_snapshot copy = made_snapshot(into);
    profile_snapshot_count_as(&copy, &snapshot);
    assert_int_equal(copy.beside, MEASURE_SET(MEASURE_RETURNED));
    assert_ok(profile_snapshot_beside(&copy, MEASURE_RETURNED, &other, &err), &err);
    struct view view = made_view(&other, &everything);
    assert_int_equal(view.total, 200);
    assert_int_equal(view.total_ns, 200 * 4096);
    view_deinit(&view);
    view = made_view(&other, &(struct view_query){ .from_ns = 2 * NS_PER_S });
    assert_int_equal(view.total, 100);
    view_deinit(&view);
    view = made_view(&copy, &everything);
    assert_int_equal(view.total, 29);
    view_deinit(&view);
    profile_snapshot_release(&other);
    profile_snapshot_release(&copy);
    profile_snapshot_release(&snapshot);
    profile_destroy(from);
    profile_destroy(into);
}

static void spots_go_with_their_functions(void **state)
{
    struct profile *const from = made_session();
    struct profile *const into = made_profile();
    const node_id node = stack_of(from, rows[0].stack);
    struct view_spots spots;
    struct err err = { 0 };
    spot_id id;
    (void)state;
    const struct profile_spot spot = { .function = 1,
                                       .line = 3,
                                       .opcode = made_string(from, "CALL"),
                                       .base = made_string(from, "CALL") };
    assert_ok(profile_spot(from, &spot, &id, &err), &err);
    assert_ok(profile_add_spot(from, node, id, 9, &err), &err);
    made_add(from, 0, 0, "later", 5);
    made_seal(from, 2);
    (void)add(into, from, &(struct view_query){ .states.require = STATE_ON_CPU }, NULL);
    (void)add(into, from, &everything, NULL);
    made_seal(into, 1);
    struct profile_snapshot snapshot = made_snapshot(into);
    assert_ok(view_spots_init(&spots, &snapshot, &everything, &err), &err);
    assert_int_equal(spots.count, 1);
    assert_int_equal(spots.spots[0].self, 9);
    const struct profile_spot copy = profile_spot_at(&snapshot, spots.spots[0].spot);
    assert_string_equal(profile_string(&snapshot, copy.opcode).text, "CALL");
    view_spots_deinit(&spots);
    profile_snapshot_release(&snapshot);
    profile_destroy(from);
    profile_destroy(into);
}

static void every_allocation_may_fail(void **state)
{
    struct profile *const from = made_session();
    struct profile_snapshot snapshot = made_snapshot(from);
    enum err_code rc = ERR_NOMEM;
    (void)state;
    for (unsigned nth = 0; rc; nth++) {
        struct profile *const into = made_profile();
        failing_alloc_at(nth);
        rc = reshape_add(into, &snapshot, &everything, NULL, NULL, NULL);
        failing_alloc_never();
        assert_true(rc == ERR_OK || rc == ERR_NOMEM);
        profile_destroy(into);
    }
    profile_snapshot_release(&snapshot);
    profile_destroy(from);
}

TEST_GROUP(cmocka_unit_test(without_filters_it_is_a_copy),
           cmocka_unit_test(packages_are_known_only_of_files_that_are_copied),
           cmocka_unit_test(functions_keep_the_process_they_come_from),
           cmocka_unit_test(sessions_become_one_tree),
           cmocka_unit_test(ranges_stay_apart_where_they_are_sealed_apart),
           cmocka_unit_test(window_by_window_times_stay_as_they_were),
           cmocka_unit_test(measures_beside_go_along_through_the_same_filters),
           cmocka_unit_test(spots_go_with_their_functions),
           cmocka_unit_test(every_allocation_may_fail))
