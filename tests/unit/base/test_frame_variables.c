#include "sampler/base/buffer.h"
#include "sampler/base/frame_variables.h"
#include "tests/support/test.h"

static void put_two_frames(struct buffer *out)
{
    const struct variable amount = { VARIABLE_ARGUMENT, "amount", "int", "250" };
    const struct variable lock = { VARIABLE_FREE, "lock", "_thread.lock", NULL };
    frame_variables_begin(out, 4, 5);
    frame_variables_put(out, &amount);
    frame_variables_put(out, &lock);
    frame_variables_end(out, 7);
    frame_variables_begin(out, 6, 5);
    frame_variables_end(out, 0);
}

static void frames_come_back(void **state)
{
    struct buffer bytes = { 0 };
    struct variable_frame frame;
    struct variable variable;
    uint64_t left_out;
    (void)state;
    put_two_frames(&bytes);
    struct byte_reader in = byte_reader_over(&bytes);
    assert_true(frame_variables_next_frame(&in, &frame));
    assert_int_equal(frame.function, 4);
    assert_int_equal(frame.file, 5);
    assert_true(frame_variables_next(&in, &variable, &left_out));
    assert_int_equal(variable.kind, VARIABLE_ARGUMENT);
    assert_string_equal(variable.name, "amount");
    assert_string_equal(variable.type, "int");
    assert_string_equal(variable.value, "250");
    assert_true(frame_variables_next(&in, &variable, &left_out));
    assert_int_equal(variable.kind, VARIABLE_FREE);
    assert_null(variable.value);
    assert_false(frame_variables_next(&in, &variable, &left_out));
    assert_int_equal(left_out, 7);
    assert_true(frame_variables_next_frame(&in, &frame));
    assert_false(frame_variables_next(&in, &variable, &left_out));
    assert_false(frame_variables_next_frame(&in, &frame));
    buffer_deinit(&bytes);
}

static void bytes_that_end_early_end_the_frames(void **state)
{
    struct buffer bytes = { 0 };
    struct variable_frame frame;
    struct variable variable;
    uint64_t left_out;
    (void)state;
    put_two_frames(&bytes);
    for (size_t cut = 0; cut < bytes.length; cut++) {
        struct byte_reader in = byte_reader_of(bytes.data, cut);
        size_t variables = 0;
        while (frame_variables_next_frame(&in, &frame))
            while (frame_variables_next(&in, &variable, &left_out))
                variables++;
        assert_true(variables <= 2);
    }
    buffer_deinit(&bytes);
}

TEST_GROUP(cmocka_unit_test(frames_come_back),
           cmocka_unit_test(bytes_that_end_early_end_the_frames))
