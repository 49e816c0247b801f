#include "sampler/session/pace/schedule.h"
#include "tests/support/test.h"

static const uint64_t START_NS = 123456789012345;

/* The instants of a loop that is always in time. */
static void follow(struct schedule *schedule, uint64_t *instants, size_t count)
{
    uint64_t now = schedule->start_ns, missed;
    for (size_t i = 0; i < count; i++) {
        instants[i] = schedule_next(schedule, now, &missed);
        assert_int_equal(missed, 0);
        now = instants[i];
    }
}

static void one_instant_lies_in_each_period(void **state)
{
    static const double rates_hz[] = { 1, 3, 99, 1000, 10000, 333333, 1e6 };
    (void)state;
    for (size_t r = 0; r < sizeof rates_hz / sizeof *rates_hz; r++) {
        struct schedule schedule;
        uint64_t instants[2000];
        const double period_ns = 1e9 / rates_hz[r];
        schedule_init(&schedule, START_NS, rates_hz[r], 42);
        follow(&schedule, instants, 2000);
        for (size_t i = 0; i < 2000; i++) {
            const double at = (double)(instants[i] - START_NS);
            /* Whole nanoseconds are rounded down. */
            assert_true(at + 1 >= (double)i * period_ns);
            assert_true(at < (double)(i + 1) * period_ns);
        }
    }
}

/* A loop that is sometimes late: whatever it misses, samples add up to the time that has passed. */
static void samples_stand_for_the_time_of_those_missed(void **state)
{
    static const unsigned late_one_in[] = { 3, 10, 97, 1000, 5000 };
    enum { PERIOD_NS = 1000000, WINDOW_TICKS = 250, WINDOWS = 400 };
    (void)state;
    for (size_t l = 0; l < sizeof late_one_in / sizeof *late_one_in; l++) {
        struct schedule schedule;
        uint64_t now = START_NS, owed = 0, target_list_ns = 0, all_missed = 0, made = 0,
                 plain = 0;
        schedule_init(&schedule, START_NS, 1000, 7);
        for (unsigned i = 1; i <= WINDOW_TICKS * WINDOWS; i++) {
            uint64_t missed;
            const uint64_t at = schedule_next(&schedule, now, &missed);
            owed += missed;
            all_missed += missed;
            made++;
            now = at + (i % late_one_in[l] ? 0 : 4 * PERIOD_NS);
            if (i % WINDOW_TICKS)
                continue;
            const uint64_t weight_ns =
                schedule_weight_ns(PERIOD_NS, made, &owed, i == WINDOW_TICKS * WINDOWS);
            assert_true(weight_ns >= PERIOD_NS && weight_ns <= 5 * PERIOD_NS);
            plain += weight_ns == PERIOD_NS;
            target_list_ns += made * weight_ns;
            made = 0;
        }
        assert_int_equal(owed, 0);
        assert_true(all_missed > 0);
        assert_true(plain > WINDOWS / 2 || late_one_in[l] < 1000);
        const uint64_t elapsed_ns = now - START_NS;
        assert_in_range(target_list_ns, elapsed_ns - elapsed_ns / 10000,
                        elapsed_ns + elapsed_ns / 10000);
    }
}

static void a_window_without_ticks_still_owes_its_time(void **state)
{
    uint64_t owed = 7;
    (void)state;
    assert_int_equal(schedule_weight_ns(1000, 0, &owed, false), 1000);
    assert_int_equal(schedule_weight_ns(1000, 0, &owed, true), 1000);
    assert_int_equal(owed, 7);
    assert_int_equal(schedule_weight_ns(1000, 7, &owed, false), 2000);
    assert_int_equal(owed, 0);
}

static void the_rate_is_exact_in_the_long_run(void **state)
{
    struct schedule schedule;
    uint64_t now = START_NS, missed;
    (void)state;
    schedule_init(&schedule, START_NS, 10000, 7);
    for (int i = 0; i < 1000000; i++)
        now = schedule_next(&schedule, now, &missed);
    assert_true(now - START_NS >= 999999 * 100000ull);
    assert_true(now - START_NS < 1000000 * 100000ull);
}

static void instants_are_spread_evenly_over_the_period(void **state)
{
    enum { PARTS = 20, ROUNDS = 100000 };
    struct schedule schedule;
    uint64_t now = 0, missed;
    unsigned counts[PARTS] = { 0 };
    double chi_squared = 0;
    (void)state;
    schedule_init(&schedule, 0, 1000, 1234567);
    for (int i = 0; i < ROUNDS; i++) {
        now = schedule_next(&schedule, now, &missed);
        counts[now % 1000000 * PARTS / 1000000]++;
    }
    for (int i = 0; i < PARTS; i++) {
        const double expected = (double)ROUNDS / PARTS, off = counts[i] - expected;
        chi_squared += off * off / expected;
    }
    /* 19 degrees of freedom: above 43.8 once in a thousand seeds, and this one is fixed. */
    assert_true(chi_squared < 43.8);
}

static void one_instant_says_nothing_about_the_next(void **state)
{
    enum { ROUNDS = 100000 };
    struct schedule schedule;
    uint64_t now = 0, missed;
    double before = 0, sum = 0;
    (void)state;
    schedule_init(&schedule, 0, 1000, 99);
    for (int i = 0; i < ROUNDS; i++) {
        now = schedule_next(&schedule, now, &missed);
        const double place = (double)(now % 1000000) / 1e6 - 0.5;
        sum += i ? before * place : 0;
        before = place;
    }
    /* The correlation of independent places has a deviation of 1/sqrt(ROUNDS) = 0.003. */
    const double correlation = sum / ROUNDS * 12;
    assert_true(correlation < 0.013 && correlation > -0.013);
}

static void the_one_after_next_is_known_already(void **state)
{
    struct schedule schedule;
    uint64_t missed;
    (void)state;
    schedule_init(&schedule, 1000, 1e4, 7);
    for (int i = 0; i < 100; i++) {
        const uint64_t following_ns = schedule_following(&schedule);
        assert_int_equal(schedule_next(&schedule, 1000, &missed), following_ns);
    }
}

static void another_seed_gives_other_instants(void **state)
{
    struct schedule a, b;
    uint64_t ours[100], theirs[100];
    size_t same = 0;
    (void)state;
    schedule_init(&a, 0, 1000, 1);
    schedule_init(&b, 0, 1000, 2);
    follow(&a, ours, 100);
    follow(&b, theirs, 100);
    for (size_t i = 0; i < 100; i++)
        same += ours[i] == theirs[i];
    assert_true(same < 5);
}

static void a_seed_of_zero_is_as_good_as_any(void **state)
{
    struct schedule schedule;
    uint64_t instants[100];
    size_t same = 0;
    (void)state;
    schedule_init(&schedule, 0, 1000, 0);
    follow(&schedule, instants, 100);
    for (size_t i = 1; i < 100; i++)
        same += instants[i] % 1000000 == instants[i - 1] % 1000000;
    assert_int_equal(same, 0);
}

static void periods_slept_through_are_counted_and_not_made_up_for(void **state)
{
    struct schedule schedule;
    uint64_t missed;
    (void)state;
    schedule_init(&schedule, START_NS, 1000, 5);
    (void)schedule_next(&schedule, START_NS, &missed);
    /* In the eleventh period; of the ten before it, one was sampled. */
    uint64_t now = START_NS + 10500000;
    uint64_t next = schedule_next(&schedule, now, &missed);
    assert_int_equal(missed, 9);
    assert_true(next >= START_NS + 10000000 && next < START_NS + 11000000);
    next = schedule_next(&schedule, now, &missed);
    assert_int_equal(missed, 0);
    assert_true(next >= START_NS + 11000000 && next < START_NS + 12000000);
}

static void no_period_gets_two_instants_however_late_one_is(void **state)
{
    struct schedule schedule;
    uint64_t now = START_NS, missed, last_period = 0, seen = 0, skipped = 0;
    (void)state;
    schedule_init(&schedule, START_NS, 1000, 11);
    for (unsigned i = 0; i < 10000; i++) {
        const uint64_t instant = schedule_next(&schedule, now, &missed);
        const uint64_t period = (instant - START_NS) / 1000000;
        assert_true(i == 0 || period > last_period);
        last_period = period;
        skipped += missed;
        seen++;
        now = instant > now ? instant : now;
        /* Now and then it is stalled for up to nine periods. */
        if (i % 7 == 0)
            now += i % 9 * 1000000 + i % 1000 * 1000;
    }
    assert_int_equal(seen + skipped, last_period + 1);
}

static void a_clock_before_the_start_misses_nothing(void **state)
{
    struct schedule schedule;
    uint64_t missed;
    (void)state;
    schedule_init(&schedule, START_NS, 1, 3);
    const uint64_t instant = schedule_next(&schedule, START_NS - 1000000000, &missed);
    assert_int_equal(missed, 0);
    assert_true(instant >= START_NS && instant < START_NS + 1000000000);
}

static void a_year_at_a_megahertz_keeps_its_place(void **state)
{
    struct schedule schedule;
    uint64_t missed;
    const uint64_t year_ns = 365ull * 86400 * 1000000000;
    (void)state;
    schedule_init(&schedule, START_NS, 1e6, 8);
    const uint64_t instant = schedule_next(&schedule, START_NS + year_ns, &missed);
    assert_int_equal(missed, year_ns / 1000);
    assert_true(instant >= START_NS + year_ns && instant <= START_NS + year_ns + 1000);
}

TEST_GROUP(cmocka_unit_test(one_instant_lies_in_each_period),
           cmocka_unit_test(samples_stand_for_the_time_of_those_missed),
           cmocka_unit_test(a_window_without_ticks_still_owes_its_time),
           cmocka_unit_test(the_rate_is_exact_in_the_long_run),
           cmocka_unit_test(instants_are_spread_evenly_over_the_period),
           cmocka_unit_test(one_instant_says_nothing_about_the_next),
           cmocka_unit_test(the_one_after_next_is_known_already),
           cmocka_unit_test(another_seed_gives_other_instants),
           cmocka_unit_test(a_seed_of_zero_is_as_good_as_any),
           cmocka_unit_test(periods_slept_through_are_counted_and_not_made_up_for),
           cmocka_unit_test(no_period_gets_two_instants_however_late_one_is),
           cmocka_unit_test(a_clock_before_the_start_misses_nothing),
           cmocka_unit_test(a_year_at_a_megahertz_keeps_its_place))
