#include "sampler/base/clock.h"
#include "tests/support/test.h"

static void time_does_not_go_back(void **state)
{
    uint64_t last = clock_now_ns();
    (void)state;
    for (int i = 0; i < 1000; i++) {
        const uint64_t now = clock_now_ns();
        assert_true(now >= last);
        last = now;
    }
}

static void wall_time_counts_from_1970(void **state)
{
    const uint64_t now_s = clock_wall_ns() / NS_PER_S;
    const uint64_t libc_s = (uint64_t)time(NULL);
    (void)state;
    assert_in_range(now_s, libc_s - 2, libc_s + 2);
}

static void a_timespec_has_less_than_a_second_of_nanoseconds(void **state)
{
    static const struct {
        uint64_t ns;
        time_t tv_sec;
        long tv_nsec;
    } table[] = { { 0, 0, 0 },
                  { 1, 0, 1 },
                  { NS_PER_S - 1, 0, 999999999 },
                  { NS_PER_S, 1, 0 },
                  { 5 * NS_PER_S + 7 * NS_PER_MS, 5, 7000000 } };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct timespec time = clock_timespec(table[i].ns);
        assert_int_equal(time.tv_sec, table[i].tv_sec);
        assert_int_equal(time.tv_nsec, table[i].tv_nsec);
    }
}

TEST_GROUP(cmocka_unit_test(time_does_not_go_back),
           cmocka_unit_test(wall_time_counts_from_1970),
           cmocka_unit_test(a_timespec_has_less_than_a_second_of_nanoseconds))
