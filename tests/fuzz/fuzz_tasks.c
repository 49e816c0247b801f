/*
 * Input: a version, then one event of asyncio tasks a byte: new tasks, damage to any word of their memory,
 * and readings of all tasks.
 */
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/cpython/made/task_world.h"

enum {
    MAX_TASKS = 24,
    MAX_SCANS = 8,
    MAX_READS_A_TICK = 200000,
    WORDS_IN_REACH = 64,
    MADE = 64
};

/* All simulated objects; others may await them, and events damage them. */
struct made {
    remote_addr addrs[MADE];
    size_t count;
};

static remote_addr note(struct made *made, remote_addr addr)
{
    made->addrs[made->count++ % MADE] = addr;
    return addr;
}

static remote_addr any_made(const struct made *made, struct fuzz_input *input)
{
    const size_t count = made->count < MADE ? made->count : MADE;
    return count ? made->addrs[fuzz_take(input, 1) % count] : 0;
}

static void add(struct task_world *world, struct made *made, struct fuzz_input *input)
{
    const remote_addr awaited =
        fuzz_take(input, 1) % 2 ? any_made(made, input) : note(made, task_world_future(world));
    const remote_addr coroutine = note(made, task_world_coroutine(world, "f", awaited));
    const remote_addr task = note(made, task_world_task(world, "t", coroutine));
    task_world_set(world, coroutine, (enum task_doing)(fuzz_take(input, 1) % TASK_DOINGS));
    task_world_put(world, task + TASK_WORLD_AWAITED_BY, any_made(made, input));
    fake_memory_put_u8(&world->python.memory, task + TASK_WORLD_IS_SET,
                       (uint8_t)(fuzz_take(input, 1) % 2));
}

static void damage(struct task_world *world, const struct made *made, struct fuzz_input *input)
{
    const remote_addr addr = any_made(made, input);
    const remote_addr at = addr + fuzz_take(input, 1) % WORDS_IN_REACH * TASK_WORLD_WORD;
    const uint64_t value = fuzz_take(input, 1) % 2
                               ? any_made(made, input) + fuzz_take(input, 1) % 16 * 8
                               : fuzz_take(input, 8);
    if (addr && fake_memory_is_mapped(&world->python.memory, at))
        task_world_put(world, at, value);
}

static void read_tasks(struct task_world *world)
{
    struct tasks *const tasks = &world->tasks;
    const uint64_t before = world->python.memory.memory.reads;
    const enum err_code rc = tasks_read(tasks, tasks->table.read_ns + 1);
    fuzz_check(world->python.memory.memory.reads - before < MAX_READS_A_TICK);
    fuzz_check(tasks->table.count <= TASKS_MAX && tasks->frame_count <= TASKS_MAX_FRAMES);
    for (size_t i = 0; !rc && i < tasks->table.count; i++) {
        const struct task *const task = &tasks->table.items[i];
        fuzz_check(task->first_frame + task->frame_count <= tasks->frame_count);
        for (uint32_t k = 0; k < task->frame_count; k++)
            fuzz_check(tasks->frames[task->first_frame + k].code < world->codes.codes.count);
        for (uint32_t k = 0; k < task->awaiter_count; k++)
            fuzz_check(tasks->table.awaiters[task->first_awaiter + k] < tasks->table.count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct task_world world;
    struct fuzz_input input = { data, data + size };
    struct made made = { .count = 0 };
    unsigned tasks = 0, reads = 0;
    task_world_begin(&world, 14 + (unsigned)fuzz_take(&input, 1) % 2);
    while (input.at < input.end && reads < MAX_SCANS) {
        const uint64_t action = fuzz_take(&input, 1);
        if (action < 96 && tasks < MAX_TASKS) {
            add(&world, &made, &input);
            tasks++;
        } else if (action < 224) {
            damage(&world, &made, &input);
        } else {
            read_tasks(&world);
            reads++;
        }
    }
    read_tasks(&world);
    task_world_end(&world);
    return 0;
}
