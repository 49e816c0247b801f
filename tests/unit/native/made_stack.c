#include "tests/unit/native/made_stack.h"

#include <string.h>

void made_stack_map(struct made_stack *world, const char *text)
{
    struct maps maps;
    struct err err = { 0 };
    assert_ok(maps_parse(&maps, text, &err), &err);
    assert_int_equal(unwinder_take_maps(&world->unwinder, &maps), ERR_OK);
    maps_deinit(&maps);
}

static void add_functions(struct made_stack *world)
{
    static const uint8_t start[] = { MADE_START };
    const uint32_t usual = made_image_common(&world->image, "zR", start, sizeof start);
    const uint32_t of_signals = made_image_common(&world->image, "zRS", start, sizeof start);
    MADE_ADD(world, usual, PLAIN, 0);
    MADE_ADD(world, usual, PUSHES, 0x41, 0x0e, 16, 0x86, 2);
    MADE_ADD(world, usual, POINTS, 0x0c, 6, 16, 0x86, 2);
    MADE_ADD(world, usual, REALIGNS, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x10, 3, 2,
             0x76, 0x70);
    MADE_ADD(world, usual, THROUGH_R10, 0x0c, 10, 0);
    MADE_ADD(world, usual, STUB, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
             0x22);
    MADE_ADD(world, of_signals, SIGNAL, 0x0f, 4, 0x77, 0xa0, 0x01, 0x06);
    MADE_ADD(world, usual, FIRST, 0x07, 16);
    MADE_ADD(world, usual, CORRUPT, 0x3f);
    MADE_ADD(world, usual, LARGE, 0x0e, 64, 0x86, 2, 0x83, 3, 0x8c, 4, 0x8d, 5, 0x8e, 6, 0x8f,
             7);
}

int made_stack_set_up(void **state)
{
    static struct made_stack world;
    memset(&world, 0, sizeof world);
    fake_memory_init(&world.fake);
    made_image_map(&world.image, &world.fake, BASE);
    add_functions(&world);
    for (remote_addr at = CODE + CALL; at < BASE + MADE_HEADER; at += 0x40)
        fake_memory_put_u8(&world.fake, at - 5, 0xe8);
    if (unwinder_init(&world.unwinder, &world.fake.memory, 0, NULL))
        return -1;
    made_stack_map(&world, MADE_MAPS("1", "/a") "300000-301000 rwxp 00000000 00:00 0\n");
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

int made_stack_tear_down(void **state)
{
    struct made_stack *const world = *state;
    unwinder_deinit(&world->unwinder);
    fake_memory_deinit(&world->fake);
    return 0;
}

uint64_t *made_word(struct made_stack *world, int number)
{
    const int64_t at = ((int64_t)world->registers.sp - STACK) / 8 + number;
    assert_in_range(at, 0, WORDS - 1);
    return &world->words[at];
}

enum native_end made_walk_with(struct made_stack *world, const remote_addr *entries,
                               size_t count)
{
    unwinder_walk(&world->unwinder, &world->registers, &world->stack, entries, count, 0,
                  &world->walk);
    return world->walk.end;
}

enum native_end made_walk(struct made_stack *world)
{
    return made_walk_with(world, NULL, 0);
}

void made_signal(struct made_stack *world, int number, remote_addr ip, remote_addr sp)
{
    const struct machine_signal_frame *const at = &machine_signal_frame;
    *made_word(world, number + at->ip / 8) = ip;
    *made_word(world, number + at->sp / 8) = sp;
    *made_word(world, number + at->saved[MACHINE_FP] / 8) = sp + 3 * 8;
    *made_word(world, number + at->outer_sp / 8) = sp + 8;
}
