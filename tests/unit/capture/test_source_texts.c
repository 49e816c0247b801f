#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/scoped.h"
#include "sampler/capture/format.h"
#include "sampler/capture/reader.h"
#include "sampler/capture/source_texts.h"
#include "sampler/capture/writer.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"
#include "tests/unit/capture/made_capture.h"

static struct source_text text_of(const char *path, const char *text)
{
    return (struct source_text){ .path = path,
                                 .path_bytes = strlen(path),
                                 .text = text,
                                 .bytes = strlen(text),
                                 .has_text = true };
}

static void put(struct buffer *out, const char *path, const char *text)
{
    const struct source_text row = text_of(path, text);
    assert_true(source_texts_put(out, &row));
}

static void decode(const struct buffer *bytes, struct source_texts *out)
{
    struct err err = { 0 };
    assert_ok(source_texts_decode(bytes->data, bytes->length, out, &err), &err);
}

static void assert_text(const struct source_texts *texts, const char *path, const char *wanted)
{
    const struct source_text *const row = source_texts_find(texts, path, strlen(path));
    assert_non_null(row);
    assert_int_equal(row->bytes, strlen(wanted));
    assert_memory_equal(row->text, wanted, row->bytes);
}

static void texts_come_back_whatever_their_bytes(void **state)
{
    static const char bytes[] = "a\0b\xff\n";
    const struct source_text row = { .path = "/srv/\xff.py",
                                     .path_bytes = 9,
                                     .text = bytes,
                                     .bytes = sizeof bytes - 1,
                                     .has_text = true,
                                     .is_whole = true,
                                     .changed_ns = 1700000000000000000u };
    struct made_capture capture;
    struct buffer written = { 0 };
    struct err err = { 0 };
    (void)state;
    assert_true(source_texts_put(&written, &row));
    put(&written, "/srv/b.py", "");
    made_capture_begin(&capture);
    made_run(&capture, made_thread(capture.profile, 1, 1), STATE_ON_CPU, "main", 1, 0);
    made_capture_seal(&capture, 1);
    assert_ok(writer_source(&capture.writer, &written, &err), &err);
    made_capture_end(&capture);
    struct reader *const reader = made_reader(&capture);
    assert_ok(reader_load(reader, 0, &err), &err);
    assert_int_equal(made_samples(reader), 1);
    const struct source_texts *const texts = reader_source(reader);
    assert_int_equal(texts->count, 2);
    const struct source_text *const found = source_texts_find(texts, row.path, row.path_bytes);
    assert_non_null(found);
    assert_int_equal(found->bytes, row.bytes);
    assert_memory_equal(found->text, bytes, row.bytes);
    assert_true(found->has_text && found->is_whole);
    assert_int_equal(found->changed_ns, row.changed_ns);
    assert_text(texts, "/srv/b.py", "");
    assert_null(source_texts_find(texts, "/srv/b.p", 8));
    reader_close(reader);
    made_capture_free(&capture);
    buffer_deinit(&written);
}

static void a_text_without_room_is_not_put(void **state)
{
    SCOPED_FREE char *long_text = malloc(SOURCE_TEXTS_MAX_BYTES);
    struct source_text row = text_of("/srv/long.py", "");
    struct buffer written = { 0 };
    struct source_texts texts;
    (void)state;
    memset(long_text, 'x', SOURCE_TEXTS_MAX_BYTES);
    put(&written, "/srv/a.py", "a\n");
    const size_t before = written.length;
    row.text = long_text;
    row.bytes = SOURCE_TEXTS_MAX_BYTES - before;
    assert_false(source_texts_put(&written, &row));
    assert_int_equal(written.length, before);
    row.bytes -= 100;
    assert_true(source_texts_put(&written, &row));
    assert_true(written.length <= SOURCE_TEXTS_MAX_BYTES);
    decode(&written, &texts);
    assert_int_equal(texts.count, 2);
    source_texts_deinit(&texts);
    buffer_deinit(&written);
}

static bool is_refused(const void *data, size_t bytes)
{
    struct source_texts texts = { .count = 0 };
    struct err err = { 0 };
    const enum err_code rc = source_texts_decode(data, bytes, &texts, &err);
    source_texts_deinit(&texts);
    assert_true(rc == ERR_OK || (rc == ERR_CORRUPT && *err.message));
    return rc != ERR_OK;
}

static void damaged_texts_are_refused(void **state)
{
    static const unsigned char flags[] = { 4, 1, '/', 0, 0 };
    static const unsigned char long_path[] = { 1, 0xff, 0xff, 0xff, 0xff, 0x7f, '/' };
    static const unsigned char huge[] = { 1,    1,    '/',  0,    0xff, 0xff, 0xff, 0xff,
                                          0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 'a' };
    SCOPED_FREE unsigned char *many = calloc(SOURCE_TEXTS_MAX_FILES + 1, 4);
    SCOPED_FREE unsigned char *large = calloc(1, SOURCE_TEXTS_MAX_BYTES + 1);
    struct buffer written = { 0 };
    (void)state;
    put(&written, "/srv/a.py", "import os\n");
    const size_t first = written.length;
    put(&written, "/srv/b.py", "");
    for (size_t cut = 1; cut < written.length; cut++)
        assert_int_equal(is_refused(written.data, cut), cut != first);
    assert_true(is_refused(flags, sizeof flags));
    assert_true(is_refused(long_path, sizeof long_path));
    assert_true(is_refused(huge, sizeof huge));
    assert_false(is_refused(many, SOURCE_TEXTS_MAX_FILES * (size_t)4));
    assert_true(is_refused(many, (SOURCE_TEXTS_MAX_FILES + 1) * (size_t)4));
    assert_true(is_refused(large, SOURCE_TEXTS_MAX_BYTES + 1));
    buffer_deinit(&written);
}

/* Merges lists that have one text each of a path; "": no list. */
static void merge_texts(const char *const *lines, size_t count, struct buffer *out,
                        struct source_texts *texts_out)
{
    struct buffer written[3] = { { 0 } };
    struct source_texts lists[3];
    const struct source_texts *pointers[3];
    size_t texts = 0;
    struct err err = { 0 };
    for (size_t i = 0; i < count; i++) {
        put(&written[i], "/srv/a.py", lines[i]);
        decode(&written[i], &lists[i]);
        pointers[i] = &lists[i];
    }
    assert_ok(source_texts_merge(pointers, count, out, &texts, &err), &err);
    decode(out, texts_out);
    assert_int_equal(texts_out->count, 1);
    assert_int_equal(texts, texts_out->items[0].has_text);
    for (size_t i = 0; i < count; i++) {
        source_texts_deinit(&lists[i]);
        buffer_deinit(&written[i]);
    }
}

static void merged_texts_have_the_lines_of_all(void **state)
{
    static const char *const parts[] = { "def a():\n\n\n\n\n", "\n\n\ndef b():\n  pass\n",
                                         "\n  pass\n\n\n\nlast" };
    struct buffer out = { 0 };
    struct source_texts texts;
    (void)state;
    merge_texts(parts, 3, &out, &texts);
    assert_text(&texts, "/srv/a.py", "def a():\n  pass\n\ndef b():\n  pass\nlast");
    source_texts_deinit(&texts);
    buffer_deinit(&out);
}

static void merged_texts_that_differ_are_left_out(void **state)
{
    static const char *const differ[] = { "def a():\n  pass\n", "def b():\n  pass\n" };
    static const char *const longer[] = { "def a():\n", "def a():\n\n\n" };
    struct buffer out = { 0 };
    struct source_texts texts;
    (void)state;
    merge_texts(differ, 2, &out, &texts);
    assert_false(texts.items[0].has_text);
    assert_text(&texts, "/srv/a.py", "the merged captures have different texts of this file");
    source_texts_deinit(&texts);
    buffer_clear(&out);
    merge_texts(longer, 2, &out, &texts);
    assert_false(texts.items[0].has_text);
    source_texts_deinit(&texts);
    buffer_deinit(&out);
}

static void a_reason_makes_room_for_a_text(void **state)
{
    const struct source_text reason = {
        .path = "/srv/a.py", .path_bytes = 9, .text = "it was in use", .bytes = 13
    };
    struct buffer written[2] = { { 0 } }, out = { 0 };
    struct source_texts lists[2], texts;
    const struct source_texts *const pointers[] = { &lists[0], &lists[1] };
    size_t count = 0;
    struct err err = { 0 };
    (void)state;
    assert_true(source_texts_put(&written[0], &reason));
    put(&written[1], "/srv/a.py", "import os\n");
    decode(&written[0], &lists[0]);
    decode(&written[1], &lists[1]);
    assert_ok(source_texts_merge(pointers, 2, &out, &count, &err), &err);
    assert_int_equal(count, 1);
    decode(&out, &texts);
    assert_text(&texts, "/srv/a.py", "import os\n");
    for (size_t i = 0; i < 2; i++) {
        source_texts_deinit(&lists[i]);
        buffer_deinit(&written[i]);
    }
    source_texts_deinit(&texts);
    buffer_deinit(&out);
}

static void want_of_memory_is_an_error(void **state)
{
    struct buffer written = { 0 };
    struct source_texts texts = { .count = 0 };
    (void)state;
    put(&written, "/srv/a.py", "import os\n");
    failing_alloc_at(0);
    const enum err_code rc = source_texts_decode(written.data, written.length, &texts, NULL);
    failing_alloc_never();
    assert_int_equal(rc, ERR_NOMEM);
    buffer_deinit(&written);
}

TEST_GROUP(cmocka_unit_test(texts_come_back_whatever_their_bytes),
           cmocka_unit_test(a_text_without_room_is_not_put),
           cmocka_unit_test(damaged_texts_are_refused),
           cmocka_unit_test(merged_texts_have_the_lines_of_all),
           cmocka_unit_test(merged_texts_that_differ_are_left_out),
           cmocka_unit_test(a_reason_makes_room_for_a_text),
           cmocka_unit_test(want_of_memory_is_an_error))
