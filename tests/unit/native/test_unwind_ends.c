#include <string.h>

#include "tests/support/test.h"
#include "tests/unit/native/made_stack.h"

static void signals_that_never_end_are_too_deep(void **state)
{
    struct made_stack *const world = *state;
    *made_word(world, 0) = SIGNAL + 1;
    made_signal(world, 1, PLAIN, world->registers.sp);
    assert_int_equal(made_walk(world), NATIVE_DEEP);
    assert_int_equal(world->walk.count, 2 * UNWIND_MAX_SIGNALS + 2);
}

static void a_stack_that_is_not_whole_is_cut(void **state)
{
    struct made_stack *const world = *state;
    world->registers.sp = BASE_OF_STACK - 8;
    *made_word(world, 0) = PLAIN + CALL;
    world->stack.base = 0;
    assert_int_equal(made_walk(world), NATIVE_CUT);
    assert_int_equal(world->walk.count, 2);
    assert_int_equal(world->frames[1].cfa, BASE_OF_STACK + 8);
    assert_int_equal(world->frames[1].left_by, NATIVE_NOT_LEFT);
    world->stack.base = BASE_OF_STACK;
    assert_int_equal(made_walk(world), NATIVE_CONTRADICTION);
}

static void a_hole_in_the_copy_is_a_fault(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp;
    world->stack.spans[0] =
        (struct native_span){ sp, (unsigned char *)made_word(world, 0), 12 };
    world->stack.spans[1] =
        (struct native_span){ sp + 16, (unsigned char *)made_word(world, 2), 64 };
    world->stack.span_count = 2;
    *made_word(world, 0) = PLAIN + CALL;
    *made_word(world, 1) = *made_word(world, 2) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_FAULT);
    *made_word(world, 0) = PUSHES + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    world->stack.span_count = 0;
    assert_int_equal(made_walk(world), NATIVE_CUT);
}

static void a_frame_that_does_not_lie_above_is_a_contradiction(void **state)
{
    struct made_stack *const world = *state;
    const remote_addr sp = world->registers.sp;
    const remote_addr wrong[] = { 0,      sp - 64,           sp - 16,        sp - 15,   sp + 4,
                                  sp + 1, BASE_OF_STACK - 8, UINT64_MAX - 7, UINT64_MAX };
    world->registers.ip = POINTS;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        world->registers.saved[MACHINE_FP] = wrong[i];
        assert_int_equal(made_walk(world), NATIVE_CONTRADICTION);
        assert_int_equal(world->walk.count, 1);
    }
}

static void a_deep_stack_ends_where_the_room_ends(void **state)
{
    struct made_stack *const world = *state;
    for (int i = 0; i < MAX_FRAMES - 2; i++)
        *made_word(world, i) = PLAIN + CALL;
    *made_word(world, MAX_FRAMES - 2) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, MAX_FRAMES);
    *made_word(world, MAX_FRAMES - 2) = PLAIN + CALL;
    *made_word(world, MAX_FRAMES - 1) = FIRST + CALL;
    assert_int_equal(made_walk(world), NATIVE_DEEP);
    assert_int_equal(world->walk.count, MAX_FRAMES);
    world->walk.room = 0;
    assert_int_equal(made_walk(world), NATIVE_DEEP);
    assert_int_equal(world->walk.count, 0);
}

static void unknown_code_ends_the_stack(void **state)
{
    struct made_stack *const world = *state;
    world->registers.ip = 0x9000000;
    assert_int_equal(made_walk(world), NATIVE_NO_IMAGE);
    assert_int_equal(world->frames[0].image, 0);
    world->registers.ip = UNKNOWN;
    assert_int_equal(made_walk(world), NATIVE_NO_RULE);
    assert_int_not_equal(world->frames[0].image, 0);
    assert_int_equal(world->frames[0].function, 0);
    assert_int_equal(world->unwinder.corrupt, 0);
    assert_int_equal(world->walk.cause, NATIVE_NO_RULE);
    world->registers.ip = CORRUPT;
    assert_int_equal(made_walk(world), NATIVE_STRANGE_RULE);
    assert_int_equal(world->walk.cause, NATIVE_STRANGE_RULE);
    assert_int_equal(world->unwinder.corrupt, 1);
    *made_word(world, 0) = 0;
    world->registers.ip = PLAIN;
    world->registers.saved[MACHINE_FP] = 1;
    assert_int_equal(made_walk(world), NATIVE_CONTRADICTION);
}

static void tables_that_take_too_long_are_given_up(void **state)
{
    static uint8_t program[900]; /* instructions that do nothing */
    static const uint8_t start[] = { MADE_START };
    struct made_stack *const world = *state;
    const uint32_t common = made_image_common(&world->image, "zR", start, sizeof start);
    const uint32_t entry = made_image_function(&world->image, common, UNKNOWN - BASE, 0x200,
                                               program, sizeof program);
    /* It goes on to the end of the image: 20 KB, for each address again. */
    made_image_put_u32(&world->image, entry, MADE_END - entry - 4);
    for (int i = 0; i < MAX_FRAMES - 2; i++)
        *made_word(world, i) = UNKNOWN + 1 + (uint64_t)i;
    assert_int_equal(made_walk(world), NATIVE_COSTLY);
    assert_in_range(world->walk.count, 2, MAX_FRAMES - 2);
    const size_t count = world->walk.count;
    /* The rules that were found meanwhile are known. */
    assert_int_equal(made_walk(world), NATIVE_COSTLY);
    assert_in_range(world->walk.count, count + 1, MAX_FRAMES);
}

static void zeros_mark_the_first_frame(void **state)
{
    struct made_stack *const world = *state;
    *made_word(world, 0) = PUSHES + CALL;
    assert_int_equal(made_walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 2);
}

static enum native_end walk_from(struct made_stack *world, remote_addr ip, remote_addr bytes)
{
    world->registers.ip = ip;
    world->registers.sp = BASE_OF_STACK - bytes;
    *made_word(world, 0) = UNKNOWN + CALL;
    return made_walk(world);
}

/* musl has no tables for it. */
static void what_starts_a_thread_needs_no_table(void **state)
{
    struct made_stack *const world = *state;
    assert_int_equal(walk_from(world, PLAIN, 64), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 2);
    assert_int_equal(world->frames[1].pc, UNKNOWN + CALL);
    /* It has a stack above it, or has called nothing, or nobody knows. */
    assert_int_equal(walk_from(world, PLAIN, 1024), NATIVE_NO_RULE);
    assert_int_equal(walk_from(world, UNKNOWN, 64), NATIVE_NO_RULE);
    world->stack.base = 0;
    assert_int_equal(walk_from(world, PLAIN, 64), NATIVE_NO_RULE);
}

TEST_GROUP(MADE_TEST(what_starts_a_thread_needs_no_table),
           MADE_TEST(signals_that_never_end_are_too_deep),
           MADE_TEST(a_stack_that_is_not_whole_is_cut),
           MADE_TEST(a_hole_in_the_copy_is_a_fault),
           MADE_TEST(a_frame_that_does_not_lie_above_is_a_contradiction),
           MADE_TEST(a_deep_stack_ends_where_the_room_ends),
           MADE_TEST(unknown_code_ends_the_stack),
           MADE_TEST(tables_that_take_too_long_are_given_up),
           MADE_TEST(zeros_mark_the_first_frame))
