#include "tests/unit/cpython/made/task_world.h"

#include <stdlib.h>
#include <string.h>

enum { INTERP_TASKS = 512, THREAD_TASKS = 536, OBJECT_BYTES = 512, STATE_BEFORE = 5 };

/* Frame states of 3.14 and of 3.15. */
static const int8_t frame_states[][TASK_DOINGS] = { { -2, -1, 0, 4 }, { 1, 2, 4, 5 } };

void task_world_begin(struct task_world *world, unsigned minor)
{
    memset(world, 0, sizeof *world);
    world->minor = minor;
    fake_python_init(&world->python, minor);
    struct memory *const memory = &world->python.memory.memory;
    if (strtab_init(&world->strings, NULL))
        abort();
    code_table_init(&world->codes, memory, &world->python.runtime.layout, &world->strings);
    tasks_init(&world->tasks, 1, memory, &world->python.runtime, &world->threads, &world->codes,
               &world->strings);
    world->coroutine_type = fake_type(&world->python, "coroutine");
    world->future_type = fake_type(&world->python, "_asyncio.FutureIter");
    world->task_type = fake_type(&world->python, "_asyncio.Task");
    world->thread.head.addr = fake_alloc(&world->python, 1024);
    world->thread.head.ident = 7;
    world->items[0] = &world->thread;
    world->threads.items = world->items;
    world->threads.count = 1;
    world->head = world->last = world->thread.head.addr + THREAD_TASKS;
    fake_memory_put_u64(&world->python.memory, world->head, world->head);
    world->tasks.is_found = true;
    world->tasks.lists.offsets =
        (struct task_list_offsets){ .bytes = TASK_WORLD_BYTES,
                                    .name = TASK_WORLD_NAME,
                                    .awaited_by = TASK_WORLD_AWAITED_BY,
                                    .awaited_by_is_set = TASK_WORLD_IS_SET,
                                    .coroutine = TASK_WORLD_COROUTINE,
                                    .node = TASK_WORLD_NODE,
                                    .interp_tasks = INTERP_TASKS,
                                    .thread_running = TASK_WORLD_RUNNING,
                                    .thread_tasks = THREAD_TASKS };
}

void task_world_end(struct task_world *world)
{
    tasks_deinit(&world->tasks);
    code_table_deinit(&world->codes);
    strtab_deinit(&world->strings);
    fake_python_deinit(&world->python);
}

void task_world_put(struct task_world *world, remote_addr addr, uint64_t value)
{
    fake_memory_put_u64(&world->python.memory, addr, value);
}

void task_world_set(struct task_world *world, remote_addr coroutine, enum task_doing doing)
{
    const struct layout *const layout = &world->python.runtime.layout;
    fake_memory_put_u8(&world->python.memory, coroutine + layout->gen_frame - STATE_BEFORE,
                       (uint8_t)frame_states[world->minor - 14][doing]);
}

remote_addr task_world_coroutine(struct task_world *world, const char *name,
                                 remote_addr awaited)
{
    const struct layout *const layout = &world->python.runtime.layout;
    const remote_addr addr = fake_alloc(&world->python, OBJECT_BYTES);
    const remote_addr frame = addr + layout->gen_frame;
    const remote_addr values = frame + layout->frame_bytes - TASK_WORLD_WORD;
    const remote_addr code = fake_function(&world->python, name);
    task_world_put(world, addr + layout->object_type, world->coroutine_type);
    task_world_put(world, frame + layout->frame_executable, code);
    task_world_put(world, frame + layout->frame_instr, fake_instr(&world->python, code, 4));
    task_world_put(world, values + TASK_WORLD_WORD, awaited);
    task_world_put(world, frame + layout->frame_stack,
                   values + (world->minor >= 15 ? 3u : 2u) * TASK_WORLD_WORD);
    task_world_set(world, addr, awaited ? TASK_AWAITING : TASK_SUSPENDED);
    return addr;
}

remote_addr task_world_future(struct task_world *world)
{
    const remote_addr addr = fake_alloc(&world->python, 64);
    task_world_put(world, addr + world->python.runtime.layout.object_type, world->future_type);
    task_world_put(world, addr + 2 * TASK_WORLD_WORD, addr);
    return addr;
}

remote_addr task_world_task(struct task_world *world, const char *name, remote_addr runs)
{
    const remote_addr addr = fake_alloc(&world->python, 256);
    task_world_put(world, addr + world->python.runtime.layout.object_type, world->task_type);
    task_world_put(world, addr + TASK_WORLD_NAME, name ? fake_str(&world->python, name) : 0);
    task_world_put(world, addr + TASK_WORLD_COROUTINE, runs);
    task_world_put(world, world->last, addr + TASK_WORLD_NODE);
    task_world_put(world, addr + TASK_WORLD_NODE, world->head);
    world->last = addr + TASK_WORLD_NODE;
    return addr;
}
