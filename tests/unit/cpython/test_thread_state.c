/* States of threads, according to the interpreter: the GIL, exceptions. */
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/threads/thread_state.h"
#include "sampler/cpython/threads/threads.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/thread_world.h"

static void the_gil_is_held_by_the_thread_it_names(void **state)
{
    (void)state;
    for (unsigned minor = 13; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct thread_world *const world = thread_world_create(minor);
        const struct layout *const layout = &world->python.runtime.layout;
        struct fake_memory *const memory = &world->python.memory;
        struct fake_thread *const other = thread_world_add_next(world, world->interp);
        thread_world_walk(world);
        fake_memory_put_u32(memory, world->interp + layout->interp_gil_locked, 1);
        fake_memory_put_u64(memory, world->interp + layout->interp_gil_holder, other->addr);
        assert_true(thread_world_is_same(world));
        const struct thread *const holder = thread_world_find(world, other);
        const struct thread *const waiter = thread_world_find(world, world->states[0]);
        assert_int_equal(thread_state_of(&world->list, holder).has_gil, VALUE_YES);
        assert_int_equal(thread_state_of(&world->list, holder).waits_gil, VALUE_NO);
        assert_int_equal(thread_state_of(&world->list, waiter).has_gil, VALUE_NO);
        fake_memory_put_u32(memory, world->interp + layout->interp_gil_locked, 0);
        assert_true(thread_world_is_same(world));
        assert_int_equal(thread_state_of(&world->list, holder).has_gil, VALUE_NO);
        thread_world_destroy(world);
    }
}

/* A sub-interpreter that shares the GIL has an unused one of its own. */
static void a_build_without_a_gil_uses_one_that_was_enabled(void **state)
{
    (void)state;
    for (unsigned minor = 13; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct thread_world *const world = thread_world_create(minor);
        struct layout *const layout = &world->python.runtime.layout;
        struct fake_memory *const memory = &world->python.memory;
        layout->is_free_threaded = true;
        layout->interp_gil_enabled = layout->interp_gil;
        thread_list_choose_windows(&world->list);
        const remote_addr sub = fake_interp(&world->python, 1);
        struct fake_thread *const other = thread_world_add_next(world, sub);
        thread_world_walk(world);
        fake_memory_put_u32(memory, world->interp + layout->interp_gil_locked, 1);
        fake_memory_put_u64(memory, world->interp + layout->interp_gil_holder, other->addr);
        const struct thread *const holder = thread_world_find(world, other);
        assert_true(thread_world_is_same(world));
        assert_int_equal(thread_state_of(&world->list, holder).has_gil, VALUE_NO);
        fake_memory_put_u32(memory, world->interp + layout->interp_gil_enabled, INT32_MAX);
        assert_true(thread_world_is_same(world));
        assert_int_equal(thread_state_of(&world->list, holder).has_gil, VALUE_YES);
        thread_world_destroy(world);
    }
}

static void each_interpreter_may_have_a_gil(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct thread_world *const world = thread_world_create(minor);
        const struct layout *const layout = &world->python.runtime.layout;
        const remote_addr gil = layout->runtime_gil_locked
                                    ? world->python.runtime.addr + layout->runtime_gil_locked
                                    : world->interp + layout->interp_gil_locked;
        thread_world_walk(world);
        assert_true(thread_state_is_gil(&world->list, gil + 16, 0));
        assert_true(thread_state_is_gil(&world->list, gil + 16 + 48, 0));
        assert_false(thread_state_is_gil(&world->list, gil - 4, 0));
        assert_false(thread_state_is_gil(&world->list, gil + 1024, 0));
        assert_false(thread_state_is_gil(&world->list, 0, 0));
        thread_world_destroy(world);
    }
}

/* As musl has them: each condition names the item of the thread that came last, and each item the one before. */
static void with_musl_threads_that_queue_at_the_gil_wait_for_it(void **state)
{
    enum { FIRST = 16 + 8, SECOND = 16 + 48 + 40 + 8, BEFORE = 8, WORD = 20, ABOVE_SP = 0x90 };
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct thread_world *const world = thread_world_create(minor);
        struct fake_memory *const memory = &world->python.memory;
        const struct layout *const layout = &world->python.runtime.layout;
        const remote_addr gil = layout->runtime_gil_locked
                                    ? world->python.runtime.addr + layout->runtime_gil_locked
                                    : world->interp + layout->interp_gil_locked;
        remote_addr items[4];
        for (size_t i = 0; i < 4; i++)
            items[i] = fake_alloc(&world->python, 64);
        fake_memory_put_u64(memory, gil + FIRST, items[0]);
        fake_memory_put_u64(memory, items[0] + BEFORE, items[1]);
        fake_memory_put_u64(memory, items[1] + BEFORE, 0);
        fake_memory_put_u64(memory, gil + SECOND, items[2]);
        fake_memory_put_u64(memory, items[2] + BEFORE, items[2]);
        thread_world_walk(world);
        for (size_t i = 0; i < 4; i++) {
            const remote_addr word = items[i] + WORD, sp = word - ABOVE_SP;
            assert_int_equal(thread_state_is_gil(&world->list, word, sp), i < 3);
            assert_false(thread_state_is_gil(&world->list, word, 0));
            assert_false(thread_state_is_gil(&world->list, word, word - 0x1000));
            assert_false(thread_state_is_gil(&world->list, word + 4, sp));
        }
        thread_world_destroy(world);
    }
}

/* A hostile process may have a queue without an end in each of its interpreters. */
static void endless_queues_of_many_interpreters_cost_no_more_than_one(void **state)
{
    enum { INTERPRETERS = 40, FIRST = 16 + 8, BEFORE = 8, FAR = 0x100, MOST_READS = 64 };
    struct thread_world *const world = thread_world_create(14);
    struct memory *const memory = &world->python.memory.memory;
    const uint32_t gil = world->python.runtime.layout.interp_gil_locked;
    const remote_addr item = fake_alloc(&world->python, 64);
    (void)state;
    fake_memory_put_u64(&world->python.memory, item + BEFORE, item);
    for (uint64_t i = 1; i < INTERPRETERS; i++)
        fake_memory_put_u64(&world->python.memory, fake_interp(&world->python, i) + gil + FIRST,
                            item);
    thread_world_walk(world);
    assert_int_equal(world->list.interpreter_count, INTERPRETERS);
    const uint64_t before = memory->reads;
    assert_false(thread_state_is_gil(&world->list, item + FAR, item));
    assert_in_range(memory->reads - before, INTERPRETERS, 2 * INTERPRETERS + MOST_READS);
    thread_world_destroy(world);
}

/* The handled exception is read with the thread's stack. */
static enum three_valued handles(struct thread_world *world, remote_addr handled)
{
    struct thread *const thread = thread_world_find(world, world->states[0]);
    const struct layout *const layout = &world->python.runtime.layout;
    memcpy(thread->stack.copy.tstate + layout->tstate_exc_state, &handled, sizeof handled);
    return thread_state_of(&world->list, thread).has_exception;
}

static void none_is_not_an_exception_in_hand(void **state)
{
    (void)state;
    for (unsigned minor = 12; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct thread_world *const world = thread_world_create(minor);
        const uint32_t type = world->python.runtime.layout.object_type;
        struct fake_memory *const memory = &world->python.memory;
        const remote_addr none = fake_alloc(&world->python, 16),
                          error = fake_alloc(&world->python, 16);
        fake_memory_put_u64(memory, none + type, fake_type(&world->python, "NoneType"));
        fake_memory_put_u64(memory, error + type, fake_type(&world->python, "ValueError"));
        thread_world_walk(world);
        assert_int_equal(handles(world, 0), VALUE_NO);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(handles(world, error), VALUE_YES);
            assert_int_equal(handles(world, none), VALUE_NO);
        }
        assert_int_equal(handles(world, 0xdead0000), VALUE_UNKNOWN);
        thread_world_destroy(world);
    }
}

TEST_GROUP(cmocka_unit_test(none_is_not_an_exception_in_hand),
           cmocka_unit_test(a_build_without_a_gil_uses_one_that_was_enabled),
           cmocka_unit_test(each_interpreter_may_have_a_gil),
           cmocka_unit_test(with_musl_threads_that_queue_at_the_gil_wait_for_it),
           cmocka_unit_test(endless_queues_of_many_interpreters_cost_no_more_than_one),
           cmocka_unit_test(the_gil_is_held_by_the_thread_it_names))
