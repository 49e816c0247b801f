#include <string.h>

#include "sampler/foreign/sorter.h"
#include "tests/support/test.h"

/* A permutation of the numbers below a power of two. */
static uint64_t shuffled(uint64_t at, uint64_t count)
{
    return (at * 2654435761u + 12345) & (count - 1);
}

static void expect_order(uint64_t count, uint64_t kinds)
{
    struct sorter sorter = { .count = 0 };
    struct sorter_record record;
    struct err err = { 0 };
    uint64_t sum = 0, seen = 0, last = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t key = shuffled(i, count) % kinds;
        record = (struct sorter_record){ .keys = { key, 0, i }, .value = i };
        assert_ok(sorter_add(&sorter, &record, &err), &err);
        sum += i;
    }
    enum err_code rc;
    while (!(rc = sorter_next(&sorter, &record, &err))) {
        assert_true(record.keys[0] >= last);
        last = record.keys[0];
        sum -= record.value;
        seen++;
    }
    assert_int_equal(rc, ERR_NOT_FOUND);
    assert_int_equal(seen, count);
    assert_int_equal(sum, 0);
    sorter_deinit(&sorter);
}

static void few_records_are_sorted_in_memory(void **state)
{
    (void)state;
    expect_order(1 << 10, 1 << 10);
    expect_order(1 << 10, 3);
    expect_order(1, 1);
}

static void more_records_than_fit_are_sorted_on_disk(void **state)
{
    (void)state;
    expect_order(SORTER_RECORDS * 2, SORTER_RECORDS * 2);
    expect_order(SORTER_RECORDS * 2, 5);
}

static void nothing_is_sorted_as_nothing(void **state)
{
    struct sorter sorter = { .count = 0 };
    struct sorter_record record;
    (void)state;
    assert_int_equal(sorter_next(&sorter, &record, NULL), ERR_NOT_FOUND);
    assert_int_equal(sorter_next(&sorter, &record, NULL), ERR_NOT_FOUND);
    sorter_deinit(&sorter);
}

/* Equal keys keep the order of the third one, which is that of adding. */
static void equal_keys_stay_in_order(void **state)
{
    struct sorter sorter = { .count = 0 };
    struct sorter_record record;
    struct err err = { 0 };
    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        record = (struct sorter_record){ .keys = { 7, 0, i }, .node = 100 - (uint32_t)i };
        assert_ok(sorter_add(&sorter, &record, &err), &err);
    }
    for (uint64_t i = 0; i < 100; i++) {
        assert_ok(sorter_next(&sorter, &record, &err), &err);
        assert_int_equal(record.keys[2], i);
    }
    sorter_deinit(&sorter);
}

TEST_GROUP(cmocka_unit_test(few_records_are_sorted_in_memory),
           cmocka_unit_test(more_records_than_fit_are_sorted_on_disk),
           cmocka_unit_test(nothing_is_sorted_as_nothing),
           cmocka_unit_test(equal_keys_stay_in_order))
