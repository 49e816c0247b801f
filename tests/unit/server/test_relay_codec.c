#include <string.h>

#include "sampler/base/buffer.h"
#include "server/source/relay_codec.h"
#include "tests/support/test.h"

static const struct relay_request REQUEST = { .want = RELAY_PLACES,
                                              .count = 3,
                                              .functions = { 1, 300, UINT32_MAX } };

static void a_request_arrives(void **state)
{
    struct relay_request arrived;
    struct buffer data = { 0 };
    (void)state;
    relay_request_encode(&REQUEST, &data);
    assert_int_equal(relay_request_decode(data.data, data.length, &arrived, NULL), ERR_OK);
    assert_int_equal(arrived.want, RELAY_PLACES);
    assert_int_equal(arrived.count, 3);
    assert_memory_equal(arrived.functions, REQUEST.functions, 3 * sizeof *arrived.functions);
    buffer_deinit(&data);
}

static void a_part_of_a_request_or_more_is_none(void **state)
{
    struct relay_request arrived;
    struct buffer data = { 0 };
    (void)state;
    relay_request_encode(&REQUEST, &data);
    for (size_t bytes = 0; bytes < data.length; bytes++)
        assert_int_equal(relay_request_decode(data.data, bytes, &arrived, NULL), ERR_INVALID);
    buffer_u8(&data, 0);
    assert_int_equal(relay_request_decode(data.data, data.length, &arrived, NULL), ERR_INVALID);
    buffer_deinit(&data);
}

/* Nor does it name a file in any other way. */
static void a_request_beyond_its_limits_is_none(void **state)
{
    static const struct relay_request wrong[] = {
        { .want = RELAY_TEXT },
        { .want = RELAY_WANTS, .count = 1, .functions = { 1 } },
    };
    static const char with_path[] = "\013/etc/shadow\000\000\000";
    struct relay_request arrived;
    struct buffer data = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        buffer_clear(&data);
        relay_request_encode(&wrong[i], &data);
        assert_int_equal(relay_request_decode(data.data, data.length, &arrived, NULL),
                         ERR_INVALID);
    }
    buffer_clear(&data);
    buffer_u8(&data, RELAY_PLACES);
    buffer_number(&data, SOURCE_MAX_PLACES + 1);
    for (size_t i = 0; i <= SOURCE_MAX_PLACES; i++)
        buffer_number(&data, 1);
    assert_int_equal(relay_request_decode(data.data, data.length, &arrived, NULL), ERR_INVALID);
    assert_int_equal(relay_request_decode(with_path, sizeof with_path - 1, &arrived, NULL),
                     ERR_INVALID);
    buffer_deinit(&data);
}

static void a_text_arrives(void **state)
{
    const struct source_place nowhere = { .line = 0 };
    struct buffer data = { 0 };
    struct buffer text = { 0 }, arrived = { 0 };
    uint64_t changed_ns = 0;
    struct err err = { 0 };
    (void)state;
    buffer_text(&text, "import os\n");
    buffer_text(&arrived, "what was there before");
    relay_answer_encode(ERR_OK, &err, 7, &nowhere, &text, &data);
    assert_int_equal(
        relay_answer_decode(data.data, data.length, &arrived, &changed_ns, NULL, &err), ERR_OK);
    assert_string_equal(buffer_string(&arrived), "import os\n");
    assert_int_equal(changed_ns, 7);
    for (size_t bytes = 0; bytes < data.length; bytes++)
        assert_int_equal(
            relay_answer_decode(data.data, bytes, &arrived, &changed_ns, NULL, &err),
            ERR_CORRUPT);
    buffer_deinit(&text);
    buffer_deinit(&arrived);
    buffer_deinit(&data);
}

static void an_error_arrives_with_the_place(void **state)
{
    struct source_place place = { .path = "/src/x.c", .line = 42 }, there = { .line = 0 };
    const struct buffer nothing = { 0 };
    struct buffer data = { 0 };
    struct buffer arrived = { 0 };
    uint64_t changed_ns = 0;
    struct err why = { 0 }, err = { 0 };
    (void)state;
    assert_int_equal(err_set(&why, ERR_PERM, "no right to read /src/x.c"), ERR_PERM);
    relay_answer_encode(ERR_PERM, &why, 0, &place, &nothing, &data);
    assert_int_equal(
        relay_answer_decode(data.data, data.length, &arrived, &changed_ns, &there, &err),
        ERR_PERM);
    assert_string_equal(err.message, "no right to read /src/x.c");
    assert_string_equal(there.path, "/src/x.c");
    assert_int_equal(there.line, 42);
    buffer_deinit(&arrived);
    buffer_deinit(&data);
}

TEST_GROUP(cmocka_unit_test(a_request_arrives),
           cmocka_unit_test(a_part_of_a_request_or_more_is_none),
           cmocka_unit_test(a_request_beyond_its_limits_is_none),
           cmocka_unit_test(a_text_arrives), cmocka_unit_test(an_error_arrives_with_the_place))
