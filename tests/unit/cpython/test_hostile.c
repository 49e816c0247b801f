/* A hostile target: reading its stack must not hang, crash or fill our memory. */
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/stack/stack.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/stack_world.h"

static const struct layout *layout_of(const struct stack_world *world)
{
    return &world->python.runtime.layout;
}

static void put(struct stack_world *world, remote_addr addr, uint64_t value)
{
    fake_memory_put_u64(&world->python.memory, addr, value);
}

/* Any result comes after few reads, and later readings are right. */
static void survive(struct stack_world *world)
{
    for (int i = 0; i < 4; i++) {
        const uint64_t before = world->python.memory.memory.reads;
        (void)!stack_world_read(world);
        assert_true(world->python.memory.memory.reads - before < 2000);
    }
}

static void check_off_chunk_circle(struct stack_world *world)
{
    const uint32_t previous = layout_of(world)->frame_previous;
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    const remote_addr a = stack_world_call(world, "a", FAKE_RESUME);
    const remote_addr b = stack_world_call(world, "b", FAKE_RESUME);
    const remote_addr c = stack_world_call(world, "c", FAKE_RESUME);
    stack_world_expect(world, "main a b c");
    put(world, a + previous, c);
    survive(world);
    put(world, b + previous, b);
    survive(world);
    put(world, c + previous, b);
    put(world, b + previous, c);
    survive(world);
}

static void generators_that_call_each_other_in_a_circle_end(void **state)
{
    (void)state;
    stack_world_each_version(check_off_chunk_circle);
}

static void check_chunk_circle(struct stack_world *world)
{
    const uint32_t previous = layout_of(world)->frame_previous;
    const remote_addr main = stack_world_call(world, "main", FAKE_CALL_FROM_C);
    const remote_addr a = stack_world_call(world, "a", FAKE_CALL);
    const remote_addr b = stack_world_call(world, "b", FAKE_CALL);
    stack_world_expect(world, "main a b");
    put(world, main + previous, b);
    survive(world);
    put(world, a + previous, a);
    survive(world);
    put(world, a + previous, b);
    put(world, b + previous, a);
    survive(world);
}

static void frames_that_call_each_other_in_a_circle_end(void **state)
{
    (void)state;
    stack_world_each_version(check_chunk_circle);
}

static void check_entry_circle(struct stack_world *world)
{
    const struct layout *const layout = layout_of(world);
    if (world->python.minor < 12)
        return;
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    const remote_addr a = stack_world_call(world, "a", FAKE_CALL_FROM_C);
    stack_world_expect(world, "main a");
    const remote_addr entry =
        fake_memory_u64(&world->python.memory, a + layout->frame_previous);
    put(world, entry + layout->frame_previous, entry);
    survive(world);
    /* A long way through entry frames, all of which are there. */
    remote_addr next = entry;
    for (int i = 0; i < 500; i++) {
        const remote_addr more = fake_alloc(&world->python, layout->frame_bytes);
        fake_memory_put_u8(&world->python.memory, more + layout->frame_owner, 3);
        put(world, next + layout->frame_previous, more);
        next = more;
    }
    survive(world);
}

static void entry_frames_without_end_end(void **state)
{
    (void)state;
    stack_world_each_version(check_entry_circle);
}

static void check_sizes(struct stack_world *world)
{
    static const uint32_t sizes[] = {
        0, 1, 2, 8, 9, 10, 1 << 20, 1 << 23, INT32_MAX, UINT32_MAX
    };
    const struct layout *const layout = layout_of(world);
    const uint32_t field =
        layout->code_framesize ? layout->code_framesize : layout->code_stacksize;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const remote_addr code = fake_function(&world->python, "odd");
        fake_push(&world->thread, code, i ? FAKE_CALL : FAKE_CALL_FROM_C);
        fake_memory_put_u32(&world->python.memory, code + field, sizes[i]);
        survive(world);
    }
}

static void frames_of_any_size_are_survived(void **state)
{
    (void)state;
    stack_world_each_version(check_sizes);
}

static void check_executables(struct stack_world *world)
{
    const uint32_t executable = layout_of(world)->frame_executable;
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    const remote_addr frame = stack_world_call(world, "a", FAKE_CALL);
    stack_world_call(world, "b", FAKE_CALL);
    stack_world_expect(world, "main a b");
    const remote_addr chunk = fake_memory_u64(
        &world->python.memory, world->thread.addr + layout_of(world)->tstate_datastack_chunk);
    const uint64_t garbage[] = { 1,
                                 7,
                                 8,
                                 0x1000,
                                 UINT64_MAX,
                                 1ull << 63,
                                 chunk,
                                 frame,
                                 world->thread.addr,
                                 world->python.code_type,
                                 fake_str(&world->python, "not code") };
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        put(world, frame + executable, garbage[i]);
        survive(world);
        /* The frame comes from the history or from its instruction; no other name appears. */
        char *const names = stack_world_names(world);
        assert_true(strncmp("main a b", names, strlen(names)) == 0);
        free(names);
    }
}

static void executables_that_are_no_code_end_the_stack(void **state)
{
    (void)state;
    stack_world_each_version(check_executables);
}

static void check_instructions(struct stack_world *world)
{
    const uint32_t instr = layout_of(world)->frame_instr;
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    const remote_addr frame = stack_world_call(world, "a", FAKE_CALL);
    static const uint64_t garbage[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 63, 0x1000 };
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        put(world, frame + instr, garbage[i]);
        assert_int_equal(stack_world_read(world), ERR_FAULT);
    }
}

static void an_instruction_outside_of_its_code_is_no_frame(void **state)
{
    (void)state;
    stack_world_each_version(check_instructions);
}

static void check_million(struct stack_world *world)
{
    enum { CLAIMED_BYTES = 60 << 20 };
    struct fake_python *const python = &world->python;
    const struct layout *const layout = layout_of(world);
    const remote_addr code = fake_code(python, &(struct fake_code){ .words = 1 });
    const uint64_t size = (uint64_t)fake_code_words(python, code) * 8;
    fake_push(&world->thread, code, FAKE_CALL_FROM_C);
    stack_world_expect(world, "f");
    const remote_addr chunk = fake_alloc(python, CLAIMED_BYTES);
    remote_addr frame = chunk + 32, previous = 0;
    size_t frames = 0;
    unsigned char bytes[LAYOUT_MAX_FRAME_BYTES];
    const remote_addr first =
        fake_memory_u64(&python->memory, world->thread.addr + layout->tstate_datastack_chunk);
    memcpy(bytes, fake_memory_at(&python->memory, first + 32, size), size);
    const uint64_t instr = fake_instr(python, code, FAKE_CALL_AT);
    for (; frame + size < chunk + CLAIMED_BYTES; frame += size, frames++) {
        fake_memory_put(&python->memory, frame, bytes, size);
        if (previous)
            put(world, frame + layout->frame_previous, previous);
        put(world, frame + layout->frame_instr, instr);
        if (layout->frame_is_entry && previous)
            fake_memory_put_u8(&python->memory, frame + layout->frame_is_entry, 0);
        if (python->minor < 14)
            fake_memory_put_u32(&python->memory, frame + layout->frame_stack, 1);
        else
            put(world, frame + layout->frame_stack, frame);
        previous = frame;
    }
    put(world, chunk + 8, CLAIMED_BYTES);
    put(world, world->thread.addr + layout->tstate_datastack_chunk, chunk);
    put(world, world->thread.addr + layout->tstate_datastack_top, frame);
    fake_set_current(&world->thread, previous);
    assert_true(frames > 700000);
    assert_int_equal(stack_world_read(world), ERR_OK);
    assert_int_equal(world->stack.count, frames);
}

static void a_million_frames_are_read_as_a_million_frames(void **state)
{
    (void)state;
    stack_world_each_version(check_million);
}

static void check_product(struct stack_world *world)
{
    enum { GENERATORS = 900, CALLS = 300 };
    const remote_addr code = fake_function(&world->python, "f");
    fake_push(&world->thread, code, FAKE_CALL_FROM_C);
    for (int i = 0; i < GENERATORS; i++)
        fake_push(&world->thread, code, FAKE_RESUME);
    for (int i = 0; i < CALLS; i++)
        fake_push(&world->thread, code, FAKE_CALL);
    for (int i = 0; i < 10; i++)
        assert_int_equal(stack_world_read(world), ERR_OK);
    assert_int_equal(world->stack.count, 1 + GENERATORS + CALLS);
}

static void hundreds_of_generators_are_one_stack(void **state)
{
    (void)state;
    stack_world_each_version(check_product);
}

static uint64_t random_word(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return *random * 0x2545f4914f6cdd1du;
}

/* Words of a true stack are replaced by others, of which some are true addresses. */
static void check_damage(struct stack_world *world)
{
    uint64_t random = 88172645463325252u + world->python.minor;
    struct fake_memory *const memory = &world->python.memory;
    for (int i = 0; i < 12; i++)
        stack_world_call(world, "f",
                         i % 4 == 0   ? FAKE_CALL_FROM_C
                         : i % 4 == 2 ? FAKE_RESUME
                                      : FAKE_CALL);
    (void)!stack_world_read(world);
    (void)!stack_world_read(world);
    const size_t regions = memory->count;
    for (int round = 0; round < 3000; round++) {
        const struct fake_region *const region =
            &memory->regions[random_word(&random) % regions];
        const struct fake_region *const other =
            &memory->regions[random_word(&random) % regions];
        const size_t used = region->bytes < 2048 ? region->bytes : 2048;
        if (used < 8)
            continue;
        const remote_addr at = region->addr + random_word(&random) % (used / 8) * 8;
        const uint64_t kept = fake_memory_u64(memory, at);
        const uint64_t damage[] = { 0,           1,
                                    UINT64_MAX,  random_word(&random),
                                    other->addr, other->addr + random_word(&random) % 256,
                                    kept + 8,    kept ^ 1ull << random_word(&random) % 64 };
        put(world, at, damage[random_word(&random) % (sizeof damage / sizeof *damage)]);
        (void)!stack_world_read(world);
        put(world, at, kept);
    }
    assert_true(world->codes.codes.count < 100000);
}

static void any_damage_is_survived(void **state)
{
    (void)state;
    stack_world_each_version(check_damage);
}

TEST_GROUP(cmocka_unit_test(generators_that_call_each_other_in_a_circle_end),
           cmocka_unit_test(frames_that_call_each_other_in_a_circle_end),
           cmocka_unit_test(entry_frames_without_end_end),
           cmocka_unit_test(frames_of_any_size_are_survived),
           cmocka_unit_test(executables_that_are_no_code_end_the_stack),
           cmocka_unit_test(an_instruction_outside_of_its_code_is_no_frame),
           cmocka_unit_test(a_million_frames_are_read_as_a_million_frames),
           cmocka_unit_test(hundreds_of_generators_are_one_stack),
           cmocka_unit_test(any_damage_is_survived))
