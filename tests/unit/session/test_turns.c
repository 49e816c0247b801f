#include <string.h>

#include "sampler/discovery/turns.h"
#include "tests/support/test.h"

static void owners_take_turns(void **state)
{
    struct turn_item items[] = { { .pid = 10, .uid = 1000 }, { .pid = 11, .uid = 1000 },
                                 { .pid = 12, .uid = 1000 }, { .pid = 13, .uid = 0 },
                                 { .pid = 14, .uid = 7 },    { .pid = 9, .uid = 7 } };
    static const int wanted[] = { 13, 9, 10, 14, 11, 12 };
    (void)state;
    turns_sort(items, 6);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(items[i].pid, wanted[i]);
    turns_sort(items, 0);
}

/* An owner with a thousand slow processes delays another owner by only one of them. */
static void a_crowd_does_not_come_first(void **state)
{
    struct turn_item items[1001];
    (void)state;
    for (int i = 0; i < 1000; i++)
        items[i] = (struct turn_item){ .pid = i + 1, .uid = 1000 };
    items[1000] = (struct turn_item){ .pid = 5000, .uid = 2000 };
    turns_sort(items, 1001);
    assert_int_equal(items[1].pid, 5000);
}

static void who_took_long_rests_for_a_part_of_the_time(void **state)
{
    struct debts debts = { .items = { { 0 } } };
    uint64_t now_ns = 1000 * NS_PER_S;
    (void)state;
    debts_charge(&debts, 0, TURNS_DEBT_NS, now_ns);
    assert_int_equal(debts_rest_until_ns(&debts, 0, now_ns), 0);
    debts_charge(&debts, 0, NS_PER_S, now_ns);
    const uint64_t until_ns = now_ns + TURNS_SHARE * NS_PER_S;
    assert_int_equal(debts_rest_until_ns(&debts, 0, now_ns), until_ns);
    assert_int_equal(debts_rest_until_ns(&debts, 1, now_ns), 0);
    assert_int_equal(debts_rest_until_ns(&debts, 0, until_ns), 0);
    /* In the end all debts are paid. */
    now_ns += 1000 * NS_PER_S;
    debts_charge(&debts, 0, TURNS_DEBT_NS, now_ns);
    assert_int_equal(debts_rest_until_ns(&debts, 0, now_ns), 0);
}

static void of_many_owners_the_smallest_debt_is_forgotten(void **state)
{
    struct debts debts = { .items = { { 0 } } };
    const uint64_t now_ns = 1000 * NS_PER_S;
    (void)state;
    for (unsigned uid = 0; uid < TURNS_OWNERS; uid++)
        debts_charge(&debts, uid, TURNS_DEBT_NS + (uid + 1) * NS_PER_S, now_ns);
    debts_charge(&debts, 9999, TURNS_DEBT_NS + 500 * NS_PER_S, now_ns);
    assert_int_equal(debts_rest_until_ns(&debts, 0, now_ns), 0);
    for (unsigned uid = 1; uid < TURNS_OWNERS; uid++)
        assert_true(debts_rest_until_ns(&debts, uid, now_ns) > now_ns);
    assert_true(debts_rest_until_ns(&debts, 9999, now_ns) > now_ns);
}

TEST_GROUP(cmocka_unit_test(owners_take_turns), cmocka_unit_test(a_crowd_does_not_come_first),
           cmocka_unit_test(who_took_long_rests_for_a_part_of_the_time),
           cmocka_unit_test(of_many_owners_the_smallest_debt_is_forgotten))
