#include <math.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/wire/json.h"
#include "tests/support/test.h"

struct writer {
    struct buffer out;
    struct json json;
};

static void begin(struct writer *writer)
{
    memset(writer, 0, sizeof *writer);
    json_init(&writer->json, &writer->out);
}

static void expect(struct writer *writer, const char *text)
{
    assert_int_equal(json_finish(&writer->json, NULL), ERR_OK);
    assert_string_equal(buffer_string(&writer->out), text);
    buffer_deinit(&writer->out);
}

static void expect_fault(struct writer *writer)
{
    struct err err = { 0 };
    assert_int_equal(json_finish(&writer->json, &err), ERR_INVALID);
    assert_non_null(strstr(err.message, "JSON writer"));
    buffer_deinit(&writer->out);
}

static void objects_and_arrays_nest(void **state)
{
    struct writer w;
    (void)state;
    begin(&w);
    json_object(&w.json);
    json_key(&w.json, "a");
    json_array(&w.json);
    json_uint(&w.json, 1);
    json_int(&w.json, -2);
    json_object(&w.json);
    json_end(&w.json);
    json_end(&w.json);
    json_key(&w.json, "b");
    json_null(&w.json);
    json_key(&w.json, "c");
    json_bool(&w.json, true);
    json_end(&w.json);
    expect(&w, "{\"a\":[1,-2,{}],\"b\":null,\"c\":true}");
}

static void numbers_at_the_ends_of_their_range(void **state)
{
    struct writer w;
    (void)state;
    begin(&w);
    json_array(&w.json);
    json_uint(&w.json, UINT64_MAX);
    json_int(&w.json, INT64_MIN);
    json_int(&w.json, INT64_MAX);
    json_uint(&w.json, 0);
    json_number(&w.json, 0.1);
    json_number(&w.json, 1e6);
    json_number(&w.json, (double)NAN);
    json_number(&w.json, (double)INFINITY);
    json_end(&w.json);
    expect(&w, "[18446744073709551615,-9223372036854775808,9223372036854775807,0,0.1,1000000,"
               "null,null]");
}

struct escape {
    const char *text;
    size_t length;
    const char *json;
};

static void strings_are_escaped(void **state)
{
    static const struct escape rows[] = {
        { "plain", 5, "\"plain\"" },
        { "", 0, "\"\"" },
        { "a\"b\\c", 5, "\"a\\\"b\\\\c\"" },
        { "\n\t\r\x1f", 4, "\"\\n\\t\\u000d\\u001f\"" },
        { "nul\0nul", 7, "\"nul\\u0000nul\"" },
        { "\x7f", 1, "\"\\u007f\"" },
        { "</script>", 9, "\"\\u003c/script>\"" },
        { "<!--", 4, "\"\\u003c!--\"" },
        { "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", 9, "\"\\u2028\\u2029\\u202a\"" },
        { "\xc2\x9b\xf3\xa0\x81\x81\xf0\x9f\x94\xa5", 10,
          "\"\\u009b\\udb40\\udc41\xf0\x9f\x94\xa5\"" },
        { "\xc3\xa9\xf0\x9f\x94\xa5", 6, "\"\xc3\xa9\xf0\x9f\x94\xa5\"" },
        { "\xff", 1, "\"\\ufffd\"" },
        { "a\xc3", 2, "\"a\\ufffd\"" },
        { "\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct writer w;
        begin(&w);
        json_string(&w.json, rows[i].text, rows[i].length);
        expect(&w, rows[i].json);
    }
}

static void keys_are_escaped_too(void **state)
{
    struct writer w;
    (void)state;
    begin(&w);
    json_object(&w.json);
    json_key(&w.json, "<\"");
    json_text(&w.json, NULL);
    json_end(&w.json);
    expect(&w, "{\"\\u003c\\\"\":null}");
}

static void value_without_key(struct json *json)
{
    json_object(json);
    json_uint(json, 1);
    json_end(json);
}

static void key_without_value(struct json *json)
{
    json_object(json);
    json_key(json, "a");
    json_end(json);
}

static void key_in_array(struct json *json)
{
    json_array(json);
    json_key(json, "a");
    json_uint(json, 1);
    json_end(json);
}

static void key_at_top(struct json *json)
{
    json_key(json, "a");
    json_uint(json, 1);
}

static void two_keys(struct json *json)
{
    json_object(json);
    json_key(json, "a");
    json_key(json, "b");
    json_uint(json, 1);
    json_end(json);
}

static void two_documents(struct json *json)
{
    json_uint(json, 1);
    json_uint(json, 2);
}

static void open_level(struct json *json)
{
    json_array(json);
}

static void end_too_many(struct json *json)
{
    json_array(json);
    json_end(json);
    json_end(json);
}

static void nothing(struct json *json)
{
    (void)json;
}

static void too_deep(struct json *json)
{
    for (int i = 0; i <= JSON_MAX_DEPTH; i++)
        json_array(json);
    for (int i = 0; i <= JSON_MAX_DEPTH; i++)
        json_end(json);
}

static void misuse_is_reported_and_sticks(void **state)
{
    static void (*const misuses[])(struct json * json) = {
        value_without_key, key_without_value, key_in_array, key_at_top, two_keys,
        two_documents,     open_level,        end_too_many, nothing,    too_deep,
    };
    (void)state;
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) {
        struct writer w;
        begin(&w);
        misuses[i](&w.json);
        expect_fault(&w);
    }
}

static void deepest_level_is_written(void **state)
{
    struct writer w;
    (void)state;
    begin(&w);
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        json_array(&w.json);
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        json_end(&w.json);
    expect(&w, "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]");
}

static void full_buffer_is_an_error(void **state)
{
    struct writer w;
    (void)state;
    begin(&w);
    json_array(&w.json);
    json_text(&w.json, "fits");
    assert_null(buffer_reserve(&w.out, BUFFER_MAX_BYTES));
    json_text(&w.json, "would fit, but something is missing before it");
    json_end(&w.json);
    assert_int_equal(json_finish(&w.json, NULL), ERR_NOMEM);
    assert_null(buffer_string(&w.out));
    buffer_deinit(&w.out);
}

static void printf_grows_the_buffer(void **state)
{
    struct buffer out = { 0 };
    (void)state;
    for (int i = 0; i < 1000; i++)
        buffer_printf(&out, "%03d,", i);
    assert_int_equal(out.length, 4000);
    assert_memory_equal(buffer_string(&out) + 3996, "999,", 5);
    buffer_clear(&out);
    assert_string_equal(buffer_string(&out), "");
    buffer_deinit(&out);
}

TEST_GROUP(cmocka_unit_test(objects_and_arrays_nest),
           cmocka_unit_test(numbers_at_the_ends_of_their_range),
           cmocka_unit_test(strings_are_escaped), cmocka_unit_test(keys_are_escaped_too),
           cmocka_unit_test(misuse_is_reported_and_sticks),
           cmocka_unit_test(deepest_level_is_written),
           cmocka_unit_test(full_buffer_is_an_error), cmocka_unit_test(printf_grows_the_buffer))
