#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "server/wire/bias.h"
#include "server/wire/json.h"
#include "server/wire/session.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

static const struct quality measured = {
    .samples = 1000,
    .exact = 900,
    .moving = 500,
    .stopped = 400,
    .stopped_ns = 20000000,
    .bias_ppm = 31000,
    .bias_error_ppm = 19000,
    .biased = { { .function = 1, .ppm = 18000 }, { .function = 2, .ppm = -12000 } },
};

/* Expects the JSON and the line for a session with this quality. */
static void expect(struct quality quality, const struct session_options *options,
                   const char *json_text, const char *line)
{
    struct err err = { 0 };
    struct buffer out = { 0 };
    struct json json;
    char text[BIAS_TEXT_BYTES];
    struct profile *const profile = made_profile();
    made_node(profile, "walk;visit");
    *profile_quality(profile) = quality;
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    const struct session_info info = { .options = options, .snapshot = &snapshot };
    json_init(&json, &out);
    bias_write(&json, &info);
    assert_ok(json_finish(&json, &err), &err);
    assert_string_equal(buffer_string(&out), json_text);
    bias_format(&info, text);
    assert_string_equal(text, line);
    buffer_deinit(&out);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static const struct session_options automatic = { .stop = SESSION_STOP_AUTO },
                                    never = { .stop = SESSION_STOP_NEVER },
                                    always = { .stop = SESSION_STOP_ALWAYS },
                                    kernel = { .engine = SESSION_ENGINE_KERNEL };
static const char none_json[] = "{\"share\":0,\"error\":0,\"functions\":[]}",
                  none[] = "no thread moved while it was read";

static void a_measured_bias_names_functions(void **state)
{
    (void)state;
    expect(
        measured, &automatic,
        "{\"share\":0.031,\"error\":0.019,\"functions\":[{\"name\":\"walk\",\"share\":0.018},"
        "{\"name\":\"visit\",\"share\":-0.012}]}",
        "bias 3.1 ± 1.9 points");
}

static void a_function_that_the_profile_lacks_is_left_out(void **state)
{
    struct quality quality = measured;
    (void)state;
    quality.biased[0].function = 12345;
    expect(quality, &automatic, "{\"share\":0.031,\"error\":0.019,\"functions\":[]}",
           "bias 3.1 ± 1.9 points");
}

static void an_unmeasured_bias_is_null(void **state)
{
    struct quality quality = measured;
    (void)state;
    quality.bias_ppm = quality.bias_error_ppm = 0;
    expect(quality, &automatic, "null", "bias unmeasured, 10.00 % of the readings uncertain");
    expect(quality, &never, "null", "bias unmeasured, 10.00 % of the readings uncertain");
    expect((struct quality){ 0 }, &automatic, "null",
           "bias unmeasured, 0.00 % of the readings uncertain");
}

static void without_moving_threads_there_is_none(void **state)
{
    struct quality quality = measured;
    (void)state;
    expect(quality, &always, none_json, none);
    expect(quality, &kernel, none_json, none);
    quality.moving = 0;
    expect(quality, &automatic, none_json, none);
}

/* One reading of a hundred cannot change shares by more than a point. */
static void few_readings_of_moving_threads_bound_it(void **state)
{
    struct quality quality = measured;
    (void)state;
    quality.bias_ppm = quality.bias_error_ppm = 0;
    quality.moving = 4;
    quality.stopped = 796;
    quality.biased[0].ppm = 0;
    expect(quality, &automatic, "{\"share\":0,\"error\":0.005,\"functions\":[]}",
           "bias 0.0 ± 0.5 points");
}

/* Expects the text about stops for a session of two seconds with so many page faults. */
static void expect_stops(struct quality quality, uint64_t page_faults, const char *line)
{
    char text[BIAS_TEXT_BYTES];
    struct profile *const profile = made_profile();
    quality.page_faults = page_faults;
    *profile_quality(profile) = quality;
    made_seal(profile, 1);
    struct profile_snapshot snapshot = made_snapshot(profile);
    snapshot.end_ns = 2 * NS_PER_S;
    const struct session_info info = { .options = &automatic, .snapshot = &snapshot };
    bias_format_stops(&info, text);
    assert_string_equal(text, line);
    profile_snapshot_release(&snapshot);
    profile_destroy(profile);
}

static void stops_are_a_share_of_the_time(void **state)
{
    (void)state;
    expect_stops(measured, 3000,
                 "40.00 % of the samples read while stopped, 1.00 % of the time");
    expect_stops((struct quality){ .samples = 1000, .exact = 900 }, 40000, "");
}

static void many_page_faults_are_reported(void **state)
{
    (void)state;
    expect_stops(measured, 40000,
                 "40.00 % of the samples read while stopped, 1.00 % of the time; 20000 page "
                 "faults a second, which stopped samples show too often");
}

TEST_GROUP(cmocka_unit_test(a_measured_bias_names_functions),
           cmocka_unit_test(a_function_that_the_profile_lacks_is_left_out),
           cmocka_unit_test(an_unmeasured_bias_is_null),
           cmocka_unit_test(without_moving_threads_there_is_none),
           cmocka_unit_test(few_readings_of_moving_threads_bound_it),
           cmocka_unit_test(stops_are_a_share_of_the_time),
           cmocka_unit_test(many_page_faults_are_reported))
