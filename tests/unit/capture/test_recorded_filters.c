#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/recorded_filters.h"
#include "sampler/profile/views/expression.h"
#include "tests/support/test.h"

/* As a file would bring them back. */
static void pass(const struct capture_metadata *metadata, struct buffer *bytes,
                 struct capture_metadata *out)
{
    struct err err = { 0 };
    memset(out, 0, sizeof *out);
    metadata_encode(metadata, bytes);
    struct byte_reader in = byte_reader_over(bytes);
    assert_ok(metadata_decode(out, &in, &err), &err);
}

static void filters_of_every_kind_come_back(void **state)
{
    struct frame_filters filters = { 0 }, back;
    struct recorded_filters_room room;
    struct capture_metadata metadata = { .pid = 1 }, read;
    struct buffer bytes = { 0 };
    char ignored[RECORDED_FILTERS_TEXT_BYTES];
    struct err err = { 0 };
    (void)state;
    for (enum frame_filter_kind kind = 0; kind < FRAME_FILTER_KIND_COUNT; kind++)
        assert_ok(frame_filters_add(&filters, kind, frame_filter_name(kind), &err), &err);
    assert_ok(frame_filters_add(&filters, FRAME_FILTER_HIDE, "/^(a|\\d+)$/i", &err), &err);
    recorded_filters_put(&filters, &room, &metadata);
    pass(&metadata, &bytes, &read);
    recorded_filters_take(&read, &back, ignored);
    assert_string_equal(ignored, "");
    assert_int_equal(back.count, filters.count);
    for (size_t i = 0; i < filters.count; i++) {
        bool found = false;
        for (size_t k = 0; k < back.count; k++)
            found |= back.items[k].kind == filters.items[i].kind &&
                     strcmp(back.items[k].pattern, filters.items[i].pattern) == 0;
        assert_true(found);
    }
    metadata_deinit(&read);
    buffer_deinit(&bytes);
}

static void as_many_as_may_be_are_taken(void **state)
{
    const char *items[4096];
    struct capture_metadata metadata = { .show = { 4096, items } };
    struct frame_filters filters;
    char ignored[RECORDED_FILTERS_TEXT_BYTES];
    (void)state;
    for (size_t i = 0; i < 4096; i++)
        items[i] = "a";
    recorded_filters_take(&metadata, &filters, ignored);
    assert_int_equal(filters.count, FRAME_FILTERS_MAX);
    assert_string_equal(ignored, "its filter show 'a' is ignored: there may be at most 16 "
                                 "filters; so are 4079 more");
}

static void what_is_no_pattern_is_left_out(void **state)
{
    char *const longest = malloc(EXPRESSION_MAX_TEXT + 2);
    const char *items[] = { "/(/", "fine", "", longest, "\xff", "\x1b[2J" };
    struct capture_metadata metadata = { .focus = { 6, items } };
    struct frame_filters filters;
    char ignored[RECORDED_FILTERS_TEXT_BYTES];
    (void)state;
    assert_non_null(longest);
    memset(longest, 'x', EXPRESSION_MAX_TEXT + 1);
    longest[EXPRESSION_MAX_TEXT + 1] = '\0';
    recorded_filters_take(&metadata, &filters, ignored);
    assert_int_equal(filters.count, 2);
    assert_string_equal(filters.items[0].pattern, "fine");
    assert_string_equal(filters.items[1].pattern, items[5]);
    assert_string_equal(ignored, "its filter focus '/(/' is ignored: the regular expression "
                                 "lacks a ); so are 3 more");
    free(longest);
}

TEST_GROUP(cmocka_unit_test(filters_of_every_kind_come_back),
           cmocka_unit_test(as_many_as_may_be_are_taken),
           cmocka_unit_test(what_is_no_pattern_is_left_out))
