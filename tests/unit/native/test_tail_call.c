#include "sampler/native/tail_call.h"
#include "tests/support/test.h"
#include "tests/unit/native/made_stack.h"

/* In the library: the stub and the word through which it jumps. */
enum { LINKAGE = UNKNOWN + 0x100, SLOT = UNKNOWN + 0x180 };

static void put_jump(struct made_stack *world, remote_addr at, remote_addr to)
{
    fake_memory_put_u8(&world->fake, at, 0xe9);
    fake_memory_put_u32(&world->fake, at + 1, (uint32_t)(to - (at + MACHINE_JUMP_BYTES)));
    blocks_clear(&world->unwinder.blocks);
}

static bool leads(struct made_stack *world, remote_addr from, remote_addr to)
{
    struct tail_calls known = { 0 };
    struct images *const images = &world->unwinder.images;
    images_examine(images_find(images, from), &world->unwinder.blocks);
    const bool answer = tail_call_leads_to(&known, images, &world->unwinder.blocks, from, to);
    /* And again, as remembered. */
    assert_int_equal(tail_call_leads_to(&known, images, &world->unwinder.blocks, from, to),
                     answer);
    return answer;
}

static void a_jump_at_the_end_leads_to_its_function(void **state)
{
    struct made_stack *const world = *state;
    assert_false(leads(world, PLAIN, LARGE));
    put_jump(world, PLAIN + 0x23, LARGE);
    assert_true(leads(world, PLAIN, LARGE));
    assert_false(leads(world, PLAIN, LARGE + 1));
    assert_false(leads(world, PLAIN, POINTS));
}

static void a_jump_of_the_next_function_is_not_its_own(void **state)
{
    struct made_stack *const world = *state;
    put_jump(world, PUSHES + 3, LARGE);
    assert_false(leads(world, PLAIN, LARGE));
    assert_true(leads(world, PUSHES, LARGE));
    /* The address is within the function. */
    assert_false(leads(world, PUSHES + 1, LARGE));
}

static void a_stub_leads_where_its_word_says(void **state)
{
    struct made_stack *const world = *state;
    put_jump(world, PLAIN, LINKAGE);
    fake_memory_put_u8(&world->fake, LINKAGE, 0xff);
    fake_memory_put_u8(&world->fake, LINKAGE + 1, 0x25);
    fake_memory_put_u32(&world->fake, LINKAGE + 2, SLOT - (LINKAGE + 6));
    fake_memory_put_u64(&world->fake, SLOT, LARGE);
    assert_true(leads(world, PLAIN, LARGE));
    assert_false(leads(world, PLAIN, POINTS));
    /* With the mark of a place that may be jumped to. */
    const uint8_t marked[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25 };
    for (size_t i = 0; i < sizeof marked; i++)
        fake_memory_put_u8(&world->fake, LINKAGE + i, marked[i]);
    fake_memory_put_u32(&world->fake, LINKAGE + 7, SLOT - (LINKAGE + 11));
    blocks_clear(&world->unwinder.blocks);
    assert_true(leads(world, PLAIN, LARGE));
    fake_memory_put_u64(&world->fake, SLOT, POINTS);
    assert_false(leads(world, PLAIN, LARGE));
}

static void an_address_without_an_image_leads_nowhere(void **state)
{
    struct made_stack *const world = *state;
    struct tail_calls known = { 0 };
    assert_false(tail_call_leads_to(&known, &world->unwinder.images, &world->unwinder.blocks,
                                    0x1000, LARGE));
}

TEST_GROUP(MADE_TEST(a_jump_at_the_end_leads_to_its_function),
           MADE_TEST(a_jump_of_the_next_function_is_not_its_own),
           MADE_TEST(a_stub_leads_where_its_word_says),
           MADE_TEST(an_address_without_an_image_leads_nowhere))
