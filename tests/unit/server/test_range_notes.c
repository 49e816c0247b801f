/* Notes on ranges of time: what is one, in which order, and what a file of them may hold. */
#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/wire/json.h"
#include "server/wire/range_notes.h"
#include "tests/support/test.h"

static enum err_code add(struct range_notes *notes, double from_s, double to_s,
                         const char *text)
{
    struct range_note note;
    struct err err = { 0 };
    return range_notes_add(notes, from_s, to_s, text, &note, &err);
}

static void they_stand_in_the_order_of_time(void **state)
{
    static const double starts[] = { 5, 1, 9, 1, 3 };
    static const uint32_t wanted[] = { 2, 4, 5, 1, 3 };
    struct range_notes notes = { 0 };
    (void)state;
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(add(&notes, starts[i], 20, "x"), ERR_OK);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(notes.items[i].id, wanted[i]);
    assert_false(range_notes_remove(&notes, 6));
    assert_true(range_notes_remove(&notes, 5));
    assert_false(range_notes_remove(&notes, 5));
    assert_int_equal(notes.count, 4);
    assert_int_equal(notes.items[2].id, 1);
    /* An id is never used again. */
    assert_int_equal(add(&notes, 0, 1, "x"), ERR_OK);
    assert_int_equal(notes.items[0].id, 6);
}

static void what_is_no_note_is_refused(void **state)
{
    char text[RANGE_NOTE_MAX_TEXT + 2];
    struct range_notes notes = { 0 };
    (void)state;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(add(&notes, 0, 1, text), ERR_INVALID);
    assert_int_equal(add(&notes, 0, 1, text + 1), ERR_OK);
    assert_int_equal(add(&notes, 0, 1, ""), ERR_INVALID);
    assert_int_equal(add(&notes, 0, 1, " \n\t"), ERR_INVALID);
    assert_int_equal(add(&notes, 1, 1, "x"), ERR_INVALID);
    assert_int_equal(add(&notes, -1, 1, "x"), ERR_INVALID);
    assert_int_equal(add(&notes, 0, 1e300, "x"), ERR_INVALID);
    assert_int_equal(add(&notes, 0, 0.0 / 0.0, "x"), ERR_INVALID);
    assert_int_equal(notes.count, 1);
}

static void there_are_only_so_many(void **state)
{
    struct range_notes notes = { 0 };
    (void)state;
    for (int i = 0; i < RANGE_NOTES_MAX; i++)
        assert_int_equal(add(&notes, i, i + 1, "x"), ERR_OK);
    assert_int_equal(add(&notes, 0, 1, "x"), ERR_LIMIT);
    assert_int_equal(notes.count, RANGE_NOTES_MAX);
    assert_true(range_notes_remove(&notes, 1));
    assert_int_equal(add(&notes, 0, 1, "x"), ERR_OK);
}

static void what_is_written_is_read_back(void **state)
{
    static const char hostile[] =
        "</script><img src=x onerror=alert(1)> \"\\ \x01 \xe2\x80\xae \xc3\xa4";
    struct range_notes notes = { 0 }, read;
    struct buffer buffer = { 0 };
    struct json json;
    struct err err = { 0 };
    (void)state;
    assert_int_equal(add(&notes, 1.25, 2.5, hostile), ERR_OK);
    assert_int_equal(add(&notes, 3, 4, "slow"), ERR_OK);
    json_init(&json, &buffer);
    range_notes_write(&json, &notes);
    assert_ok(json_finish(&json, &err), &err);
    range_notes_read(buffer.data, buffer.length, &read);
    assert_int_equal(read.count, 2);
    assert_string_equal(read.items[0].text, hostile);
    assert_true(read.items[0].from_s == 1.25 && read.items[0].to_s == 2.5);
    assert_string_equal(read.items[1].text, "slow");
    buffer_deinit(&buffer);
}

static void a_damaged_file_has_those_that_are_valid(void **state)
{
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        { "", 0 },
        { "[", 0 },
        { "{\"from_s\":1}", 0 },
        { "[1, null, [], {}]", 0 },
        { "[{\"from_s\":1,\"to_s\":2}]", 0 },
        { "[{\"from_s\":\"1\",\"to_s\":2,\"text\":\"x\"}]", 1 },
        { "[{\"from_s\":3,\"to_s\":2,\"text\":\"x\"},{\"from_s\":1,\"to_s\":2,\"text\":\"y\"}]",
          1 },
        { "[{\"from_s\":1,\"to_s\":2,\"text\":7}]", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct range_notes notes;
        range_notes_read(rows[i].text, strlen(rows[i].text), &notes);
        assert_int_equal(notes.count, rows[i].count);
    }
}

TEST_GROUP(cmocka_unit_test(they_stand_in_the_order_of_time),
           cmocka_unit_test(what_is_no_note_is_refused),
           cmocka_unit_test(there_are_only_so_many),
           cmocka_unit_test(what_is_written_is_read_back),
           cmocka_unit_test(a_damaged_file_has_those_that_are_valid))
