/* The results of bytecode, compared with what every interpreter of this machine reports. */
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/bytecode.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/pythons.h"

enum { VERSION_3_14 = 0x030e00f0, VERSION_3_11 = 0x030b00f0 };

struct record {
    uint32_t version, units, handler_bytes, stack_size;
};

static void read_exactly(FILE *in, void *out, size_t bytes)
{
    assert_int_equal(fread(out, 1, bytes, in), bytes);
}

static void compare_size(const struct record *record, const unsigned char *units,
                         const unsigned char *handlers)
{
    const struct bytecode code = { .opcodes = opcodes_of(record->version),
                                   .units = units,
                                   .unit_count = record->units,
                                   .handlers = handlers,
                                   .handler_bytes = record->handler_bytes };
    assert_non_null(code.opcodes);
    const int64_t deepest = bytecode_deepest(&code);
    /* 3.13 has a place on every stack. */
    assert_int_equal(deepest                   ? (uint32_t)deepest
                     : record->stack_size <= 1 ? 0
                                               : 1,
                     deepest ? record->stack_size : 0);
}

static void compare_sizes(FILE *in, const char *version)
{
    struct record record;
    size_t count = 0;
    for (; fread(&record, sizeof record, 1, in) == 1; count++) {
        const size_t bytes = (size_t)record.units * BYTECODE_UNIT_BYTES;
        unsigned char *const units = guard_alloc(bytes);
        unsigned char *const handlers = guard_alloc(record.handler_bytes);
        read_exactly(in, units, bytes);
        read_exactly(in, handlers, record.handler_bytes);
        compare_size(&record, units, handlers);
        guard_free(units, bytes);
        guard_free(handlers, record.handler_bytes);
    }
    print_message("%s: %zu functions\n", version, count);
    assert_true(count > 500);
}

static void stacks_are_as_deep_as_python_says(void **state)
{
    (void)state;
    if (!pythons_run("unit/cpython/made/stack_sizes.py", compare_sizes))
        skip();
}

static unsigned char number(const char *name)
{
    const int op = opcodes_find(opcodes_of(VERSION_3_14), name);
    assert_true(op >= 0);
    return (unsigned char)op;
}

static struct bytecode made(const unsigned char *units, size_t bytes)
{
    return (struct bytecode){ .opcodes = opcodes_of(VERSION_3_14),
                              .units = units,
                              .unit_count = (uint32_t)(bytes / BYTECODE_UNIT_BYTES) };
}

static void arguments_beyond_a_byte_are_put_together(void **state)
{
    const unsigned char units[] = { number("PUSH_NULL"),    0, number("EXTENDED_ARG"), 1,
                                    number("BUILD_TUPLE"),  2, number("POP_TOP"),      0,
                                    number("RETURN_VALUE"), 0 };
    const struct bytecode code = made(units, sizeof units);
    struct instruction found;
    (void)state;
    assert_int_equal(bytecode_position(&code, 2, &found), ERR_OK);
    assert_int_equal(found.oparg, 258);
    assert_int_equal(found.opcode, number("BUILD_TUPLE"));
    assert_int_equal(found.depth, 1);
}

static void the_middle_of_an_instruction_is_none(void **state)
{
    const unsigned char units[] = { number("LOAD_GLOBAL"),  1, 0, 0, 0, 0, 0, 0, 0, 0,
                                    number("RETURN_VALUE"), 0 };
    const struct bytecode code = made(units, sizeof units);
    struct instruction found;
    (void)state;
    assert_int_equal(bytecode_position(&code, 2, &found), ERR_NOT_FOUND);
    assert_int_equal(bytecode_position(&code, 5, &found), ERR_OK);
    assert_int_equal(found.depth, 2);
    assert_int_equal(bytecode_position(&code, 6, &found), ERR_NOT_FOUND);
}

static void a_form_stands_for_its_base(void **state)
{
    const unsigned char units[] = {
        number("PUSH_NULL"), 0, number("PUSH_NULL"), 0, number("CALL_LEN"), 0, 0, 0, 0, 0, 0, 0,
        number("POP_TOP"),   0
    };
    const struct bytecode code = made(units, sizeof units);
    struct instruction found;
    (void)state;
    assert_int_equal(bytecode_position(&code, 2, &found), ERR_OK);
    assert_int_equal(found.opcode, number("CALL"));
    assert_int_equal(bytecode_position(&code, 6, &found), ERR_OK);
    assert_int_equal(found.depth, 1);
}

static void what_is_never_reached_has_no_depth(void **state)
{
    const unsigned char units[] = { number("RETURN_VALUE"), 0, number("POP_TOP"), 0 };
    const struct bytecode code = made(units, sizeof units);
    struct instruction found;
    (void)state;
    assert_int_equal(bytecode_position(&code, 1, &found), ERR_NOT_FOUND);
}

static void a_stack_that_runs_dry_has_no_depth(void **state)
{
    const unsigned char units[] = { number("POP_TOP"), 0, number("POP_TOP"), 0 };
    const struct bytecode code = made(units, sizeof units);
    struct instruction found;
    (void)state;
    assert_int_equal(bytecode_position(&code, 1, &found), ERR_NOT_FOUND);
}

/* A block in another one, and a `try` between them. */
static void with_blocks_are_found_from_the_innermost_on(void **state)
{
    const unsigned char units[] = {
        number("NOP"),
        0,
        number("NOP"),
        0,
        number("NOP"),
        0,
        number("NOP"),
        0, /* 0 to 3 */
        number("PUSH_EXC_INFO"),
        0,
        number("WITH_EXCEPT_START"),
        0, /* 4: of the inner block */
        number("PUSH_EXC_INFO"),
        0,
        number("POP_TOP"),
        0, /* 6: of the try */
        number("PUSH_EXC_INFO"),
        0,
        number("WITH_EXCEPT_START"),
        0, /* 8: of the outer block */
    };
    enum { FIRST = 0x80, LASTI = 1 };
    const unsigned char handlers[] = {
        FIRST | 1, 1, 4, 9 << 1 | LASTI, FIRST | 2, 1, 6, 5 << 1,
        FIRST | 3, 1, 8, 2 << 1 | LASTI, FIRST | 4, 2, 6, 5 << 1,
        FIRST | 6, 2, 8, 2 << 1 | LASTI,
    };
    struct bytecode code = made(units, sizeof units);
    struct with_block blocks[4];
    (void)state;
    code.handlers = handlers;
    code.handler_bytes = sizeof handlers;
    assert_int_equal(bytecode_with_blocks(&code, 0, blocks, 4), 0);
    assert_int_equal(bytecode_with_blocks(&code, 1, blocks, 4), 2);
    assert_int_equal(blocks[0].depth, 9);
    assert_int_equal(blocks[0].handler, 4);
    assert_int_equal(blocks[1].depth, 2);
    assert_int_equal(blocks[1].handler, 8);
    assert_int_equal(bytecode_with_blocks(&code, 1, blocks, 1), 1);
    assert_int_equal(bytecode_with_blocks(&code, 2, blocks, 4), 1);
    assert_int_equal(bytecode_with_blocks(&code, 3, blocks, 4), 1);
    assert_int_equal(bytecode_with_blocks(&code, 9, blocks, 4), 0);
}

/* Compilers leave the jump out of the table. */
static void a_jump_back_is_in_the_blocks_of_its_loop(void **state)
{
    unsigned char units[] = {
        number("NOP"),           0, number("NOP"),           0, number("EXTENDED_ARG"),      0,
        number("JUMP_BACKWARD"), 3, number("PUSH_EXC_INFO"), 0, number("WITH_EXCEPT_START"), 0
    };
    const unsigned char handlers[] = { 0x80 | 1, 1, 4, 2 << 1 | 1 };
    struct bytecode code = made(units, sizeof units);
    struct with_block blocks[4];
    (void)state;
    code.handlers = handlers;
    code.handler_bytes = sizeof handlers;
    units[7] = (unsigned char)(3 + code.opcodes[number("JUMP_BACKWARD")].caches);
    assert_int_equal(bytecode_with_blocks(&code, 1, blocks, 4), 1);
    assert_int_equal(bytecode_with_blocks(&code, 3, blocks, 4), 1);
    assert_int_equal(bytecode_with_blocks(&code, 2, blocks, 4), 1);
    assert_int_equal(blocks[0].depth, 2);
    assert_int_equal(bytecode_with_blocks(&code, 0, blocks, 4), 0);
}

static void a_handler_of_itself_ends_the_search(void **state)
{
    const unsigned char units[] = { number("PUSH_EXC_INFO"), 0, number("WITH_EXCEPT_START"),
                                    0 };
    const unsigned char handlers[] = { 0x80, 2, 0, 3 };
    struct bytecode code = made(units, sizeof units);
    struct with_block blocks[256];
    (void)state;
    code.handlers = handlers;
    code.handler_bytes = sizeof handlers;
    assert_true(bytecode_with_blocks(&code, 0, blocks, 256) < 256);
}

static void any_bytes_can_be_walked(void **state)
{
    unsigned char *const bytes = guard_alloc(512);
    struct instruction found;
    struct with_block blocks[8];
    (void)state;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        for (size_t at = 0; at < 512; at++)
            bytes[at] = (unsigned char)rand();
        const struct bytecode code = { .opcodes =
                                           opcodes_of(i & 1 ? VERSION_3_14 : VERSION_3_11),
                                       .units = bytes,
                                       .unit_count = 128,
                                       .handlers = bytes + 256,
                                       .handler_bytes = 256 };
        (void)!bytecode_position(&code, (uint32_t)(i % 140), &found);
        assert_true(bytecode_with_blocks(&code, (uint32_t)(i % 140), blocks, 8) <= 8);
    }
    guard_free(bytes, 512);
}

static void code_over_the_limit_is_declined(void **state)
{
    const size_t bytes = ((size_t)BYTECODE_MAX_UNITS + 1) * BYTECODE_UNIT_BYTES;
    unsigned char *const units = calloc(1, bytes);
    struct instruction found;
    (void)state;
    assert_non_null(units);
    const struct bytecode code = made(units, bytes);
    assert_int_equal(bytecode_position(&code, 0, &found), ERR_LIMIT);
    free(units);
}

static void only_newer_minors_without_a_table_have_that_of_another(void **state)
{
    (void)state;
    assert_null(opcodes_of(0x030a00f0));
    assert_ptr_not_equal(opcodes_of(0x030f00f0), opcodes_of(0x031000f0));
    assert_ptr_equal(opcodes_of(0x031100f0), opcodes_of(0x031000f0));
    assert_null(opcodes_of(0x040e00f0));
}

TEST_GROUP(cmocka_unit_test(stacks_are_as_deep_as_python_says),
           cmocka_unit_test(arguments_beyond_a_byte_are_put_together),
           cmocka_unit_test(the_middle_of_an_instruction_is_none),
           cmocka_unit_test(a_form_stands_for_its_base),
           cmocka_unit_test(what_is_never_reached_has_no_depth),
           cmocka_unit_test(a_stack_that_runs_dry_has_no_depth),
           cmocka_unit_test(with_blocks_are_found_from_the_innermost_on),
           cmocka_unit_test(a_jump_back_is_in_the_blocks_of_its_loop),
           cmocka_unit_test(a_handler_of_itself_ends_the_search),
           cmocka_unit_test(any_bytes_can_be_walked),
           cmocka_unit_test(code_over_the_limit_is_declined),
           cmocka_unit_test(only_newer_minors_without_a_table_have_that_of_another))
