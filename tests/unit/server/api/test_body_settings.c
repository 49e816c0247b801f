#include <string.h>

#include "server/api/body_settings.h"
#include "server/http/request.h"
#include "server/settings/view_settings.h"
#include "tests/support/test.h"

struct made {
    double rate_hz, percent;
    uint64_t duration_ns;
    struct setting_ids pids;
    unsigned colour;
    bool has_rate, is_on;
    const char *name;
    struct frame_filters filters;
};

#define AT(member) .offset = offsetof(struct made, member)

static const char *const colours[] = { "red", "green", NULL };

static const struct setting table[] = {
    { .name = "rate",
      .kind = SETTING_RATE,
      AT(rate_hz),
      .given = offsetof(struct made, has_rate) },
    { .name = "percent", .kind = SETTING_PERCENT, AT(percent) },
    { .name = "duration", .kind = SETTING_DURATION, AT(duration_ns) },
    { .name = "pids", .kind = SETTING_IDS, AT(pids), .least = 1, .most = 1000 },
    { .name = "colour", .kind = SETTING_CHOICE, AT(colour), .texts = colours },
    { .name = "on", .kind = SETTING_FLAG, AT(is_on) },
    { .name = "name", .kind = SETTING_TEXT, AT(name), .most = 5 },
    { .name = "hide",
      .kind = SETTING_OTHER,
      AT(filters),
      .read = view_read_filter,
      .which = FRAME_FILTER_HIDE,
      .is_repeatable = true },
};

enum { ROWS = sizeof table / sizeof *table };

static enum err_code read_text(const char *text, struct made *out, struct body **body,
                               struct err *err)
{
    const struct request request = { .body = text, .body_bytes = strlen(text) };
    memset(out, 0, sizeof *out);
    return body_settings_read(&request, table, ROWS, out, body, err);
}

static void values_are_in_the_unit_of_a_text_without_one(void **state)
{
    struct made made;
    struct body *body = NULL;
    struct err err = { 0 };
    (void)state;
    assert_ok(read_text("{\"rate\":1.5e3,\"percent\":0.5,\"duration\":0.25,\"pids\":[3,1],"
                        "\"colour\":\"green\",\"on\":true,\"name\":\"abcde\","
                        "\"hide\":[\"a\",\"/b/\"]}",
                        &made, &body, &err),
              &err);
    assert_true(made.rate_hz == 1500 && made.has_rate && made.percent == 0.5);
    assert_int_equal(made.duration_ns, 250000000);
    assert_int_equal(made.pids.count, 2);
    assert_int_equal(made.pids.items[0], 3);
    assert_int_equal(made.colour, 1);
    assert_true(made.is_on);
    assert_string_equal(made.name, "abcde");
    assert_int_equal(made.filters.count, 2);
    assert_string_equal(made.filters.items[1].pattern, "/b/");
    body_destroy(body);
}

static void null_is_as_good_as_absent(void **state)
{
    struct made made;
    struct body *body = NULL;
    struct err err = { 0 };
    (void)state;
    assert_ok(read_text("{\"rate\":null,\"pids\":null,\"hide\":[]}", &made, &body, &err), &err);
    assert_false(made.has_rate);
    assert_int_equal(made.pids.count + made.filters.count, 0);
    body_destroy(body);
}

static void messages_name_the_member_and_what_is_wanted(void **state)
{
    static const char *const rows[][2] = {
        { "[]", "the body is not a JSON object" },
        { "{\"Rate\":1}", "unknown member \"Rate\"" },
        { "{\"rate\":1,\"rate\":2}", "member \"rate\" is given twice" },
        { "{\"rate\":\"1k\"}", "member \"rate\" must be a number" },
        { "{\"rate\":[1]}", "member \"rate\" must be a number" },
        { "{\"rate\":0}", "invalid member \"rate\" (0): want a number from 1 to 1000000" },
        { "{\"rate\":1e300}",
          "invalid member \"rate\" (1e+300): want a number from 1 to 1000000" },
        { "{\"percent\":0}",
          "invalid member \"percent\" (0): want a number above 0, up to 100" },
        { "{\"percent\":101}",
          "invalid member \"percent\" (101): want a number above 0, up to 100" },
        { "{\"duration\":-1}",
          "invalid member \"duration\" (-1): want a number above 0, up to 3153600000" },
        { "{\"pids\":3}", "member \"pids\" must be a list of numbers" },
        { "{\"pids\":[\"3\"]}", "member \"pids\" must be a list of numbers" },
        { "{\"pids\":[[3]]}", "member \"pids\" must be a list of numbers" },
        { "{\"pids\":[1.5]}",
          "invalid member \"pids\" (1.5): want a whole number from 1 to 1000" },
        { "{\"pids\":[0]}", "invalid member \"pids\" (0): want a whole number from 1 to 1000" },
        { "{\"colour\":\"blue\"}", "invalid member \"colour\" (\"blue\"): want red or green" },
        { "{\"colour\":1}", "member \"colour\" must be a text" },
        { "{\"on\":1}", "member \"on\" must be true or false" },
        { "{\"name\":\"abcdef\"}",
          "invalid member \"name\" (\"abcdef\"): want at most 5 bytes" },
        { "{\"name\":{}}", "member \"name\" must be a text" },
        { "{\"hide\":\"x\"}", "member \"hide\" must be a list of texts" },
        { "{\"hide\":[1]}", "member \"hide\" must be a list of texts" },
        { "{\"hide\":[\"/(/\"]}",
          "invalid member \"hide\" (\"/(/\"): the regular expression lacks a )" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct made made;
        struct body *body = NULL;
        struct err err = { 0 };
        assert_int_equal(read_text(rows[i][0], &made, &body, &err), ERR_INVALID);
        assert_string_equal(err.message, rows[i][1]);
        body_destroy(body);
    }
}

static void a_list_has_an_end(void **state)
{
    char text[4096] = "{\"pids\":[1";
    struct made made;
    struct body *body = NULL;
    struct err err = { 0 };
    (void)state;
    for (size_t i = 0; i < SETTING_MAX_IDS; i++)
        strcat(text, ",1");
    strcat(text, "]}");
    assert_int_equal(read_text(text, &made, &body, &err), ERR_INVALID);
    assert_string_equal(err.message, "invalid member \"pids\" (1): want at most 256 of them");
    body_destroy(body);
}

TEST_GROUP(cmocka_unit_test(values_are_in_the_unit_of_a_text_without_one),
           cmocka_unit_test(null_is_as_good_as_absent),
           cmocka_unit_test(messages_name_the_member_and_what_is_wanted),
           cmocka_unit_test(a_list_has_an_end))
