#include <string.h>

#include "sampler/native/cfi.h"
#include "sampler/native/cfi_program.h"
#include "tests/support/fake_memory.h"
#include "tests/support/test.h"
#include "tests/unit/native/made_image.h"

enum { BASE = 0x400000, START = MADE_CODE + 0x100, CODE_BYTES = 0x80 };

struct world {
    struct fake_memory fake;
    struct made_image image;
    struct blocks blocks;
    struct cfi_tables tables;
};

static const uint8_t start[] = { MADE_START };

static int set_up(void **state)
{
    static struct world world;
    fake_memory_init(&world.fake);
    made_image_map(&world.image, &world.fake, BASE);
    *state = &world;
    return blocks_init(&world.blocks, &world.fake.memory, NULL) ? -1 : 0;
}

static int tear_down(void **state)
{
    struct world *const world = *state;
    blocks_deinit(&world->blocks);
    fake_memory_deinit(&world->fake);
    return 0;
}

/* The rule at an offset in the function. */
static enum err_code find(struct world *world, uint32_t offset, struct rule *rule)
{
    remote_addr function;
    blocks_clear(&world->blocks);
    assert_int_equal(made_image_open(&world->image, &world->blocks, &world->tables), ERR_OK);
    return cfi_find(&world->blocks, &world->tables, BASE + START + offset, rule, &function);
}

static void add(struct world *world, const char *letters, const uint8_t *instructions,
                size_t bytes)
{
    const uint32_t common = made_image_common(&world->image, letters, start, sizeof start);
    made_image_function(&world->image, common, START, CODE_BYTES, instructions, bytes);
}

static struct rule rule_after(struct world *world, const char *letters,
                              const uint8_t *instructions, size_t bytes, uint32_t offset)
{
    struct rule rule;
    add(world, letters, instructions, bytes);
    assert_int_equal(find(world, offset, &rule), ERR_OK);
    return rule;
}

#define RULE_AFTER(world, offset, ...)                        \
    rule_after(world, "zR", (const uint8_t[]){ __VA_ARGS__ }, \
               sizeof((const uint8_t[]){ __VA_ARGS__ }), offset)

static void a_row_holds_until_the_next_one(void **state)
{
    struct world *const world = *state;
    struct rule rule = RULE_AFTER(world, 0, 0x41, 0x0e, 16, 0x86, 2, 0x02, 0x10, 0x0d, 6, 0x03,
                                  0x20, 0, 0x0a, 0x0c, 7, 8, 0xc6, 0x04, 1, 0, 0, 0, 0x0b);
    assert_int_equal(rule.kind, RULE_REGISTER);
    assert_int_equal(rule.base, MACHINE_SP);
    assert_int_equal(rule.offset, 8);
    assert_int_equal(rule.saved[MACHINE_FP], RULE_UNCHANGED);
    assert_int_equal(find(world, 1, &rule), ERR_OK);
    assert_int_equal(rule.offset, 16);
    assert_int_equal(rule.saved[MACHINE_FP], -16);
    assert_int_equal(find(world, 0x10, &rule), ERR_OK);
    assert_int_equal(rule.base, MACHINE_SP);
    assert_int_equal(find(world, 0x11, &rule), ERR_OK);
    assert_int_equal(rule.base, MACHINE_FP);
    assert_int_equal(rule.offset, 16);
    assert_int_equal(find(world, 0x31, &rule), ERR_OK);
    assert_int_equal(rule.base, MACHINE_SP);
    assert_int_equal(rule.saved[MACHINE_FP], RULE_UNCHANGED);
    assert_int_equal(find(world, 0x32, &rule), ERR_OK);
    assert_int_equal(rule.base, MACHINE_FP);
    assert_int_equal(rule.saved[MACHINE_FP], -16);
    assert_int_equal(find(world, CODE_BYTES, &rule), ERR_OK);
    assert_int_equal(rule.kind, RULE_NONE);
}

static void the_entry_of_the_function_is_found_among_others(void **state)
{
    struct world *const world = *state;
    const uint32_t common = made_image_common(&world->image, "zR", start, sizeof start);
    remote_addr function;
    struct rule rule;
    for (uint32_t i = 0; i < 20; i++) {
        const uint8_t instructions[] = { 0x0e, (uint8_t)(4 * i + 8) };
        made_image_function(&world->image, common, START + 32 * i, 16, instructions,
                            sizeof instructions);
    }
    assert_int_equal(made_image_open(&world->image, &world->blocks, &world->tables), ERR_OK);
    assert_int_equal(world->tables.function_count, 20);
    for (uint32_t i = 0; i < 20; i++) {
        const remote_addr at = BASE + START + 32 * i;
        assert_int_equal(cfi_find(&world->blocks, &world->tables, at + 15, &rule, &function),
                         ERR_OK);
        assert_int_equal(rule.offset, 4 * i + 8);
        assert_int_equal(function, at);
        assert_int_equal(cfi_find(&world->blocks, &world->tables, at + 16, &rule, &function),
                         ERR_OK);
        assert_int_equal(rule.kind, RULE_NONE);
        assert_int_equal(function, 0);
    }
    assert_int_equal(
        cfi_find(&world->blocks, &world->tables, BASE + START - 1, &rule, &function), ERR_OK);
    assert_int_equal(rule.kind, RULE_NONE);
}

static void a_realigned_stack_is_found_through_bp(void **state)
{
    const struct rule rule = RULE_AFTER(*state, 0, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76,
                                        0, 0x10, 3, 2, 0x76, 0x68);
    assert_int_equal(rule.kind, RULE_DEREFERENCE);
    assert_int_equal(rule.base, MACHINE_FP);
    assert_int_equal(rule.offset, -8);
    assert_int_equal(rule.add, 0);
    assert_int_equal(rule.from_fp, 1 << MACHINE_FP | 1 << MACHINE_BX);
    assert_int_equal(rule.saved[MACHINE_FP], 0);
    assert_int_equal(rule.saved[MACHINE_BX], -24);
}

static void a_dereference_may_add_a_number(void **state)
{
    const struct rule rule = RULE_AFTER(*state, 0, 0x0f, 5, 0x77, 0x10, 0x06, 0x23, 0x18);
    assert_int_equal(rule.kind, RULE_DEREFERENCE);
    assert_int_equal(rule.base, MACHINE_SP);
    assert_int_equal(rule.add, 24);
}

static void r10_may_hold_the_address_of_the_frame(void **state)
{
    const struct rule rule = RULE_AFTER(*state, 0, 0x0c, 10, 0);
    assert_int_equal(rule.kind, RULE_REGISTER);
    assert_int_equal(rule.base, MACHINE_OUTER_SP);
    assert_int_equal(rule.offset, 0);
}

static void a_stub_of_the_linker_is_recognized(void **state)
{
    const struct rule rule = RULE_AFTER(*state, 0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b,
                                        0x2a, 0x33, 0x24, 0x22);
    assert_int_equal(rule.kind, RULE_STUB);
    assert_int_equal(rule.add, 11);
}

static void a_signal_frame_is_recognized_by_its_form(void **state)
{
    /* The CFA is the word at sp + 160. */
    static const uint8_t usual[] = {
        0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 16, 3, 0x77, 0xa8, 1
    };
    struct rule rule = rule_after(*state, "zRS", usual, sizeof usual, 0);
    assert_int_equal(rule.kind, RULE_SIGNAL);
    assert_true(rule.is_interrupted);
    tear_down(state);
    set_up(state);
    rule = rule_after(*state, "zR", usual, sizeof usual, 0);
    assert_int_equal(rule.kind, RULE_NONE);
}

static void a_function_without_return_address_ends_the_stack(void **state)
{
    assert_int_equal(RULE_AFTER(*state, 0, 0x07, 16).kind, RULE_END);
}

static void a_return_address_elsewhere_is_no_rule(void **state)
{
    assert_int_equal(RULE_AFTER(*state, 0, 0x90, 2).kind, RULE_NONE);
    tear_down(state);
    set_up(state);
    assert_int_equal(RULE_AFTER(*state, 0, 0x09, 16, 3).kind, RULE_NONE);
}

static void a_register_whose_value_is_computed_is_lost(void **state)
{
    const struct rule rule =
        RULE_AFTER(*state, 0, 0x07, 3, 0x09, 12, 1, 0x14, 13, 2, 0x16, 14, 2, 0x77, 0, 0x05, 15,
                   3, 0x11, 6, 0x7c, 0x2e, 5, 0x08, 6);
    assert_int_equal(rule.saved[MACHINE_BX], RULE_LOST);
    assert_int_equal(rule.saved[MACHINE_R12], RULE_LOST);
    assert_int_equal(rule.saved[MACHINE_R13], RULE_LOST);
    assert_int_equal(rule.saved[MACHINE_R14], RULE_LOST);
    assert_int_equal(rule.saved[MACHINE_R15], -24);
    assert_int_equal(rule.saved[MACHINE_FP], RULE_UNCHANGED);
    assert_int_equal(rule.kind, RULE_REGISTER);
}

static void other_expressions_are_no_rule(void **state)
{
    /* The forms that are known, each with a difference. */
    static const struct {
        uint8_t bytes[16], count;
    } expressions[] = {
        { { 0x0f, 0 }, 2 },
        { { 0x0f, 1, 0x06 }, 3 },
        { { 0x0f, 2, 0x76, 0x78 }, 4 },
        { { 0x0f, 4, 0x76, 0x78, 0x06, 0x06 }, 6 },
        { { 0x0f, 4, 0x76, 0x78, 0x06, 0x23 }, 6 },
        { { 0x0f, 3, 0x71, 0x78, 0x06 }, 5 },
        { { 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x4f, 0x2a, 0x33, 0x24, 0x22 }, 13 },
        { { 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x1c }, 13 },
    };
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        tear_down(state);
        set_up(state);
        const struct rule rule =
            rule_after(*state, "zR", expressions[i].bytes, expressions[i].count, 0);
        assert_int_equal(rule.kind, RULE_NONE);
    }
}

static void damaged_instructions_are_reported(void **state)
{
    static const struct {
        uint8_t bytes[40], count;
    } programs[] = {
        { { 0x0b }, 1 },             /* recalls what was not remembered */
        { { 0x3f }, 1 },             /* no instruction */
        { { 0x0e }, 1 },             /* ends in the middle */
        { { 0x0e, 0x80, 0x80 }, 3 }, /* in a number */
        { { 0x03, 1 }, 2 },          /* in an advance */
        { { 0x0f, 0x7f, 0x76 }, 3 }, /* in an expression */
        { { 0x0e, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 }, 12 }, /* 11 bytes */
        /* Times -8, the offset passes 64 bits. */
        { { 0x12, 7, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0 }, 12 },
        { { 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
            0x0a, 0x0a, 0x0a },
          CFI_MAX_REMEMBERED + 1 },
    };
    struct rule rule;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        tear_down(state);
        set_up(state);
        add(*state, "zR", programs[i].bytes, programs[i].count);
        assert_int_equal(find(*state, 0, &rule), ERR_CORRUPT);
    }
}

static void as_many_rows_as_promised_are_remembered(void **state)
{
    uint8_t program[CFI_MAX_REMEMBERED];
    memset(program, 0x0a, sizeof program);
    assert_int_equal(rule_after(*state, "zR", program, sizeof program, 0).kind, RULE_REGISTER);
}

static void entries_outside_the_image_are_not_read(void **state)
{
    struct world *const world = *state;
    static const uint32_t places[] = { 0x7fffffff, 0x80000000, MADE_END - MADE_HEADER,
                                       MADE_END - MADE_HEADER - 2, (uint32_t)-MADE_HEADER - 4 };
    const uint32_t pair = MADE_HEADER + 12;
    struct rule rule;
    add(world, "zR", start, 0);
    /* Memory on both sides that could be read. */
    fake_memory_map(&world->fake, BASE - 0x1000, 0x1000);
    fake_memory_map(&world->fake, BASE + MADE_END, 0x1000);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        made_image_put_u32(&world->image, pair + 4, places[i]);
        assert_int_equal(find(world, 0, &rule), ERR_CORRUPT);
        assert_int_equal(rule.kind, RULE_NONE);
    }
}

static void damaged_entries_are_reported(void **state)
{
    struct world *const world = *state;
    struct rule rule;
    const uint32_t common = made_image_common(&world->image, "zR", start, sizeof start);
    const uint32_t entry =
        made_image_function(&world->image, common, START, CODE_BYTES, start, 0);
    static const uint32_t lengths[] = {
        0, 3, 0xffffffff, 0xfffffff0, CFI_MAX_ENTRY_BYTES + 1, MADE_END
    };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        made_image_put_u32(&world->image, entry, lengths[i]);
        assert_int_equal(find(world, 0, &rule), ERR_CORRUPT);
    }
    made_image_put_u32(&world->image, entry, 13);
    assert_int_equal(find(world, 0, &rule), ERR_OK);
    assert_int_equal(rule.kind, RULE_REGISTER);
    /* A common entry must not be the entry itself, lie nowhere, or be nothing. */
    static const uint32_t backs[] = { 4, 0xffffffff, 0 };
    for (size_t i = 0; i < sizeof backs / sizeof *backs; i++) {
        made_image_put_u32(&world->image, entry + 4, backs[i]);
        assert_int_equal(find(world, 0, &rule), ERR_CORRUPT);
    }
}

static void unknown_forms_of_shared_entries_are_refused(void **state)
{
    static const char *const letters[] = { "eh", "zRQ", "zRzRzRzRz" };
    struct rule rule;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        tear_down(state);
        set_up(state);
        add(*state, letters[i], start, 0);
        assert_int_equal(find(*state, 0, &rule), ERR_UNSUPPORTED);
    }
}

static void damaged_headers_are_refused(void **state)
{
    struct world *const world = *state;
    const remote_addr header = BASE + MADE_HEADER;
    struct cfi_tables *const tables = &world->tables;
    add(world, "zR", start, 0);
    assert_int_equal(cfi_open(&world->blocks, BASE, BASE + MADE_END, BASE - 1, 64, tables),
                     ERR_CORRUPT);
    assert_int_equal(
        cfi_open(&world->blocks, BASE, BASE + MADE_END, BASE + MADE_END, 0, tables),
        ERR_CORRUPT);
    assert_int_equal(
        cfi_open(&world->blocks, BASE, BASE + MADE_END, header, UINT64_MAX, tables),
        ERR_CORRUPT);
    assert_int_equal(cfi_open(&world->blocks, BASE, BASE + MADE_END, header, 11, tables),
                     ERR_CORRUPT);
    /* Room for one function, and there is one. */
    assert_int_equal(cfi_open(&world->blocks, BASE, BASE + MADE_END, header, 20, tables),
                     ERR_OK);
    assert_int_equal(cfi_open(&world->blocks, BASE, BASE + MADE_END, header, 19, tables),
                     ERR_CORRUPT);
    made_image_put_u32(&world->image, MADE_HEADER + 8, 0xffffffff);
    blocks_clear(&world->blocks);
    assert_int_equal(made_image_open(&world->image, &world->blocks, tables), ERR_CORRUPT);
    made_image_put_u32(&world->image, MADE_HEADER, 0xff031b01);
    blocks_clear(&world->blocks);
    assert_int_equal(made_image_open(&world->image, &world->blocks, tables), ERR_UNSUPPORTED);
}

static void an_unsorted_table_gives_no_wrong_function(void **state)
{
    struct world *const world = *state;
    const uint32_t common = made_image_common(&world->image, "zR", start, sizeof start);
    struct rule rule;
    remote_addr function;
    for (uint32_t i = 0; i < 8; i++)
        made_image_function(&world->image, common, START + 16 * (7 - i), 16, start, 0);
    assert_int_equal(made_image_open(&world->image, &world->blocks, &world->tables), ERR_OK);
    for (uint32_t i = 0; i < 8; i++) {
        const remote_addr pc = BASE + START + 16 * i;
        assert_int_equal(cfi_find(&world->blocks, &world->tables, pc, &rule, &function),
                         ERR_OK);
        assert_true(function == 0 || function == pc);
    }
}

static void memory_that_is_gone_is_an_error(void **state)
{
    struct world *const world = *state;
    remote_addr function;
    struct rule rule;
    add(world, "zR", start, 0);
    assert_int_equal(made_image_open(&world->image, &world->blocks, &world->tables), ERR_OK);
    blocks_clear(&world->blocks);
    world->fake.failure = ERR_GONE;
    assert_int_equal(cfi_find(&world->blocks, &world->tables, BASE + START, &rule, &function),
                     ERR_GONE);
    assert_int_equal(rule.kind, RULE_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_GROUP(
    TEST(a_row_holds_until_the_next_one), TEST(the_entry_of_the_function_is_found_among_others),
    TEST(a_realigned_stack_is_found_through_bp), TEST(a_dereference_may_add_a_number),
    TEST(r10_may_hold_the_address_of_the_frame), TEST(a_stub_of_the_linker_is_recognized),
    TEST(a_signal_frame_is_recognized_by_its_form),
    TEST(a_function_without_return_address_ends_the_stack),
    TEST(a_return_address_elsewhere_is_no_rule),
    TEST(a_register_whose_value_is_computed_is_lost), TEST(other_expressions_are_no_rule),
    TEST(damaged_instructions_are_reported), TEST(as_many_rows_as_promised_are_remembered),
    TEST(entries_outside_the_image_are_not_read), TEST(damaged_entries_are_reported),
    TEST(unknown_forms_of_shared_entries_are_refused), TEST(damaged_headers_are_refused),
    TEST(an_unsorted_table_gives_no_wrong_function), TEST(memory_that_is_gone_is_an_error))
