/*
 * Input: a version, then one event of a thread a byte: calls, returns, damage to any word of its memory,
 * and readings of its stack.
 */
#include <string.h>

#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/stack/stack.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/cpython/made/fake_python.h"

enum {
    CODES = 4,
    MAX_CALLS = 40,
    MAX_SCANS = 12,
    MAX_READS_A_TICK = 20000,
    WORDS_IN_REACH = 256,
};

struct world {
    struct fake_python python;
    struct fake_thread thread;
    struct strtab strings;
    struct code_table codes;
    struct stack stack;
    remote_addr functions[CODES];
    /* The damaged memory no longer matches the simulation. */
    bool is_damaged;
    unsigned calls, reads;
    struct fuzz_input input;
};

static void act(struct world *world);

/* Events also happen between two spans of a read. */
static void meanwhile(struct fake_memory *memory, const struct fake_read_at *moment,
                      void *context)
{
    struct world *const world = context;
    (void)memory;
    (void)moment;
    if (world->reads % 2)
        act(world);
}

static void begin(struct world *world, const uint8_t *data, size_t size)
{
    world->input = (struct fuzz_input){ data, data + size };
    fake_python_init(&world->python,
                     FAKE_OLDEST_MINOR + (unsigned)fuzz_take(&world->input, 1) % 5);
    const struct layout *const layout = &world->python.runtime.layout;
    const remote_addr interp = fake_interp(&world->python, 0);
    fake_thread_init(&world->thread, &world->python, interp, 1, 1);
    for (uint32_t i = 0; i < CODES; i++)
        world->functions[i] =
            fake_code(&world->python, &(struct fake_code){ .words = 2 + 3 * i * i });
    struct memory *const memory = &world->python.memory.memory;
    fuzz_check(!strtab_init(&world->strings, NULL));
    code_table_init(&world->codes, memory, layout, &world->strings);
    stack_init(&world->stack, memory, layout, world->thread.addr,
               layout->interp_code_generation ? interp + layout->interp_code_generation : 0);
    world->python.memory.hook = meanwhile;
    world->python.memory.context = world;
}

static void end(struct world *world)
{
    stack_deinit(&world->stack);
    code_table_deinit(&world->codes);
    strtab_deinit(&world->strings);
    fake_python_deinit(&world->python);
}

static void call(struct world *world, uint64_t how)
{
    if (world->is_damaged || world->calls == MAX_CALLS)
        return;
    world->calls++;
    fake_push(&world->thread, world->functions[how / 4 % CODES], (enum fake_call)(how % 4));
}

static const struct fake_region *take_region(struct world *world)
{
    const struct fake_memory *const memory = &world->python.memory;
    return &memory->regions[fuzz_take(&world->input, 1) % memory->count];
}

static void damage(struct world *world)
{
    const struct fake_region *const region = take_region(world);
    const size_t words =
        region->bytes / 8 < WORDS_IN_REACH ? region->bytes / 8 : WORDS_IN_REACH;
    if (words == 0)
        return;
    const remote_addr at = region->addr + fuzz_take(&world->input, 1) % words * 8;
    uint64_t value = 0;
    switch (fuzz_take(&world->input, 1) % 4) {
    case 0: value = fuzz_take(&world->input, 1); break;
    case 1: value = fuzz_take(&world->input, 8); break;
    case 2: value = take_region(world)->addr + fuzz_take(&world->input, 1); break;
    case 3:
        value = fake_memory_u64(&world->python.memory, at) +
                (uint64_t)(int8_t)fuzz_take(&world->input, 1);
        break;
    default: break;
    }
    world->is_damaged = true;
    fake_memory_put_u64(&world->python.memory, at, value);
}

static void act(struct world *world)
{
    const uint64_t action = fuzz_take(&world->input, 1);
    if (action < 64)
        call(world, action);
    else if (action < 128 && world->thread.depth && !world->is_damaged)
        fake_pop(&world->thread);
    else if (action >= 128 && action < 192)
        damage(world);
}

static void read_stack(struct world *world)
{
    const uint64_t before = world->python.memory.memory.reads;
    const enum err_code rc = stack_read(&world->stack, &world->codes);
    world->reads++;
    fuzz_check(world->python.memory.memory.reads - before < MAX_READS_A_TICK);
    for (size_t i = 0; !rc && i < world->stack.count; i++) {
        const struct walk_frame *const frame = &world->stack.frames[i];
        fuzz_check(frame->code < world->codes.codes.count);
        (void)code_place(&world->codes, frame->code, frame->instr);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    memset(&world, 0, sizeof world);
    begin(&world, data, size);
    while (world.input.at < world.input.end && world.reads < MAX_SCANS) {
        if (*world.input.at >= 192) {
            world.input.at++;
            read_stack(&world);
        } else {
            act(&world);
        }
    }
    read_stack(&world);
    end(&world);
    return 0;
}
