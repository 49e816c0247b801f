#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/session/fold/fold.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/fold/task_fold.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/stack_world.h"

enum { MAX_TASKS = TASK_FOLD_MAX_AWAITERS + 40 };

/* Tasks without an interpreter, each of one function. */
struct world {
    struct stack_world *made;
    struct leaves leaves;
    struct profile *profile;
    struct thread_cpus cpus;
    struct fold of_threads;
    struct thread_list threads;
    struct tasks tasks;
    struct task_fold fold;
    struct task items[MAX_TASKS];
    struct walk_frame frames[MAX_TASKS];
    uint32_t awaiters[MAX_TASKS];
};

static void begin(struct world *world, bool counts_waiting)
{
    static const struct session_options options = { .rate_hz = 1000 };
    struct err err = { 0 };
    memset(world, 0, sizeof *world);
    world->made = stack_world_create(14);
    world->profile = made_profile();
    struct stack_world *const made = world->made;
    struct memory *const memory = &made->python.memory.memory;
    struct strtab *const strings = profile_strings(world->profile);
    made->codes.strings = strings;
    leaves_init(&world->leaves, memory, &made->python.runtime.layout, &made->codes, strings);
    thread_cpus_init(&world->cpus, world->profile);
    assert_ok(fold_init(&world->of_threads, world->profile, &world->leaves, &world->cpus,
                        &options, 1, "made", &err),
              &err);
    tasks_init(&world->tasks, 1, memory, &made->python.runtime, &world->threads, &made->codes,
               strings);
    world->tasks.table.items = world->items;
    world->tasks.frames = world->frames;
    world->tasks.table.awaiters = world->awaiters;
    assert_ok(task_fold_init(&world->fold, &world->of_threads.nodes, &world->cpus,
                             &world->tasks, counts_waiting, &err),
              &err);
    world->of_threads.tasks = &world->fold;
}

static void end(struct world *world)
{
    world->tasks.table.items = NULL;
    world->tasks.frames = NULL;
    world->tasks.table.awaiters = NULL;
    tasks_deinit(&world->tasks);
    task_fold_deinit(&world->fold);
    thread_cpus_deinit(&world->cpus);
    leaves_deinit(&world->leaves);
    profile_destroy(world->profile);
    stack_world_destroy(world->made);
}

/* NULL: it has no name.  Its frame lies at the address of the function. */
static struct task *add(struct world *world, const char *name, const char *function)
{
    const size_t at = world->tasks.table.count++;
    struct task *const task = &world->items[at];
    const remote_addr code = fake_function(&world->made->python, function);
    *task = (struct task){ .addr = at + 1,
                           .frame = code,
                           .first_frame = (uint32_t)at,
                           .is_read = true,
                           .times = 1,
                           .frame_count = 1,
                           .first_awaiter = (uint32_t)at };
    if (name)
        assert_int_equal(strtab_intern(profile_strings(world->profile), name, strlen(name),
                                       &task->name, NULL),
                         ERR_OK);
    world->frames[at] = (struct walk_frame){ .addr = code, .is_off_chunk = true };
    world->frames[at].instr = fake_instr(&world->made->python, code, 4);
    assert_int_equal(code_load(&world->made->codes, code, 0, &world->frames[at].code), ERR_OK);
    assert_int_equal(idmap_add(&world->tasks.by_frame, hash_mix(code, 0), (uint32_t)at, NULL),
                     ERR_OK);
    return task;
}

static void await(struct world *world, struct task *awaiter, struct task *task)
{
    task->awaiter_count = 1;
    world->awaiters[task->first_awaiter] = (uint32_t)(awaiter - world->items);
    awaiter->is_awaiter = true;
}

static void expect_node(struct world *world, node_id node, const char *expected)
{
    struct err err = { 0 };
    char text[512] = "";
    assert_ok(profile_seal(world->profile, 1, &err), &err);
    struct profile_snapshot snapshot = made_snapshot(world->profile);
    for (; node; node = profile_node_at(&snapshot, node).parent) {
        char longer[sizeof text];
        const struct profile_frame frame =
            profile_frame_at(&snapshot, profile_node_at(&snapshot, node).frame);
        const struct strtab_string name =
            profile_string(&snapshot, profile_function_at(&snapshot, frame.function).name);
        snprintf(longer, sizeof longer, "%.60s%s%.400s", name.text, *text ? ";" : "", text);
        memcpy(text, longer, sizeof text);
    }
    assert_string_equal(text, expected);
    profile_snapshot_release(&snapshot);
}

static node_id node_of(struct world *world, const struct task *task)
{
    node_id node;
    assert_int_equal(task_fold_node(&world->fold, task, &node), ERR_OK);
    return node;
}

static void tasks_were_read(struct world *world, uint64_t now_ns)
{
    world->tasks.table.read_ns = now_ns;
    assert_int_equal(task_fold_count(&world->fold), ERR_OK);
}

/* As if a thread had only the frame of this task; NULL: no frame. */
static void see_stack(struct world *world, const struct task *task)
{
    struct walk_frame frame = { .addr = task ? task->frame : 0, .is_off_chunk = true };
    struct stack stack = { .frames = &frame, .count = task ? 1 : 0 };
    size_t first;
    node_id node;
    frame.code = task ? world->frames[task->first_frame].code : 0;
    assert_int_equal(task_fold_begin(&world->fold, &stack, &first, &node), ERR_OK);
}

/* Between reading the tasks and sampling the threads another task has started to run. */
static void what_stacks_tell_otherwise_moves(void **state)
{
    enum { IDENT = 77, NOW_NS = 5 };
    struct sampled_thread sampled = { .reading.now_ns = NOW_NS };
    struct thread thread = { .head = { .ident = IDENT }, .kept = &sampled };
    struct thread *threads[] = { &thread };
    (void)state;
    for (unsigned ran = 0; ran < 3; ran++)
        for (unsigned seen = 0; seen < 3; seen++) {
            struct world world;
            begin(&world, false);
            world.threads.items = threads;
            world.threads.count = 1;
            struct task *const tasks[] = { add(&world, "a", "f"), add(&world, "b", "g"), NULL };
            tasks[0]->ident = tasks[1]->ident = IDENT;
            if (tasks[ran])
                tasks[ran]->is_running = true;
            tasks_were_read(&world, NOW_NS);
            see_stack(&world, tasks[seen]);
            task_fold_settle(&world.fold, NOW_NS);
            for (unsigned i = 0; i < 2; i++) {
                const bool differs = ran != seen && (i == ran || i == seen);
                assert_int_equal(tasks[i]->is_moving, differs);
                assert_int_equal(tasks[i]->is_running, i == ran && !differs);
                assert_int_equal(tasks[i]->frame_count, differs ? 0 : 1);
            }
            world.threads.items = NULL;
            world.threads.count = 0;
            end(&world);
        }
}

/* A thread that was not sampled may run the task. */
static void a_task_without_a_sampled_thread_stays(void **state)
{
    enum { IDENT = 77, NOW_NS = 5 };
    struct sampled_thread sampled = { .reading.now_ns = NOW_NS - 1 };
    struct thread thread = { .head = { .ident = IDENT }, .kept = &sampled };
    struct thread *threads[] = { &thread };
    struct world world;
    (void)state;
    begin(&world, false);
    world.threads.items = threads;
    world.threads.count = 1;
    struct task *const task = add(&world, "a", "f");
    task->ident = IDENT;
    task->is_running = true;
    tasks_were_read(&world, NOW_NS);
    task_fold_settle(&world.fold, NOW_NS);
    assert_true(task->is_running && !task->is_moving);
    /* Later ticks are not of the time of this reading of the tasks. */
    sampled.reading.now_ns = NOW_NS + 1;
    task_fold_settle(&world.fold, NOW_NS + 1);
    assert_true(task->is_running && !task->is_moving);
    world.threads.items = NULL;
    world.threads.count = 0;
    end(&world);
}

static void who_awaits_a_task_stands_below_it(void **state)
{
    struct world world;
    (void)state;
    begin(&world, false);
    struct task *const outer = add(&world, "outer", "f"), *const inner = add(&world, NULL, "g");
    await(&world, outer, inner);
    tasks_were_read(&world, 1);
    expect_node(&world, node_of(&world, inner), "<task outer>;f;<task>;g");
    expect_node(&world, node_of(&world, outer), "<task outer>;f");
    end(&world);
}

static void circles_of_awaiters_end(void **state)
{
    struct world world;
    (void)state;
    begin(&world, false);
    struct task *const one = add(&world, "one", "f"), *const two = add(&world, "two", "g");
    await(&world, one, two);
    await(&world, two, one);
    tasks_were_read(&world, 1);
    expect_node(&world, node_of(&world, one), "<task two>;g;<task one>;f");
    end(&world);
}

/* The farthest are left out. */
static void a_long_way_of_awaiters_ends(void **state)
{
    struct world world;
    (void)state;
    begin(&world, false);
    struct task *task = add(&world, NULL, "f");
    for (int i = 1; i < MAX_TASKS; i++) {
        struct task *const awaiter = add(&world, NULL, "f");
        await(&world, awaiter, task);
        task = awaiter;
    }
    tasks_were_read(&world, 1);
    assert_true(node_of(&world, &world.items[0]) > 0);
    assert_int_equal(profile_quality(world.profile)->awaiters_cut, 1);
    assert_int_equal(world.fold.bases[0].depth, TASK_FOLD_MAX_AWAITERS);
    end(&world);
}

static void tasks_that_wait_for_each_other_count_each(void **state)
{
    struct world world;
    (void)state;
    begin(&world, true);
    struct task *const one = add(&world, "one", "f"), *const two = add(&world, "two", "g"),
                       *const outer = add(&world, "outer", "h");
    await(&world, one, two);
    await(&world, two, one);
    outer->is_awaiter = true;
    one->is_in_circle = two->is_in_circle = true;
    assert_true(task_fold_is_due(&world.fold, 1, 1));
    tasks_were_read(&world, 1);
    assert_int_equal(profile_quality(world.profile)->samples, 2);
    end(&world);
}

static void tasks_that_were_read_count_for_the_others(void **state)
{
    struct world world;
    (void)state;
    begin(&world, true);
    for (int i = 0; i < 10; i++) {
        struct task *const task = add(&world, NULL, "f");
        task->is_read = i % 5 == 0;
        task->times = i == 0 ? 5 : i == 5 ? 2 : 0;
    }
    world.tasks.wanted = 10;
    world.tasks.covered = 7;
    for (uint64_t tick = 1; tick <= 3; tick++)
        (void)!task_fold_is_due(&world.fold, 1, tick);
    tasks_were_read(&world, 3);
    const struct quality *const quality = profile_quality(world.profile);
    assert_int_equal(quality->samples, 30);
    assert_int_equal(quality->extrapolated, 28);
    assert_int_equal(quality->tasks_unread, 8);
    end(&world);
}

static void a_task_without_room_for_its_frames_is_truncated(void **state)
{
    struct world world;
    (void)state;
    begin(&world, true);
    struct task *const cut = add(&world, "cut", "f"), *const unread =
                                                          add(&world, "unread", "g");
    cut->is_truncated = true;
    unread->is_read = false;
    unread->frame_count = 0;
    unread->is_awaiter = unread->is_in_circle = true;
    assert_true(task_fold_is_due(&world.fold, 1, 1));
    tasks_were_read(&world, 1);
    assert_int_equal(profile_quality(world.profile)->truncated, 2);
    expect_node(&world, node_of(&world, cut), "<task cut>;f;<truncated>");
    expect_node(&world, node_of(&world, unread), "<task unread>;<truncated>");
    end(&world);
}

static void a_stack_begins_at_the_task_it_runs(void **state)
{
    struct world world;
    struct stack stack = { 0 };
    struct walk_frame frames[3] = { { 0 } };
    node_id node;
    size_t first;
    (void)state;
    begin(&world, false);
    const struct task *const task = add(&world, "job", "f");
    tasks_were_read(&world, 1);
    frames[1] = world.frames[0];
    stack.frames = frames;
    stack.count = 3;
    assert_int_equal(task_fold_begin(&world.fold, &stack, &first, &node), ERR_OK);
    assert_int_equal(first, 1);
    expect_node(&world, node, "<task job>");
    /* A frame that belongs to no task. */
    stack.count = 1;
    assert_int_equal(task_fold_begin(&world.fold, &stack, &first, &node), ERR_OK);
    assert_int_equal(node, 0);
    assert_int_equal(first, 0);
    assert_non_null(task);
    end(&world);
}

static void waiting_tasks_count_for_every_tick_since(void **state)
{
    struct world world;
    (void)state;
    begin(&world, true);
    struct task *const outer = add(&world, "outer", "f"), *const inner = add(&world, "in", "g"),
                       *const runs = add(&world, "runs", "h");
    await(&world, outer, inner);
    runs->is_running = true;
    for (uint64_t now_ns = 1; now_ns <= 5; now_ns++)
        (void)!task_fold_is_due(&world.fold, 1, now_ns);
    assert_true(task_fold_is_due(&world.fold, 1, 6));
    tasks_were_read(&world, 6);
    assert_int_equal(profile_quality(world.profile)->samples, 6);
    assert_false(task_fold_is_due(&world.fold, 1, 7));
    assert_int_equal(task_fold_flush(&world.fold, 8), ERR_OK);
    assert_int_equal(profile_quality(world.profile)->samples, 7);
    assert_int_equal(profile_quality(world.profile)->tasks, 3);
    assert_true(task_fold_is_due(&world.fold, 1, 6 + TASK_FOLD_EVERY_NS));
    end(&world);
}

TEST_GROUP(cmocka_unit_test(what_stacks_tell_otherwise_moves),
           cmocka_unit_test(a_task_without_a_sampled_thread_stays),
           cmocka_unit_test(who_awaits_a_task_stands_below_it),
           cmocka_unit_test(circles_of_awaiters_end),
           cmocka_unit_test(a_long_way_of_awaiters_ends),
           cmocka_unit_test(tasks_that_wait_for_each_other_count_each),
           cmocka_unit_test(tasks_that_were_read_count_for_the_others),
           cmocka_unit_test(a_task_without_room_for_its_frames_is_truncated),
           cmocka_unit_test(a_stack_begins_at_the_task_it_runs),
           cmocka_unit_test(waiting_tasks_count_for_every_tick_since))
