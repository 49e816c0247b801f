#include <string.h>

#include "tests/support/test.h"
#include "tests/unit/cpython/made/task_world.h"

static void read_once(struct task_world *world)
{
    assert_int_equal(tasks_read(&world->tasks, world->tasks.table.read_ns + 1), ERR_OK);
}

static const struct task *named(const struct task_world *world, const char *name)
{
    for (size_t i = 0; i < world->tasks.table.count; i++)
        if (strcmp(strtab_get(&world->strings, world->tasks.table.items[i].name).text, name) ==
            0)
            return &world->tasks.table.items[i];
    fail_msg("no task %s", name);
    return NULL;
}

static void expect_frames(const struct task_world *world, const char *name,
                          const char *expected)
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
        struct task_world world;
        task_world_begin(&world, minor);
        const remote_addr ends = task_world_future(&world);
        const remote_addr inner = task_world_coroutine(&world, "inner", ends);
        const remote_addr outer = task_world_coroutine(&world, "outer", inner);
        task_world_task(&world, "reader", outer);
        task_world_task(&world, "writer", task_world_coroutine(&world, "write", 0));
        read_once(&world);
        assert_int_equal(world.tasks.table.count, 2);
        expect_frames(&world, "reader", "outer;inner");
        expect_frames(&world, "writer", "write");
        assert_int_equal(named(&world, "reader")->awaits, ends);
        assert_int_equal(named(&world, "reader")->ident, 7);
        assert_ptr_equal(tasks_thread(&world.tasks, named(&world, "reader")), &world.thread);
        const remote_addr frame = outer + world.python.runtime.layout.gen_frame;
        assert_ptr_equal(tasks_of_frame(&world.tasks, frame), named(&world, "reader"));
        assert_null(tasks_of_frame(&world.tasks, frame + TASK_WORLD_WORD));
        task_world_end(&world);
    }
}

static void later_readings_are_predicted(void **state)
{
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    for (int i = 0; i < 20; i++)
        task_world_task(&world, NULL,
                        task_world_coroutine(&world, "f", task_world_future(&world)));
    read_once(&world);
    const uint64_t before = world.python.memory.memory.reads;
    read_once(&world);
    assert_int_equal(world.tasks.table.count, 20);
    /* All of it, all of it again, and the code objects. */
    assert_true(world.python.memory.memory.reads - before <= 6);
    task_world_end(&world);
}

static void a_task_that_runs_or_moves_has_no_frames(void **state)
{
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    const remote_addr runs = task_world_coroutine(&world, "runs", 0),
                      is_over = task_world_coroutine(&world, "over", 0);
    const remote_addr addr = task_world_task(&world, "running", runs);
    task_world_task(&world, "over", is_over);
    task_world_set(&world, runs, TASK_EXECUTING);
    task_world_set(&world, is_over, TASK_CLEARED);
    task_world_put(&world, world.thread.head.addr + TASK_WORLD_RUNNING, addr);
    read_once(&world);
    assert_true(named(&world, "running")->is_running);
    assert_false(named(&world, "running")->is_moving);
    expect_frames(&world, "running", "");
    assert_true(named(&world, "over")->is_moving);
    expect_frames(&world, "over", "");
    task_world_end(&world);
}

/* Changes what a coroutine awaits between the first reading and the last. */
struct change {
    struct task_world *world;
    remote_addr coroutine;
    uint64_t at;
};

static void advance(struct fake_memory *fake, const struct fake_read_at *moment, void *context)
{
    const struct change *const change = context;
    const struct layout *const layout = &change->world->python.runtime.layout;
    const remote_addr instr = change->coroutine + layout->gen_frame + layout->frame_instr;
    if (moment->read == change->at)
        fake_memory_put_u64(fake, instr, fake_memory_u64(fake, instr) + 2);
}

static void one_that_moves_while_it_is_read_says_so(void **state)
{
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    const remote_addr moves = task_world_coroutine(&world, "f", task_world_future(&world));
    task_world_task(&world, "moves", moves);
    task_world_task(&world, "stays",
                    task_world_coroutine(&world, "g", task_world_future(&world)));
    read_once(&world);
    expect_frames(&world, "moves", "f");
    const uint64_t since_ns = named(&world, "stays")->since_ns;
    struct change change = { &world, moves, world.python.memory.memory.reads + 1 };
    world.python.memory.hook = advance;
    world.python.memory.context = &change;
    read_once(&world);
    assert_true(named(&world, "moves")->is_moving);
    expect_frames(&world, "moves", "");
    expect_frames(&world, "stays", "g");
    assert_int_equal(named(&world, "stays")->since_ns, since_ns);
    task_world_end(&world);
}

static void default_names_are_numbers(void **state)
{
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    task_world_task(&world, "Task-12", task_world_coroutine(&world, "f", 0));
    task_world_task(&world, "Task-x", task_world_coroutine(&world, "f", 0));
    task_world_task(&world, "Task-1234567890123456789", task_world_coroutine(&world, "f", 0));
    task_world_task(&world, "Task-", task_world_coroutine(&world, "f", 0));
    read_once(&world);
    assert_int_equal(world.tasks.table.items[0].name, 0);
    assert_int_equal(world.tasks.table.items[0].number, 12);
    (void)named(&world, "Task-x");
    (void)named(&world, "Task-1234567890123456789");
    (void)named(&world, "Task-");
    task_world_end(&world);
}

/* A task may have the memory of one before it, its coroutine and its name included. */
static void names_that_are_read_again_tell_tasks_apart(void **state)
{
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    task_world_task(&world, "Task-12", task_world_coroutine(&world, "f", 0));
    for (unsigned checks = 0; checks < 2; checks++) {
        world.tasks.table.checks_names = checks;
        read_once(&world);
        const uint64_t seen_ns = world.tasks.table.items[0].seen_ns;
        read_once(&world);
        assert_int_equal(world.tasks.table.items[0].seen_ns, seen_ns);
        fake_memory_put(&world.python.memory,
                        world.tasks.table.items[0].name_object +
                            world.tasks.layout->unicode_ascii_bytes,
                        checks ? "Task-34" : "Task-23", 7);
        read_once(&world);
        assert_int_equal(world.tasks.table.items[0].number, checks ? 34 : 12);
        assert_true((world.tasks.table.items[0].seen_ns != seen_ns) == (checks != 0));
        fake_memory_put(&world.python.memory,
                        world.tasks.table.items[0].name_object +
                            world.tasks.layout->unicode_ascii_bytes,
                        "Task-12", 7);
    }
    task_world_end(&world);
}

static void awaiters_are_known_one_by_one_and_in_sets(void **state)
{
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    const remote_addr child =
        task_world_task(&world, "child", task_world_coroutine(&world, "f", 0));
    const remote_addr both =
        task_world_task(&world, "both", task_world_coroutine(&world, "f", 0));
    const remote_addr one =
        task_world_task(&world, "one", task_world_coroutine(&world, "f", 0));
    const remote_addr two =
        task_world_task(&world, "two", task_world_coroutine(&world, "f", 0));
    const remote_addr set = fake_alloc(&world.python, 64);
    const remote_addr table = fake_alloc(&world.python, 4 * 2 * TASK_WORLD_WORD);
    task_world_put(&world, child + TASK_WORLD_AWAITED_BY, one);
    task_world_put(&world, both + TASK_WORLD_AWAITED_BY, set);
    fake_memory_put_u8(&world.python.memory, both + TASK_WORLD_IS_SET, 1);
    task_world_put(&world, set + 2 * TASK_WORLD_WORD + 2 * TASK_WORLD_WORD, 3);
    task_world_put(&world, set + 2 * TASK_WORLD_WORD + 3 * TASK_WORLD_WORD, table);
    task_world_put(&world, table, one);
    task_world_put(&world, table + 2 * TASK_WORLD_WORD, 1234); /* of one that was removed */
    task_world_put(&world, table + 3 * TASK_WORLD_WORD, UINT64_MAX);
    task_world_put(&world, table + 6 * TASK_WORLD_WORD, two);
    read_once(&world);
    const struct task *const task_both = named(&world, "both");
    assert_int_equal(named(&world, "child")->awaiter_count, 1);
    assert_int_equal(task_both->awaiter_count, 2);
    assert_true(named(&world, "one")->is_awaiter);
    assert_false(task_both->is_awaiter);
    assert_ptr_equal(
        &world.tasks.table.items[world.tasks.table.awaiters[task_both->first_awaiter + 1]],
        named(&world, "two"));
    task_world_end(&world);
}

static void circles_and_lies_end(void **state)
{
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    const remote_addr own = task_world_coroutine(&world, "f", 1);
    const struct layout *const layout = &world.python.runtime.layout;
    const remote_addr values = own + layout->gen_frame + layout->frame_bytes - TASK_WORLD_WORD;
    task_world_put(&world, values + TASK_WORLD_WORD, own); /* awaits itself */
    const remote_addr addr = task_world_task(&world, "circle", own);
    task_world_put(&world, addr + TASK_WORLD_AWAITED_BY, addr);
    const remote_addr lies = task_world_coroutine(&world, "g", 1);
    task_world_put(&world, lies + layout->gen_frame + layout->frame_stack, 8);
    task_world_task(&world, "lies", lies);
    task_world_task(&world, "nowhere", 0xdead0000);
    const remote_addr last =
        task_world_task(&world, "again", task_world_coroutine(&world, "h", 0));
    task_world_put(&world, last + TASK_WORLD_AWAITED_BY, 0xdead0000);
    fake_memory_put_u8(&world.python.memory, last + TASK_WORLD_IS_SET, 1);
    task_world_put(&world, last + TASK_WORLD_NODE,
                   addr + TASK_WORLD_NODE); /* the list bites its tail */
    read_once(&world);
    assert_int_equal(world.tasks.table.count, 4);
    assert_int_equal(named(&world, "circle")->frame_count, COROUTINE_MAX_FRAMES);
    assert_true(named(&world, "circle")->is_truncated);
    assert_false(named(&world, "lies")->is_truncated);
    assert_int_equal(named(&world, "circle")->awaiter_count, 0);
    assert_true(named(&world, "nowhere")->is_moving);
    expect_frames(&world, "lies", "g");
    task_world_put(&world, world.head, 0xdead0000);
    read_once(&world);
    assert_int_equal(world.tasks.table.count, 0);
    task_world_end(&world);
}

/* Many tasks in one block; the list ends with them. */
static void add_many(struct task_world *world, size_t count)
{
    const remote_addr block = fake_alloc(&world->python, count * TASK_WORLD_BYTES);
    const remote_addr runs = task_world_coroutine(world, "f", 0);
    for (size_t i = 0; i < count; i++) {
        const remote_addr addr = block + i * TASK_WORLD_BYTES;
        task_world_put(world, addr + world->python.runtime.layout.object_type,
                       world->task_type);
        task_world_put(world, addr + TASK_WORLD_COROUTINE, runs);
        task_world_put(world, world->last, addr + TASK_WORLD_NODE);
        world->last = addr + TASK_WORLD_NODE;
    }
    task_world_put(world, world->last, world->head);
}

/* The table keeps a part of them, nearly the same each time, that stands for all. */
static void however_many_there_are_a_part_stands_for_all(void **state)
{
    enum { MANY = 3 * TASKS_MAX, MOST_CALLS = MANY / 16 };
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    add_many(&world, MANY);
    for (int turn = 0; turn < 3; turn++) {
        struct task_table *const table = &world.tasks.table;
        const uint64_t before = world.python.memory.memory.reads;
        read_once(&world);
        assert_false(table->is_cut);
        assert_int_equal(table->found, MANY);
        assert_in_range(table->count, TASKS_MAX / 5, TASKS_MAX / 2);
        assert_in_range(world.tasks.wanted, MANY - 1, MANY);
        /* Once the nodes of the list are known, their links are read in few calls. */
        if (turn == 2)
            assert_true(world.python.memory.memory.reads - before < MOST_CALLS);
        size_t known = 0;
        for (size_t i = 0; i < table->count; i++)
            known += task_table_find_previous(table, table->items[i].addr) != NULL;
        assert_int_equal(known, turn ? table->count : 0);
    }
    task_world_end(&world);
}

static void of_many_tasks_a_part_is_read_and_stands_for_all(void **state)
{
    enum { MANY = 2 * TASKS_MAX_READ + 5 };
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    const remote_addr awaiter =
        task_world_task(&world, "awaiter", task_world_coroutine(&world, "g", 0));
    const remote_addr awaited =
        task_world_task(&world, NULL, task_world_coroutine(&world, "f", 0));
    task_world_put(&world, awaited + TASK_WORLD_AWAITED_BY, awaiter);
    add_many(&world, MANY);
    for (int turn = 0; turn < 2; turn++) {
        uint64_t read = 0, times = 0;
        read_once(&world);
        assert_int_equal(world.tasks.table.count, MANY + 2);
        assert_false(world.tasks.table.is_cut);
        for (size_t i = 0; i < world.tasks.table.count; i++) {
            const struct task *const task = &world.tasks.table.items[i];
            assert_int_equal(task->is_read, task->times > 0);
            assert_false(task->is_moving);
            read += task->is_read;
            times += task->times;
        }
        assert_true(read <= TASKS_MAX_READ);
        assert_int_equal(times, MANY + 2);
        assert_int_equal(world.tasks.covered, world.tasks.wanted);
        /* Its frames belong to the stack of another task. */
        assert_true(named(&world, "awaiter")->is_read);
    }
    task_world_end(&world);
}

/* Each task awaits the one at `awaits` of its place. */
static void add_awaiting(struct task_world *world, const char *const *names,
                         const size_t *awaits, size_t count)
{
    remote_addr addrs[16];
    for (size_t i = 0; i < count; i++)
        addrs[i] = task_world_task(world, names[i], task_world_coroutine(world, "f", 0));
    for (size_t i = 0; i < count; i++)
        if (awaits[i] != i)
            task_world_put(world, addrs[awaits[i]] + TASK_WORLD_AWAITED_BY, addrs[i]);
}

static void who_awaits_only_its_own_awaiters_is_in_a_circle(void **state)
{
    static const char *const names[] = { "a", "b", "c", "leaf", "outer", "outermost" };
    static const size_t awaits[] = { 1, 2, 0, 3, 3, 4 };
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    add_awaiting(&world, names, awaits, 6);
    read_once(&world);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(named(&world, names[i])->is_in_circle, i < 3);
        assert_int_equal(named(&world, names[i])->is_awaiter, i != 3);
    }
    task_world_end(&world);
}

static void a_circle_that_awaits_another_task_is_part_of_its_stack(void **state)
{
    struct task_world world;
    (void)state;
    task_world_begin(&world, 14);
    const remote_addr a = task_world_task(&world, "a", task_world_coroutine(&world, "f", 0)),
                      b = task_world_task(&world, "b", task_world_coroutine(&world, "f", 0)),
                      leaf =
                          task_world_task(&world, "leaf", task_world_coroutine(&world, "f", 0));
    task_world_put(&world, a + TASK_WORLD_AWAITED_BY, b);
    task_world_put(&world, b + TASK_WORLD_AWAITED_BY, a);
    task_world_put(&world, leaf + TASK_WORLD_AWAITED_BY, a);
    read_once(&world);
    assert_false(named(&world, "a")->is_in_circle || named(&world, "b")->is_in_circle);
    assert_true(named(&world, "a")->is_awaiter && named(&world, "b")->is_awaiter);
    assert_false(named(&world, "leaf")->is_awaiter);
    task_world_end(&world);
}

static void a_copy_stays_when_more_of_its_place_is_read(void **state)
{
    struct task_world world;
    struct predicted_reads reads;
    const unsigned char *few, *more;
    (void)state;
    task_world_begin(&world, 14);
    predicted_reads_init(&reads, &world.python.memory.memory);
    const remote_addr addr = fake_alloc(&world.python, 64);
    task_world_put(&world, addr, 1);
    task_world_put(&world, addr + 56, 2);
    assert_int_equal(predicted_reads_begin(&reads), ERR_OK);
    assert_int_equal(predicted_reads_get(&reads, addr, 8, &few), ERR_OK);
    assert_int_equal(predicted_reads_get(&reads, addr, 64, &more), ERR_OK);
    assert_int_equal(field_u64(few, 0), 1);
    assert_int_equal(field_u64(more, 56), 2);
    assert_int_equal(predicted_reads_again(&reads), ERR_OK);
    assert_true(predicted_reads_is_same(&reads, addr, 0, 64));
    assert_int_equal(predicted_reads_begin(&reads), ERR_OK);
    const uint64_t before = world.python.memory.memory.reads;
    assert_int_equal(predicted_reads_get(&reads, addr, 64, &more), ERR_OK);
    assert_int_equal(world.python.memory.memory.reads, before);
    predicted_reads_deinit(&reads);
    task_world_end(&world);
}

static void a_place_that_is_gone_takes_no_other_with_it(void **state)
{
    struct task_world world;
    struct predicted_reads reads;
    const unsigned char *copy;
    (void)state;
    task_world_begin(&world, 14);
    predicted_reads_init(&reads, &world.python.memory.memory);
    const remote_addr first = fake_alloc(&world.python, 64),
                      second = fake_alloc(&world.python, 64),
                      third = fake_alloc(&world.python, 64);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(predicted_reads_begin(&reads), ERR_OK);
        assert_int_equal(predicted_reads_get(&reads, first, 64, &copy), ERR_OK);
        assert_int_equal(predicted_reads_get(&reads, second, 64, &copy),
                         i ? ERR_FAULT : ERR_OK);
        assert_int_equal(predicted_reads_get(&reads, third, 64, &copy), ERR_OK);
        assert_int_equal(predicted_reads_again(&reads), ERR_OK);
        assert_true(predicted_reads_is_same(&reads, first, 0, 64));
        assert_int_equal(predicted_reads_is_same(&reads, second, 0, 64), !i);
        assert_true(predicted_reads_is_same(&reads, third, 0, 64));
        if (!i)
            fake_memory_unmap(&world.python.memory, second);
    }
    assert_int_equal(predicted_reads_get(&reads, first, PREDICTED_READS_MAX_BYTES + 1, &copy),
                     ERR_CORRUPT);
    predicted_reads_deinit(&reads);
    task_world_end(&world);
}

TEST_GROUP(cmocka_unit_test(where_a_task_waits_is_followed_to_the_end),
           cmocka_unit_test(later_readings_are_predicted),
           cmocka_unit_test(a_task_that_runs_or_moves_has_no_frames),
           cmocka_unit_test(one_that_moves_while_it_is_read_says_so),
           cmocka_unit_test(default_names_are_numbers),
           cmocka_unit_test(names_that_are_read_again_tell_tasks_apart),
           cmocka_unit_test(awaiters_are_known_one_by_one_and_in_sets),
           cmocka_unit_test(circles_and_lies_end),
           cmocka_unit_test(however_many_there_are_a_part_stands_for_all),
           cmocka_unit_test(of_many_tasks_a_part_is_read_and_stands_for_all),
           cmocka_unit_test(who_awaits_only_its_own_awaiters_is_in_a_circle),
           cmocka_unit_test(a_circle_that_awaits_another_task_is_part_of_its_stack),
           cmocka_unit_test(a_copy_stays_when_more_of_its_place_is_read),
           cmocka_unit_test(a_place_that_is_gone_takes_no_other_with_it))
