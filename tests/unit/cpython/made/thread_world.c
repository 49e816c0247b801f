#include "tests/unit/cpython/made/thread_world.h"

#include <stdlib.h>

#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "tests/support/test.h"

void thread_world_init(struct thread_world *world, unsigned minor)
{
    *world = (struct thread_world){ .count = 0 };
    fake_python_init(&world->python, minor);
    world->interp = fake_interp(&world->python, 0);
    thread_list_init(&world->list, &world->python.memory.memory, &world->python.runtime);
}

void thread_world_deinit(struct thread_world *world)
{
    thread_list_deinit(&world->list);
    fake_python_deinit(&world->python);
    for (size_t i = 0; i < world->count; i++)
        free(world->states[i]);
}

struct fake_thread *thread_world_add(struct thread_world *world, remote_addr interp,
                                     remote_addr pthread, int32_t tid)
{
    struct fake_thread *const state = malloc(sizeof *state);
    assert_non_null(state);
    assert_true(world->count < THREAD_WORLD_STATES);
    fake_thread_init(state, &world->python, interp, pthread, tid);
    world->states[world->count++] = state;
    return state;
}

struct fake_thread *thread_world_add_next(struct thread_world *world, remote_addr interp)
{
    return thread_world_add(world, interp, 0x7000 + world->count, 100 + (int32_t)world->count);
}

struct thread_world *thread_world_create(unsigned minor)
{
    struct thread_world *const world = malloc(sizeof *world);
    assert_non_null(world);
    thread_world_init(world, minor);
    thread_world_add_next(world, world->interp);
    return world;
}

void thread_world_destroy(struct thread_world *world)
{
    thread_world_deinit(world);
    free(world);
}

void thread_world_walk(struct thread_world *world)
{
    assert_int_equal(thread_list_walk(&world->list), ERR_OK);
    sub_stacks_find(&world->list);
}

bool thread_world_is_same(struct thread_world *world)
{
    bool same = false;
    assert_int_equal(thread_list_check(&world->list, &same), ERR_OK);
    return same;
}

struct thread *thread_world_find(const struct thread_world *world,
                                 const struct fake_thread *state)
{
    for (size_t i = 0; i < world->list.count; i++)
        if (world->list.items[i]->head.addr == state->addr)
            return world->list.items[i];
    return NULL;
}
