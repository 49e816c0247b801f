#include <string.h>

#include "sampler/foreign/location.h"
#include "tests/support/test.h"

static void expect_text(struct gather_text text, const char *expected)
{
    assert_int_equal(text.bytes, strlen(expected));
    assert_memory_equal(text.text, expected, text.bytes);
}

static void functions_files_and_lines_are_found(void **state)
{
    static const struct {
        const char *text, *name, *file;
        int64_t line;
    } cases[] = {
        { "work (app.py:12)", "work", "app.py", 12 },
        { "work (https://a:80/b.js:12:3)", "work", "https://a:80/b.js", 12 },
        { "get x (/a (1)/b.js:7:1)", "get x", "/a (1)/b.js", 7 },
        { "work(b.js:12:3)", "work", "b.js", 12 },
        { "f(int (*)(int)) (in libc.so.6)", "f(int (*)(int))", "libc.so.6", 0 },
        { "far (a.py:99999999999999999999)", "far", "a.py", INT64_C(9999999999) },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gather_text name, file;
        int64_t line;
        assert_true(location_split((struct gather_text){ cases[i].text, strlen(cases[i].text) },
                                   &name, &file, &line));
        expect_text(name, cases[i].name);
        expect_text(file, cases[i].file);
        assert_int_equal(line, cases[i].line);
    }
}

static void other_texts_are_names(void **state)
{
    static const char *const texts[] = {
        "",          ")",           "work",          "work ()",        "work (:3)",
        "step (12)", "f(int, a:3)", "work (app.py)", "work (app.py:)", "app.py:12",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct gather_text name, file;
        int64_t line;
        assert_false(location_split((struct gather_text){ texts[i], strlen(texts[i]) }, &name,
                                    &file, &line));
    }
}

TEST_GROUP(cmocka_unit_test(functions_files_and_lines_are_found),
           cmocka_unit_test(other_texts_are_names))
