#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/profile/measure.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "sampler/profile/window.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

enum { PAGE = 4096 };

static void add_pages(struct profile *profile, const char *stack, uint32_t pages)
{
    struct err err = { 0 };
    assert_ok(profile_add_measured(profile, MEASURE_PAGE_FAULTS, made_thread(profile, 1, 1),
                                   STATE_ON_CPU, made_node(profile, stack), pages, &err),
              &err);
}

static void seal_all(struct profile *profile, uint64_t seconds)
{
    struct err err = { 0 };
    assert_ok(
        profile_seal_measured(profile, MEASURE_PAGE_FAULTS, seconds * NS_PER_S, PAGE, &err),
        &err);
    made_seal(profile, seconds);
}

static struct profile_snapshot snapshot_of(struct profile *profile, enum measure measure)
{
    struct profile_snapshot snapshot;
    struct err err = { 0 };
    assert_ok(profile_snapshot_measured(profile, measure, &snapshot, &err), &err);
    return snapshot;
}

static void measures_are_never_added_up(void **state)
{
    const struct view_query everything = { 0 };
    struct profile *const profile = made_profile();
    (void)state;
    profile_set_period(profile, NS_PER_MS);
    made_add(profile, made_thread(profile, 1, 1), STATE_ON_CPU, "main;busy", 7);
    add_pages(profile, "main;grows", 3);
    add_pages(profile, "main;busy", 2);
    seal_all(profile, 1);

    struct profile_snapshot time = made_snapshot(profile);
    struct profile_snapshot pages = snapshot_of(profile, MEASURE_PAGE_FAULTS);
    assert_int_equal(time.measure, MEASURE_TIME);
    assert_int_equal(pages.measure, MEASURE_PAGE_FAULTS);
    assert_int_equal(time.measures,
                     MEASURE_SET(MEASURE_TIME) | MEASURE_SET(MEASURE_PAGE_FAULTS));
    struct view busy = made_view(&time, &everything), grown = made_view(&pages, &everything);
    assert_int_equal(busy.total, 7);
    assert_int_equal(busy.total_ns, 7 * NS_PER_MS);
    assert_int_equal(grown.total, 5);
    assert_int_equal(grown.total_ns, 5 * PAGE);
    assert_int_equal(made_self(&busy, made_node(profile, "main;grows")), 0);
    assert_int_equal(made_self(&grown, made_node(profile, "main;grows")), 3);
    view_deinit(&busy);
    view_deinit(&grown);
    profile_snapshot_release(&time);
    profile_snapshot_release(&pages);
    profile_destroy(profile);
}

static void a_session_of_time_has_nothing_of_others(void **state)
{
    struct profile *const profile = made_profile();
    (void)state;
    made_add(profile, made_thread(profile, 1, 1), STATE_ON_CPU, "main", 1);
    made_seal(profile, 1);
    struct profile_snapshot pages = snapshot_of(profile, MEASURE_PAGE_FAULTS);
    assert_int_equal(pages.measures, MEASURE_SET(MEASURE_TIME));
    assert_int_equal(pages.window_count, 0);
    profile_snapshot_release(&pages);
    profile_destroy(profile);
}

static void windows_of_a_measure_come_with_a_generation(void **state)
{
    struct profile *const profile = made_profile();
    (void)state;
    add_pages(profile, "main", 1);
    seal_all(profile, 1);
    seal_all(profile, 2);
    add_pages(profile, "main", 1);
    seal_all(profile, 3);
    struct profile_snapshot pages = snapshot_of(profile, MEASURE_PAGE_FAULTS);
    assert_int_equal(pages.generation, 2);
    assert_int_equal(pages.window_count, 2);
    assert_int_equal(pages.windows[0]->generation, 1);
    assert_int_equal(pages.windows[1]->generation, 2);
    assert_int_equal(pages.windows[1]->start_ns, 2 * NS_PER_S);
    assert_int_equal(pages.windows[1]->end_ns, 3 * NS_PER_S);
    profile_snapshot_release(&pages);
    profile_destroy(profile);
}

/* A reader between the two seals would have nodes that its tables lack, and would have them twice with the next one. */
static void a_window_waits_for_the_generation_that_has_its_rows(void **state)
{
    struct profile *const profile = made_profile();
    struct err err = { 0 };
    (void)state;
    add_pages(profile, "main", 1);
    seal_all(profile, 1);
    add_pages(profile, "main;grows", 2);
    assert_ok(profile_seal_measured(profile, MEASURE_PAGE_FAULTS, 2 * NS_PER_S, PAGE, &err),
              &err);
    struct profile_snapshot pages = snapshot_of(profile, MEASURE_PAGE_FAULTS);
    assert_int_equal(pages.window_count, 1);
    profile_snapshot_release(&pages);
    made_seal(profile, 2);
    pages = snapshot_of(profile, MEASURE_PAGE_FAULTS);
    assert_int_equal(pages.window_count, 2);
    assert_int_equal(pages.windows[1]->generation, pages.generation);
    profile_snapshot_release(&pages);
    profile_destroy(profile);
}

static void a_snapshot_has_the_sum_of_each_measure(void **state)
{
    struct profile *const profile = made_profile();
    (void)state;
    profile_set_period(profile, NS_PER_MS);
    for (unsigned second = 1; second <= 100; second++) {
        made_add(profile, made_thread(profile, 1, 1), STATE_ON_CPU, "main", 3);
        add_pages(profile, "main", 2);
        profile_set_period(profile, second % 2 ? NS_PER_MS : 2 * NS_PER_MS);
        seal_all(profile, second);
    }
    struct profile_snapshot time = made_snapshot(profile);
    assert_int_equal(time.sums[MEASURE_PAGE_FAULTS], 100 * 2 * PAGE);
    assert_int_equal(time.sums[MEASURE_TIME], 50 * 3 * NS_PER_MS + 50 * 3 * 2 * NS_PER_MS);
    profile_snapshot_release(&time);
    profile_destroy(profile);
}

static void old_windows_of_a_measure_are_merged(void **state)
{
    enum { SECONDS = 2 * 3600 };
    struct profile *const profile = made_profile();
    uint64_t sum = 0;
    (void)state;
    for (unsigned second = 1; second <= SECONDS; second++) {
        add_pages(profile, "main", 1);
        seal_all(profile, second);
    }
    struct profile_snapshot pages = snapshot_of(profile, MEASURE_PAGE_FAULTS);
    assert_in_range(pages.window_count, 1, SECONDS / 3 * 2);
    for (size_t i = 0; i < pages.window_count; i++)
        sum += pages.windows[i]->samples;
    assert_int_equal(sum, SECONDS);
    profile_snapshot_release(&pages);
    profile_destroy(profile);
}

static void only_known_measures_and_rows_are_taken(void **state)
{
    struct profile *const profile = made_profile();
    const thread_id thread = made_thread(profile, 1, 1);
    (void)state;
    assert_int_equal(profile_add_measured(profile, MEASURE_TIME, thread, 0, 0, 1, NULL),
                     ERR_INVALID);
    assert_int_equal(profile_add_measured(profile, MEASURE_COUNT, thread, 0, 0, 1, NULL),
                     ERR_INVALID);
    assert_int_equal(profile_add_measured(profile, MEASURE_PAGE_FAULTS, 99, 0, 0, 1, NULL),
                     ERR_INVALID);
    profile_destroy(profile);
}

static void a_set_of_one_measure_is_of_that(void **state)
{
    (void)state;
    assert_int_equal(measure_set_main(0), MEASURE_TIME);
    assert_int_equal(measure_set_main(MEASURE_SET(MEASURE_PAGE_FAULTS)), MEASURE_PAGE_FAULTS);
    assert_int_equal(measure_set_main(MEASURE_SET_ALL), MEASURE_TIME);
    assert_true(measure_set_has(0, MEASURE_TIME));
    assert_false(measure_set_has(MEASURE_SET(MEASURE_PAGE_FAULTS), MEASURE_TIME));
    assert_false(measure_set_has_events(MEASURE_SET(MEASURE_TIME)));
    assert_string_equal(measure_facts_of(MEASURE_PAGE_FAULTS)->unit, "bytes");
    assert_string_equal(measure_texts[MEASURE_PAGE_FAULTS], "page-faults");
    assert_true(measure_is_memory(MEASURE_RETURNED));
    assert_false(measure_is_memory(MEASURE_TIME));
    assert_int_equal(measure_period(MEASURE_COPY_ON_WRITE), sysconf(_SC_PAGESIZE));
}

static void measures_of_files_have_names_of_their_own(void **state)
{
    struct profile *const profile = made_profile();
    const struct profile_snapshot rows = { .profile = profile };
    /* The words of the file, and the name for users. */
    static const char *const words[][3] = { { "alloc", "bytes", "alloc" },
                                            { "alloc", "count", "alloc.count" },
                                            { "time", "count", "time.count" },
                                            { "a b/\x1b[31m\xc3\xa4", "", "a_b___31m__" },
                                            { "rss_growth", "bytes", "page-faults" },
                                            { "alloc", "bytes", "alloc" },
                                            { "", "", "_" } };
    (void)state;
    struct err err = { 0 };
    enum measure measure;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_ok(profile_foreign_measure(profile, words[i][0], words[i][1], &measure, &err),
                  &err);
        assert_string_equal(profile_measure(&rows, measure)->name, words[i][2]);
    }
    char name[8];
    for (int i = 5; i < MEASURE_MOST_FOREIGN; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_ok(profile_foreign_measure(profile, name, "count", &measure, &err), &err);
    }
    assert_int_equal(profile_foreign_measure(profile, "more", "count", &measure, &err),
                     ERR_LIMIT);
    profile_destroy(profile);
}

TEST_GROUP(cmocka_unit_test(measures_of_files_have_names_of_their_own),
           cmocka_unit_test(measures_are_never_added_up),
           cmocka_unit_test(a_session_of_time_has_nothing_of_others),
           cmocka_unit_test(windows_of_a_measure_come_with_a_generation),
           cmocka_unit_test(a_window_waits_for_the_generation_that_has_its_rows),
           cmocka_unit_test(a_snapshot_has_the_sum_of_each_measure),
           cmocka_unit_test(old_windows_of_a_measure_are_merged),
           cmocka_unit_test(only_known_measures_and_rows_are_taken),
           cmocka_unit_test(a_set_of_one_measure_is_of_that))
