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
                                         "on_cpu,~in_gc",   "!in_native,has_exception",
                                         "active",          "active,in_gc" };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct state_condition condition;
        struct buffer out = { 0 };
        struct err err = { 0 };
        assert_ok(state_words_read(texts[i], &condition, &err), &err);
        state_words_put(&out, &condition);
        assert_string_equal(buffer_string(&out), texts[i]);
        buffer_deinit(&out);
    }
}

static void all_states_are_no_words(void **state)
{
    struct buffer out = { 0 };
    (void)state;
    state_words_put(&out, &(struct state_condition){ 0 });
    state_words_put_phrases(&out, "; ", &(struct state_condition){ 0 });
    assert_int_equal(out.length, 0);
    buffer_deinit(&out);
}

static void each_question_has_its_phrase(void **state)
{
    static const struct {
        const char *words, *phrases;
    } rows[] = {
        { "on_cpu,has_gil", "; on CPU; holding the GIL" },
        { "active,in_gc", "; active; collecting garbage" },
        { "!waits_gil", "; not waiting for the GIL" },
        { "~in_gc", "; all but collecting garbage" },
        { "unknown_in_native", "; unknown whether in native code" },
        { "!unknown_has_exception", "; known whether handling an exception" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct state_condition condition;
        struct buffer out = { 0 };
        struct err err = { 0 };
        assert_ok(state_words_read(rows[i].words, &condition, &err), &err);
        state_words_put_phrases(&out, "; ", &condition);
        assert_string_equal(buffer_string(&out), rows[i].phrases);
        buffer_deinit(&out);
    }
}

static void active_contradicts_only_waiting(void **state)
{
    struct state_condition condition;
    struct err err = { 0 };
    (void)state;
    assert_ok(state_words_read("active,!on_cpu,~has_gil", &condition, &err), &err);
    assert_true(state_passes(&condition, STATE_WAITS_GIL));
    assert_false(state_passes(&condition, STATE_ON_CPU));
    assert_false(state_passes(&condition, 0));
    assert_int_equal(
        state_words_read("!on_cpu,~has_gil,~runnable,~waits_gil,active", &condition, &err),
        ERR_INVALID);
    assert_non_null(strstr(err.message, "\"active\" contradicts"));
}

static void every_sample_is_active_or_waits(void **state)
{
    const struct state_condition active = { .any = STATE_ACTIVE };
    (void)state;
    for (unsigned bits = 0; bits <= STATE_ALL_UNKNOWN; bits++)
        assert_int_equal(state_passes(&active, (state_bits)bits),
                         state_doing_of((state_bits)bits) != STATE_DOING_WAITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_written_as_they_are_read),
        cmocka_unit_test(all_states_are_no_words),
        cmocka_unit_test(each_question_has_its_phrase),
        cmocka_unit_test(active_contradicts_only_waiting),
        cmocka_unit_test(every_sample_is_active_or_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
