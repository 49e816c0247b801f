#include <string.h>

#include "sampler/session/native/native_runs.h"
#include "tests/support/test.h"

enum { MAX_FRAMES = 8, WORDS = 32, C_STACK = 0x7000, FRAME = 0x100, TSTATE_CFRAME = 16 };

/* A stack of Python frames at FRAME, 2 * FRAME, ..., and a C stack. */
struct world {
    struct layout layout;
    struct stack stack;
    struct walk_frame frames[MAX_FRAMES];
    uint64_t words[WORDS];
    struct native_stack c_stack;
    struct native_run_list list;
};

static void world_init(struct world *world, size_t frames)
{
    memset(world, 0, sizeof *world);
    world->stack.copy.layout = &world->layout;
    world->stack.frames = world->frames;
    world->stack.count = frames;
    for (size_t i = 0; i < frames; i++)
        world->frames[i].addr = FRAME * (i + 1);
    world->c_stack = (struct native_stack){
        .spans = { { C_STACK, (const unsigned char *)world->words, sizeof world->words } },
        .span_count = 1
    };
}

static void find(struct world *world)
{
    assert_int_equal(native_runs_find(&world->list, &world->stack, &world->c_stack), ERR_OK);
}

static void expect_run(const struct world *world, size_t run, remote_addr entry, size_t count)
{
    assert_true(run < world->list.count);
    assert_int_equal(world->list.items[run].entry, entry);
    assert_int_equal(world->list.items[run].count, count);
}

static void until_3_10_each_frame_is_a_run(void **state)
{
    struct world world;
    (void)state;
    world_init(&world, 2);
    world.layout.has_heap_frames = true;
    find(&world);
    assert_false(world.list.has_entries);
    assert_int_equal(world.list.count, 2);
    expect_run(&world, 0, 0, 1);
    expect_run(&world, 1, 0, 1);
    native_runs_deinit(&world.list);
}

static void an_entry_frame_begins_a_run(void **state)
{
    struct world world;
    (void)state;
    world_init(&world, 4);
    world.layout.has_entry_frames = true;
    world.frames[0].entry = 0x9000;
    world.frames[2].entry = 0x8000;
    world.frames[2].entered_from_c = true;
    world.frames[2].empty_entries = 1;
    world.stack.walk.empty_entry = 0x7500;
    find(&world);
    assert_true(world.list.has_entries);
    assert_int_equal(world.list.count, 3);
    expect_run(&world, 0, 0x9000, 2);
    expect_run(&world, 1, 0x8000, 2);
    assert_int_equal(world.list.items[1].empty, 1);
    expect_run(&world, 2, 0x7500, 0);
    assert_int_equal(world.list.entry_count, 3);
    for (size_t i = 1; i < 3; i++)
        assert_true(world.list.entries[i - 1] < world.list.entries[i]);
    native_runs_deinit(&world.list);
}

/* A cframe at this word of the C stack: previous at 0, frame at 8. */
static remote_addr put_cframe(struct world *world, size_t word, remote_addr previous,
                              remote_addr frame)
{
    const remote_addr addr = C_STACK + word * sizeof(uint64_t);
    world->words[word] = previous;
    world->words[word + 1] = frame;
    return addr;
}

static void cframes_init(struct world *world, size_t frames)
{
    world_init(world, frames);
    world->layout.tstate_cframe = TSTATE_CFRAME;
    world->layout.cframe_current_frame = 8;
    world->frames[2].entered_from_c = true;
}

static void set_cframe(struct world *world, remote_addr addr)
{
    memcpy(world->stack.copy.tstate + TSTATE_CFRAME, &addr, sizeof addr);
}

static void a_cframe_belongs_to_the_run_whose_innermost_frame_it_names(void **state)
{
    struct world world;
    (void)state;
    cframes_init(&world, 3);
    const remote_addr outer = put_cframe(&world, 20, 0x1000, FRAME * 2);
    const remote_addr inner = put_cframe(&world, 10, outer, FRAME * 3);
    set_cframe(&world, inner);
    find(&world);
    assert_int_equal(world.list.count, 2);
    expect_run(&world, 0, outer, 2);
    expect_run(&world, 1, inner, 1);
    assert_int_equal(world.list.entry_count, 2);
    assert_int_equal(world.list.entries[0], inner);
    /* The evaluation function has just been entered, and names no frame of the stack. */
    const remote_addr entered = put_cframe(&world, 4, inner, 0xdead);
    set_cframe(&world, entered);
    find(&world);
    expect_run(&world, 0, outer, 2);
    expect_run(&world, 1, inner, 1);
    assert_int_equal(world.list.entry_count, 3);
    native_runs_deinit(&world.list);
}

static void the_innermost_cframe_may_name_a_frame_that_has_not_begun(void **state)
{
    struct world world;
    (void)state;
    cframes_init(&world, 3);
    const remote_addr outer = put_cframe(&world, 20, 0x1000, FRAME * 2);
    const remote_addr inner = put_cframe(&world, 10, outer, 0xbeef);
    set_cframe(&world, inner);
    find(&world);
    expect_run(&world, 0, outer, 2);
    expect_run(&world, 1, inner, 1);
    native_runs_deinit(&world.list);
}

static void a_run_whose_cframe_is_not_in_the_copy_lies_further_out(void **state)
{
    struct world world;
    (void)state;
    cframes_init(&world, 3);
    const remote_addr inner = put_cframe(&world, 10, C_STACK + sizeof world.words, FRAME * 3);
    set_cframe(&world, inner);
    find(&world);
    expect_run(&world, 0, UINT64_MAX, 2);
    expect_run(&world, 1, inner, 1);
    native_runs_deinit(&world.list);
}

static void cframes_that_name_other_frames_give_no_order(void **state)
{
    struct world world;
    (void)state;
    cframes_init(&world, 3);
    const remote_addr outer = put_cframe(&world, 20, 0x1000, 0xdead);
    set_cframe(&world, put_cframe(&world, 10, outer, FRAME * 3));
    find(&world);
    assert_int_equal(world.list.items[0].entry, 0);
    native_runs_deinit(&world.list);
}

static void cframes_that_lead_in_a_circle_end(void **state)
{
    struct world world;
    (void)state;
    cframes_init(&world, 3);
    put_cframe(&world, 10, C_STACK + 10 * sizeof(uint64_t), FRAME * 3);
    set_cframe(&world, C_STACK + 10 * sizeof(uint64_t));
    find(&world);
    assert_int_equal(world.list.entry_count, 1);
    /* A thread without frames. */
    world.stack.count = 0;
    set_cframe(&world, put_cframe(&world, 4, C_STACK + 10 * sizeof(uint64_t), 0));
    find(&world);
    assert_int_equal(world.list.count, 0);
    set_cframe(&world, UINT64_MAX - 4);
    find(&world);
    assert_int_equal(world.list.entry_count, 0);
    native_runs_deinit(&world.list);
}

TEST_GROUP(cmocka_unit_test(until_3_10_each_frame_is_a_run),
           cmocka_unit_test(an_entry_frame_begins_a_run),
           cmocka_unit_test(a_cframe_belongs_to_the_run_whose_innermost_frame_it_names),
           cmocka_unit_test(the_innermost_cframe_may_name_a_frame_that_has_not_begun),
           cmocka_unit_test(a_run_whose_cframe_is_not_in_the_copy_lies_further_out),
           cmocka_unit_test(cframes_that_name_other_frames_give_no_order),
           cmocka_unit_test(cframes_that_lead_in_a_circle_end))
