#include <string.h>

#include "sampler/base/utf8.h"
#include "tests/support/test.h"

/* Bytes, and those of the character at their start; 0: none. */
static const struct {
    const char *text;
    size_t length;
    size_t character;
} forms[] = {
    { "", 0, 0 },
    { "a", 1, 1 },
    { "\0", 1, 1 },
    { "\x7f", 1, 1 },
    { "\x80", 1, 0 }, /* a tail alone */
    { "\xbf", 1, 0 },
    { "\xc0\x80", 2, 0 }, /* NUL, overlong */
    { "\xc1\xbf", 2, 0 },
    { "\xc2\x80", 2, 2 }, /* U+0080, the first of two bytes */
    { "\xdf\xbf", 2, 2 }, /* U+07FF */
    { "\xc2", 1, 0 },     /* cut */
    { "\xc2\x41", 2, 0 },
    { "\xc2\xc2", 2, 0 },
    { "\xe0\x9f\xbf", 3, 0 }, /* overlong */
    { "\xe0\xa0\x80", 3, 3 }, /* U+0800 */
    { "\xe2\x82\xac", 3, 3 }, /* the euro */
    { "\xe2\x82", 2, 0 },
    { "\xe2\x41\x80", 3, 0 },
    { "\xe2\x82\x41", 3, 0 },
    { "\xed\x9f\xbf", 3, 3 }, /* U+D7FF */
    { "\xed\xa0\x80", 3, 0 }, /* the first surrogate */
    { "\xed\xbf\xbf", 3, 0 }, /* the last */
    { "\xee\x80\x80", 3, 3 },
    { "\xef\xbf\xbf", 3, 3 },     /* U+FFFF */
    { "\xf0\x8f\xbf\xbf", 4, 0 }, /* overlong */
    { "\xf0\x90\x80\x80", 4, 4 }, /* U+10000 */
    { "\xf0\x9f\x94\xa5", 4, 4 }, /* a fire */
    { "\xf0\x9f\x94", 3, 0 },
    { "\xf0\x9f\x94\x41", 4, 0 },
    { "\xf4\x8f\xbf\xbf", 4, 4 }, /* U+10FFFF */
    { "\xf4\x90\x80\x80", 4, 0 }, /* above */
    { "\xf5\x80\x80\x80", 4, 0 },
    { "\xff", 1, 0 },
    { "a\xff", 2, 1 }, /* what follows does not matter */
};

static void a_character_is_what_the_standard_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        unsigned char *const text = guard_copy(forms[i].text, forms[i].length);
        const size_t got = utf8_char_length((const char *)text, forms[i].length);
        guard_free(text, forms[i].length);
        if (got != forms[i].character)
            fail_msg("form %zu: %zu bytes, not %zu", i, got, forms[i].character);
    }
}

static void text_is_valid_if_all_of_it_is(void **state)
{
    (void)state;
    assert_true(utf8_is_valid("", 0));
    assert_true(utf8_is_valid("caf\xc3\xa9 \xf0\x9f\x94\xa5", 10));
    assert_true(utf8_is_valid("a\0b", 3));
    assert_false(utf8_is_valid("a\xff", 2));
    assert_false(utf8_is_valid("ab\xc3", 3));
}

static void every_code_point_survives_the_way_there_and_back(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char text[4];
        const size_t n = utf8_encode(code, text);
        assert_int_equal(utf8_char_length(text, n), n);
        assert_int_equal(n, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
    }
}

static void what_is_no_character_becomes_the_replacement(void **state)
{
    static const uint32_t codes[] = { 0xd800, 0xdbff, 0xdc00, 0xdfff, 0x110000, UINT32_MAX };
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char text[4];
        assert_int_equal(utf8_encode(codes[i], text), 3);
        assert_memory_equal(text, "\xef\xbf\xbd", 3);
    }
}

static void code_points_have_their_known_bytes(void **state)
{
    static const struct {
        uint32_t code;
        const char *text;
    } table[] = { { 'a', "a" },
                  { 0xe9, "\xc3\xa9" },
                  { 0x7ff, "\xdf\xbf" },
                  { 0x20ac, "\xe2\x82\xac" },
                  { 0xffff, "\xef\xbf\xbf" },
                  { 0x1f525, "\xf0\x9f\x94\xa5" },
                  { 0x10ffff, "\xf4\x8f\xbf\xbf" } };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[4];
        const size_t n = utf8_encode(table[i].code, text);
        assert_int_equal(n, strlen(table[i].text));
        assert_memory_equal(text, table[i].text, n);
    }
}

static void a_cut_is_between_characters(void **state)
{
    static const char text[] = "a\u00e9\u20ac\U0001f600";
    static const size_t cuts[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10 };
    (void)state;
    for (size_t most = 0; most < sizeof cuts / sizeof *cuts; most++)
        assert_int_equal(utf8_cut(text, sizeof text - 1, most), cuts[most]);
    /* Bytes that are no UTF-8 are cut somewhere, too. */
    assert_int_equal(utf8_cut("\x80\x80\x80", 3, 2), 0);
}

TEST_GROUP(cmocka_unit_test(a_character_is_what_the_standard_says),
           cmocka_unit_test(a_cut_is_between_characters),
           cmocka_unit_test(text_is_valid_if_all_of_it_is),
           cmocka_unit_test(every_code_point_survives_the_way_there_and_back),
           cmocka_unit_test(what_is_no_character_becomes_the_replacement),
           cmocka_unit_test(code_points_have_their_known_bytes))
