#include "sampler/session/kernel/growth.h"
#include "tests/support/test.h"

enum { PROCESSORS = 2, MUCH = 100000 };

/* Settles twice: samples of the first time have come by the second. */
static uint64_t settle(struct growth *growth, uint64_t resident, uint64_t attributed)
{
    growth->attributed = attributed;
    const uint64_t found = growth_settle(growth, resident, PROCESSORS, false);
    return found + growth_settle(growth, resident, PROCESSORS, false);
}

static void what_was_there_at_first_is_no_growth(void **state)
{
    struct growth growth = { 0 };
    (void)state;
    assert_int_equal(settle(&growth, MUCH, 0), 0);
    assert_int_equal(settle(&growth, MUCH, 0), 0);
}

static void growth_that_samples_stand_for_is_attributed(void **state)
{
    struct growth growth = { 0 };
    (void)state;
    (void)settle(&growth, MUCH, 0);
    assert_int_equal(settle(&growth, 2 * MUCH, MUCH), 0);
}

static void the_rest_is_not(void **state)
{
    struct growth growth = { 0 };
    (void)state;
    (void)settle(&growth, MUCH, 0);
    assert_int_equal(settle(&growth, 3 * MUCH, MUCH), MUCH);
    assert_int_equal(settle(&growth, 3 * MUCH, 0), 0);
}

/* Samples come sooner or later than what the kernel counts. */
static void what_comes_later_is_found_nevertheless(void **state)
{
    struct growth growth = { 0 };
    uint64_t found = 0;
    (void)state;
    (void)settle(&growth, MUCH, 0);
    for (unsigned i = 1; i <= 100; i++)
        found += settle(&growth, MUCH + i * 30, 0);
    assert_in_range(found, 3000 - 200, 3000);
    assert_int_equal(
        settle(&growth, MUCH + 3000 + 100, 0) + settle(&growth, MUCH + 3000 + 100, 100), 0);
}

static void samples_may_come_late(void **state)
{
    struct growth growth = { 0 };
    (void)state;
    (void)settle(&growth, MUCH, 0);
    assert_int_equal(growth_settle(&growth, 2 * MUCH, PROCESSORS, false), 0);
    growth.attributed = MUCH;
    assert_int_equal(growth_settle(&growth, 2 * MUCH, PROCESSORS, false), 0);
    assert_int_equal(settle(&growth, 2 * MUCH, 0), 0);
}

static void at_the_end_none_is_late(void **state)
{
    struct growth growth = { 0 };
    (void)state;
    (void)settle(&growth, MUCH, 0);
    assert_int_equal(growth_settle(&growth, 2 * MUCH, PROCESSORS, true), MUCH);
}

static void memory_that_was_returned_hides_no_growth(void **state)
{
    struct growth growth = { 0 };
    (void)state;
    (void)settle(&growth, MUCH, 0);
    assert_int_equal(settle(&growth, MUCH / 2, 0), 0);
    assert_in_range(settle(&growth, 2 * MUCH, 0), MUCH, 3 * MUCH / 2);
}

static void faults_that_make_nothing_resident_hide_none(void **state)
{
    struct growth growth = { 0 };
    (void)state;
    (void)settle(&growth, MUCH, 0);
    assert_int_equal(settle(&growth, MUCH, MUCH), 0);
    assert_in_range(settle(&growth, 2 * MUCH, 0), MUCH / 10 * 9, MUCH);
}

static void an_exact_count_misses_nothing(void **state)
{
    struct growth growth = { 0 };
    (void)state;
    assert_int_equal(growth_settle(&growth, 0, 0, false), 0);
    growth.attributed = 90;
    assert_int_equal(growth_settle(&growth, 100, 0, false), 0);
    assert_int_equal(growth_settle(&growth, 100, 0, false), 10);
    assert_int_equal(growth_settle(&growth, 100, 0, true), 0);
    assert_int_equal(growth_settle(&growth, 101, 0, true), 1);
}

static void numbers_without_sense_do_no_harm(void **state)
{
    struct growth growth = { 0 };
    (void)state;
    (void)settle(&growth, 0, UINT64_MAX);
    (void)settle(&growth, UINT64_MAX, 0);
    (void)settle(&growth, 0, UINT64_MAX);
    assert_in_range(settle(&growth, MUCH, 0), 0, 2 * (uint64_t)MUCH);
}

TEST_GROUP(cmocka_unit_test(what_was_there_at_first_is_no_growth),
           cmocka_unit_test(growth_that_samples_stand_for_is_attributed),
           cmocka_unit_test(the_rest_is_not),
           cmocka_unit_test(what_comes_later_is_found_nevertheless),
           cmocka_unit_test(samples_may_come_late), cmocka_unit_test(at_the_end_none_is_late),
           cmocka_unit_test(memory_that_was_returned_hides_no_growth),
           cmocka_unit_test(faults_that_make_nothing_resident_hide_none),
           cmocka_unit_test(an_exact_count_misses_nothing),
           cmocka_unit_test(numbers_without_sense_do_no_harm))
