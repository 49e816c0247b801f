#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "sampler/cpython/threads/threads.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/thread_world.h"

static void in_every_version(void (*test)(struct thread_world *world))
{
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct thread_world *const world = thread_world_create(minor);
        test(world);
        thread_world_destroy(world);
    }
}

static void check_listed(struct thread_world *world)
{
    thread_world_add_next(world, world->interp);
    thread_world_add_next(world, world->interp);
    thread_world_walk(world);
    assert_int_equal(world->list.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct thread *const thread = thread_world_find(world, world->states[i]);
        assert_non_null(thread);
        assert_int_equal(thread->head.tid, 100 + i);
        assert_int_equal(thread->head.ident, 0x7000 + i);
        assert_int_equal(thread->head.interp, world->interp);
        assert_true(thread->is_new);
        /* The oldest. */
        assert_int_equal(thread->is_main, i == 0);
    }
    assert_ptr_equal(thread_list_main(&world->list),
                     thread_world_find(world, world->states[0]));
}

static void every_thread_is_listed_and_the_oldest_is_main(void **state)
{
    (void)state;
    in_every_version(check_listed);
}

static void check_come_and_go(struct thread_world *world)
{
    thread_world_add_next(world, world->interp);
    thread_world_walk(world);
    assert_true(thread_world_is_same(world));
    struct thread *const kept = thread_world_find(world, world->states[0]);
    kept->tag = 4711;
    struct fake_thread *const new = thread_world_add_next(world, world->interp);
    assert_false(thread_world_is_same(world));
    thread_world_walk(world);
    assert_true(thread_world_is_same(world));
    assert_int_equal(world->list.count, 3);
    assert_int_equal(thread_world_find(world, new)->tag, 0);
    /* Threads that stay in the list keep their data. */
    assert_ptr_equal(thread_world_find(world, world->states[0]), kept);
    assert_int_equal(kept->tag, 4711);
    fake_thread_end(world->states[1]);
    bool same = true;
    const enum err_code rc = thread_list_check(&world->list, &same);
    assert_true(rc == ERR_FAULT || !same);
    thread_world_walk(world);
    assert_int_equal(world->list.count, 2);
    assert_null(thread_world_find(world, world->states[1]));
    assert_ptr_equal(thread_world_find(world, world->states[0]), kept);
}

static void threads_come_and_go_between_ticks(void **state)
{
    (void)state;
    in_every_version(check_come_and_go);
}

/* The state is in the list before the thread runs: at first without an id, then with one. */
static void check_started_later(struct thread_world *world)
{
    const uint32_t at = world->python.runtime.layout.tstate_native_thread_id;
    if (!at)
        return;
    struct fake_thread *const thread = thread_world_add_next(world, world->interp);
    fake_memory_put_u64(&world->python.memory, thread->addr + at, 0);
    thread_world_walk(world);
    assert_int_equal(world->list.count, 1);
    assert_true(thread_world_is_same(world));
    fake_memory_put_u64(&world->python.memory, thread->addr + at, 101);
    assert_false(thread_world_is_same(world));
    thread_world_walk(world);
    assert_int_equal(world->list.count, 2);
    assert_true(thread_world_is_same(world));
}

static void a_thread_that_starts_after_the_walk_is_found(void **state)
{
    (void)state;
    in_every_version(check_started_later);
}

static void check_replaced(struct thread_world *world)
{
    const struct layout *const layout = &world->python.runtime.layout;
    struct fake_thread *const thread = thread_world_add_next(world, world->interp);
    thread_world_walk(world);
    struct thread *const before = thread_world_find(world, thread);
    before->tag = 4711;
    /* Another thread, whose state is at the address of an ended one. */
    fake_memory_put_u64(&world->python.memory, thread->addr + layout->tstate_thread_id, 0x9999);
    assert_false(thread_world_is_same(world));
    thread_world_walk(world);
    assert_int_equal(world->list.count, 2);
    assert_int_equal(thread_world_find(world, thread)->head.ident, 0x9999);
    assert_int_equal(thread_world_find(world, thread)->tag, 0);
    assert_true(thread_world_find(world, thread)->is_new);
}

static void another_thread_at_the_same_address_is_another(void **state)
{
    (void)state;
    in_every_version(check_replaced);
}

static void check_main_replaced(struct thread_world *world)
{
    const struct layout *const layout = &world->python.runtime.layout;
    thread_world_walk(world);
    fake_memory_put_u64(&world->python.memory,
                        world->states[0]->addr + layout->tstate_thread_id, 0x9999);
    assert_int_equal(thread_list_walk(&world->list), ERR_GONE);
}

static void another_main_thread_is_another_program(void **state)
{
    (void)state;
    in_every_version(check_main_replaced);
}

static void check_interpreters(struct thread_world *world)
{
    thread_world_walk(world);
    assert_true(thread_world_is_same(world));
    const remote_addr second = fake_interp(&world->python, 1);
    struct fake_thread *const thread = thread_world_add_next(world, second);
    assert_false(thread_world_is_same(world));
    thread_world_walk(world);
    assert_int_equal(world->list.interpreter_count, 2);
    assert_int_equal(world->list.count, 2);
    assert_int_equal(thread_world_find(world, thread)->head.interp, second);
    assert_false(thread_world_find(world, thread)->is_main);
    assert_ptr_equal(thread_list_main(&world->list),
                     thread_world_find(world, world->states[0]));
    assert_true(thread_world_is_same(world));
    struct fake_thread *const later = thread_world_add_next(world, second);
    assert_false(thread_world_is_same(world));
    thread_world_walk(world);
    assert_non_null(thread_world_find(world, later));
}

static void threads_of_all_interpreters_are_listed(void **state)
{
    (void)state;
    in_every_version(check_interpreters);
}

static bool runs_elsewhere(struct thread_world *world, const struct fake_thread *state)
{
    struct thread *const thread = thread_world_find(world, state);
    return sub_stacks_innermost(&world->list, thread) != thread;
}

static void place_on_c_stack(struct thread_world *world, const struct fake_thread *state,
                             struct walk_frame *frame, uint64_t place)
{
    struct thread *const thread = thread_world_find(world, state);
    const uint32_t cframe = world->python.runtime.layout.tstate_cframe;
    frame->entry = place;
    thread->stack.frames = frame;
    memcpy(thread->stack.copy.tstate + cframe, &place, cframe ? sizeof place : 0);
}

static void check_places(struct thread_world *world, const struct fake_thread *older,
                         const struct fake_thread *newer, struct walk_frame *frames)
{
    for (unsigned is_older_inside = 0; is_older_inside < 2; is_older_inside++) {
        place_on_c_stack(world, newer, &frames[1], 0x7000);
        place_on_c_stack(world, older, &frames[0], is_older_inside ? 0x6000 : 0x8000);
        assert_int_equal(runs_elsewhere(world, older), !is_older_inside);
        assert_int_equal(runs_elsewhere(world, newer), is_older_inside);
    }
}

/* The main thread enters a second interpreter, and from there a third. */
static void check_nested(struct thread_world *world)
{
    struct fake_thread *const outer = world->states[0];
    struct fake_thread *const inner =
        thread_world_add_next(world, fake_interp(&world->python, 1));
    struct fake_thread *const innermost =
        thread_world_add_next(world, fake_interp(&world->python, 2));
    struct fake_thread *const other = thread_world_add_next(world, world->interp);
    const uint64_t tid = 100;
    const uint32_t at = world->python.runtime.layout.tstate_native_thread_id;
    fake_memory_put_u64(&world->python.memory, inner->addr + at, tid);
    fake_memory_put_u64(&world->python.memory, innermost->addr + at, tid);
    thread_world_walk(world);
    struct walk_frame frames[3] = { { 0 } };
    place_on_c_stack(world, outer, &frames[0], 0);
    place_on_c_stack(world, inner, &frames[1], 0);
    place_on_c_stack(world, innermost, &frames[2], 0);
    /* Nothing runs in there: the outermost state is the only sample. */
    for (unsigned turn = 0; turn < 2; turn++) {
        assert_false(runs_elsewhere(world, outer));
        assert_int_equal(runs_elsewhere(world, inner), at != 0);
        assert_int_equal(runs_elsewhere(world, innermost), at != 0);
        thread_world_find(world, outer)->stack.count = 1;
    }
    thread_world_find(world, inner)->stack.count = 1;
    thread_world_find(world, innermost)->stack.certainty = STACK_TRUNCATED;
    assert_true(runs_elsewhere(world, outer));
    assert_false(runs_elsewhere(world, innermost));
    thread_world_find(world, innermost)->stack.certainty = STACK_EXACT;
    thread_world_find(world, innermost)->stack.count = 1;
    assert_true(runs_elsewhere(world, outer));
    assert_true(runs_elsewhere(world, inner));
    assert_false(runs_elsewhere(world, innermost));
    assert_false(runs_elsewhere(world, other));
    /* The states of a thread are next to each other, and so in one reading. */
    for (size_t i = 0; i + 1 < world->list.count && at; i++)
        assert_true(world->list.items[i]->head.tid >= world->list.items[i + 1]->head.tid);
    /* The frame called from the innermost place on the C stack is innermost. */
    check_places(world, inner, innermost, &frames[1]);
    thread_world_find(world, inner)->stack.count =
        thread_world_find(world, innermost)->stack.count = 0;
    fake_thread_end(innermost);
    thread_world_walk(world);
    assert_false(runs_elsewhere(world, outer));
}

/* As embedding programs do: a thread has a state in each of two sub-interpreters, and none in the main one. */
static void check_kept_states(struct thread_world *world)
{
    struct fake_thread *const one =
        thread_world_add_next(world, fake_interp(&world->python, 1));
    struct fake_thread *const two =
        thread_world_add_next(world, fake_interp(&world->python, 2));
    const struct layout *const layout = &world->python.runtime.layout;
    if (layout->tstate_native_thread_id)
        fake_memory_put_u64(&world->python.memory, two->addr + layout->tstate_native_thread_id,
                            fake_memory_u64(&world->python.memory,
                                            one->addr + layout->tstate_native_thread_id));
    fake_memory_put_u64(
        &world->python.memory, two->addr + layout->tstate_thread_id,
        fake_memory_u64(&world->python.memory, one->addr + layout->tstate_thread_id));
    thread_world_walk(world);
    struct thread *const states[] = { thread_world_find(world, one),
                                      thread_world_find(world, two) };
    for (unsigned with = 0; with < 3; with++) {
        states[0]->stack.count = with == 1;
        states[1]->stack.count = with == 2;
        assert_int_equal(runs_elsewhere(world, one) + runs_elsewhere(world, two), 1);
        assert_false(with && runs_elsewhere(world, with == 1 ? one : two));
    }
}

static void states_without_frames_are_one_sample(void **state)
{
    (void)state;
    in_every_version(check_kept_states);
}

static void a_thread_in_two_interpreters_is_one(void **state)
{
    (void)state;
    in_every_version(check_nested);
}

static void check_circle(struct thread_world *world)
{
    const struct layout *const layout = &world->python.runtime.layout;
    thread_world_add_next(world, world->interp);
    struct fake_thread *const newest = thread_world_add_next(world, world->interp);
    /* The oldest is followed by the newest. */
    fake_memory_put_u64(&world->python.memory, world->states[0]->addr + layout->tstate_next,
                        newest->addr);
    const enum err_code rc = thread_list_walk(&world->list);
    assert_true(rc == ERR_CORRUPT || rc == ERR_LIMIT);
    assert_true(world->list.count <= 3);
    /* Once it is mended all is well. */
    fake_memory_put_u64(&world->python.memory, world->states[0]->addr + layout->tstate_next, 0);
    thread_world_walk(world);
    assert_int_equal(world->list.count, 3);
}

static void threads_in_a_circle_are_an_error(void **state)
{
    (void)state;
    in_every_version(check_circle);
}

static void check_interp_circle(struct thread_world *world)
{
    const struct layout *const layout = &world->python.runtime.layout;
    fake_memory_put_u64(&world->python.memory, world->interp + layout->interp_next,
                        world->interp);
    const enum err_code rc = thread_list_walk(&world->list);
    assert_true(rc == ERR_CORRUPT || rc == ERR_LIMIT);
}

/* A hostile process may give all its states the number of one thread. */
static void a_thread_has_no_more_states_than_there_are_interpreters(void **state)
{
    enum { STATES = 4 * THREADS_MAX_INTERPRETERS };
    static struct thread threads[STATES];
    struct thread *items[STATES];
    const struct runtime runtime = { .layout.has_state_per_interpreter = true };
    struct thread_list list = {
        .runtime = &runtime, .items = items, .count = STATES, .interpreter_count = 2
    };
    size_t most = 0;
    (void)state;
    for (size_t i = 0; i < STATES; i++) {
        threads[i] = (struct thread){ .head.tid = 7, .interp_id = i % 2 };
        items[i] = &threads[i];
    }
    sub_stacks_find(&list);
    for (size_t i = 0; i < STATES; i++) {
        size_t chain = 1;
        for (const struct thread *at = &threads[i]; at->earlier; at = at->earlier)
            chain++;
        most = chain > most ? chain : most;
    }
    assert_int_equal(most, THREADS_MAX_INTERPRETERS);
}

static void interpreters_in_a_circle_are_an_error(void **state)
{
    (void)state;
    in_every_version(check_interp_circle);
}

static void check_mismatch(struct thread_world *world)
{
    const struct layout *const layout = &world->python.runtime.layout;
    thread_world_add_next(world, world->interp);
    const remote_addr slot = world->states[1]->addr + layout->tstate_interp;
    fake_memory_put_u64(&world->python.memory, slot, world->interp + 16);
    assert_int_equal(thread_list_walk(&world->list), ERR_CORRUPT);
    fake_memory_put_u64(&world->python.memory, slot, world->interp);
    thread_world_walk(world);
    assert_int_equal(world->list.count, 2);
}

static void a_thread_of_another_interpreter_is_not_believed(void **state)
{
    (void)state;
    in_every_version(check_mismatch);
}

static void check_garbage(struct thread_world *world)
{
    const struct layout *const layout = &world->python.runtime.layout;
    static const uint64_t garbage[] = { 1, 0x1000, UINT64_MAX, UINT64_MAX - 7, 1ull << 63 };
    const remote_addr slots[] = { world->interp + layout->interp_threads_head,
                                  world->interp + layout->interp_next,
                                  world->python.runtime.addr +
                                      layout->runtime_interpreters_head,
                                  world->states[0]->addr + layout->tstate_next };
    for (size_t s = 0; s < sizeof slots / sizeof *slots; s++) {
        const uint64_t before = fake_memory_u64(&world->python.memory, slots[s]);
        for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
            fake_memory_put_u64(&world->python.memory, slots[s], garbage[i]);
            assert_int_equal(thread_list_walk(&world->list), ERR_FAULT);
        }
        fake_memory_put_u64(&world->python.memory, slots[s], before);
    }
    thread_world_walk(world);
    assert_int_equal(world->list.count, 1);
}

static void pointers_that_lead_nowhere_are_an_error(void **state)
{
    (void)state;
    in_every_version(check_garbage);
}

/* The list breaks off behind threads that are new. */
static void check_failing(struct thread_world *world)
{
    const struct layout *const layout = &world->python.runtime.layout;
    const remote_addr slot = world->states[0]->addr + layout->tstate_next;
    thread_world_walk(world);
    struct thread *const before = thread_list_main(&world->list);
    thread_world_add_next(world, world->interp);
    thread_world_add_next(world, world->interp);
    fake_memory_put_u64(&world->python.memory, slot, 0x1000);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(thread_list_walk(&world->list), ERR_FAULT);
        assert_int_equal(world->list.count, 1);
    }
    fake_memory_put_u64(&world->python.memory, slot, 0);
    thread_world_walk(world);
    assert_int_equal(world->list.count, 3);
    assert_ptr_equal(thread_list_main(&world->list), before);
}

static void walks_that_fail_add_no_threads(void **state)
{
    (void)state;
    in_every_version(check_failing);
}

static void check_cleared(struct thread_world *world)
{
    thread_world_add_next(world, world->interp);
    thread_world_walk(world);
    for (size_t i = 0; i < world->list.count; i++) {
        struct stack *const stack = &world->list.items[i]->stack;
        stack->tag = 7;
        stack->count = 3;
        stack->copy.is_accepted = true;
    }
    thread_list_clear_stacks(&world->list);
    assert_int_equal(world->list.count, 2);
    for (size_t i = 0; i < world->list.count; i++) {
        const struct thread *const thread = world->list.items[i];
        assert_int_equal(thread->stack.tag, 0);
        assert_int_equal(thread->stack.count, 0);
        assert_false(thread->stack.copy.is_accepted);
        assert_int_equal(thread->stack.copy.tstate_addr, thread->head.addr);
        assert_int_equal(thread->stack.copy.ident, thread->head.ident);
    }
}

static void stacks_can_be_forgotten_and_threads_stay(void **state)
{
    (void)state;
    in_every_version(check_cleared);
}

/* A thread is added while the list is walked: it is found then or at the next check. */
struct meanwhile {
    struct thread_world *world;
    uint64_t at_read;
    bool done;
};

static void add_meanwhile(struct fake_memory *memory, const struct fake_read_at *moment,
                          void *context)
{
    struct meanwhile *const meanwhile = context;
    (void)memory;
    if (meanwhile->done || moment->read < meanwhile->at_read)
        return;
    meanwhile->done = true;
    thread_world_add_next(meanwhile->world, meanwhile->world->interp);
}

static void check_meanwhile(struct thread_world *world)
{
    struct fake_memory *const memory = &world->python.memory;
    struct meanwhile meanwhile = { .world = world };
    memory->context = &meanwhile;
    for (uint64_t k = 0; k < 6; k++) {
        meanwhile.at_read = memory->memory.reads + k;
        meanwhile.done = false;
        memory->hook = add_meanwhile;
        thread_world_walk(world);
        memory->hook = NULL;
        assert_true(meanwhile.done || k == 5);
        if (world->list.count < world->count) {
            assert_false(thread_world_is_same(world));
            thread_world_walk(world);
        }
        assert_int_equal(world->list.count, world->count);
        assert_true(thread_world_is_same(world));
    }
    memory->context = NULL;
}

static void a_thread_that_starts_while_the_list_is_walked_is_not_lost(void **state)
{
    (void)state;
    in_every_version(check_meanwhile);
}

static void check_plan(struct thread_world *world)
{
    struct memory_span spans[8];
    size_t arrived;
    thread_world_add_next(world, world->interp);
    thread_world_walk(world);
    const size_t count = thread_list_plan_count(&world->list);
    assert_in_range(count, 1, 8);
    thread_list_plan(&world->list, spans);
    struct memory *const memory = &world->python.memory.memory;
    assert_int_equal(memory_readv(memory, spans, count, &arrived), ERR_OK);
    assert_true(thread_list_heads_same(&world->list));
    thread_world_add_next(world, world->interp);
    assert_int_equal(memory_readv(memory, spans, count, &arrived), ERR_OK);
    assert_false(thread_list_heads_same(&world->list));
}

static void the_heads_of_the_lists_tell_of_new_threads(void **state)
{
    (void)state;
    in_every_version(check_plan);
}

/* Links the states of the main interpreter the other way round; that of the main thread stays the last one. */
static void turn_around(struct thread_world *world)
{
    const struct layout *const layout = &world->python.runtime.layout;
    struct fake_memory *const memory = &world->python.memory;
    const remote_addr head = world->interp + layout->interp_threads_head;
    const remote_addr last = world->states[0]->addr;
    remote_addr before = last;
    for (remote_addr addr = fake_memory_u64(memory, head); addr != last;) {
        const remote_addr next = fake_memory_u64(memory, addr + layout->tstate_next);
        fake_memory_put_u64(memory, addr + layout->tstate_next, before);
        before = addr;
        addr = next;
    }
    fake_memory_put_u64(memory, head, before);
}

static void a_walk_compares_few_threads_whatever_their_order(void **state)
{
    enum { THREADS = 300 };
    struct thread_world *const world = thread_world_create(13);
    struct fake_thread *const thread = malloc(sizeof *thread);
    (void)state;
    assert_non_null(thread);
    for (int32_t i = 1; i < THREADS; i++)
        fake_thread_init(thread, &world->python, world->interp, 0x9000 + (uint64_t)i, 1000 + i);
    thread_world_walk(world);
    struct thread *const known = world->list.items[THREADS / 2];
    for (int turn = 0; turn < 2; turn++) {
        const uint64_t before = world->list.compared;
        turn_around(world);
        thread_world_walk(world);
        assert_int_equal(world->list.count, THREADS);
        assert_ptr_equal(world->list.items[THREADS / 2], known);
        assert_in_range(world->list.compared - before, THREADS, 4 * THREADS);
    }
    free(thread);
    thread_world_destroy(world);
}

TEST_GROUP(cmocka_unit_test(a_walk_compares_few_threads_whatever_their_order),
           cmocka_unit_test(every_thread_is_listed_and_the_oldest_is_main),
           cmocka_unit_test(threads_come_and_go_between_ticks),
           cmocka_unit_test(a_thread_that_starts_after_the_walk_is_found),
           cmocka_unit_test(another_thread_at_the_same_address_is_another),
           cmocka_unit_test(another_main_thread_is_another_program),
           cmocka_unit_test(threads_of_all_interpreters_are_listed),
           cmocka_unit_test(threads_in_a_circle_are_an_error),
           cmocka_unit_test(states_without_frames_are_one_sample),
           cmocka_unit_test(a_thread_in_two_interpreters_is_one),
           cmocka_unit_test(a_thread_has_no_more_states_than_there_are_interpreters),
           cmocka_unit_test(interpreters_in_a_circle_are_an_error),
           cmocka_unit_test(a_thread_of_another_interpreter_is_not_believed),
           cmocka_unit_test(pointers_that_lead_nowhere_are_an_error),
           cmocka_unit_test(walks_that_fail_add_no_threads),
           cmocka_unit_test(stacks_can_be_forgotten_and_threads_stay),
           cmocka_unit_test(a_thread_that_starts_while_the_list_is_walked_is_not_lost),
           cmocka_unit_test(the_heads_of_the_lists_tell_of_new_threads))
