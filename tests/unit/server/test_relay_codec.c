#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/capture/bytes.h"
#include "server/source/relay_codec.h"
#include "tests/support/test.h"

static struct strtab_string string(const char *text)
{
    return (struct strtab_string){ text, (uint32_t)strlen(text) };
}

static const uint64_t ENTRIES[] = { 4096, 1ULL << 40 };

static struct source_wish wish_of_a_library(void)
{
    return (struct source_wish){ .path = string("/lib/x.so"),
                                 .build_id = string("beef"),
                                 .wants_places = true,
                                 .entries = ENTRIES,
                                 .entry_count = 2 };
}

static void a_wish_arrives(void **state)
{
    const struct source_wish wish = wish_of_a_library();
    struct relay_wish arrived;
    struct bytes data = { 0 };
    (void)state;
    relay_wish_encode(&wish, true, &data);
    assert_int_equal(relay_wish_decode(data.data, data.count, &arrived, NULL), ERR_OK);
    assert_int_equal(arrived.wish.path.length, 9);
    assert_memory_equal(arrived.wish.path.text, "/lib/x.so", 9);
    assert_int_equal(arrived.wish.build_id.length, 4);
    assert_memory_equal(arrived.wish.build_id.text, "beef", 4);
    assert_true(arrived.wish.wants_places && arrived.wants_place);
    assert_false(arrived.wish.wants_checkout);
    assert_int_equal(arrived.wish.entry_count, 2);
    assert_memory_equal(arrived.wish.entries, ENTRIES, sizeof ENTRIES);
    bytes_deinit(&data);
}

static void a_part_of_a_wish_or_more_is_none(void **state)
{
    const struct source_wish wish = wish_of_a_library();
    struct relay_wish arrived;
    struct bytes data = { 0 };
    (void)state;
    relay_wish_encode(&wish, false, &data);
    for (size_t bytes = 0; bytes < data.count; bytes++)
        assert_int_equal(relay_wish_decode(data.data, bytes, &arrived, NULL), ERR_INVALID);
    bytes_u8(&data, 0);
    assert_int_equal(relay_wish_decode(data.data, data.count, &arrived, NULL), ERR_INVALID);
    bytes_deinit(&data);
}

static void a_text_arrives(void **state)
{
    const struct source_place nowhere = { .line = 0 };
    struct bytes data = { 0 };
    struct buffer text = { 0 }, arrived = { 0 };
    uint64_t changed_ns = 0;
    struct err err = { 0 };
    (void)state;
    buffer_text(&text, "import os\n");
    buffer_text(&arrived, "what was there before");
    relay_answer_encode(ERR_OK, &err, 7, &nowhere, &text, &data);
    assert_int_equal(
        relay_answer_decode(data.data, data.count, &arrived, &changed_ns, NULL, &err), ERR_OK);
    assert_string_equal(buffer_string(&arrived), "import os\n");
    assert_int_equal(changed_ns, 7);
    for (size_t bytes = 0; bytes < data.count; bytes++)
        assert_int_equal(
            relay_answer_decode(data.data, bytes, &arrived, &changed_ns, NULL, &err),
            ERR_CORRUPT);
    buffer_deinit(&text);
    buffer_deinit(&arrived);
    bytes_deinit(&data);
}

static void an_error_arrives_with_the_place(void **state)
{
    struct source_place place = { .path = "/src/x.c", .line = 42 }, there = { .line = 0 };
    const struct buffer nothing = { 0 };
    struct bytes data = { 0 };
    struct buffer arrived = { 0 };
    uint64_t changed_ns = 0;
    struct err why = { 0 }, err = { 0 };
    (void)state;
    assert_int_equal(err_set(&why, ERR_PERM, "no right to read /src/x.c"), ERR_PERM);
    relay_answer_encode(ERR_PERM, &why, 0, &place, &nothing, &data);
    assert_int_equal(
        relay_answer_decode(data.data, data.count, &arrived, &changed_ns, &there, &err),
        ERR_PERM);
    assert_string_equal(err.message, "no right to read /src/x.c");
    assert_string_equal(there.path, "/src/x.c");
    assert_int_equal(there.line, 42);
    buffer_deinit(&arrived);
    bytes_deinit(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wish_arrives),
        cmocka_unit_test(a_part_of_a_wish_or_more_is_none),
        cmocka_unit_test(a_text_arrives),
        cmocka_unit_test(an_error_arrives_with_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
