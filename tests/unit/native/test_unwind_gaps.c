#include "tests/support/test.h"
#include "tests/unit/native/made_stack.h"

static void trampolines_of_python_are_left(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp;
    *made_word(world, 0) = GENERATED + 0x10;
    *made_word(world, 2) = POINTS + CALL;
    *made_word(world, 6) = FIRST + CALL;
    /* A word that aligns the stack: bp is that of the evaluation function. */
    world->registers.saved[MACHINE_FP] = sp + 5 * 8;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    assert_int_equal(world->frames[1].left_by, NATIVE_LEFT_BY_TRAMPOLINE);
    assert_int_equal(world->frames[1].cfa, sp + 24);
    /* The other form saves bp there, and sets it. */
    world->registers.saved[MACHINE_FP] = sp + 8;
    *made_word(world, 1) = sp + 5 * 8;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    *made_word(world, 2) = POINTS + CALL + 1;
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
    *made_word(world, 2) = GENERATED + 0x20;
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
    assert_int_equal(world->walk.count, 2);
}

static void put_call(struct made_stack *world, remote_addr return_address, remote_addr called)
{
    fake_memory_put_u32(&world->fake, return_address - 4, (uint32_t)(called - return_address));
}

static void a_short_function_without_a_table_is_left_by_the_call_of_it(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp;
    world->registers.ip = UNKNOWN + 0x3f;
    world->registers.saved[MACHINE_FP] = sp + 6 * 8;
    *made_word(world, 0) = POINTS + CALL;
    *made_word(world, 7) = FIRST + CALL;
    put_call(world, POINTS + CALL, UNKNOWN);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[0].left_by, NATIVE_LEFT_BY_CALL);
    assert_int_equal(world->frames[0].cfa, sp + 8);
    world->registers.ip++;
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
    world->registers.ip = UNKNOWN;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    put_call(world, POINTS + CALL, UNKNOWN + 1);
    blocks_clear(&world->unwinder.blocks);
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
}

/* As the memcpy of musl is called. */
static void a_call_may_lead_through_a_stub(void **state)
{
    enum { LINKAGE = UNKNOWN + 0x180, SLOT = UNKNOWN + 0x1c0 };
    struct made_stack *const world = *state;
    fake_memory_put_u8(&world->fake, LINKAGE, 0xff);
    fake_memory_put_u8(&world->fake, LINKAGE + 1, 0x25);
    fake_memory_put_u32(&world->fake, LINKAGE + 2, SLOT - (LINKAGE + 6));
    fake_memory_put_u64(&world->fake, SLOT, UNKNOWN + 8);
    put_call(world, PLAIN + CALL, LINKAGE);
    world->registers.ip = UNKNOWN + 8 + 0xff;
    *made_word(world, 0) = PLAIN + CALL;
    *made_word(world, 1) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[0].left_by, NATIVE_LEFT_BY_CALL);
    world->registers.ip++;
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
    /* Another function. */
    world->registers.ip = UNKNOWN + 4;
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
    fake_memory_put_u64(&world->fake, SLOT, UNKNOWN);
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
}

static void frame_pointers_serve_where_there_are_no_tables(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp;
    world->registers.ip = UNKNOWN;
    world->registers.saved[MACHINE_FP] = sp + 8;
    *made_word(world, 1) = sp + 6 * 8;
    *made_word(world, 2) = POINTS + CALL;
    *made_word(world, 7) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->walk.cause, NATIVE_COMPLETE);
    assert_int_equal(world->frames[0].left_by, NATIVE_LEFT_BY_FRAME_POINTER);
    assert_int_equal(world->frames[1].cfa, sp + 8 * 8);
    /* A caller needs a register that is not known behind it. */
    *made_word(world, 2) = THROUGH_R10 + CALL;
    assert_int_equal(made_walk(world), NATIVE_NO_REGISTER);
    assert_int_equal(world->walk.cause, NATIVE_NO_RULE);
    /* The caller's bp is not above, or the return address is not behind a call. */
    *made_word(world, 1) = sp + 8;
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
    *made_word(world, 1) = sp + 6 * 8;
    *made_word(world, 2) = POINTS + CALL - 1;
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
    *made_word(world, 2) = POINTS + CALL;
    world->registers.saved[MACHINE_FP] = sp - 8;
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
}

/* LARGE is the evaluation function here; its entry frame is two words above its stack pointer. */
static remote_addr put_evaluation(struct made_stack *world, int number)
{
    *made_word(world, number) = LARGE + CALL;
    *made_word(world, number + 7) = world->registers.sp + (uint64_t)(number + 12) * 8; /* bp */
    *made_word(world, number + 8) = POINTS + CALL;
    *made_word(world, number + 13) = FIRST + CALL;
    return world->registers.sp + (uint64_t)(number + 3) * 8;
}

/* Before this return address is a call of what a register holds. */
static void put_call_by_address(struct made_stack *world, remote_addr return_address)
{
    fake_memory_put_u8(&world->fake, return_address - 5, 0);
    fake_memory_put_u8(&world->fake, return_address - 2, 0xff);
    fake_memory_put_u8(&world->fake, return_address - 1, 0xd0);
    blocks_clear(&world->unwinder.blocks);
}

static void generated_code_is_left_to_the_frame_that_holds_the_entry(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp, entry = put_evaluation(world, 4);
    world->registers.ip = GENERATED + 0x10;
    /* A word that an earlier call has left. */
    *made_word(world, 2) = POINTS + CALL;
    assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_NO_RULE);
    put_call_by_address(world, LARGE + CALL);
    assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_COMPLETE);
    assert_int_equal(world->walk.gaps, 0);
    assert_int_equal(world->walk.count, 4);
    assert_int_equal(world->frames[0].left_by, NATIVE_LEFT_TO_ENTRY);
    assert_int_equal(world->frames[0].cfa, sp + 5 * 8);
    assert_int_equal(world->frames[1].pc, LARGE + CALL);
    assert_int_equal(world->frames[2].pc, POINTS + CALL);
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
    const remote_addr outside = sp + 13 * 8;
    assert_int_equal(made_walk_with(world, &outside, 1), NATIVE_NO_RULE);
    *made_word(world, 12) = POINTS + CALL - 1;
    assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_NO_RULE);
}

static void that_frame_may_be_known_by_the_frame_pointer_that_was_saved(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp, entry = sp + 6 * 8;
    world->registers.ip = GENERATED + 0x10;
    put_call_by_address(world, POINTS + CALL);
    *made_word(world, 4) = POINTS + CALL;
    *made_word(world, 10) = FIRST + CALL;
    assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_NO_RULE);
    *made_word(world, 2) = sp + 9 * 8;
    assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[1].cfa, sp + 11 * 8);
    /* Or it is as it was. */
    *made_word(world, 2) = 0;
    world->registers.saved[MACHINE_FP] = sp + 9 * 8;
    assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[1].cfa, sp + 11 * 8);
}

static void the_walk_goes_on_behind_a_gap(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp;
    remote_addr entries[2] = { put_evaluation(world, 0), 0 };
    for (int i = 0; i < 2; i++)
        assert_int_equal(made_walk_with(world, entries, 1), NATIVE_COMPLETE);
    assert_int_equal(world->unwinder.anchor.distance, 6 * 8);
    world->registers.ip = UNKNOWN;
    entries[0] = sp - 8;
    entries[1] = put_evaluation(world, 5);
    assert_int_equal(made_walk_with(world, entries, 2), NATIVE_COMPLETE);
    assert_int_equal(world->walk.gaps, 1);
    assert_int_equal(world->walk.cause, NATIVE_NO_RULE);
    assert_int_equal(world->walk.count, 5);
    assert_int_equal(world->frames[0].pc, UNKNOWN);
    assert_int_equal(world->frames[1].kind, NATIVE_GAP);
    assert_int_equal(world->frames[1].pc, 0);
    assert_int_equal(world->frames[2].kind, NATIVE_ENTRY);
    assert_int_equal(world->frames[2].function, LARGE);
    assert_true(world->frames[2].sp <= entries[1] && entries[1] < world->frames[2].cfa);
    assert_int_equal(world->frames[2].cfa, sp + 14 * 8);
    /* Its bp was restored: the next frame is found through it. */
    assert_int_equal(world->frames[3].pc, POINTS + CALL);
    assert_int_equal(world->frames[4].pc, FIRST + CALL);
    assert_int_equal(made_walk_with(world, NULL, 0), NATIVE_NO_RULE);
    *made_word(world, 13) = POINTS + 1;
    assert_int_equal(made_walk_with(world, entries, 2), NATIVE_NO_RULE);
    assert_int_equal(world->walk.gaps, 0);
}

static void nothing_is_learnt_from_one_stack_that_differs(void **state)
{
    struct made_stack *const world = *state;
    remote_addr entry = put_evaluation(world, 0);
    assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_COMPLETE);
    world->registers.ip = UNKNOWN;
    *made_word(world, 0) = 0;
    const remote_addr next = put_evaluation(world, 5);
    assert_int_equal(made_walk_with(world, &next, 1), NATIVE_NO_RULE);
    world->registers.ip = PLAIN;
    put_evaluation(world, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_COMPLETE);
    entry += 8;
    assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_COMPLETE);
    assert_int_equal(world->unwinder.anchor.distance, 6 * 8);
    for (int i = 0; i < 20; i++)
        assert_int_equal(made_walk_with(world, &entry, 1), NATIVE_COMPLETE);
    assert_int_equal(world->unwinder.anchor.distance, 5 * 8);
}

TEST_GROUP(MADE_TEST(trampolines_of_python_are_left),
           MADE_TEST(a_short_function_without_a_table_is_left_by_the_call_of_it),
           MADE_TEST(a_call_may_lead_through_a_stub),
           MADE_TEST(frame_pointers_serve_where_there_are_no_tables),
           MADE_TEST(generated_code_is_left_to_the_frame_that_holds_the_entry),
           MADE_TEST(that_frame_may_be_known_by_the_frame_pointer_that_was_saved),
           MADE_TEST(the_walk_goes_on_behind_a_gap),
           MADE_TEST(nothing_is_learnt_from_one_stack_that_differs))
