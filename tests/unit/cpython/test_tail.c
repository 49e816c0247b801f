/* Stacks of copies whose outer frames are known to be those of an earlier copy: copy.h, struct copy_tail. */
#include <stdio.h>
#include <string.h>

#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/stack/stack.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/stack_world.h"

enum { MAX_DEPTH = 900 };

static remote_addr frames[MAX_DEPTH];

/* Calls functions named after their depth. */
static void call_to(struct stack_world *world, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        char name[24];
        snprintf(name, sizeof name, "f%zu", i);
        frames[i] = stack_world_call(world, name, i ? FAKE_CALL : FAKE_CALL_FROM_C);
    }
}

static void pop(struct stack_world *world, size_t count)
{
    while (count--)
        fake_pop(&world->thread);
}

static void expect(struct stack_world *world, uint64_t mark, remote_addr from, size_t depth)
{
    world->stack.copy.is_still = true;
    world->stack.copy.tail = (struct copy_tail){ mark, from };
    assert_int_equal(stack_world_read(world), ERR_OK);
    assert_int_equal(world->stack.certainty, STACK_EXACT);
    assert_int_equal(world->stack.count, depth);
    for (size_t i = 0; i < depth; i++) {
        char name[24];
        snprintf(name, sizeof name, "f%zu", i);
        assert_string_equal(stack_world_name(world, i), name);
        assert_int_equal(world->stack.frames[i].addr, frames[i]);
    }
}

/* The first reading of a chunk finds it, the next one keeps what is known of it. */
static void expect_new(struct stack_world *world, uint64_t mark, remote_addr from, size_t depth)
{
    expect(world, mark, from, depth);
    expect(world, mark, from, depth);
}

/* The frames of the tail can be read no longer: their code and callers are gone. */
static void spoil(struct stack_world *world, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memset(fake_memory_at(&world->python.memory, frames[i],
                              world->python.runtime.layout.frame_bytes - 8),
               0xa5, world->python.runtime.layout.frame_bytes - 8);
}

static void check_read_once(struct stack_world *world)
{
    if (world->python.minor < 11)
        return;
    call_to(world, 0, 40);
    expect_new(world, 1, frames[20], 40);
    /* The innermost one calls others. */
    spoil(world, 19);
    expect(world, 1, frames[20], 40);
    pop(world, 10);
    expect(world, 1, frames[20], 30);
    call_to(world, 30, 60);
    expect(world, 1, frames[20], 60);
    pop(world, 40);
    expect(world, 1, frames[20], 20);
    call_to(world, 20, 25);
    expect(world, 1, frames[20], 25);
    expect(world, 1, frames[20], 25);
}

static void a_tail_is_read_once(void **state)
{
    (void)state;
    stack_world_each_version(check_read_once);
}

static int line_of(struct stack_world *world, size_t depth)
{
    const struct walk_frame *const frame = &world->stack.frames[depth];
    return code_place(&world->codes, frame->code, frame->instr)->location.line;
}

static void check_marks(struct stack_world *world)
{
    if (world->python.minor < 11)
        return;
    call_to(world, 0, 40);
    expect_new(world, 1, frames[20], 40);
    const int before = line_of(world, 10);
    fake_go_to(&world->thread, frames[10], 9);
    expect(world, 1, frames[20], 40);
    assert_int_equal(line_of(world, 10), before);
    expect(world, 2, frames[20], 40);
    const int now = line_of(world, 10);
    assert_int_not_equal(now, before);
    spoil(world, 20);
    expect(world, 2, frames[20], 40);
    expect(world, 2, frames[20], 40);
    assert_int_equal(line_of(world, 10), now);
}

static void another_mark_is_another_tail(void **state)
{
    (void)state;
    stack_world_each_version(check_marks);
}

static void check_without(struct stack_world *world)
{
    if (world->python.minor < 11)
        return;
    call_to(world, 0, 40);
    expect(world, 1, frames[20], 40);
    expect(world, 1, frames[20], 40);
    const int before = line_of(world, 10);
    fake_go_to(&world->thread, frames[10], 9);
    expect(world, 0, 0, 40);
    assert_int_not_equal(line_of(world, 10), before);
    fake_go_to(&world->thread, frames[10], 12);
    const int between = line_of(world, 10);
    expect(world, 0, 0, 40);
    assert_int_not_equal(line_of(world, 10), between);
}

static void without_a_mark_all_is_read(void **state)
{
    (void)state;
    stack_world_each_version(check_without);
}

/* Into chunks above that of the tail, from one to the next. */
static void grow(struct stack_world *world, size_t from)
{
    for (size_t depth = from; depth < MAX_DEPTH; depth += 15) {
        call_to(world, depth, depth + 15);
        expect(world, 1, frames[560], depth + 15);
    }
}

static void check_chunks(struct stack_world *world)
{
    if (world->python.minor < 11)
        return;
    call_to(world, 0, 600);
    expect_new(world, 1, frames[560], 600);
    assert_true(world->stack.copy.chunk_count > 2);
    spoil(world, 560);
    expect(world, 1, frames[560], 600);
    for (int again = 0; again < 2; again++) {
        grow(world, again ? 570 : 600);
        assert_true(world->stack.copy.chunk_count > 4);
        pop(world, MAX_DEPTH - 570);
        expect(world, 1, frames[560], 570);
    }
}

static void a_tail_goes_on_in_the_chunks_below(void **state)
{
    (void)state;
    stack_world_each_version(check_chunks);
}

static void check_shallow(struct stack_world *world)
{
    if (world->python.minor < 11)
        return;
    call_to(world, 0, 120);
    expect(world, 1, frames[100], 120);
    pop(world, 100);
    /* The stack has no tail; after this many readings less of the chunk is copied. */
    for (int i = 0; i < 600; i++)
        expect(world, 0, 0, 20);
    call_to(world, 20, 120);
    expect(world, 2, frames[100], 120);
    spoil(world, 100);
    expect(world, 2, frames[100], 120);
    expect(world, 2, frames[100], 120);
}

static void a_stack_that_was_shallow_is_read_as_far_as_its_tail(void **state)
{
    (void)state;
    stack_world_each_version(check_shallow);
}

static void check_nowhere(struct stack_world *world)
{
    static const remote_addr wrong[] = { 0, 1, UINT64_MAX };
    if (world->python.minor < 11)
        return;
    call_to(world, 0, 30);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int again = 0; again < 3; again++)
            expect(world, i + 1, wrong[i], 30);
}

static void a_tail_in_no_chunk_is_none(void **state)
{
    (void)state;
    stack_world_each_version(check_nowhere);
}

TEST_GROUP(cmocka_unit_test(a_tail_is_read_once),
           cmocka_unit_test(another_mark_is_another_tail),
           cmocka_unit_test(without_a_mark_all_is_read),
           cmocka_unit_test(a_tail_goes_on_in_the_chunks_below),
           cmocka_unit_test(a_stack_that_was_shallow_is_read_as_far_as_its_tail),
           cmocka_unit_test(a_tail_in_no_chunk_is_none))
