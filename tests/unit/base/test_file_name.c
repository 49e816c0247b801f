#include <string.h>

#include "sampler/base/file_name.h"
#include "sampler/base/plain_text.h"
#include "tests/support/test.h"

static const struct {
    const char *text;
    enum file_name_encoding encoding;
    const char *name; /* NULL: none */
} names[] = {
    { "/srv/app.py", FILE_NAME_TEXT, "/srv/app.py" },
    { "/srv/app.py", FILE_NAME_UTF8, NULL },
    { "/srv/app.py", FILE_NAME_LATIN1, NULL },
    { "/srv/caf\u00e9.py", FILE_NAME_TEXT, "/srv/caf\u00e9.py" },
    { "/srv/caf\u00e9.py", FILE_NAME_UTF8, NULL },
    { "/srv/caf\u00e9.py", FILE_NAME_LATIN1, "/srv/caf\xe9.py" },
    { "caf\uefe9\uef80", FILE_NAME_TEXT, "caf\uefe9\uef80" },
    { "caf\uefe9\uef80", FILE_NAME_UTF8, "caf\xe9\x80" },
    { "\u6f22\uefe9", FILE_NAME_UTF8, "\u6f22\xe9" },
    { "\u6f22\uefe9", FILE_NAME_LATIN1, NULL },
    { "\uefc3\uefa9", FILE_NAME_UTF8, "\xc3\xa9" },
    { "\uef7f\uf000", FILE_NAME_UTF8, NULL },
    { "a\xff", FILE_NAME_TEXT, "a\xff" },
    { "", FILE_NAME_TEXT, "" },
};

static void a_name_is_encoded_as_it_was_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char out[64];
        const bool has_name =
            file_name_encode(names[i].text, names[i].encoding, out, sizeof out);
        if (has_name != (names[i].name != NULL) ||
            (has_name && strcmp(out, names[i].name) != 0))
            fail_msg("name %zu is %s", i, has_name ? out : "none");
    }
}

static void each_byte_of_python_comes_back(void **state)
{
    (void)state;
    for (uint32_t code = 0xd800; code < 0xe000; code++) {
        const int byte = file_name_byte(file_name_of_python(code));
        assert_int_equal(byte, code >= 0xdc80 && code <= 0xdcff ? (int)(code - 0xdc00) : -1);
    }
}

static void a_name_without_room_is_none(void **state)
{
    char out[5];
    (void)state;
    assert_true(file_name_encode("abcd", FILE_NAME_TEXT, out, sizeof out));
    assert_false(file_name_encode("abcde", FILE_NAME_TEXT, out, sizeof out));
    assert_false(file_name_encode("abc\u00e9", FILE_NAME_TEXT, out, sizeof out));
}

static void a_terminal_shows_the_byte(void **state)
{
    char out[64];
    (void)state;
    plain_text_copy(out, sizeof out, "caf\uefe9.py");
    assert_string_equal(out, "caf\\xe9.py");
}

TEST_GROUP(cmocka_unit_test(a_name_is_encoded_as_it_was_decoded),
           cmocka_unit_test(each_byte_of_python_comes_back),
           cmocka_unit_test(a_name_without_room_is_none),
           cmocka_unit_test(a_terminal_shows_the_byte))
