#include "sampler/base/random.h"
#include "tests/support/test.h"

/* The first numbers of splitmix64 for the seed 1234567, as its authors give them. */
static void the_numbers_are_those_of_splitmix64(void **state)
{
    static const uint64_t expected[] = { 6457827717110365317u, 3203168211198807973u,
                                         9817491932198370423u, 4593380528125082431u,
                                         16408922859458223821u };
    struct random random;
    (void)state;
    random_init(&random, 1234567);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(random_u64(&random) == expected[i]);
}

static void the_same_seed_gives_the_same_numbers_and_another_others(void **state)
{
    struct random a, b, c;
    size_t same = 0;
    (void)state;
    random_init(&a, 0);
    random_init(&b, 0);
    random_init(&c, 1);
    for (int i = 0; i < 1000; i++) {
        const uint64_t x = random_u64(&a);
        assert_true(random_u64(&b) == x);
        same += random_u64(&c) == x;
    }
    assert_int_equal(same, 0);
}

static void each_start_has_numbers_of_its_own(void **state)
{
    struct random a, b;
    (void)state;
    random_init_any(&a);
    random_init_any(&b);
    assert_true(a.state != b.state);
}

static void fractions_fill_the_interval_evenly(void **state)
{
    enum { COUNT = 100000, PARTS = 10 };
    size_t parts[PARTS] = { 0 };
    struct random random;
    (void)state;
    random_init(&random, 1);
    for (int i = 0; i < COUNT; i++) {
        const double x = random_fraction(&random);
        assert_true(x >= 0 && x < 1);
        parts[(int)(x * PARTS)]++;
    }
    /* Ten standard deviations. */
    for (int i = 0; i < PARTS; i++)
        assert_in_range(parts[i], 9000, 11000);
}

static void every_number_below_a_count_is_as_likely(void **state)
{
    enum { COUNT = 70000, BELOW = 7 };
    size_t seen[BELOW] = { 0 };
    struct random random;
    (void)state;
    random_init(&random, 1);
    for (int i = 0; i < COUNT; i++) {
        const uint64_t x = random_below(&random, BELOW);
        assert_true(x < BELOW);
        seen[x]++;
    }
    for (int i = 0; i < BELOW; i++)
        assert_in_range(seen[i], 9000, 11000);
}

/* Three quarters of the range: taken modulo, the lower third would come twice as often. */
static void large_counts_are_even_too(void **state)
{
    enum { COUNT = 30000 };
    const uint64_t below = 3ull << 62;
    size_t lowest = 0;
    struct random random;
    (void)state;
    random_init(&random, 1);
    for (int i = 0; i < COUNT; i++) {
        const uint64_t x = random_below(&random, below);
        assert_true(x < below);
        lowest += x < below / 3;
    }
    assert_in_range(lowest, 9000, 11000);
}

static void the_smallest_and_the_largest_count_are_fine(void **state)
{
    struct random random;
    (void)state;
    random_init(&random, 1);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(random_below(&random, 0), 0);
        assert_int_equal(random_below(&random, 1), 0);
        assert_true(random_below(&random, UINT64_MAX) < UINT64_MAX);
    }
}

TEST_GROUP(cmocka_unit_test(the_numbers_are_those_of_splitmix64),
           cmocka_unit_test(the_same_seed_gives_the_same_numbers_and_another_others),
           cmocka_unit_test(each_start_has_numbers_of_its_own),
           cmocka_unit_test(fractions_fill_the_interval_evenly),
           cmocka_unit_test(every_number_below_a_count_is_as_likely),
           cmocka_unit_test(large_counts_are_even_too),
           cmocka_unit_test(the_smallest_and_the_largest_count_are_fine))
