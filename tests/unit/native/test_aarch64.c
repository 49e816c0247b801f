/* The rules of aarch64, on any processor. */
#include "sampler/native/tail_call.h"
#include "tests/support/test.h"
#include "tests/unit/native/made_stack.h"

/* Functions of 0x40 bytes of code. */
enum {
    LEAF = CODE,               /* CFA = sp, saves nothing */
    RECORDS = CODE + 0x40,     /* from byte 4 on CFA = sp + 32, x29 and x30 at its lower end */
    HAS_POINTER = CODE + 0x80, /* CFA = x29 + 64, x29, x30 and x19 at its lower end */
    SIGNS = CODE + 0xc0,       /* as RECORDS; return addresses are signed */
    SIGNAL_BY_TABLE = CODE + 0x100,
    START = CODE + 0x140,       /* has no caller */
    SAVES_APART = CODE + 0x180, /* CFA = sp + 48, x30 at its lower end, x29 elsewhere */
    LOSES = CODE + 0x1c0,       /* x30 is in another register */
    LARGE_FRAME = CODE + 0x200, /* CFA = sp + 0x100000, x29 and x30 at its lower end */
    SIGNATURE = 0x2a,           /* in the upper bits of an address */
};

static const uint32_t RET = 0xd65f03c0, NOP = 0xd503201f;

static void put_code(struct made_stack *world, remote_addr at, uint32_t instruction)
{
    fake_memory_put_u32(&world->fake, at, instruction);
    blocks_clear(&world->unwinder.blocks);
}

static uint32_t branch(uint32_t operation, remote_addr at, remote_addr to)
{
    return operation | ((uint32_t)((to - at) / 4) & 0x3ffffff);
}

static void put_call(struct made_stack *world, remote_addr return_address, remote_addr to)
{
    put_code(world, return_address - 4, branch(0x94000000, return_address - 4, to));
}

static void put_signal_return(struct made_stack *world, remote_addr at)
{
    put_code(world, at - 4, NOP);
    put_code(world, at, 0xd2801168);
    put_code(world, at + 4, 0xd4000001);
}

void made_stack_add_functions(struct made_stack *world)
{
    static const uint8_t start[] = { 0x0c, 31, 0 };
    const uint32_t usual = made_image_common(&world->image, "zR", start, sizeof start);
    const uint32_t of_signals = made_image_common(&world->image, "zRS", start, sizeof start);
    const uint32_t with_key = made_image_common(&world->image, "zRB", start, sizeof start);
    MADE_ADD(world, usual, LEAF, 0);
    MADE_ADD(world, usual, RECORDS, 0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3);
    MADE_ADD(world, usual, HAS_POINTER, 0x0c, 29, 64, 0x9d, 8, 0x9e, 7, 0x93, 6);
    MADE_ADD(world, with_key, SIGNS, 0x44, 0x2d, 0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3, 0x6c, 0xde,
             0xdd, 0x0e, 0, 0x44, 0x2d);
    MADE_ADD(world, of_signals, SIGNAL_BY_TABLE, 0x0c, 29, 0, 0x9d, 0, 0x9e, 0x7f);
    MADE_ADD(world, usual, START, 0x07, 30);
    MADE_ADD(world, usual, SAVES_APART, 0x0e, 48, 0x9e, 6, 0x9d, 3);
    MADE_ADD(world, usual, LOSES, 0x09, 30, 15);
    MADE_ADD(world, usual, LARGE_FRAME, 0x0e, 0x80, 0x80, 0x40, 0x9d, 0x80, 0x80, 0x08, 0x9e,
             0xff, 0xff, 0x07);
    for (remote_addr at = CODE + CALL; at < BASE + MADE_HEADER; at += 0x40)
        fake_memory_put_u32(&world->fake, at - 4, branch(0x94000000, at - 4, at - CALL));
}

static uint64_t signed_address(remote_addr addr)
{
    return addr | (uint64_t)SIGNATURE << 48;
}

static void set(struct made_stack *world, remote_addr ip, uint64_t fp, uint64_t return_address)
{
    world->registers.ip = ip;
    world->registers.saved[MACHINE_FP] = fp;
    world->registers.saved[MACHINE_RETURN_ADDRESS] = return_address;
}

/* Puts the frame record that a function saves by the convention. */
static void put_record(struct made_stack *world, int number, uint64_t fp,
                       uint64_t return_address)
{
    *made_word(world, number) = fp;
    *made_word(world, number + 1) = return_address;
}

static remote_addr at_word(const struct made_stack *world, int number)
{
    return world->registers.sp + (uint64_t)(number * 8);
}

static void frames_lead_to_the_first_function(void **state)
{
    struct made_stack *const world = *state;
    set(world, LEAF + 8, 1, RECORDS + CALL);
    put_record(world, 0, at_word(world, 6), HAS_POINTER + CALL);
    put_record(world, 6, 0, START + CALL);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    const struct native_frame expected[] = {
        { .pc = LEAF + 8, .function = LEAF, .sp = at_word(world, 0), .cfa = at_word(world, 0) },
        { .pc = RECORDS + CALL,
          .function = RECORDS,
          .sp = at_word(world, 0),
          .cfa = at_word(world, 4) },
        { .pc = HAS_POINTER + CALL,
          .function = HAS_POINTER,
          .sp = at_word(world, 4),
          .cfa = at_word(world, 14) },
        { .pc = START + CALL, .function = START, .sp = at_word(world, 14) },
    };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(world->frames[i].pc, expected[i].pc);
        assert_int_equal(world->frames[i].function, expected[i].function);
        assert_int_equal(world->frames[i].sp, expected[i].sp);
        assert_int_equal(world->frames[i].cfa, expected[i].cfa);
        assert_int_equal(world->frames[i].is_exact, i == 0);
    }
}

static void the_register_is_the_return_address_until_it_is_saved(void **state)
{
    struct made_stack *const world = *state;
    set(world, RECORDS, 1, START + CALL);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->frames[0].cfa, world->registers.sp);
    set(world, RECORDS + 4, 1, RECORDS + CALL);
    put_record(world, 0, 0, START + CALL);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 2);
    /* A function that has called another one has saved it. */
    put_record(world, 0, 0, LEAF + CALL);
    assert_int_equal(made_walk(world), NATIVE_CONTRADICTION);
    set(world, LOSES, 1, START + CALL);
    assert_int_equal(made_walk(world), NATIVE_NO_REGISTER);
}

/* Registers lie below local variables. */
static void a_frame_may_be_large(void **state)
{
    struct made_stack *const world = *state;
    static uint64_t outer[4];
    set(world, LARGE_FRAME + 4, 1, 0);
    put_record(world, 0, 0, RECORDS + CALL);
    outer[1] = START + CALL;
    world->stack.base = 0;
    world->stack.spans[1] = (struct native_span){ at_word(world, 0) + 0x100000,
                                                  (unsigned char *)outer, sizeof outer };
    world->stack.span_count = 2;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[0].cfa, at_word(world, 0) + 0x100000);
}

static void a_call_changes_the_register(void **state)
{
    struct made_stack *const world = *state;
    set(world, RECORDS + 4, 1, 0);
    put_record(world, 0, at_word(world, 6), HAS_POINTER + CALL);
    put_record(world, 6, 0, SAVES_APART + CALL);
    *made_word(world, 14) = SAVES_APART + CALL;
    *made_word(world, 20) = LEAF + CALL;
    assert_int_equal(made_walk(world), NATIVE_CONTRADICTION);
    assert_int_equal(world->walk.count, 5);
}

static void signed_return_addresses_are_found(void **state)
{
    struct made_stack *const world = *state;
    set(world, SIGNS + 4, 1, signed_address(SIGNS + CALL));
    put_record(world, 0, at_word(world, 6), signed_address(SIGNS + CALL));
    put_record(world, 4, at_word(world, 6), signed_address(START + CALL));
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    assert_int_equal(world->frames[1].pc, SIGNS + CALL);
    assert_int_equal(world->frames[3].pc, START + CALL);
    /* Behind the epilogue it is in the register again. */
    set(world, SIGNS + 0x38, 1, signed_address(START + CALL));
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 2);
}

static void check_signal(struct made_stack *world, remote_addr signal_return)
{
    set(world, RECORDS + 4, 1, 0);
    put_record(world, 0, at_word(world, 200), signal_return);
    made_signal(world, 4, LEAF, at_word(world, 90));
    *made_word(world, 4 + machine_signal_frame.saved[MACHINE_RETURN_ADDRESS] / 8) =
        RECORDS + CALL;
    put_record(world, 90, 0, START + CALL);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 5);
    assert_int_equal(world->frames[2].pc, LEAF);
    assert_true(world->frames[2].is_exact);
    assert_int_equal(world->frames[2].sp, at_word(world, 90));
    assert_int_equal(world->frames[3].pc, RECORDS + CALL);
}

/* Newer kernels have no table for it, older ones one that leads to the record, which signal handlers may leave out. */
static void a_signal_return_is_recognized_by_its_code(void **state)
{
    struct made_stack *const world = *state;
    put_signal_return(world, UNKNOWN);
    check_signal(world, UNKNOWN);
    put_signal_return(world, SIGNAL_BY_TABLE + 4);
    check_signal(world, SIGNAL_BY_TABLE + 4);
}

static void code_without_a_table_is_left_by_the_register(void **state)
{
    struct made_stack *const world = *state;
    set(world, UNKNOWN + 0x100, at_word(world, 8), RECORDS + CALL);
    put_record(world, 8, at_word(world, 14), HAS_POINTER + CALL);
    put_record(world, 14, 0, START + CALL);
    /* Its use of the stack is unknown, so its caller's frame is found by the record. */
    for (int words = 0; words <= 8; words += 2) {
        world->registers.sp = at_word(world, words ? 2 : 0);
        assert_int_equal(made_walk(world), NATIVE_COMPLETE);
        assert_int_equal(world->walk.count, 4);
        assert_int_equal(world->frames[0].left_by, NATIVE_LEFT_BY_CALL);
        assert_int_equal(world->frames[1].cfa,
                         world->registers.sp + (uint64_t)(12 - words) * 8);
        assert_int_equal(world->frames[2].pc, HAS_POINTER + CALL);
    }
}

static void the_frame_of_its_caller_must_lead_to_a_call(void **state)
{
    struct made_stack *const world = *state;
    set(world, UNKNOWN + 0x100, at_word(world, 8), RECORDS + CALL);
    put_record(world, 8, 0, START + CALL + 4);
    assert_int_equal(made_walk(world), NATIVE_NO_REGISTER);
    assert_int_equal(world->walk.cause, NATIVE_NO_RULE);
    put_record(world, 8, 0, START + CALL);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    /* A caller without a record. */
    set(world, UNKNOWN + 0x100, at_word(world, 8), SAVES_APART + CALL);
    assert_int_equal(made_walk(world), NATIVE_NO_REGISTER);
    /* The register names no caller: it is behind no call, or in code without tables too. */
    set(world, UNKNOWN + 0x100, 0, RECORDS + CALL + 4);
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
    set(world, UNKNOWN + 0x100, 0, UNKNOWN + CALL);
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
}

static void a_function_without_a_table_may_have_a_record(void **state)
{
    struct made_stack *const world = *state;
    set(world, UNKNOWN + 0x100, at_word(world, 2), UNKNOWN + CALL);
    put_record(world, 2, at_word(world, 8), RECORDS + CALL);
    put_record(world, 8, at_word(world, 14), HAS_POINTER + CALL);
    put_record(world, 14, 0, START + CALL);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    assert_int_equal(world->frames[0].left_by, NATIVE_LEFT_BY_FRAME_POINTER);
    assert_int_equal(world->frames[1].cfa, at_word(world, 12));
    /* Made, but nothing called yet. */
    world->registers.saved[MACHINE_RETURN_ADDRESS] = RECORDS + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    assert_int_equal(world->frames[0].left_by, NATIVE_LEFT_BY_FRAME_POINTER);
}

static void trampolines_of_python_are_left(void **state)
{
    struct made_stack *const world = *state;
    set(world, LEAF, at_word(world, 0), GENERATED + 12);
    put_record(world, 0, at_word(world, 2), RECORDS + CALL);
    put_record(world, 2, 0, START + CALL);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    assert_int_equal(world->frames[1].left_by, NATIVE_LEFT_BY_TRAMPOLINE);
    assert_int_equal(world->frames[1].cfa, at_word(world, 2));
    assert_int_equal(world->frames[2].cfa, at_word(world, 6));
    /* Its first instruction has saved nothing yet; the frame pointer is that of the caller. */
    set(world, GENERATED, at_word(world, 2), RECORDS + CALL);
    world->registers.sp += 16;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[1].pc, RECORDS + CALL);
}

static void a_stub_is_left_by_the_call_of_it(void **state)
{
    enum { LINKAGE = UNKNOWN + 0x180, SLOT = BASE + 0x7008 };
    struct made_stack *const world = *state;
    put_code(world, LINKAGE, 0xd503245f);
    put_code(world, LINKAGE + 4, 0xd0000030); /* six pages on */
    put_code(world, LINKAGE + 8, 0xf9400611);
    fake_memory_put_u64(&world->fake, SLOT, LEAF);
    world->unwinder.blocks.budget = UNWIND_BUDGET;
    assert_int_equal(blocks_stub_target(&world->unwinder.blocks, LINKAGE), LEAF);
    put_call(world, RECORDS + CALL, LINKAGE);
    set(world, LINKAGE + 12, 1, RECORDS + CALL);
    put_record(world, 0, 0, START + CALL);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[0].left_by, NATIVE_LEFT_BY_CALL);
    assert_int_equal(world->frames[1].cfa, at_word(world, 4));
}

static void of_a_waiting_thread_the_stack_is_enough(void **state)
{
    struct made_stack *const world = *state;
    set(world, RECORDS + 8, 0, 0);
    world->registers.has_only_sp = true;
    put_record(world, 0, at_word(world, 6), HAS_POINTER + CALL);
    put_record(world, 6, 0, START + CALL);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
}

/* Newer C libraries wait in a function that saves nothing. */
static void its_caller_is_named_by_its_callers_call(void **state)
{
    struct made_stack *const world = *state;
    set(world, LEAF + 8, 0, 0);
    world->registers.has_only_sp = true;
    put_record(world, 0, at_word(world, 6), HAS_POINTER + CALL);
    put_record(world, 6, 0, START + CALL);
    put_call(world, HAS_POINTER + CALL, RECORDS);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    assert_int_equal(world->frames[1].pc, RECORDS);
    assert_true(world->frames[1].is_exact);
    assert_int_equal(world->frames[2].pc, HAS_POINTER + CALL);
    assert_int_equal(world->frames[2].cfa, at_word(world, 14));
    /* The called address is no function; the word is no return address. */
    put_call(world, HAS_POINTER + CALL, RECORDS + 4);
    assert_int_equal(made_walk(world), NATIVE_NO_REGISTER);
    put_code(world, HAS_POINTER + CALL - 4, 0xd63f0060);
    assert_int_equal(made_walk(world), NATIVE_NO_REGISTER);
    put_code(world, HAS_POINTER + CALL - 4, NOP);
    assert_int_equal(made_walk(world), NATIVE_NO_REGISTER);
}

static void zeros_mark_the_first_frame(void **state)
{
    struct made_stack *const world = *state;
    set(world, RECORDS + 4, 1, 0);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    *made_word(world, 0) = 1;
    assert_int_equal(made_walk(world), NATIVE_CONTRADICTION);
}

/* Older C libraries have no table for what starts a program. */
static void the_first_function_may_have_no_table(void **state)
{
    struct made_stack *const world = *state;
    set(world, RECORDS + 4, 1, 0);
    world->registers.sp = BASE_OF_STACK - 32;
    put_record(world, 0, 0, UNKNOWN + CALL);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 2);
    world->stack.base = 0;
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
}

static void the_walk_goes_on_behind_a_gap(void **state)
{
    struct made_stack *const world = *state;
    set(world, LEAF, 1, RECORDS + CALL);
    put_record(world, 0, 0, START + CALL);
    const remote_addr entry = at_word(world, 2), next = at_word(world, 12);
    for (int i = 0; i < 2; i++)
        assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_COMPLETE);
    assert_int_equal(world->unwinder.anchor.distance, 16);
    set(world, UNKNOWN + 0x100, 1, 0);
    put_record(world, 10, 0, START + CALL);
    assert_int_equal(made_walk_with(world, &next, 1), NATIVE_COMPLETE);
    assert_int_equal(world->walk.gaps, 1);
    assert_int_equal(world->walk.count, 4);
    assert_int_equal(world->frames[2].function, RECORDS);
    assert_int_equal(world->frames[3].pc, START + CALL);
    *made_word(world, 11) = START + CALL + 4;
    assert_int_equal(made_walk_with(world, &next, 1), NATIVE_NO_RULE);
}

static void a_jump_at_the_end_leads_to_its_function(void **state)
{
    struct made_stack *const world = *state;
    struct images *const images = &world->unwinder.images;
    struct tail_calls known = { 0 };
    images_examine(images_find(images, LEAF), &world->unwinder.blocks);
    put_code(world, LEAF + 8, branch(0x14000000, LEAF + 8, SIGNS));
    assert_true(tail_call_leads_to(&known, images, &world->unwinder.blocks, LEAF, SIGNS));
    assert_false(tail_call_leads_to(&known, images, &world->unwinder.blocks, LEAF, RECORDS));
}

static void calls_are_recognized(void **state)
{
    static const struct {
        uint32_t instruction;
        bool is_call;
        remote_addr called;
    } cases[] = {
        { 0x94000001, true, 0x1000 },
        { 0x97ffffff, true, 0xff8 }, /* bl */
        { 0xd63f0060, true, 0 },
        { 0xd63f03c0, true, 0 }, /* blr x3, x30 */
        { 0xd63f081f, true, 0 },
        { 0xd63f0fdf, true, 0 }, /* blraaz x0, blrabz x30 */
        { 0xd73f0801, true, 0 },
        { 0xd73f0fdf, true, 0 }, /* blraa, blrab */
        { 0x14000001, false, 0 },
        { 0xd61f0060, false, 0 }, /* b, br x3 */
        { RET, false, 0 },
        { NOP, false, 0 },
        { 0xd71f0801, false, 0 },
        { 0xd63f0061, false, 0 }, /* braa; no instruction */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const unsigned char *const code = (const unsigned char *)&cases[i].instruction;
        assert_int_equal(machine_ends_with_call(code), cases[i].is_call);
        assert_int_equal(machine_called(code, 0x1000), cases[i].called);
    }
}

static void code_ends_before_what_makes_system_calls_unless_nothing_has_returned(void **state)
{
    static const uint32_t SVC = 0xd4000001;
    const uint32_t code[] = { SVC, RET, NOP, RET, NOP, SVC, RET };
    (void)state;
    assert_int_equal(machine_own_bytes((const unsigned char *)code, sizeof code), 16);
    assert_int_equal(machine_own_bytes((const unsigned char *)code, 20), 20);
    assert_int_equal(machine_own_bytes((const unsigned char *)code, 8), 8);
}

static void stubs_are_recognized(void **state)
{
    static const struct {
        uint32_t code[4];
        remote_addr slot;
    } cases[] = {
        { { 0xf0000010, 0xf9400611 }, 0x4008 },      /* adrp x16, 3 pages; ldr x17, [x16, #8] */
        { { 0xf0ffffe0 | 0x10, 0xf9400a11 }, 0x10 }, /* a page back; #16 */
        { { 0xd503245f, 0x90000010, 0xf97ffe11 }, 0x8ff8 }, /* bti c; 0; #0x7ff8 */
        { { 0xf0000011, 0xf9400611 }, 0 },                  /* adrp x17 */
        { { 0xf0000010, 0xf9400610 }, 0 },                  /* ldr x16 */
        { { 0xf0000010, 0xb9400611 }, 0 },                  /* ldr w17 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(machine_stub_slot((const unsigned char *)cases[i].code, 0x1234),
                         cases[i].slot);
}

TEST_GROUP(
    MADE_TEST(frames_lead_to_the_first_function),
    MADE_TEST(the_register_is_the_return_address_until_it_is_saved),
    MADE_TEST(a_frame_may_be_large), MADE_TEST(a_call_changes_the_register),
    MADE_TEST(signed_return_addresses_are_found),
    MADE_TEST(a_signal_return_is_recognized_by_its_code),
    MADE_TEST(code_without_a_table_is_left_by_the_register),
    MADE_TEST(the_frame_of_its_caller_must_lead_to_a_call),
    MADE_TEST(a_function_without_a_table_may_have_a_record),
    MADE_TEST(trampolines_of_python_are_left), MADE_TEST(a_stub_is_left_by_the_call_of_it),
    MADE_TEST(of_a_waiting_thread_the_stack_is_enough),
    MADE_TEST(its_caller_is_named_by_its_callers_call), MADE_TEST(zeros_mark_the_first_frame),
    MADE_TEST(the_first_function_may_have_no_table), MADE_TEST(the_walk_goes_on_behind_a_gap),
    MADE_TEST(a_jump_at_the_end_leads_to_its_function), cmocka_unit_test(calls_are_recognized),
    cmocka_unit_test(code_ends_before_what_makes_system_calls_unless_nothing_has_returned),
    cmocka_unit_test(stubs_are_recognized))
