#include "tests/support/test.h"
#include "tests/unit/native/made_stack.h"

static void frames_lead_to_the_first_function(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp;
    *made_word(world, 0) = PUSHES + CALL;
    *made_word(world, 1) = sp + 5 * 8; /* bp of the next */
    *made_word(world, 2) = POINTS + CALL;
    *made_word(world, 6) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    const struct native_frame expected[] = {
        { .is_exact = true, .pc = PLAIN, .function = PLAIN, .sp = sp, .cfa = sp + 8 },
        { .pc = PUSHES + CALL, .function = PUSHES, .sp = sp + 8, .cfa = sp + 24 },
        { .pc = POINTS + CALL, .function = POINTS, .sp = sp + 24, .cfa = sp + 56 },
        { .pc = FIRST + CALL, .function = FIRST, .sp = sp + 56, .left_by = NATIVE_NOT_LEFT },
    };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(world->frames[i].kind, NATIVE_CODE);
        assert_int_equal(world->frames[i].left_by, expected[i].left_by);
        assert_int_equal(world->frames[i].is_exact, expected[i].is_exact);
        assert_int_equal(world->frames[i].pc, expected[i].pc);
        assert_int_equal(world->frames[i].function, expected[i].function);
        assert_int_equal(world->frames[i].sp, expected[i].sp);
        assert_int_equal(world->frames[i].cfa, expected[i].cfa);
        assert_int_not_equal(world->frames[i].image, 0);
    }
    assert_int_equal(world->unwinder.ends[NATIVE_COMPLETE], 1);
}

static void rules_are_remembered(void **state)
{
    struct made_stack *const world = *state;
    *made_word(world, 0) = PLAIN + CALL;
    *made_word(world, 1) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    const uint64_t reads = world->fake.memory.reads;
    assert_int_equal(world->unwinder.misses, 3);
    for (int i = 0; i < 10; i++)
        assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->frames[1].function, PLAIN);
    assert_int_equal(world->fake.memory.reads, reads);
    assert_int_equal(world->unwinder.misses, 3);
    assert_int_equal(world->unwinder.lookups, 33);
    assert_true(unwinder_bytes(&world->unwinder) < 200000);
}

static void a_library_in_the_place_of_another_has_its_own_rules(void **state)
{
    struct made_stack *const world = *state;
    world->registers.ip = PUSHES + 1;
    *made_word(world, 0) = *made_word(world, 1) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    const uint32_t before = world->frames[0].image;
    assert_int_equal(world->frames[0].cfa, world->registers.sp + 16);
    /* The code again, with tables of which no row pushes anything. */
    world->image.used = world->image.count = 0;
    static const uint8_t start[] = { MADE_START };
    const uint32_t usual = made_image_common(&world->image, "zR", start, sizeof start);
    MADE_ADD(world, usual, PUSHES, 0);
    MADE_ADD(world, usual, FIRST, 0x07, 16);
    made_stack_map(world, MADE_MAPS("1", "/b"));
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->frames[0].cfa, world->registers.sp + 8);
    assert_int_not_equal(world->frames[0].image, before);
}

static void a_register_that_was_popped_is_found_below_the_stack_pointer(void **state)
{
    struct made_stack *const world = *state;
    /* CFA = sp + 8; the slot of bp is below sp, and has been left as it was. */
    world->registers.ip = POINTS;
    world->registers.saved[MACHINE_FP] = world->registers.sp - 8;
    *made_word(world, 0) = POINTS + CALL;
    *made_word(world, -1) = world->registers.sp + 4 * 8;
    *made_word(world, 5) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[1].cfa, world->registers.sp + 6 * 8);
}

static void a_slot_below_the_copy_means_that_the_register_is_unchanged(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp;
    /* CFA = sp + 8; bp's slot is the word below sp, which was not copied. */
    world->registers.ip = POINTS;
    world->registers.saved[MACHINE_FP] = sp - 8;
    world->stack.spans[0] =
        (struct native_span){ sp, (unsigned char *)made_word(world, 0), BASE_OF_STACK - sp };
    *made_word(world, 0) = THROUGH_R10 + CALL;
    assert_int_equal(made_walk(world), NATIVE_NO_REGISTER);
    *made_word(world, 0) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
}

static void r10_is_known_in_the_innermost_frame_only(void **state)
{
    struct made_stack *const world = *state;
    world->registers.ip = THROUGH_R10;
    world->registers.outer_sp = world->registers.sp + 5 * 8;
    *made_word(world, 4) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->frames[0].cfa, world->registers.sp + 5 * 8);
    world->registers.ip = PLAIN;
    *made_word(world, 0) = THROUGH_R10 + CALL;
    assert_int_equal(made_walk(world), NATIVE_NO_REGISTER);
}

static void a_realigned_frame_is_left_through_bp(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp;
    world->registers.ip = REALIGNS;
    world->registers.saved[MACHINE_FP] = sp + 6 * 8;
    *made_word(world, 5) = sp + 10 * 8; /* the CFA */
    *made_word(world, 6) = sp + 12 * 8; /* the caller's bp */
    *made_word(world, 9) = POINTS + CALL;
    *made_word(world, 13) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[0].cfa, sp + 10 * 8);
    assert_int_equal(world->frames[1].cfa, sp + 14 * 8);
}

static void a_stub_has_pushed_a_word_in_its_second_part(void **state)
{
    struct made_stack *const world = *state;
    world->registers.ip = STUB + 10;
    *made_word(world, 0) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    world->registers.ip = STUB + 11;
    *made_word(world, 0) = 0x1234;
    *made_word(world, 1) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
}

static void a_signal_interrupts_at_an_exact_address(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp, before = sp + 40 * 8;
    *made_word(world, 0) = SIGNAL + 1;
    /* At its first byte the function has pushed nothing; a byte before it belongs to another one. */
    made_signal(world, 1, PUSHES, before);
    *made_word(world, 40) = POINTS + CALL;
    *made_word(world, 44) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 5);
    assert_false(world->frames[1].is_exact);
    assert_true(world->frames[2].is_exact);
    assert_int_equal(world->frames[2].pc, PUSHES);
    assert_int_equal(world->frames[2].function, PUSHES);
    assert_int_equal(world->frames[2].sp, before);
    made_signal(world, 1, THROUGH_R10, before);
    *made_word(world, 40) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
}

static void a_signal_handler_may_have_its_own_stack(void **state)
{
    struct made_stack *const world = *state;
    uint64_t other[8] = { FIRST + CALL };
    *made_word(world, 0) = SIGNAL + 1;
    made_signal(world, 1, PLAIN, 0x500000);
    assert_int_equal(made_walk(world), NATIVE_FAULT);
    assert_int_equal(world->walk.count, 3);
    world->stack.spans[1] = world->stack.spans[0];
    world->stack.spans[0] =
        (struct native_span){ 0x500000, (unsigned char *)other, sizeof other };
    world->stack.span_count = 2;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
}

static void a_signal_return_without_a_table_is_recognized_by_its_code(void **state)
{
    static const unsigned char code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    struct made_stack *const world = *state;
    fake_memory_put(&world->fake, UNKNOWN, code, sizeof code);
    *made_word(world, 0) = UNKNOWN;
    made_signal(world, 1, PLAIN, world->registers.sp + 40 * 8);
    *made_word(world, 40) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
}

TEST_GROUP(MADE_TEST(frames_lead_to_the_first_function), MADE_TEST(rules_are_remembered),
           MADE_TEST(a_library_in_the_place_of_another_has_its_own_rules),
           MADE_TEST(a_register_that_was_popped_is_found_below_the_stack_pointer),
           MADE_TEST(a_slot_below_the_copy_means_that_the_register_is_unchanged),
           MADE_TEST(r10_is_known_in_the_innermost_frame_only),
           MADE_TEST(a_realigned_frame_is_left_through_bp),
           MADE_TEST(a_stub_has_pushed_a_word_in_its_second_part),
           MADE_TEST(a_signal_interrupts_at_an_exact_address),
           MADE_TEST(a_signal_handler_may_have_its_own_stack),
           MADE_TEST(a_signal_return_without_a_table_is_recognized_by_its_code))
