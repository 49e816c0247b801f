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
        struct state_condition condition = { .parts = 0 };
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
        { "!waits_gil", "; not waiting for the GIL" },
        { "~in_gc", "; all but collecting garbage" },
        { "unknown_in_native", "; unknown whether in native code" },
        { "!unknown_has_exception", "; known whether handling an exception" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct state_condition condition = { .parts = 0 };
        struct buffer out = { 0 };
        struct err err = { 0 };
        assert_ok(state_words_read(rows[i].words, &condition, &err), &err);
        state_words_put_phrases(&out, "; ", &condition);
        assert_string_equal(buffer_string(&out), rows[i].phrases);
        buffer_deinit(&out);
    }
}

static void parts_are_written_as_they_are_read(void **state)
{
    static const struct {
        const char *read, *written, *phrase;
    } rows[] = {
        { "running", "running", "running" },
        { "blocked,running", "running,blocked", "running or blocked" },
        { "running,needs-gil,blocked", "running,needs_gil,blocked",
          "running, needs the GIL or blocked" },
        { "blocked,running,needs_gil,needs_processor",
          "running,needs_gil,needs_processor,blocked", "all but idle" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buffer out = { 0 };
        struct err err = { 0 };
        struct state_condition condition = { 0 };
        assert_ok(state_words_read_parts(rows[i].read, &condition.parts, &err), &err);
        state_words_put_parts(&out, condition.parts);
        assert_string_equal(buffer_string(&out), rows[i].written);
        buffer_clear(&out);
        state_words_put_phrases(&out, "", &condition);
        assert_string_equal(buffer_string(&out), rows[i].phrase);
        buffer_deinit(&out);
    }
}

static void all_parts_together_are_no_condition(void **state)
{
    part_set set = PART_SET_COMPARED;
    struct err err = { 0 };
    (void)state;
    assert_ok(
        state_words_read_parts("running,needs_gil,needs_processor,blocked,idle", &set, &err),
        &err);
    assert_int_equal(set, 0);
}

static void other_words_are_no_parts(void **state)
{
    static const char *const texts[] = { "",      "active",     "running,",
                                         "needs", "needs_gilt", "on_cpu" };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        part_set set = 0;
        struct err err = { 0 };
        assert_int_equal(state_words_read_parts(texts[i], &set, &err), ERR_INVALID);
        assert_non_null(strstr(err.message, "running, needs_gil, needs_processor"));
    }
}

TEST_GROUP(cmocka_unit_test(words_are_written_as_they_are_read),
           cmocka_unit_test(all_states_are_no_words),
           cmocka_unit_test(each_question_has_its_phrase),
           cmocka_unit_test(parts_are_written_as_they_are_read),
           cmocka_unit_test(all_parts_together_are_no_condition),
           cmocka_unit_test(other_words_are_no_parts))
