#include <string.h>

#include "sampler/native/unwind.h"
#include "tests/support/fake_memory.h"
#include "tests/support/test.h"
#include "tests/unit/native/made_image.h"

enum {
    BASE = 0x10000,
    CODE = BASE + MADE_CODE,
    STACK = 0x700000,
    WORDS = 256,
    BASE_OF_STACK = STACK + WORDS * 8,
    MAX_FRAMES = 32,
    GENERATED = 0x300000,
    /* Functions, each 0x40 bytes of code. */
    PLAIN = CODE,           /* CFA = sp + 8 */
    PUSHES = CODE + 0x40,   /* from byte 1 on CFA = sp + 16, bp below the return address */
    POINTS = CODE + 0x80,   /* CFA = bp + 16, bp below the return address */
    REALIGNS = CODE + 0xc0, /* CFA = the word at bp - 8; bp and bx are saved around bp */
    THROUGH_R10 = CODE + 0x100,
    STUB = CODE + 0x140,
    SIGNAL = CODE + 0x180,
    FIRST = CODE + 0x1c0, /* has no caller */
    CORRUPT = CODE + 0x200,
    LARGE = CODE + 0x240,   /* CFA = sp + 64, all registers saved */
    UNKNOWN = CODE + 0x300, /* no table describes it */
    CALL = 0x20,            /* a return address in each function */
};

struct world {
    struct fake_memory fake;
    struct made_image image;
    struct unwinder unwinder;
    uint64_t words[WORDS];
    struct native_registers registers;
    struct native_stack stack;
    struct native_frame frames[MAX_FRAMES];
    struct native_walk walk;
};

static void take_maps(struct world *world, const char *text)
{
    struct maps maps;
    struct err err = { 0 };
    assert_ok(maps_parse(&maps, text, &err), &err);
    assert_int_equal(unwinder_take_maps(&world->unwinder, &maps), ERR_OK);
    maps_deinit(&maps);
}

#define ADD(world, common, start, ...)                               \
    made_image_function(&(world)->image, common, (start)-BASE, 0x40, \
                        (const uint8_t[]){ __VA_ARGS__ },            \
                        sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void add_functions(struct world *world)
{
    static const uint8_t start[] = { MADE_START };
    const uint32_t usual = made_image_common(&world->image, "zR", start, sizeof start);
    const uint32_t of_signals = made_image_common(&world->image, "zRS", start, sizeof start);
    ADD(world, usual, PLAIN, 0);
    ADD(world, usual, PUSHES, 0x41, 0x0e, 16, 0x86, 2);
    ADD(world, usual, POINTS, 0x0c, 6, 16, 0x86, 2);
    ADD(world, usual, REALIGNS, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2,
        0x76, 0x70);
    ADD(world, usual, THROUGH_R10, 0x0c, 10, 0);
    ADD(world, usual, STUB, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
        0x22);
    ADD(world, of_signals, SIGNAL, 0x0f, 4, 0x77, 0xa0, 0x01, 0x06);
    ADD(world, usual, FIRST, 0x07, 16);
    ADD(world, usual, CORRUPT, 0x3f);
    ADD(world, usual, LARGE, 0x0e, 64, 0x86, 2, 0x83, 3, 0x8c, 4, 0x8d, 5, 0x8e, 6, 0x8f, 7);
}

static int set_up(void **state)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    fake_memory_init(&world.fake);
    made_image_map(&world.image, &world.fake, BASE);
    add_functions(&world);
    for (remote_addr at = CODE + CALL; at < BASE + MADE_HEADER; at += 0x40)
        fake_memory_put_u8(&world.fake, at - 5, 0xe8);
    if (unwinder_init(&world.unwinder, &world.fake.memory, 0, NULL))
        return -1;
    take_maps(&world, MADE_MAPS("1", "/a") "300000-301000 rwxp 00000000 00:00 0\n");
    world.registers = (struct native_registers){ .ip = PLAIN, .sp = STACK + 16 * 8 };
    world.stack = (struct native_stack){
        .spans = { { STACK, (unsigned char *)world.words, sizeof world.words } },
        .span_count = 1,
        .base = BASE_OF_STACK,
    };
    world.walk = (struct native_walk){ .frames = world.frames, .room = MAX_FRAMES };
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *const world = *state;
    unwinder_deinit(&world->unwinder);
    fake_memory_deinit(&world->fake);
    return 0;
}

/* A word of the stack, by its number from the stack pointer on. */
static uint64_t *word(struct world *world, int number)
{
    const int64_t at = ((int64_t)world->registers.sp - STACK) / 8 + number;
    assert_in_range(at, 0, WORDS - 1);
    return &world->words[at];
}

static enum native_end walk_with(struct world *world, const remote_addr *entries, size_t count)
{
    unwinder_walk(&world->unwinder, &world->registers, &world->stack, entries, count, 0,
                  &world->walk);
    return world->walk.end;
}

static enum native_end walk(struct world *world)
{
    return walk_with(world, NULL, 0);
}

static void frames_lead_to_the_first_function(void **state)
{
    struct world *const world = *state;
    const remote_addr sp = world->registers.sp;
    *word(world, 0) = PUSHES + CALL;
    *word(world, 1) = sp + 5 * 8; /* bp of the next */
    *word(world, 2) = POINTS + CALL;
    *word(world, 6) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
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
    struct world *const world = *state;
    *word(world, 0) = PLAIN + CALL;
    *word(world, 1) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    const uint64_t reads = world->fake.memory.reads;
    assert_int_equal(world->unwinder.misses, 3);
    for (int i = 0; i < 10; i++)
        assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->frames[1].function, PLAIN);
    assert_int_equal(world->fake.memory.reads, reads);
    assert_int_equal(world->unwinder.misses, 3);
    assert_int_equal(world->unwinder.lookups, 33);
    assert_true(unwinder_bytes(&world->unwinder) < 200000);
}

static void a_library_in_the_place_of_another_has_its_own_rules(void **state)
{
    struct world *const world = *state;
    world->registers.ip = PUSHES + 1;
    *word(world, 0) = *word(world, 1) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    const uint32_t before = world->frames[0].image;
    assert_int_equal(world->frames[0].cfa, world->registers.sp + 16);
    /* The same code, of which no row pushes anything. */
    world->image.used = world->image.count = 0;
    static const uint8_t start[] = { MADE_START };
    const uint32_t usual = made_image_common(&world->image, "zR", start, sizeof start);
    ADD(world, usual, PUSHES, 0);
    ADD(world, usual, FIRST, 0x07, 16);
    take_maps(world, MADE_MAPS("1", "/b"));
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->frames[0].cfa, world->registers.sp + 8);
    assert_int_not_equal(world->frames[0].image, before);
}

static void a_register_that_was_popped_is_found_below_the_stack_pointer(void **state)
{
    struct world *const world = *state;
    /* CFA = sp + 8; the slot of bp is below sp, and has been left as it was. */
    world->registers.ip = POINTS;
    world->registers.saved[MACHINE_BP] = world->registers.sp - 8;
    *word(world, 0) = POINTS + CALL;
    *word(world, -1) = world->registers.sp + 4 * 8;
    *word(world, 5) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[1].cfa, world->registers.sp + 6 * 8);
}

static void a_slot_below_the_copy_means_that_the_register_is_unchanged(void **state)
{
    struct world *const world = *state;
    const remote_addr sp = world->registers.sp;
    /* CFA = sp + 8; bp's slot is the word below sp, which was not copied. */
    world->registers.ip = POINTS;
    world->registers.saved[MACHINE_BP] = sp - 8;
    world->stack.spans[0] =
        (struct native_span){ sp, (unsigned char *)word(world, 0), BASE_OF_STACK - sp };
    *word(world, 0) = THROUGH_R10 + CALL;
    assert_int_equal(walk(world), NATIVE_NO_RULE);
    *word(world, 0) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
}

static void r10_is_known_in_the_innermost_frame_only(void **state)
{
    struct world *const world = *state;
    world->registers.ip = THROUGH_R10;
    world->registers.r10 = world->registers.sp + 5 * 8;
    *word(world, 4) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->frames[0].cfa, world->registers.sp + 5 * 8);
    world->registers.ip = PLAIN;
    *word(world, 0) = THROUGH_R10 + CALL;
    assert_int_equal(walk(world), NATIVE_NO_RULE);
}

static void a_realigned_frame_is_left_through_bp(void **state)
{
    struct world *const world = *state;
    const remote_addr sp = world->registers.sp;
    world->registers.ip = REALIGNS;
    world->registers.saved[MACHINE_BP] = sp + 6 * 8;
    *word(world, 5) = sp + 10 * 8; /* the CFA */
    *word(world, 6) = sp + 12 * 8; /* the caller's bp */
    *word(world, 9) = POINTS + CALL;
    *word(world, 13) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[0].cfa, sp + 10 * 8);
    assert_int_equal(world->frames[1].cfa, sp + 14 * 8);
}

static void a_stub_has_pushed_a_word_in_its_second_part(void **state)
{
    struct world *const world = *state;
    world->registers.ip = STUB + 10;
    *word(world, 0) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    world->registers.ip = STUB + 11;
    *word(world, 0) = 0x1234;
    *word(world, 1) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
}

/* What the kernel saves at a word of the stack. */
static void put_signal_frame(struct world *world, int number, remote_addr ip, remote_addr sp)
{
    const struct machine_signal_frame *const at = &machine_signal_frame;
    *word(world, number + at->ip / 8) = ip;
    *word(world, number + at->sp / 8) = sp;
    *word(world, number + at->saved[MACHINE_BP] / 8) = sp + 3 * 8;
    *word(world, number + at->r10 / 8) = sp + 8;
}

static void a_signal_interrupts_at_an_exact_address(void **state)
{
    struct world *const world = *state;
    const remote_addr sp = world->registers.sp, before = sp + 40 * 8;
    *word(world, 0) = SIGNAL + 1;
    /* At its first byte the function has pushed nothing; a byte before it belongs to another one. */
    put_signal_frame(world, 1, PUSHES, before);
    *word(world, 40) = POINTS + CALL;
    *word(world, 44) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 5);
    assert_false(world->frames[1].is_exact);
    assert_true(world->frames[2].is_exact);
    assert_int_equal(world->frames[2].pc, PUSHES);
    assert_int_equal(world->frames[2].function, PUSHES);
    assert_int_equal(world->frames[2].sp, before);
    put_signal_frame(world, 1, THROUGH_R10, before);
    *word(world, 40) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
}

static void a_signal_handler_may_have_its_own_stack(void **state)
{
    struct world *const world = *state;
    uint64_t other[8] = { FIRST + CALL };
    *word(world, 0) = SIGNAL + 1;
    put_signal_frame(world, 1, PLAIN, 0x500000);
    assert_int_equal(walk(world), NATIVE_FAULT);
    assert_int_equal(world->walk.count, 3);
    world->stack.spans[1] = world->stack.spans[0];
    world->stack.spans[0] =
        (struct native_span){ 0x500000, (unsigned char *)other, sizeof other };
    world->stack.span_count = 2;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
}

static void a_signal_return_without_a_table_is_recognized_by_its_code(void **state)
{
    static const unsigned char code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    struct world *const world = *state;
    fake_memory_put(&world->fake, UNKNOWN, code, sizeof code);
    *word(world, 0) = UNKNOWN;
    put_signal_frame(world, 1, PLAIN, world->registers.sp + 40 * 8);
    *word(world, 40) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
}

static void signals_that_never_end_are_too_deep(void **state)
{
    struct world *const world = *state;
    *word(world, 0) = SIGNAL + 1;
    put_signal_frame(world, 1, PLAIN, world->registers.sp);
    assert_int_equal(walk(world), NATIVE_DEEP);
    assert_int_equal(world->walk.count, 2 * UNWIND_MAX_SIGNALS + 2);
}

static void a_stack_that_is_not_whole_is_cut(void **state)
{
    struct world *const world = *state;
    world->registers.sp = BASE_OF_STACK - 8;
    *word(world, 0) = PLAIN + CALL;
    world->stack.base = 0;
    assert_int_equal(walk(world), NATIVE_CUT);
    assert_int_equal(world->walk.count, 2);
    assert_int_equal(world->frames[1].cfa, BASE_OF_STACK + 8);
    assert_int_equal(world->frames[1].left_by, NATIVE_NOT_LEFT);
    world->stack.base = BASE_OF_STACK;
    assert_int_equal(walk(world), NATIVE_CONTRADICTION);
}

static void a_hole_in_the_copy_is_a_fault(void **state)
{
    struct world *const world = *state;
    const remote_addr sp = world->registers.sp;
    world->stack.spans[0] = (struct native_span){ sp, (unsigned char *)word(world, 0), 12 };
    world->stack.spans[1] =
        (struct native_span){ sp + 16, (unsigned char *)word(world, 2), 64 };
    world->stack.span_count = 2;
    *word(world, 0) = PLAIN + CALL;
    *word(world, 1) = *word(world, 2) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_FAULT);
    *word(world, 0) = PUSHES + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    world->stack.span_count = 0;
    assert_int_equal(walk(world), NATIVE_CUT);
}

static void a_frame_that_does_not_lie_above_is_a_contradiction(void **state)
{
    struct world *const world = *state;
    const remote_addr sp = world->registers.sp;
    const remote_addr wrong[] = { 0,      sp - 64,           sp - 16,        sp - 15,   sp + 4,
                                  sp + 1, BASE_OF_STACK - 8, UINT64_MAX - 7, UINT64_MAX };
    world->registers.ip = POINTS;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        world->registers.saved[MACHINE_BP] = wrong[i];
        assert_int_equal(walk(world), NATIVE_CONTRADICTION);
        assert_int_equal(world->walk.count, 1);
    }
}

static void a_deep_stack_ends_where_the_room_ends(void **state)
{
    struct world *const world = *state;
    for (int i = 0; i < MAX_FRAMES - 2; i++)
        *word(world, i) = PLAIN + CALL;
    *word(world, MAX_FRAMES - 2) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, MAX_FRAMES);
    *word(world, MAX_FRAMES - 2) = PLAIN + CALL;
    *word(world, MAX_FRAMES - 1) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_DEEP);
    assert_int_equal(world->walk.count, MAX_FRAMES);
    world->walk.room = 0;
    assert_int_equal(walk(world), NATIVE_DEEP);
    assert_int_equal(world->walk.count, 0);
}

static void unknown_code_ends_the_stack(void **state)
{
    struct world *const world = *state;
    world->registers.ip = 0x9000000;
    assert_int_equal(walk(world), NATIVE_NO_IMAGE);
    assert_int_equal(world->frames[0].image, 0);
    world->registers.ip = UNKNOWN;
    assert_int_equal(walk(world), NATIVE_NO_RULE);
    assert_int_not_equal(world->frames[0].image, 0);
    assert_int_equal(world->frames[0].function, 0);
    assert_int_equal(world->unwinder.corrupt, 0);
    world->registers.ip = CORRUPT;
    assert_int_equal(walk(world), NATIVE_NO_RULE);
    assert_int_equal(world->unwinder.corrupt, 1);
    *word(world, 0) = 0;
    world->registers.ip = PLAIN;
    world->registers.saved[MACHINE_BP] = 1;
    assert_int_equal(walk(world), NATIVE_CONTRADICTION);
}

static void tables_that_take_too_long_are_given_up(void **state)
{
    static uint8_t program[900]; /* instructions that do nothing */
    static const uint8_t start[] = { MADE_START };
    struct world *const world = *state;
    const uint32_t common = made_image_common(&world->image, "zR", start, sizeof start);
    const uint32_t entry = made_image_function(&world->image, common, UNKNOWN - BASE, 0x200,
                                               program, sizeof program);
    /* It goes on to the end of the image: 20 KB, for each address again. */
    made_image_put_u32(&world->image, entry, MADE_END - entry - 4);
    for (int i = 0; i < MAX_FRAMES - 2; i++)
        *word(world, i) = UNKNOWN + 1 + (uint64_t)i;
    assert_int_equal(walk(world), NATIVE_COSTLY);
    assert_in_range(world->walk.count, 2, MAX_FRAMES - 2);
    const size_t count = world->walk.count;
    /* The rules that were found meanwhile are known. */
    assert_int_equal(walk(world), NATIVE_COSTLY);
    assert_in_range(world->walk.count, count + 1, MAX_FRAMES);
}

static void zeros_mark_the_first_frame(void **state)
{
    struct world *const world = *state;
    *word(world, 0) = PUSHES + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 2);
}

static void trampolines_of_python_are_left(void **state)
{
    struct world *const world = *state;
    const remote_addr sp = world->registers.sp;
    *word(world, 0) = GENERATED + 0x10;
    *word(world, 2) = POINTS + CALL;
    *word(world, 6) = FIRST + CALL;
    /* A word that aligns the stack: bp is that of the evaluation function. */
    world->registers.saved[MACHINE_BP] = sp + 5 * 8;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    assert_int_equal(world->frames[1].left_by, NATIVE_LEFT_BY_TRAMPOLINE);
    assert_int_equal(world->frames[1].cfa, sp + 24);
    /* The other form saves bp there, and sets it. */
    world->registers.saved[MACHINE_BP] = sp + 8;
    *word(world, 1) = sp + 5 * 8;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 4);
    *word(world, 2) = POINTS + CALL + 1;
    assert_int_equal(walk(world), NATIVE_NO_RULE);
    *word(world, 2) = GENERATED + 0x20;
    assert_int_equal(walk(world), NATIVE_NO_RULE);
    assert_int_equal(world->walk.count, 2);
}

static void put_call(struct world *world, remote_addr return_address, remote_addr called)
{
    fake_memory_put_u32(&world->fake, return_address - 4, (uint32_t)(called - return_address));
}

static void a_short_function_without_a_table_is_left_by_the_call_of_it(void **state)
{
    struct world *const world = *state;
    const remote_addr sp = world->registers.sp;
    world->registers.ip = UNKNOWN + 0x3f;
    world->registers.saved[MACHINE_BP] = sp + 6 * 8;
    *word(world, 0) = POINTS + CALL;
    *word(world, 7) = FIRST + CALL;
    put_call(world, POINTS + CALL, UNKNOWN);
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[0].left_by, NATIVE_LEFT_BY_CALL);
    assert_int_equal(world->frames[0].cfa, sp + 8);
    world->registers.ip++;
    assert_int_equal(walk(world), NATIVE_NO_RULE);
    world->registers.ip = UNKNOWN;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    put_call(world, POINTS + CALL, UNKNOWN + 1);
    blocks_clear(&world->unwinder.blocks);
    assert_int_equal(walk(world), NATIVE_NO_RULE);
}

static void frame_pointers_serve_where_there_are_no_tables(void **state)
{
    struct world *const world = *state;
    const remote_addr sp = world->registers.sp;
    world->registers.ip = UNKNOWN;
    world->registers.saved[MACHINE_BP] = sp + 8;
    *word(world, 1) = sp + 6 * 8;
    *word(world, 2) = POINTS + CALL;
    *word(world, 7) = FIRST + CALL;
    assert_int_equal(walk(world), NATIVE_COMPLETE);
    assert_int_equal(world->walk.count, 3);
    assert_int_equal(world->frames[0].left_by, NATIVE_LEFT_BY_FRAME_POINTER);
    assert_int_equal(world->frames[1].cfa, sp + 8 * 8);
    /* The caller's bp is not above, or the return address is not behind a call. */
    *word(world, 1) = sp + 8;
    assert_int_equal(walk(world), NATIVE_NO_RULE);
    *word(world, 1) = sp + 6 * 8;
    *word(world, 2) = POINTS + CALL - 1;
    assert_int_equal(walk(world), NATIVE_NO_RULE);
    *word(world, 2) = POINTS + CALL;
    world->registers.saved[MACHINE_BP] = sp - 8;
    assert_int_equal(walk(world), NATIVE_NO_RULE);
}

/* LARGE is the evaluation function here; its entry frame is two words above its stack pointer. */
static remote_addr put_evaluation(struct world *world, int number)
{
    *word(world, number) = LARGE + CALL;
    *word(world, number + 7) = world->registers.sp + (uint64_t)(number + 12) * 8; /* bp */
    *word(world, number + 8) = POINTS + CALL;
    *word(world, number + 13) = FIRST + CALL;
    return world->registers.sp + (uint64_t)(number + 3) * 8;
}

static void the_walk_goes_on_behind_a_gap(void **state)
{
    struct world *const world = *state;
    const remote_addr sp = world->registers.sp;
    remote_addr entries[2] = { put_evaluation(world, 0), 0 };
    for (int i = 0; i < 2; i++)
        assert_int_equal(walk_with(world, entries, 1), NATIVE_COMPLETE);
    assert_int_equal(world->unwinder.anchor.distance, 6 * 8);
    world->registers.ip = UNKNOWN;
    entries[0] = sp - 8;
    entries[1] = put_evaluation(world, 5);
    assert_int_equal(walk_with(world, entries, 2), NATIVE_COMPLETE);
    assert_int_equal(world->walk.gaps, 1);
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
    assert_int_equal(walk_with(world, NULL, 0), NATIVE_NO_RULE);
    *word(world, 13) = POINTS + 1;
    assert_int_equal(walk_with(world, entries, 2), NATIVE_NO_RULE);
    assert_int_equal(world->walk.gaps, 0);
}

static void nothing_is_learnt_from_one_stack_that_differs(void **state)
{
    struct world *const world = *state;
    remote_addr entry = put_evaluation(world, 0);
    assert_int_equal(walk_with(world, &entry, 1), NATIVE_COMPLETE);
    world->registers.ip = UNKNOWN;
    *word(world, 0) = 0;
    const remote_addr next = put_evaluation(world, 5);
    assert_int_equal(walk_with(world, &next, 1), NATIVE_NO_RULE);
    world->registers.ip = PLAIN;
    put_evaluation(world, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(walk_with(world, &entry, 1), NATIVE_COMPLETE);
    entry += 8;
    assert_int_equal(walk_with(world, &entry, 1), NATIVE_COMPLETE);
    assert_int_equal(world->unwinder.anchor.distance, 6 * 8);
    for (int i = 0; i < 20; i++)
        assert_int_equal(walk_with(world, &entry, 1), NATIVE_COMPLETE);
    assert_int_equal(world->unwinder.anchor.distance, 5 * 8);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

TEST_MAIN(TEST(frames_lead_to_the_first_function), TEST(rules_are_remembered),
          TEST(a_library_in_the_place_of_another_has_its_own_rules),
          TEST(a_register_that_was_popped_is_found_below_the_stack_pointer),
          TEST(a_slot_below_the_copy_means_that_the_register_is_unchanged),
          TEST(r10_is_known_in_the_innermost_frame_only),
          TEST(a_realigned_frame_is_left_through_bp),
          TEST(a_stub_has_pushed_a_word_in_its_second_part),
          TEST(a_signal_interrupts_at_an_exact_address),
          TEST(a_signal_handler_may_have_its_own_stack),
          TEST(a_signal_return_without_a_table_is_recognized_by_its_code),
          TEST(signals_that_never_end_are_too_deep), TEST(a_stack_that_is_not_whole_is_cut),
          TEST(a_hole_in_the_copy_is_a_fault),
          TEST(a_frame_that_does_not_lie_above_is_a_contradiction),
          TEST(a_deep_stack_ends_where_the_room_ends), TEST(unknown_code_ends_the_stack),
          TEST(tables_that_take_too_long_are_given_up), TEST(zeros_mark_the_first_frame),
          TEST(trampolines_of_python_are_left),
          TEST(a_short_function_without_a_table_is_left_by_the_call_of_it),
          TEST(frame_pointers_serve_where_there_are_no_tables),
          TEST(the_walk_goes_on_behind_a_gap),
          TEST(nothing_is_learnt_from_one_stack_that_differs))
