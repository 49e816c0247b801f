#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/profile/memory_log.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

enum { MIB = 1 << 20, STEP_MS = 250 };

static struct memory_use use_of(process_id process, uint64_t mib, uint32_t faults)
{
    return (struct memory_use){ .process = process,
                                .rss_bytes = mib * MIB,
                                .peak_bytes = mib * MIB,
                                .minor_faults = faults };
}

static enum err_code try_add(struct memory_log *log, uint64_t step,
                             const struct memory_use *uses, uint32_t count)
{
    struct memory_step added = { .start_ns = step * STEP_MS * NS_PER_MS,
                                 .end_ns = (step + 1) * STEP_MS * NS_PER_MS,
                                 .count = count };
    for (uint32_t i = 0; i < count; i++)
        added.peak_bytes += uses[i].peak_bytes;
    return memory_log_add(log, &added, uses, NULL);
}

static void add(struct memory_log *log, uint64_t step, const struct memory_use *uses,
                uint32_t count)
{
    assert_int_equal(try_add(log, step, uses, count), ERR_OK);
}

static const struct memory_use *find(const struct memory_log *log, size_t step,
                                     process_id process)
{
    const struct memory_use *const uses = memory_log_uses(log, &log->steps[step]);
    for (uint32_t i = 0; i < log->steps[step].count; i++)
        if (uses[i].process == process)
            return &uses[i];
    return NULL;
}

static uint64_t faults_of(const struct memory_log *log)
{
    uint64_t faults = 0;
    for (size_t i = 0; i < log->use_count; i++)
        faults += log->uses[i].minor_faults;
    return faults;
}

static void rows_are_sorted_and_those_of_one_process_added_up(void **state)
{
    const struct memory_use uses[] = { use_of(7, 3, 1), use_of(2, 5, 2), use_of(7, 4, 3) };
    struct memory_log log = { .step_count = 0 };
    (void)state;
    add(&log, 0, uses, 3);
    assert_int_equal(log.use_count, 2);
    assert_int_equal(log.uses[0].process, 2);
    assert_true(log.uses[1].rss_bytes == 7 * MIB);
    assert_int_equal(log.uses[1].minor_faults, 4);
    assert_true(log.steps[0].peak_bytes == 12 * MIB);
    memory_log_deinit(&log);
}

static void what_is_empty_or_comes_too_late_is_left_out(void **state)
{
    const struct memory_use use = use_of(1, 1, 0);
    const struct memory_step backwards = { .start_ns = 9, .end_ns = 9, .count = 1 };
    struct memory_log log = { .step_count = 0 };
    (void)state;
    add(&log, 3, &use, 1);
    add(&log, 3, &use, 1);
    add(&log, 1, &use, 1);
    add(&log, 5, &use, 0);
    assert_int_equal(memory_log_add(&log, &backwards, &use, NULL), ERR_OK);
    assert_int_equal(log.step_count, 1);
    memory_log_deinit(&log);
}

/* A day of one process: the newest steps are as they were read, no fault is lost, and a peak of a moment is kept. */
static void old_steps_get_longer_and_keep_peaks_and_faults(void **state)
{
    enum { STEPS = 24 * 3600 * 4, PEAK_AT = 1000 };
    struct memory_log log = { .step_count = 0 };
    uint64_t peak = 0;
    (void)state;
    for (uint64_t i = 0; i < STEPS; i++) {
        const struct memory_use use = use_of(1, i == PEAK_AT ? 500 : 10, 1);
        add(&log, i, &use, 1);
    }
    assert_true(log.use_count <= MEMORY_LOG_MAX_USES);
    assert_true(faults_of(&log) == STEPS);
    const struct memory_step *const last = &log.steps[log.step_count - 1];
    assert_true(last->end_ns - last->start_ns == STEP_MS * NS_PER_MS);
    assert_true(log.steps[0].end_ns - log.steps[0].start_ns > 4 * STEP_MS * NS_PER_MS);
    for (size_t i = 0; i < log.step_count; i++) {
        peak = log.steps[i].peak_bytes > peak ? log.steps[i].peak_bytes : peak;
        if (i)
            assert_true(log.steps[i].start_ns == log.steps[i - 1].end_ns);
    }
    assert_true(peak == 500 * (uint64_t)MIB);
    memory_log_deinit(&log);
}

/* Each step has processes of its own, as where many short ones are started: the log stays within its limit. */
static void many_short_processes_stay_within_the_limit(void **state)
{
    enum { STEPS = 2000, EACH = 300 };
    struct memory_use uses[EACH];
    struct memory_log log = { .step_count = 0 };
    (void)state;
    for (uint32_t i = 0; i < STEPS; i++) {
        for (uint32_t k = 0; k < EACH; k++)
            uses[k] = use_of(i * EACH + k, k + 1, 1);
        add(&log, i, uses, EACH);
        assert_true(log.use_count <= MEMORY_LOG_MAX_USES);
    }
    assert_true(faults_of(&log) == STEPS * EACH);
    assert_non_null(find(&log, 0, MEMORY_OTHERS));
    /* Those that ended have no memory at the end of a step. */
    uint64_t rss = 0;
    for (uint32_t i = 0; i < log.steps[0].count; i++)
        rss += memory_log_uses(&log, &log.steps[0])[i].rss_bytes;
    assert_true(rss <= log.steps[0].peak_bytes);
    assert_true(log.steps[0].peak_bytes == (uint64_t)EACH * (EACH + 1) / 2 * MIB);
    memory_log_deinit(&log);
}

static void a_copy_has_the_steps_of_a_range(void **state)
{
    struct memory_log log = { .step_count = 0 }, copy;
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        const struct memory_use uses[] = { use_of(1, i, 0), use_of(2, 10 + i, 0) };
        add(&log, i, uses, 2);
    }
    assert_int_equal(memory_log_copy(&log, 500 * NS_PER_MS, 1250 * NS_PER_MS, &copy, NULL),
                     ERR_OK);
    assert_int_equal(copy.step_count, 3);
    assert_true(find(&copy, 0, 2)->rss_bytes == 12 * MIB);
    assert_true(find(&copy, 2, 1)->rss_bytes == 4 * MIB);
    memory_log_deinit(&copy);
    assert_int_equal(memory_log_copy(&log, 0, 0, &copy, NULL), ERR_OK);
    assert_int_equal(copy.step_count, 8);
    memory_log_deinit(&copy);
    assert_int_equal(memory_log_copy(&log, 9 * NS_PER_S, 0, &copy, NULL), ERR_OK);
    assert_int_equal(copy.step_count, 0);
    memory_log_deinit(&log);
}

/* Two captures of one time, one with steps between those of the other: in the middle the processes of both count, each fault once. */
static void logs_that_overlap_become_one(void **state)
{
    struct memory_log logs[2] = { { .step_count = 0 }, { .step_count = 0 } }, merged;
    (void)state;
    for (uint32_t i = 0; i < 8; i++) {
        const struct memory_use one = use_of(1, 10, 1), two = use_of(2, 20, 1);
        const struct memory_step step = { .start_ns = (1100 + i * STEP_MS) * NS_PER_MS,
                                          .end_ns = (1100 + (i + 1) * STEP_MS) * NS_PER_MS,
                                          .peak_bytes = two.peak_bytes,
                                          .count = 1 };
        add(&logs[0], i, &one, 1);
        assert_int_equal(memory_log_add(&logs[1], &step, &two, NULL), ERR_OK);
    }
    assert_int_equal(memory_log_merge(logs, 2, &merged, NULL), ERR_OK);
    assert_true(faults_of(&merged) == 16);
    for (size_t i = 0; i < merged.step_count; i++) {
        const uint64_t end_ms = merged.steps[i].end_ns / NS_PER_MS;
        assert_int_equal(find(&merged, i, 1) != NULL, end_ms <= 2000);
        assert_int_equal(find(&merged, i, 2) != NULL, end_ms > 1100);
        if (end_ms == 1750)
            assert_true(merged.steps[i].peak_bytes == 30 * MIB);
    }
    memory_log_deinit(&merged);
    memory_log_deinit(&logs[0]);
    memory_log_deinit(&logs[1]);
    assert_int_equal(memory_log_merge(logs, 2, &merged, NULL), ERR_OK);
    assert_int_equal(merged.step_count, 0);
}

static void want_of_memory_changes_nothing(void **state)
{
    const struct memory_use use = use_of(1, 1, 0);
    struct memory_log log = { .step_count = 0 }, copy;
    (void)state;
    for (unsigned nth = 0; nth < 2; nth++) {
        failing_alloc_at(nth);
        assert_int_equal(try_add(&log, 0, &use, 1), ERR_NOMEM);
        failing_alloc_never();
        assert_int_equal(log.step_count, 0);
    }
    add(&log, 0, &use, 1);
    for (unsigned nth = 0; nth < 2; nth++) {
        failing_alloc_at(nth);
        assert_int_equal(memory_log_copy(&log, 0, 0, &copy, NULL), ERR_NOMEM);
        failing_alloc_never();
    }
    memory_log_deinit(&log);
}

TEST_GROUP(cmocka_unit_test(rows_are_sorted_and_those_of_one_process_added_up),
           cmocka_unit_test(what_is_empty_or_comes_too_late_is_left_out),
           cmocka_unit_test(old_steps_get_longer_and_keep_peaks_and_faults),
           cmocka_unit_test(many_short_processes_stay_within_the_limit),
           cmocka_unit_test(a_copy_has_the_steps_of_a_range),
           cmocka_unit_test(logs_that_overlap_become_one),
           cmocka_unit_test(want_of_memory_changes_nothing))
