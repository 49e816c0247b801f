#include "tests/unit/native/made_stack.h"

void made_stack_add_functions(struct made_stack *world)
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
    for (remote_addr at = CODE + CALL; at < BASE + MADE_HEADER; at += 0x40)
        fake_memory_put_u8(&world->fake, at - 5, 0xe8);
}
