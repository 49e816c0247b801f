#include <string.h>

#include "sampler/cpython/tasks.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/fake_python.h"

/* Where the made-up tasks keep what they know, as an interpreter with lists would say. */
enum {
    WORD = 8,
    TASK_BYTES = 96,
    TASK_NAME = 16,
    TASK_AWAITED_BY = 24,
    TASK_IS_SET = 32,
    TASK_COROUTINE = 40,
    TASK_NODE = 48,
    INTERP_TASKS = 512,
    THREAD_RUNNING = 520,
    THREAD_TASKS = 536,
    OBJECT_BYTES = 512,
    STATE_BEFORE = 5,
};

/* gi_frame_state, of 3.14 and of 3.15. */
enum doing { SUSPENDED, AWAITING, EXECUTING, CLEARED, DOINGS };
static const int8_t frame_states[][DOINGS] = { { -2, -1, 0, 4 }, { 1, 2, 4, 5 } };

struct world {
    struct fake_python python;
    struct strtab strings;
    struct code_table codes;
    struct thread_list threads;
    struct thread thread, *items[1];
    struct tasks tasks;
    remote_addr coroutine_type, task_type, future_type;
    remote_addr head, last; /* of the list of tasks */
    unsigned minor;
};

static void begin(struct world *world, unsigned minor)
{
    memset(world, 0, sizeof *world);
    world->minor = minor;
    fake_python_init(&world->python, minor);
    struct memory *const memory = &world->python.memory.memory;
    assert_int_equal(strtab_init(&world->strings, NULL), ERR_OK);
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
    world->tasks.places = (struct task_places){ .is_found = true,
                                                .task_bytes = TASK_BYTES,
                                                .task_name = TASK_NAME,
                                                .task_awaited_by = TASK_AWAITED_BY,
                                                .task_awaited_by_is_set = TASK_IS_SET,
                                                .task_coroutine = TASK_COROUTINE,
                                                .task_node = TASK_NODE,
                                                .interp_tasks = INTERP_TASKS,
                                                .thread_running = THREAD_RUNNING,
                                                .thread_tasks = THREAD_TASKS };
}

static void end(struct world *world)
{
    tasks_deinit(&world->tasks);
    code_table_deinit(&world->codes);
    strtab_deinit(&world->strings);
    fake_python_deinit(&world->python);
}

static void put(struct world *world, remote_addr addr, uint64_t value)
{
    fake_memory_put_u64(&world->python.memory, addr, value);
}

static void set_state(struct world *world, remote_addr coroutine, enum doing doing)
{
    const struct layout *const layout = &world->python.runtime.layout;
    fake_memory_put_u8(&world->python.memory, coroutine + layout->gen_frame - STATE_BEFORE,
                       (uint8_t)frame_states[world->minor - 14][doing]);
}

/* A coroutine that awaits an object, or nothing. */
static remote_addr coroutine(struct world *world, const char *name, remote_addr awaited)
{
    const struct layout *const layout = &world->python.runtime.layout;
    const remote_addr addr = fake_alloc(&world->python, OBJECT_BYTES);
    const remote_addr frame = addr + layout->gen_frame;
    const remote_addr values = frame + layout->frame_bytes - WORD;
    const remote_addr code = fake_function(&world->python, name);
    put(world, addr + layout->object_type, world->coroutine_type);
    put(world, frame + layout->frame_executable, code);
    put(world, frame + layout->frame_instr, fake_instr(&world->python, code, 4));
    put(world, values + WORD, awaited);
    put(world, frame + layout->frame_stack, values + (world->minor >= 15 ? 3u : 2u) * WORD);
    set_state(world, addr, awaited ? AWAITING : SUSPENDED);
    return addr;
}

static remote_addr future(struct world *world)
{
    const remote_addr addr = fake_alloc(&world->python, 64);
    put(world, addr + world->python.runtime.layout.object_type, world->future_type);
    put(world, addr + 2 * WORD, addr);
    return addr;
}

static remote_addr task(struct world *world, const char *name, remote_addr runs)
{
    const remote_addr addr = fake_alloc(&world->python, 256);
    put(world, addr + world->python.runtime.layout.object_type, world->task_type);
    put(world, addr + TASK_NAME, name ? fake_str(&world->python, name) : 0);
    put(world, addr + TASK_COROUTINE, runs);
    put(world, world->last, addr + TASK_NODE);
    put(world, addr + TASK_NODE, world->head);
    world->last = addr + TASK_NODE;
    return addr;
}

static void look(struct world *world)
{
    assert_int_equal(tasks_look(&world->tasks, world->tasks.looked_ns + 1), ERR_OK);
}

static const struct task *named(const struct world *world, const char *name)
{
    for (size_t i = 0; i < world->tasks.count; i++)
        if (strcmp(strtab_get(&world->strings, world->tasks.items[i].name).text, name) == 0)
            return &world->tasks.items[i];
    fail_msg("no task %s", name);
    return NULL;
}

static void expect_frames(const struct world *world, const char *name, const char *expected)
{
    const struct task *const seen = named(world, name);
    char text[256] = "";
    for (uint32_t i = 0; i < seen->frame_count && strlen(text) < 200; i++) {
        const struct walk_frame *const frame = &world->tasks.frames[seen->first_frame + i];
        strcat(text, i ? ";" : "");
        strcat(text,
               strtab_get(&world->strings, code_at(&world->codes, frame->code)->name).text);
    }
    assert_string_equal(text, expected);
}

static void where_a_task_waits_is_followed_to_the_end(void **state)
{
    (void)state;
    for (unsigned minor = 14; minor <= 15; minor++) {
        struct world world;
        begin(&world, minor);
        const remote_addr ends = future(&world);
        const remote_addr inner = coroutine(&world, "inner", ends);
        const remote_addr outer = coroutine(&world, "outer", inner);
        task(&world, "reader", outer);
        task(&world, "writer", coroutine(&world, "write", 0));
        look(&world);
        assert_int_equal(world.tasks.count, 2);
        expect_frames(&world, "reader", "outer;inner");
        expect_frames(&world, "writer", "write");
        assert_int_equal(named(&world, "reader")->awaits, ends);
        assert_int_equal(named(&world, "reader")->ident, 7);
        assert_ptr_equal(tasks_thread(&world.tasks, named(&world, "reader")), &world.thread);
        const remote_addr frame = outer + world.python.runtime.layout.gen_frame;
        assert_ptr_equal(tasks_of_frame(&world.tasks, frame), named(&world, "reader"));
        assert_null(tasks_of_frame(&world.tasks, frame + WORD));
        end(&world);
    }
}

static void later_looks_predict_what_they_read(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14);
    for (int i = 0; i < 20; i++)
        task(&world, NULL, coroutine(&world, "f", future(&world)));
    look(&world);
    const uint64_t before = world.python.memory.memory.reads;
    look(&world);
    assert_int_equal(world.tasks.count, 20);
    /* All of it, all of it again, and the code objects. */
    assert_true(world.python.memory.memory.reads - before <= 6);
    end(&world);
}

static void a_task_that_runs_or_moves_has_no_frames(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14);
    const remote_addr runs = coroutine(&world, "runs", 0),
                      is_over = coroutine(&world, "over", 0);
    const remote_addr addr = task(&world, "running", runs);
    task(&world, "over", is_over);
    set_state(&world, runs, EXECUTING);
    set_state(&world, is_over, CLEARED);
    put(&world, world.thread.head.addr + THREAD_RUNNING, addr);
    look(&world);
    assert_true(named(&world, "running")->is_running);
    assert_false(named(&world, "running")->is_moving);
    expect_frames(&world, "running", "");
    assert_true(named(&world, "over")->is_moving);
    expect_frames(&world, "over", "");
    end(&world);
}

/* Changes what a coroutine awaits between the first reading and the last. */
struct change {
    struct world *world;
    remote_addr coroutine;
    uint64_t at;
};

static void advance(struct fake_memory *fake, const struct fake_moment *moment, void *context)
{
    const struct change *const change = context;
    const struct layout *const layout = &change->world->python.runtime.layout;
    const remote_addr instr = change->coroutine + layout->gen_frame + layout->frame_instr;
    if (moment->read == change->at)
        fake_memory_put_u64(fake, instr, fake_memory_u64(fake, instr) + 2);
}

static void one_that_moves_while_it_is_read_says_so(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14);
    const remote_addr moves = coroutine(&world, "f", future(&world));
    task(&world, "moves", moves);
    task(&world, "stays", coroutine(&world, "g", future(&world)));
    look(&world);
    expect_frames(&world, "moves", "f");
    const uint64_t since_ns = named(&world, "stays")->since_ns;
    struct change change = { &world, moves, world.python.memory.memory.reads + 1 };
    world.python.memory.hook = advance;
    world.python.memory.context = &change;
    look(&world);
    assert_true(named(&world, "moves")->is_moving);
    expect_frames(&world, "moves", "");
    expect_frames(&world, "stays", "g");
    assert_int_equal(named(&world, "stays")->since_ns, since_ns);
    end(&world);
}

static void names_that_nobody_gave_are_numbers(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14);
    task(&world, "Task-12", coroutine(&world, "f", 0));
    task(&world, "Task-x", coroutine(&world, "f", 0));
    task(&world, "Task-1234567890123456789", coroutine(&world, "f", 0));
    task(&world, "Task-", coroutine(&world, "f", 0));
    look(&world);
    assert_int_equal(world.tasks.items[0].name, 0);
    assert_int_equal(world.tasks.items[0].number, 12);
    (void)named(&world, "Task-x");
    (void)named(&world, "Task-1234567890123456789");
    (void)named(&world, "Task-");
    end(&world);
}

static void who_awaits_whom_is_known_one_by_one_and_in_sets(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14);
    const remote_addr child = task(&world, "child", coroutine(&world, "f", 0));
    const remote_addr both = task(&world, "both", coroutine(&world, "f", 0));
    const remote_addr one = task(&world, "one", coroutine(&world, "f", 0));
    const remote_addr two = task(&world, "two", coroutine(&world, "f", 0));
    const remote_addr set = fake_alloc(&world.python, 64);
    const remote_addr table = fake_alloc(&world.python, 4 * 2 * WORD);
    put(&world, child + TASK_AWAITED_BY, one);
    put(&world, both + TASK_AWAITED_BY, set);
    fake_memory_put_u8(&world.python.memory, both + TASK_IS_SET, 1);
    put(&world, set + 2 * WORD + 2 * WORD, 3);
    put(&world, set + 2 * WORD + 3 * WORD, table);
    put(&world, table, one);
    put(&world, table + 2 * WORD, 1234); /* of one that was removed */
    put(&world, table + 3 * WORD, UINT64_MAX);
    put(&world, table + 6 * WORD, two);
    look(&world);
    const struct task *const task_both = named(&world, "both");
    assert_int_equal(named(&world, "child")->awaiter_count, 1);
    assert_int_equal(task_both->awaiter_count, 2);
    assert_true(named(&world, "one")->is_awaiter);
    assert_false(task_both->is_awaiter);
    assert_ptr_equal(&world.tasks.items[world.tasks.awaiters[task_both->first_awaiter + 1]],
                     named(&world, "two"));
    end(&world);
}

static void circles_and_lies_end(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14);
    const remote_addr own = coroutine(&world, "f", 1);
    const struct layout *const layout = &world.python.runtime.layout;
    const remote_addr values = own + layout->gen_frame + layout->frame_bytes - WORD;
    put(&world, values + WORD, own); /* awaits itself */
    const remote_addr addr = task(&world, "circle", own);
    put(&world, addr + TASK_AWAITED_BY, addr);
    const remote_addr lies = coroutine(&world, "g", 1);
    put(&world, lies + layout->gen_frame + layout->frame_stack, 8);
    task(&world, "lies", lies);
    task(&world, "nowhere", 0xdead0000);
    const remote_addr last = task(&world, "again", coroutine(&world, "h", 0));
    put(&world, last + TASK_AWAITED_BY, 0xdead0000);
    fake_memory_put_u8(&world.python.memory, last + TASK_IS_SET, 1);
    put(&world, last + TASK_NODE, addr + TASK_NODE); /* the list bites its tail */
    look(&world);
    assert_int_equal(world.tasks.count, 4);
    assert_int_equal(named(&world, "circle")->frame_count, COROUTINE_MAX_FRAMES);
    assert_int_equal(named(&world, "circle")->awaiter_count, 0);
    assert_true(named(&world, "nowhere")->is_moving);
    expect_frames(&world, "lies", "g");
    put(&world, world.head, 0xdead0000);
    look(&world);
    assert_int_equal(world.tasks.count, 0);
    end(&world);
}

static void more_than_there_may_be_are_cut_off(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14);
    const remote_addr runs = coroutine(&world, "f", 0);
    for (int i = 0; i < TASKS_MAX + 1; i++)
        task(&world, NULL, runs);
    look(&world);
    assert_int_equal(world.tasks.count, TASKS_MAX);
    assert_true(world.tasks.is_cut);
    end(&world);
}

static void a_place_that_is_gone_takes_no_other_with_it(void **state)
{
    struct world world;
    struct revisit revisit;
    const unsigned char *copy;
    (void)state;
    begin(&world, 14);
    revisit_init(&revisit, &world.python.memory.memory);
    const remote_addr first = fake_alloc(&world.python, 64),
                      second = fake_alloc(&world.python, 64),
                      third = fake_alloc(&world.python, 64);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(revisit_begin(&revisit), ERR_OK);
        assert_int_equal(revisit_get(&revisit, first, 64, &copy), ERR_OK);
        assert_int_equal(revisit_get(&revisit, second, 64, &copy), i ? ERR_FAULT : ERR_OK);
        assert_int_equal(revisit_get(&revisit, third, 64, &copy), ERR_OK);
        assert_int_equal(revisit_again(&revisit), ERR_OK);
        assert_true(revisit_is_same(&revisit, first, 0, 64));
        assert_int_equal(revisit_is_same(&revisit, second, 0, 64), !i);
        assert_true(revisit_is_same(&revisit, third, 0, 64));
        if (!i)
            fake_memory_unmap(&world.python.memory, second);
    }
    assert_int_equal(revisit_get(&revisit, first, REVISIT_MAX_BYTES + 1, &copy), ERR_CORRUPT);
    revisit_deinit(&revisit);
    end(&world);
}

TEST_MAIN(cmocka_unit_test(where_a_task_waits_is_followed_to_the_end),
          cmocka_unit_test(later_looks_predict_what_they_read),
          cmocka_unit_test(a_task_that_runs_or_moves_has_no_frames),
          cmocka_unit_test(one_that_moves_while_it_is_read_says_so),
          cmocka_unit_test(names_that_nobody_gave_are_numbers),
          cmocka_unit_test(who_awaits_whom_is_known_one_by_one_and_in_sets),
          cmocka_unit_test(circles_and_lies_end),
          cmocka_unit_test(more_than_there_may_be_are_cut_off),
          cmocka_unit_test(a_place_that_is_gone_takes_no_other_with_it))
