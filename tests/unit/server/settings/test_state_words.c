/* States as words of a URL and in English. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/settings/state_words.h"
#include "tests/support/test.h"

static void words_are_written_as_they_are_read(void **state)
{
    static const char *const texts[] = { "on_cpu",          "!on_cpu",
                                         "~on_cpu",         "unknown_on_cpu",
                                         "!unknown_on_cpu", "has_gil,!waits_gil",
                                         "on_cpu,~in_gc",   "!in_native,has_exception" };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        state_bits require = 0, exclude = 0;
        struct buffer out = { 0 };
        struct err err = { 0 };
        assert_ok(state_words_read(texts[i], &require, &exclude, &err), &err);
        state_words_put(&out, require, exclude);
        assert_string_equal(buffer_string(&out), texts[i]);
        buffer_deinit(&out);
    }
}

static void all_states_are_no_words(void **state)
{
    struct buffer out = { 0 };
    (void)state;
    state_words_put(&out, 0, 0);
    state_words_put_phrases(&out, "; ", 0, 0);
    assert_int_equal(out.length, 0);
    buffer_deinit(&out);
}

static void each_question_has_its_phrase(void **state)
{
    static const struct {
        const char *words, *phrases;
    } rows[] = {
        { "on_cpu,has_gil", "; on CPU; holding the GIL" },
        { "!waits_gil", "; not waiting for the GIL" },
        { "~in_gc", "; not known to be collecting garbage" },
        { "unknown_in_native", "; unknown whether in native code" },
        { "!unknown_has_exception", "; known whether handling an exception" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        state_bits require = 0, exclude = 0;
        struct buffer out = { 0 };
        struct err err = { 0 };
        assert_ok(state_words_read(rows[i].words, &require, &exclude, &err), &err);
        state_words_put_phrases(&out, "; ", require, exclude);
        assert_string_equal(buffer_string(&out), rows[i].phrases);
        buffer_deinit(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_written_as_they_are_read),
        cmocka_unit_test(all_states_are_no_words),
        cmocka_unit_test(each_question_has_its_phrase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
