#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/report/diff/blocks.h"
#include "server/report/diff/comparison.h"
#include "server/report/diff/condition.h"
#include "server/report/header.h"
#include "tests/support/made_profile.h"
#include "tests/support/sample_session.h"
#include "tests/support/test.h"

static void blocks_are_whole_windows_and_have_no_gaps(void **state)
{
    struct profile *const profile = made_profile();
    struct blocks blocks;
    (void)state;
    for (uint64_t second = 1; second <= 100; second++) {
        made_add(profile, made_thread(profile, 1, 1), 0, "main", 1);
        made_seal(profile, second);
    }
    struct profile_snapshot snapshot = made_snapshot(profile);
    blocks_cut(&blocks, &snapshot, 0, snapshot.end_ns);
    assert_int_equal(blocks.count, BLOCKS_MAX);
    assert_int_equal(blocks.items[0].from_ns, 0);
    assert_int_equal(blocks.items[BLOCKS_MAX - 1].to_ns, snapshot.end_ns);
    for (size_t i = 1; i < blocks.count; i++) {
        assert_int_equal(blocks.items[i].from_ns, blocks.items[i - 1].to_ns);
        assert_int_equal(blocks.items[i].from_ns % NS_PER_S, 0);
        assert_in_range(blocks.items[i].to_ns - blocks.items[i].from_ns, 4 * NS_PER_S,
                        5 * NS_PER_S);
    }
    blocks_cut(&blocks, &snapshot, 10 * NS_PER_S, 13 * NS_PER_S);
    assert_int_equal(blocks.count, 3);
    blocks_cut(&blocks, &snapshot, 5, 5);
    assert_int_equal(blocks.count, 0);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static function_id function_named(const struct comparison *comparison, const char *name)
{
    for (function_id id = 1; id < comparison->snapshot->sizes.functions; id++) {
        const struct profile_function row = profile_function_at(comparison->snapshot, id);
        const struct strtab_string text = profile_string(comparison->snapshot, row.name);
        if (text.length == strlen(name) && memcmp(text.text, name, text.length) == 0)
            return id;
    }
    fail_msg("no function %s", name);
    return 0;
}

static void expect(const struct comparison *comparison, const char *name, uint64_t baseline,
                   uint64_t now, enum comparison_verdict verdict)
{
    const struct comparison_number *const self =
        &comparison->functions[function_named(comparison, name)].self;
    assert_int_equal(self->baseline, baseline);
    assert_int_equal(self->now, now);
    assert_int_equal(self->verdict, verdict);
}

static enum err_code compare(struct comparison *comparison,
                             const struct report_source *baseline,
                             const struct report_source *now, enum comparison_basis basis,
                             struct err *err)
{
    const struct comparison_side before = { { baseline }, 1 }, after = { { now }, 1 };
    return comparison_init(comparison, &before, &after, basis, err);
}

static void new_gone_grown_and_shrunk_functions_are_listed(void **state)
{
    struct sample_session *const baseline = sample_session_steady();
    struct sample_session *const now = sample_session_changed();
    struct comparison comparison;
    struct err err = { 0 };
    (void)state;
    assert_ok(
        compare(&comparison, &baseline->source, &now->source, COMPARISON_BY_SAMPLES, &err),
        &err);
    assert_int_equal(comparison.baseline_samples, SAMPLE_TOTAL);
    assert_int_equal(comparison.now_samples, 1502);
    expect(&comparison, "parse", 300, 900, COMPARISON_MORE);
    expect(&comparison, "render", 120, 100, COMPARISON_LESS);
    expect(&comparison, "log", 60, 0, COMPARISON_GONE);
    expect(&comparison, "cache.<locals>.get", 0, 80, COMPARISON_NEW);
    expect(&comparison, "main", 0, 0, COMPARISON_FEW);
    /* Recursion counts once, here too. */
    const struct comparison_row *const walk =
        &comparison.functions[function_named(&comparison, "Tree.walk")];
    assert_int_equal(walk->total.baseline, 240);
    assert_int_equal(walk->total.now, 420);
    comparison_deinit(&comparison);
    sample_session_destroy(now);
    sample_session_destroy(baseline);
}

/* Two profiles of 20 windows, in which `mark` and `work` take so many of 100 samples. */
static struct report_source *made_marked(struct profile *profile, uint32_t marked)
{
    static const struct view_query all;
    static const struct session_options options = { .rate_hz = 100 };
    static const struct session_target target = { .pid = 1 };
    static const struct session_info info = { .options = &options, .target = &target };
    static struct profile_snapshot snapshots[2];
    static struct report_header headers[2];
    static struct report_source sources[2];
    static size_t made = 0;
    const size_t at = made++ % 2;
    struct err err = { 0 };
    for (uint64_t second = 1; second <= 20; second++) {
        made_add(profile, made_thread(profile, 1, 1), 0, "main;<truncated>", marked);
        made_add(profile, made_thread(profile, 1, 1), 0, "main;<GC>", marked);
        made_add(profile, made_thread(profile, 1, 1), 0, "main;work", 100 - 2 * marked);
        made_seal(profile, second);
    }
    snapshots[at] = made_snapshot(profile);
    sources[at] =
        (struct report_source){ .snapshot = &snapshots[at], .query = &all, .session = &info };
    assert_ok(report_header_init(&headers[at], &sources[at], &err), &err);
    sources[at].header = &headers[at];
    return &sources[at];
}

static void what_says_how_stacks_were_read_does_not_differ(void **state)
{
    struct profile *const before = made_profile(), *const after = made_profile();
    struct report_source *const baseline = made_marked(before, 5);
    struct report_source *const now = made_marked(after, 20);
    struct comparison comparison;
    struct err err = { 0 };
    (void)state;
    assert_ok(compare(&comparison, baseline, now, COMPARISON_BY_SAMPLES, &err), &err);
    expect(&comparison, "<truncated>", 100, 400, COMPARISON_SAME);
    expect(&comparison, "<GC>", 100, 400, COMPARISON_MORE);
    expect(&comparison, "work", 1800, 1200, COMPARISON_LESS);
    for (node_id id = 1; id < comparison.snapshot->sizes.nodes; id++) {
        const frame_id frame = profile_node_at(comparison.snapshot, id).frame;
        if (profile_frame_at(comparison.snapshot, frame).function ==
            function_named(&comparison, "<truncated>"))
            assert_int_equal(comparison.nodes[id].total.verdict, COMPARISON_SAME);
    }
    comparison_deinit(&comparison);
    struct report_source *const sources[] = { baseline, now };
    for (size_t i = 0; i < 2; i++) {
        struct profile_snapshot snapshot = *sources[i]->snapshot;
        struct report_header header = *sources[i]->header;
        report_header_deinit(&header);
        profile_snapshot_release(&snapshot);
    }
    profile_destroy(before);
    profile_destroy(after);
}

static void check_condition(const struct comparison *comparison, const char *text,
                            const char *name)
{
    struct condition condition;
    struct err err = { 0 };
    function_id id = 0;
    assert_ok(condition_init(&condition, text, &err), &err);
    assert_ok(condition_check(&condition, comparison, &id, &err), &err);
    if (name)
        assert_int_equal(id, function_named(comparison, name));
    else
        assert_int_equal(id, 0);
    condition_deinit(&condition);
}

/* parse has 29.9 points more self, 19.9 more total; render less; main 17.9 more total. */
static void a_condition_holds_for_significant_growth_only(void **state)
{
    struct sample_session *const baseline = sample_session_steady();
    struct sample_session *const now = sample_session_changed();
    struct comparison comparison;
    struct err err = { 0 };
    (void)state;
    assert_ok(
        compare(&comparison, &baseline->source, &now->source, COMPARISON_BY_SAMPLES, &err),
        &err);
    check_condition(&comparison, "self>5%", "parse");
    check_condition(&comparison, "self>29.5%", "parse");
    check_condition(&comparison, "self>30%", NULL);
    check_condition(&comparison, "total>0%", "parse");
    check_condition(&comparison, "self(function:cache)>5%", "cache.<locals>.get");
    check_condition(&comparison, "self(/^render/)>0%", NULL);
    check_condition(&comparison, "total(function:main)>17%", "main");
    check_condition(&comparison, "total(function:main)>18%", NULL);
    comparison_deinit(&comparison);
    assert_ok(compare(&comparison, &now->source, &now->source, COMPARISON_BY_SAMPLES, &err),
              &err);
    check_condition(&comparison, "self>0%", NULL);
    comparison_deinit(&comparison);
    sample_session_destroy(now);
    sample_session_destroy(baseline);
}

/* Sides of captures with these bytes. */
static bool holds(const char *text, uint64_t before, uint64_t first, uint64_t second)
{
    const struct report_header headers[] = { { .ns = before },
                                             { .ns = first },
                                             { .ns = second } };
    const struct report_source sources[] = { { .header = &headers[0] },
                                             { .header = &headers[1] },
                                             { .header = &headers[2] } };
    const struct comparison_side baseline = { .captures = { &sources[0] }, .count = 1 };
    const struct comparison_side now = { .captures = { &sources[1], &sources[2] }, .count = 2 };
    struct condition condition;
    struct err err = { 0 };
    assert_ok(condition_init(&condition, text, &err), &err);
    const bool result = condition_holds(&condition, &baseline, &now);
    condition_deinit(&condition);
    return result;
}

static void a_condition_of_an_amount_is_of_the_means_of_sums(void **state)
{
    enum { MIB = 1 << 20 };
    (void)state;
    assert_true(holds("page-faults>50MB", 10 * MIB, 61 * MIB, 61 * MIB));
    assert_true(holds("page-faults>50MB", 0, 0, 101 * MIB));
    assert_false(holds("page-faults>50MB", 0, 0, 100 * MIB));
    assert_false(holds("page-faults>50MB", 100 * MIB, 0, 0));
    assert_true(holds("page-faults>1g", 0, 2049LL * MIB, 0));
    assert_false(holds("self>5%", 0, 100 * MIB, 100 * MIB));
}

static void what_is_no_condition_is_refused(void **state)
{
    static const char *const wrong[] = { "",
                                         "self",
                                         "self>5",
                                         "self>%",
                                         "self>x%",
                                         "selfish>5%",
                                         "self()>5%",
                                         "self(a>5%",
                                         "total>101%",
                                         "self>5.5.5%",
                                         ">5%",
                                         "self(/(/)>5%",
                                         "self<5%",
                                         "self>-5%",
                                         "page-faults>5%",
                                         "page-faults>",
                                         "page-faults>-1MB",
                                         "page-faults",
                                         "time>5MB",
                                         "page-faultsy>5MB" };
    char large[CONDITION_MAX_PATTERN + 32];
    struct condition condition;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err err = { 0 };
        if (condition_init(&condition, wrong[i], &err) != ERR_INVALID || !*err.message)
            fail_msg("%s is taken", wrong[i]);
        condition_deinit(&condition);
    }
    snprintf(large, sizeof large, "self(%0*d)>5%%", CONDITION_MAX_PATTERN + 1, 0);
    assert_int_equal(condition_init(&condition, large, NULL), ERR_INVALID);
}

static void a_profile_does_not_differ_from_itself(void **state)
{
    struct sample_session *const session = sample_session_small();
    struct comparison comparison;
    struct err err = { 0 };
    (void)state;
    for (enum comparison_basis by = COMPARISON_BY_SAMPLES; by <= COMPARISON_BY_TIME; by++) {
        assert_ok(compare(&comparison, &session->source, &session->source, by, &err), &err);
        for (node_id id = 0; id < comparison.snapshot->sizes.nodes; id++) {
            assert_true(comparison.nodes[id].total.verdict <= COMPARISON_FEW);
            assert_true(comparison.nodes[id].self.q == 1);
        }
        comparison_deinit(&comparison);
    }
    sample_session_destroy(session);
}

static void by_time_what_only_ran_longer_is_the_same(void **state)
{
    struct profile *const short_run = made_profile(), *const long_run = made_profile();
    (void)state;
    for (uint64_t second = 1; second <= 20; second++) {
        made_add(long_run, made_thread(long_run, 1, 1), 0, "main;work", 100);
        made_add(long_run, made_thread(long_run, 1, 2), 0, "main;other", 100);
        made_seal(long_run, second);
        if (second > 10)
            continue;
        made_add(short_run, made_thread(short_run, 1, 1), 0, "main;work", 100);
        made_seal(short_run, second);
    }
    profile_quality(short_run)->ticks = 1000;
    profile_quality(long_run)->ticks = 2000;
    made_seal(short_run, 10);
    made_seal(long_run, 20);
    struct profile_snapshot a = made_snapshot(short_run), b = made_snapshot(long_run);
    const struct session_options options = { .rate_hz = 100 };
    const struct session_target target = { .pid = 1 };
    const struct session_info info = { .options = &options, .target = &target };
    const struct view_query all = { 0 };
    struct report_source baseline = { .snapshot = &a, .query = &all, .session = &info };
    struct report_source now = { .snapshot = &b, .query = &all, .session = &info };
    struct report_header baseline_header, now_header;
    struct comparison comparison;
    struct err err = { 0 };
    assert_ok(report_header_init(&baseline_header, &baseline, &err), &err);
    assert_ok(report_header_init(&now_header, &now, &err), &err);
    baseline.header = &baseline_header;
    now.header = &now_header;
    assert_ok(compare(&comparison, &baseline, &now, COMPARISON_BY_TIME, &err), &err);
    expect(&comparison, "work", 1000, 2000, COMPARISON_SAME);
    expect(&comparison, "other", 0, 2000, COMPARISON_NEW);
    assert_true(fabs(comparison_now_share(&comparison, 2000) - 1) <= 1e-9);
    comparison_deinit(&comparison);
    assert_ok(compare(&comparison, &baseline, &now, COMPARISON_BY_SAMPLES, &err), &err);
    expect(&comparison, "work", 1000, 2000, COMPARISON_LESS);
    comparison_deinit(&comparison);
    report_header_deinit(&baseline_header);
    report_header_deinit(&now_header);
    profile_snapshot_release(&a);
    profile_snapshot_release(&b);
    profile_destroy(short_run);
    profile_destroy(long_run);
}

static void nothing_compares_with_anything(void **state)
{
    struct sample_session *const none = sample_session_empty();
    struct sample_session *const some = sample_session_small();
    struct comparison comparison;
    struct err err = { 0 };
    (void)state;
    assert_ok(compare(&comparison, &none->source, &some->source, COMPARISON_BY_SAMPLES, &err),
              &err);
    assert_true(comparison_baseline_share(&comparison, 0) == 0);
    expect(&comparison, "parse", 0, 300, COMPARISON_FEW);
    comparison_deinit(&comparison);
    assert_ok(compare(&comparison, &none->source, &none->source, COMPARISON_BY_TIME, &err),
              &err);
    comparison_deinit(&comparison);
    sample_session_destroy(some);
    sample_session_destroy(none);
}

TEST_GROUP(cmocka_unit_test(blocks_are_whole_windows_and_have_no_gaps),
           cmocka_unit_test(new_gone_grown_and_shrunk_functions_are_listed),
           cmocka_unit_test(what_says_how_stacks_were_read_does_not_differ),
           cmocka_unit_test(a_condition_holds_for_significant_growth_only),
           cmocka_unit_test(a_condition_of_an_amount_is_of_the_means_of_sums),
           cmocka_unit_test(what_is_no_condition_is_refused),
           cmocka_unit_test(a_profile_does_not_differ_from_itself),
           cmocka_unit_test(by_time_what_only_ran_longer_is_the_same),
           cmocka_unit_test(nothing_compares_with_anything))
