#include "sampler/base/random.h"
#include "sampler/session/remote/bias.h"
#include "tests/support/test.h"

enum { FUNCTIONS = 5, PARTS = 100 };
static const unsigned even[FUNCTIONS] = { 20, 20, 20, 20, 20 };
/* Function 3 is seen too seldom, and its caller, 1, too often. */
static const unsigned shifted[FUNCTIONS] = { 20, 35, 20, 5, 20 };

static uint32_t pick(struct random *random, const unsigned parts[FUNCTIONS])
{
    uint64_t at = random_below(random, PARTS);
    uint32_t function = 0;
    while (at >= parts[function])
        at -= parts[function++];
    return function;
}

static struct quality measure(const unsigned moving_parts[FUNCTIONS], unsigned moving,
                              unsigned control, uint32_t still, uint64_t seed)
{
    struct random random = { seed };
    struct quality quality = { 0 };
    struct bias bias = { 0 };
    for (unsigned i = 0; i < moving; i++)
        assert_int_equal(bias_note(&bias, pick(&random, moving_parts), false), ERR_OK);
    for (unsigned i = 0; i < control; i++)
        assert_int_equal(bias_note(&bias, pick(&random, even), true), ERR_OK);
    bias_note_still(&bias, still);
    bias_measure(&bias, &quality);
    bias_deinit(&bias);
    return quality;
}

static void readings_that_are_alike_have_no_bias(void **state)
{
    unsigned beyond = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        const struct quality quality = measure(even, 10000, 1000, 0, seed);
        assert_true(quality.bias_error_ppm > 0);
        beyond += quality.bias_ppm > quality.bias_error_ppm;
    }
    assert_in_range(beyond, 0, 5);
}

static void what_differs_is_found_and_named(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const struct quality quality = measure(shifted, 20000, 4000, 0, seed);
        assert_int_equal(quality.control, 4000);
        assert_in_range(quality.bias_ppm, 120000, 180000);
        assert_in_range(quality.bias_error_ppm, 1, 30000);
        for (size_t i = 0; i < 2; i++) {
            const bool is_caller = quality.biased[i].function == 1;
            assert_true(is_caller || quality.biased[i].function == 3);
            assert_true(is_caller ? quality.biased[i].ppm > 100000
                                  : quality.biased[i].ppm < -100000);
        }
        assert_int_not_equal(quality.biased[0].function, quality.biased[1].function);
    }
}

static void too_few_readings_measure_nothing(void **state)
{
    (void)state;
    struct quality quality = measure(shifted, 10000, 39, 0, 1);
    assert_int_equal(quality.control, 39);
    assert_int_equal(quality.bias_ppm, 0);
    assert_int_equal(quality.bias_error_ppm, 0);
    assert_int_equal(quality.biased[0].ppm, 0);
    quality = measure(shifted, 0, 1000, 0, 1);
    assert_int_equal(quality.bias_error_ppm, 0);
    quality = measure(shifted, 10000, 40, 0, 1);
    assert_true(quality.bias_error_ppm > 0);
}

static void more_readings_make_the_error_smaller(void **state)
{
    uint64_t before = UINT64_MAX;
    (void)state;
    for (unsigned control = 100; control <= 100000; control *= 10) {
        const uint64_t error = measure(shifted, 100000, control, 0, 7).bias_error_ppm;
        assert_true(error < before / 2);
        before = error;
    }
}

/* Forty readings of one function do not exclude that another has a share. */
static void readings_of_one_function_have_an_error_too(void **state)
{
    static const unsigned one[FUNCTIONS] = { PARTS };
    struct quality quality = { 0 };
    struct bias bias = { 0 };
    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(bias_note(&bias, pick(&(struct random){ 1 }, one), i < 40), ERR_OK);
    bias_measure(&bias, &quality);
    assert_int_equal(quality.bias_ppm, 0);
    assert_int_equal(quality.bias_error_ppm, 75000);
    bias_deinit(&bias);
}

/* Only moving threads have a bias, so samples of stopped ones make it smaller. */
static void samples_of_stopped_threads_dilute_it(void **state)
{
    (void)state;
    const struct quality all = measure(shifted, 10000, 2000, 0, 3);
    const struct quality part = measure(shifted, 10000, 2000, 30000, 3);
    assert_in_range(part.bias_ppm, all.bias_ppm / 4 - 1, all.bias_ppm / 4 + 1);
    assert_in_range(part.bias_error_ppm, all.bias_error_ppm / 4 - 1,
                    all.bias_error_ppm / 4 + 1);
    assert_in_range(part.biased[0].ppm, all.biased[0].ppm / 4 - 1, all.biased[0].ppm / 4 + 1);
}

/* A measurement forgets the functions that the one before it named. */
static void functions_that_agree_again_are_not_named(void **state)
{
    struct quality quality = measure(shifted, 20000, 4000, 0, 1);
    struct bias none = { 0 };
    (void)state;
    bias_measure(&none, &quality);
    assert_int_equal(quality.biased[0].ppm, 0);
}

TEST_GROUP(cmocka_unit_test(readings_that_are_alike_have_no_bias),
           cmocka_unit_test(what_differs_is_found_and_named),
           cmocka_unit_test(too_few_readings_measure_nothing),
           cmocka_unit_test(more_readings_make_the_error_smaller),
           cmocka_unit_test(readings_of_one_function_have_an_error_too),
           cmocka_unit_test(samples_of_stopped_threads_dilute_it),
           cmocka_unit_test(functions_that_agree_again_are_not_named))
