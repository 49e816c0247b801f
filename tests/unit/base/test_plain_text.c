#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "sampler/base/utf8.h"
#include "tests/support/test.h"

static const struct {
    const char *text, *shown;
} texts[] = {
    { "", "" },
    { "plain ~!", "plain ~!" },
    { "caf\u00e9 \u6f22 \U0001f525", "caf\u00e9 \u6f22 \U0001f525" },
    { "a\\x1b", "a\\x1b" },
    { "\x1b[31m\x1b]0;title\x07", "\\x1b[31m\\x1b]0;title\\x07" },
    { "line\nend\r\ttab\x7f", "line\\x0aend\\x0d\\x09tab\\x7f" },
    { "\xc2\x9b"
      "31m\xc2\x80\xc2\x9f\xc2\xa0",
      "\\x9b31m\\x80\\x9f\u00a0" },
    { "\x9b"
      "31m\x80\xff",
      "\ufffd31m\ufffd\ufffd" }, /* a C1 of eight bits, bytes of nothing */
    { "cut\xe2\x80", "cut\ufffd\ufffd" },
    { "\xed\xb2\x9b", "\ufffd\ufffd\ufffd" },                     /* a surrogate */
    { "\xc0\x9b\xe0\x82\x9b", "\ufffd\ufffd\ufffd\ufffd\ufffd" }, /* overlong */
    { "\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", "\\u061c\\u200e\\u200f" },
    { "\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae",
      "\\u202a\\u202b\\u202c\\u202d\\u202e" },
    { "\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "\\u2066\\u2067\\u2068\\u2069" },
    { "\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029" },
    { "\xe2\x80\x8b\xe2\x80\x8c\xe2\x80\x8d\xe2\x81\xa0\xef\xbb\xbf\xc2\xad",
      "\\u200b\\u200c\\u200d\\u2060\\ufeff\\xad" },
    { "\xe3\x85\xa4\xef\xb8\x8f\xef\xbf\xbb", "\\u3164\\ufe0f\\ufffb" },
    { "\xf3\xa0\x80\x81\xf3\xa0\x81\x81\xf3\xa0\x84\x80", "\\U000e0001\\U000e0041\\U000e0100" },
};

static void a_text_is_as_a_terminal_may_have_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const size_t length = strlen(texts[i].text);
        unsigned char *const text = guard_copy(texts[i].text, length);
        struct buffer out = { 0 };
        char copy[200];
        plain_text_put(&out, (const char *)text, length);
        plain_text_copy(copy, sizeof copy, texts[i].text);
        assert_string_equal(buffer_string(&out), texts[i].shown);
        assert_string_equal(copy, texts[i].shown);
        buffer_deinit(&out);
        guard_free(text, length);
    }
}

static void every_code_point_is_shown_or_escaped(void **state)
{
    uint32_t hidden = 0;
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char text[4], out[PLAIN_TEXT_CHARACTER];
        size_t length;
        const size_t bytes = utf8_encode(code, text);
        assert_int_equal(plain_text_character(text, bytes, out, &length), bytes);
        const bool is_same = length == bytes && memcmp(text, out, bytes) == 0;
        assert_int_equal(is_same, plain_text_shows(code));
        hidden += !is_same;
        for (size_t i = 0; i < length && !is_same; i++)
            assert_in_range((unsigned char)out[i], '0', 'x');
    }
    assert_in_range(hidden, 4096, 4500); /* the tags and some more */
}

static void a_copy_ends_where_there_is_no_more_room(void **state)
{
    char out[8] = "xxxxxxx";
    (void)state;
    plain_text_copy(out, 7, "a\x1b\u00e9z");
    assert_string_equal(out, "a\\x1b");
    plain_text_copy(out, 8, "a\x1b\u00e9z");
    assert_string_equal(out, "a\\x1b\u00e9");
    plain_text_copy(out, 1, "a");
    assert_string_equal(out, "");
}

TEST_GROUP(cmocka_unit_test(a_text_is_as_a_terminal_may_have_it),
           cmocka_unit_test(every_code_point_is_shown_or_escaped),
           cmocka_unit_test(a_copy_ends_where_there_is_no_more_room))
