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

int made_stack_set_up(void **state)
{
    static struct made_stack world;
    memset(&world, 0, sizeof world);
    fake_memory_init(&world.fake);
    made_image_map(&world.image, &world.fake, BASE);
    made_stack_add_functions(&world);
    if (unwinder_init(&world.unwinder, &world.fake.memory, 0, NULL))
        return -1;
    made_stack_map(&world, MADE_MAPS("1", "/a") "300000-301000 rwxp 00000000 00:00 0\n");
    world.registers = (struct native_registers){ .ip = CODE, .sp = STACK + 16 * 8 };
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
    if (at->outer_sp)
        *made_word(world, number + at->outer_sp / 8) = sp + 8;
}
