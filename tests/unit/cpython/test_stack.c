#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/stack/stack.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/stack_world.h"

/* A name for each depth: f0, f1, ... */
static void call_deeply(struct stack_world *world, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        char name[24];
        snprintf(name, sizeof name, "f%zu", i);
        stack_world_call(world, name, i ? FAKE_CALL : FAKE_CALL_FROM_C);
    }
}

static void expect_depth(struct stack_world *world, size_t depth)
{
    assert_int_equal(stack_world_read(world), ERR_OK);
    assert_int_equal(world->stack.count, depth);
    for (size_t i = 0; i < depth; i++) {
        char name[24];
        snprintf(name, sizeof name, "f%zu", i);
        assert_string_equal(stack_world_name(world, i), name);
    }
}

static void check_empty(struct stack_world *world)
{
    stack_world_expect(world, "");
    stack_world_expect(world, "");
    assert_int_equal(world->stack.certainty, STACK_EXACT);
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    stack_world_expect(world, "main");
    fake_pop(&world->thread);
    stack_world_expect(world, "");
}

static void a_thread_that_runs_no_python_code_has_an_empty_stack(void **state)
{
    (void)state;
    stack_world_each_version(check_empty);
}

static void check_chain(struct stack_world *world)
{
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    const remote_addr a = stack_world_call(world, "a", FAKE_CALL);
    const remote_addr b = stack_world_call(world, "b", FAKE_CALL);
    stack_world_expect(world, "main a b");
    assert_int_equal(world->stack.certainty, STACK_RETRIED);
    stack_world_expect(world, "main a b");
    assert_int_equal(world->stack.certainty, STACK_EXACT);
    assert_int_equal(world->stack.frames[1].addr, a);
    assert_int_equal(world->stack.frames[2].addr, b);
    fake_go_to(&world->thread, b, 9);
    stack_world_expect(world, "main a b");
    struct code_place *const place =
        code_place(&world->codes, world->stack.frames[2].code, world->stack.frames[2].instr);
    assert_int_equal(place->location.line, 10);
}

static void a_chain_of_calls_is_read_outermost_first(void **state)
{
    (void)state;
    stack_world_each_version(check_chain);
}

static void check_one_call(struct stack_world *world)
{
    call_deeply(world, 0, 20);
    expect_depth(world, 20);
    expect_depth(world, 20);
    const uint64_t before = world->python.memory.memory.reads;
    expect_depth(world, 20);
    /* Versions that do not count freed code objects have them checked. */
    assert_int_equal(world->python.memory.memory.reads - before,
                     world->python.minor >= 14 ? 1 : 2);
}

static void a_stack_as_predicted_costs_one_call(void **state)
{
    (void)state;
    stack_world_each_version(check_one_call);
}

/* In the frame's first variable. */
static void count_on(struct stack_world *world, remote_addr frame)
{
    const remote_addr variable = frame + world->python.runtime.layout.frame_bytes - 8;
    fake_memory_put_u64(&world->python.memory, variable,
                        fake_memory_u64(&world->python.memory, variable) + 32);
}

static void check_variables(struct stack_world *world)
{
    if (world->python.minor < 11)
        return;
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    const remote_addr loop = stack_world_call(world, "loop", FAKE_CALL);
    const remote_addr a = stack_world_call(world, "a", FAKE_CALL);
    const remote_addr b = stack_world_call(world, "b", FAKE_CALL);
    stack_world_expect(world, "main loop a b");
    stack_world_expect(world, "main loop a b");
    count_on(world, loop);
    stack_world_expect(world, "main loop a b");
    assert_int_equal(world->stack.walk.reused, 4);
    assert_int_equal(world->stack.certainty, STACK_EXACT);
    count_on(world, loop);
    count_on(world, a);
    fake_go_to(&world->thread, b, 9);
    stack_world_expect(world, "main loop a b");
    assert_int_equal(world->stack.walk.reused, 3);
    count_on(world, loop);
    fake_pop(&world->thread);
    fake_pop(&world->thread);
    stack_world_call(world, "other", FAKE_CALL);
    stack_world_expect(world, "main loop other");
    assert_int_equal(world->stack.walk.reused, 2);
}

static void frames_are_reused_though_variables_change(void **state)
{
    (void)state;
    stack_world_each_version(check_variables);
}

static void check_from_c(struct stack_world *world)
{
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    stack_world_call(world, "key", FAKE_CALL_FROM_C);
    stack_world_call(world, "inner", FAKE_CALL);
    stack_world_call(world, "again", FAKE_CALL_FROM_C);
    stack_world_expect(world, "main key inner again");
    stack_world_expect(world, "main key inner again");
    assert_int_equal(world->stack.certainty, STACK_EXACT);
    if (world->python.minor >= 12) {
        assert_true(world->stack.frames[1].entered_from_c);
        assert_false(world->stack.frames[2].entered_from_c);
        assert_true(world->stack.frames[3].entered_from_c);
    }
    fake_pop(&world->thread);
    fake_pop(&world->thread);
    stack_world_call(world, "other", FAKE_CALL_FROM_C);
    stack_world_expect(world, "main key other");
}

/* Frames that the first reading of a stopped thread does not reach are read: it is in the innermost entry from C nevertheless. */
static void check_deep_from_c(struct stack_world *world)
{
    stack_world_call(world, "f0", FAKE_CALL_FROM_C);
    stack_world_call(world, "f1", FAKE_CALL_FROM_C);
    expect_depth(world, 2);
    world->stack.copy.is_still = true;
    call_deeply(world, 2, 60);
    expect_depth(world, 60);
    assert_int_equal(world->stack.certainty, STACK_EXACT);
}

static void calls_from_c_are_deeper_than_what_was_read(void **state)
{
    (void)state;
    stack_world_each_version(check_deep_from_c);
}

static void check_entries(struct stack_world *world)
{
    if (world->python.minor < 12)
        return;
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    stack_world_call(world, "key", FAKE_CALL_FROM_C);
    stack_world_call(world, "inner", FAKE_CALL);
    stack_world_call(world, "again", FAKE_CALL_FROM_C);
    for (int i = 0; i < 3; i++) {
        stack_world_expect(world, "main key inner again");
        const struct walk_frame *const frames = world->stack.frames;
        const remote_addr main_entry = frames[0].entry, key = frames[1].entry;
        assert_true(main_entry && key && frames[3].entry);
        assert_true(main_entry != key && key != frames[3].entry);
        assert_int_equal(frames[2].entry, 0);
        assert_int_equal(frames[3].empty_entries, 0);
        assert_int_equal(world->stack.walk.empty_entry, 0);
    }
    const remote_addr before = world->stack.frames[1].entry;
    fake_pop(&world->thread);
    fake_pop(&world->thread);
    stack_world_call(world, "other", FAKE_CALL_FROM_C);
    stack_world_expect(world, "main key other");
    assert_int_equal(world->stack.frames[1].entry, before);
    assert_true(world->stack.frames[2].entry != 0);
}

static void frames_know_the_entry_that_they_were_called_through(void **state)
{
    (void)state;
    stack_world_each_version(check_entries);
}

static void calls_from_c_are_followed_through_entry_frames(void **state)
{
    (void)state;
    stack_world_each_version(check_from_c);
}

static void check_generators(struct stack_world *world)
{
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    stack_world_call(world, "gen", FAKE_RESUME);
    stack_world_call(world, "inside", FAKE_CALL);
    stack_world_call(world, "gen2", FAKE_RESUME_FROM_C);
    stack_world_call(world, "gen3", FAKE_RESUME);
    stack_world_call(world, "leaf", FAKE_CALL);
    stack_world_expect(world, "main gen inside gen2 gen3 leaf");
    stack_world_expect(world, "main gen inside gen2 gen3 leaf");
    assert_int_equal(world->stack.certainty, STACK_EXACT);
    fake_pop(&world->thread);
    fake_pop(&world->thread);
    stack_world_expect(world, "main gen inside gen2");
    fake_pop(&world->thread);
    stack_world_expect(world, "main gen inside");
    fake_pop(&world->thread);
    fake_pop(&world->thread);
    stack_world_expect(world, "main");
}

static void frames_of_generators_stand_where_they_were_resumed(void **state)
{
    (void)state;
    stack_world_each_version(check_generators);
}

static void check_lost_caller(struct stack_world *world)
{
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    const remote_addr lost = stack_world_call(world, "lost", FAKE_RESUME);
    stack_world_call(world, "leaf", FAKE_CALL);
    fake_memory_unmap(&world->python.memory, lost);
    for (int i = 0; i < 3; i++)
        assert_int_equal(stack_world_read(world), ERR_FAULT);
}

static void a_frame_whose_caller_cannot_be_found_is_no_sample(void **state)
{
    (void)state;
    stack_world_each_version(check_lost_caller);
}

/* Other coroutines run in each round, as in a server: all of them are found, and those that have ended long
 * ago are no longer read. */
static void check_many_coroutines(struct stack_world *world)
{
    enum { ROUNDS = 600, IN_A_ROW = 8 };
    const remote_addr task = fake_function(&world->python, "task");
    const remote_addr leaf = fake_function(&world->python, "leaf");
    stack_world_call(world, "loop", FAKE_CALL_FROM_C);
    stack_world_expect(world, "loop");
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < IN_A_ROW; i++)
            fake_push(&world->thread, task, i ? FAKE_RESUME : FAKE_RESUME_FROM_C);
        fake_push(&world->thread, leaf, FAKE_CALL);
        stack_world_expect(world, "loop task task task task task task task task leaf");
        assert_true(world->stack.certainty != STACK_TRUNCATED);
        for (int i = 0; i < IN_A_ROW + 1; i++)
            fake_pop(&world->thread);
    }
    assert_true(world->stack.copy.off_chunk_count < COPY_MAX_OFF_CHUNK / 2);
}

static void coroutines_that_come_and_go_are_all_found(void **state)
{
    (void)state;
    stack_world_each_version(check_many_coroutines);
}

static void check_popped(struct stack_world *world)
{
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    for (int i = 0; i < 3; i++) {
        stack_world_call(world, "a", FAKE_CALL);
        stack_world_call(world, "b", FAKE_CALL);
        stack_world_expect(world, "main a b");
        fake_pop(&world->thread);
        stack_world_expect(world, "main a");
        fake_pop(&world->thread);
        stack_world_expect(world, "main");
    }
}

static void what_has_returned_is_not_in_the_stack(void **state)
{
    (void)state;
    stack_world_each_version(check_popped);
}

static void check_set_up(struct stack_world *world)
{
    struct fake_thread *const thread = &world->thread;
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    stack_world_call(world, "a", FAKE_CALL);
    stack_world_expect(world, "main a");
    const remote_addr code = fake_function(&world->python, "b");
    const remote_addr frame = fake_push_room(thread, code, FAKE_CALL);
    stack_world_expect(world, "main a");
    fake_push_fill(thread, frame, code);
    stack_world_expect(world, "main a");
    fake_push_enter(thread, frame);
    stack_world_expect(world, "main a");
    fake_push_begin(thread, frame, code);
    stack_world_expect(world, "main a b");
    assert_int_equal(fake_pop_leave(thread), frame);
    fake_pop_clear(thread, frame);
    stack_world_expect(world, "main a");
}

static void a_frame_counts_from_its_first_instruction(void **state)
{
    (void)state;
    stack_world_each_version(check_set_up);
}

static void check_chunks(struct stack_world *world)
{
    call_deeply(world, 0, 1000);
    expect_depth(world, 1000);
    assert_true(world->stack.copy.chunk_count > 3);
    expect_depth(world, 1000);
    assert_int_equal(world->stack.certainty, STACK_EXACT);
    for (size_t i = 1000; i > 0; i -= 100) {
        expect_depth(world, i);
        for (size_t k = 0; k < 100; k++)
            fake_pop(&world->thread);
    }
    expect_depth(world, 0);
    assert_int_equal(world->stack.copy.chunk_count, 1);
}

static void a_stack_goes_on_from_chunk_to_chunk(void **state)
{
    (void)state;
    stack_world_each_version(check_chunks);
}

/* Chunks come and go at the same address, while the one below is used more or less each time. */
static void check_chunk_again(struct stack_world *world)
{
    struct fake_python *const python = &world->python;
    struct fake_thread *const thread = &world->thread;
    const remote_addr tall =
        fake_code(python, &(struct fake_code){ .name = "tall", .words = 1500 });
    const remote_addr next = python->next;
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    const remote_addr after = python->next;
    assert_true(after > next);
    fake_push(thread, tall, FAKE_CALL);
    const remote_addr second = python->next;
    fake_push(thread, tall, FAKE_CALL);
    stack_world_expect(world, "main tall tall");
    fake_pop(thread);
    /* Two more frames where there was one; then the chunk comes back where it was. */
    stack_world_call(world, "a", FAKE_CALL);
    stack_world_call(world, "b", FAKE_CALL);
    const remote_addr later = python->next;
    python->next = second;
    fake_push(thread, tall, FAKE_CALL);
    python->next = later;
    stack_world_expect(world, "main tall a b tall");
    fake_pop(thread);
    fake_pop(thread);
    fake_pop(thread);
    python->next = second;
    fake_push(thread, tall, FAKE_CALL);
    python->next = later;
    stack_world_expect(world, "main tall tall");
}

static void a_chunk_that_comes_back_hides_nothing_below_it(void **state)
{
    (void)state;
    stack_world_each_version(check_chunk_again);
}

static void check_many_chunks(struct stack_world *world)
{
    const remote_addr huge = fake_code(&world->python, &(struct fake_code){ .words = 1500 });
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    for (int i = 0; i < 125; i++)
        fake_push(&world->thread, huge, FAKE_CALL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stack_world_read(world), ERR_OK);
        assert_int_equal(world->stack.count, 126);
    }
    assert_int_equal(world->stack.certainty, STACK_EXACT);
    assert_int_equal(world->stack.copy.chunk_count, 125);
}

static void a_hundred_and_twenty_five_chunks_are_one_stack(void **state)
{
    (void)state;
    stack_world_each_version(check_many_chunks);
}

/* More places than fit into one call. */
static void check_very_many_chunks(struct stack_world *world)
{
    const remote_addr huge = fake_code(&world->python, &(struct fake_code){ .words = 1500 });
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    for (int i = 0; i < 1200; i++)
        fake_push(&world->thread, huge, FAKE_CALL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stack_world_read(world), ERR_OK);
        assert_int_equal(world->stack.count, 1201);
    }
    assert_int_equal(world->stack.certainty, STACK_EXACT);
}

static void more_chunks_than_one_call_holds_are_one_stack(void **state)
{
    (void)state;
    stack_world_each_version(check_very_many_chunks);
}

static void check_deeper_than_known(struct stack_world *world)
{
    call_deeply(world, 0, 3);
    expect_depth(world, 3);
    expect_depth(world, 3);
    /* Far above what was copied for three frames, in the same chunk. */
    call_deeply(world, 3, 80);
    assert_int_equal(world->stack.copy.chunk_count, 1);
    expect_depth(world, 80);
    expect_depth(world, 80);
    assert_int_equal(world->stack.certainty, STACK_EXACT);
}

static void a_stack_that_grows_is_copied_further(void **state)
{
    (void)state;
    stack_world_each_version(check_deeper_than_known);
}

static void check_gone(struct stack_world *world)
{
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    stack_world_expect(world, "main");
    fake_thread_end(&world->thread);
    assert_int_equal(stack_world_read(world), ERR_GONE);
}

static void a_thread_that_ended_is_gone(void **state)
{
    (void)state;
    stack_world_each_version(check_gone);
}

static void check_failure(struct stack_world *world)
{
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    stack_world_expect(world, "main");
    world->python.memory.failure = ERR_GONE;
    assert_int_equal(stack_world_read(world), ERR_GONE);
    world->python.memory.failure = ERR_PERM;
    assert_int_equal(stack_world_read(world), ERR_PERM);
    world->python.memory.failure = ERR_OK;
    stack_world_expect(world, "main");
}

static void a_process_that_cannot_be_read_is_no_empty_stack(void **state)
{
    (void)state;
    stack_world_each_version(check_failure);
}

static void check_code_again(struct stack_world *world)
{
    struct fake_python *const python = &world->python;
    const struct layout *const layout = &python->runtime.layout;
    stack_world_call(world, "main", FAKE_CALL_FROM_C);
    const remote_addr code = fake_function(python, "old");
    fake_push(&world->thread, code, FAKE_CALL);
    stack_world_expect(world, "main old");
    fake_pop(&world->thread);
    fake_code_replace(python, code, &(struct fake_code){ .name = "new" });
    if (layout->interp_code_generation)
        fake_memory_put_u64(&python->memory,
                            world->thread.interp + layout->interp_code_generation, 1);
    fake_push(&world->thread, code, FAKE_CALL);
    stack_world_expect(world, "main new");
}

static void a_code_object_freed_and_made_again_has_its_new_name(void **state)
{
    (void)state;
    stack_world_each_version(check_code_again);
}

TEST_GROUP(cmocka_unit_test(a_thread_that_runs_no_python_code_has_an_empty_stack),
           cmocka_unit_test(a_chain_of_calls_is_read_outermost_first),
           cmocka_unit_test(a_stack_as_predicted_costs_one_call),
           cmocka_unit_test(frames_are_reused_though_variables_change),
           cmocka_unit_test(calls_from_c_are_followed_through_entry_frames),
           cmocka_unit_test(calls_from_c_are_deeper_than_what_was_read),
           cmocka_unit_test(frames_know_the_entry_that_they_were_called_through),
           cmocka_unit_test(frames_of_generators_stand_where_they_were_resumed),
           cmocka_unit_test(a_frame_whose_caller_cannot_be_found_is_no_sample),
           cmocka_unit_test(coroutines_that_come_and_go_are_all_found),
           cmocka_unit_test(what_has_returned_is_not_in_the_stack),
           cmocka_unit_test(a_frame_counts_from_its_first_instruction),
           cmocka_unit_test(a_stack_goes_on_from_chunk_to_chunk),
           cmocka_unit_test(a_chunk_that_comes_back_hides_nothing_below_it),
           cmocka_unit_test(a_hundred_and_twenty_five_chunks_are_one_stack),
           cmocka_unit_test(more_chunks_than_one_call_holds_are_one_stack),
           cmocka_unit_test(a_stack_that_grows_is_copied_further),
           cmocka_unit_test(a_thread_that_ended_is_gone),
           cmocka_unit_test(a_process_that_cannot_be_read_is_no_empty_stack),
           cmocka_unit_test(a_code_object_freed_and_made_again_has_its_new_name))
