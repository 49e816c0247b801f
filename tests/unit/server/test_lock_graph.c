#include <string.h>

#include "server/sessions/lock_graph.h"
#include "tests/support/test.h"

enum { PID = 7, LOOP = 50 };

/* A thread that was found in one wait by readings from from_ns to to_ns. */
static void note_between(struct lock_graph *graph, int32_t tid, const struct lock_use *uses,
                         size_t count, uint64_t from_ns, uint64_t to_ns)
{
    const struct lock_report report = { .pid = PID, .tid = tid, .uses = uses, .count = count };
    lock_graph_note(graph, &report, from_ns, to_ns);
    lock_graph_solve(graph);
}

static void note(struct lock_graph *graph, int32_t tid, const struct lock_use *uses,
                 size_t count)
{
    note_between(graph, tid, uses, count, 1, 2);
}

/* A thread that holds a lock, 0: none, and waits for another one. */
static void note_pair(struct lock_graph *graph, int32_t tid, uint64_t waited, uint64_t held,
                      bool is_timed)
{
    const struct lock_use uses[] = {
        { .object = waited, .lock = waited, .is_waited = true, .is_timed = is_timed },
        { .object = held, .lock = held },
    };
    note(graph, tid, uses, held ? 2 : 1);
}

static void threads_that_wait_for_each_other_are_one_cycle(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_thread *cycle[8];
    (void)state;
    note_pair(&graph, 30, 1, 3, false);
    note_pair(&graph, 10, 2, 1, false);
    note_pair(&graph, 20, 3, 2, false);
    note_pair(&graph, 40, 1, 0, false);
    assert_int_equal(lock_graph_count_cycles(&graph), 1);
    assert_int_equal(lock_graph_cycle(&graph, lock_graph_find(&graph, PID, 10), cycle, 8), 3);
    assert_int_equal(cycle[0]->tid, 10);
    assert_int_equal(cycle[1]->tid, 20);
    assert_int_equal(cycle[2]->tid, 30);
    lock_graph_deinit(&graph);
}

static void waits_without_a_common_instant_are_no_cycle(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_use uses[] = { { .lock = 2, .is_waited = true }, { .lock = 1 } };
    const struct lock_use others[] = { { .lock = 1, .is_waited = true }, { .lock = 2 } };
    (void)state;
    note_between(&graph, 10, uses, 2, 5, 5);
    note_between(&graph, 20, others, 2, 5, 6);
    assert_false(lock_thread_stays(lock_graph_find(&graph, PID, 10)));
    assert_true(lock_thread_stays(lock_graph_find(&graph, PID, 20)));
    assert_int_equal(lock_graph_count_cycles(&graph), 0);
    note_between(&graph, 10, uses, 2, 6, 8);
    assert_int_equal(lock_graph_count_cycles(&graph), 0);
    note_between(&graph, 20, others, 2, 5, 7);
    assert_int_equal(lock_graph_count_cycles(&graph), 1);
    note_between(&graph, 20, uses, 2, 5, 7);
    assert_int_equal(lock_graph_count_cycles(&graph), 0);
    lock_graph_deinit(&graph);
}

static void a_wait_that_ends_after_a_time_breaks_the_cycle(void **state)
{
    struct lock_graph graph = { 0 };
    (void)state;
    note_pair(&graph, 10, 2, 1, false);
    note_pair(&graph, 20, 1, 2, true);
    assert_int_equal(lock_graph_count_cycles(&graph), 0);
    lock_graph_deinit(&graph);
}

static void a_cycle_of_more_threads_than_there_is_room_is_none(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_thread *cycle[2];
    (void)state;
    for (int32_t tid = 1; tid <= 3; tid++)
        note_pair(&graph, tid, (uint64_t)tid % 3 + 1, (uint64_t)tid, false);
    assert_int_equal(lock_graph_cycle(&graph, &graph.items[0], cycle, 2), 0);
    assert_int_equal(lock_graph_count_cycles(&graph), 1);
    lock_graph_deinit(&graph);
}

static void the_object_knows_its_owner_better_than_frames(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_use owned = {
        .lock = 1, .is_waited = true, .has_owner = true, .owner_tid = 20
    };
    const struct lock_use nobodys = { .lock = 1, .is_waited = true, .has_owner = true };
    const struct lock_use held = { .lock = 1 };
    (void)state;
    note(&graph, 10, &owned, 1);
    note(&graph, 20, NULL, 0);
    note(&graph, 30, &held, 1);
    struct lock_holder holder = lock_graph_holder(&graph, lock_graph_find(&graph, PID, 10));
    assert_int_equal(holder.tid, 20);
    assert_ptr_equal(holder.thread, lock_graph_find(&graph, PID, 20));
    assert_null(holder.use);
    note(&graph, 10, &nobodys, 1);
    holder = lock_graph_holder(&graph, lock_graph_find(&graph, PID, 10));
    assert_int_equal(holder.tid, 0);
    lock_graph_deinit(&graph);
}

static void a_lock_taken_twice_by_one_thread_is_a_cycle_of_one(void **state)
{
    struct lock_graph graph = { 0 };
    (void)state;
    note_pair(&graph, 10, 1, 1, false);
    assert_int_equal(lock_graph_holder(&graph, &graph.items[0]).tid, 10);
    assert_int_equal(lock_graph_count_cycles(&graph), 1);
    lock_graph_deinit(&graph);
}

static void other_processes_have_other_locks(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_use held = { .lock = 1 };
    (void)state;
    note_pair(&graph, 10, 1, 0, false);
    lock_graph_note(
        &graph, &(struct lock_report){ .pid = PID + 1, .tid = 11, .uses = &held, .count = 1 },
        1, 2);
    assert_null(lock_graph_holder(&graph, lock_graph_find(&graph, PID, 10)).thread);
    assert_false(lock_graph_is_wanted(&graph, lock_graph_find(&graph, PID + 1, 11), &held));
    lock_graph_deinit(&graph);
}

static void a_lock_that_was_let_go_has_its_next_holder(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_use held = { .lock = 1 };
    (void)state;
    note_pair(&graph, 10, 1, 0, false);
    note(&graph, 20, &held, 1);
    assert_int_equal(lock_graph_holder(&graph, &graph.items[0]).tid, 20);
    note(&graph, 20, NULL, 0);
    assert_int_equal(lock_graph_holder(&graph, &graph.items[0]).tid, 0);
    note(&graph, 30, &held, 1);
    note(&graph, 20, NULL, 0);
    assert_int_equal(lock_graph_holder(&graph, &graph.items[0]).tid, 30);
    assert_true(lock_graph_is_wanted(&graph, lock_graph_find(&graph, PID, 30), &held));
    note(&graph, 10, NULL, 0);
    assert_false(lock_graph_is_wanted(&graph, lock_graph_find(&graph, PID, 30), &held));
    lock_graph_deinit(&graph);
}

static void of_many_holders_the_first_counts(void **state)
{
    enum { THREADS = 2000 };
    struct lock_graph graph = { 0 };
    const struct lock_use held = { .lock = 1 };
    (void)state;
    for (int32_t tid = THREADS; tid > 0; tid--)
        note(&graph, tid, &held, 1);
    note_pair(&graph, THREADS + 1, 1, 0, false);
    assert_int_equal(lock_graph_holder(&graph, lock_graph_find(&graph, PID, THREADS + 1)).tid,
                     1);
    lock_graph_deinit(&graph);
}

static void note_task(struct lock_graph *graph, uint64_t task, const struct lock_use *uses,
                      size_t count)
{
    const struct lock_report report = {
        .pid = PID, .tid = LOOP, .uses = uses, .count = count, .task.address = task
    };
    lock_graph_note(graph, &report, 1, 2);
    lock_graph_solve(graph);
}

static struct lock_use wait_for_task(uint64_t task, bool is_timed)
{
    return (struct lock_use){ .object = task,
                              .lock = task,
                              .is_waited = true,
                              .is_timed = is_timed,
                              .is_joined = true,
                              .has_owner = true,
                              .owner_tid = LOOP,
                              .owner_task = task };
}

/* Three tasks of one event loop, each of which holds what the one before waits for. */
static void note_cycle(struct lock_graph *graph)
{
    note(graph, LOOP, NULL, 0);
    for (uint64_t task = 1; task <= 3; task++) {
        const struct lock_use uses[] = {
            { .object = task % 3 + 1, .lock = task % 3 + 1, .is_waited = true },
            { .object = task, .lock = task },
        };
        note_task(graph, task, uses, 2);
    }
}

static void tasks_that_wait_for_each_other_are_one_cycle(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_thread *cycle[8];
    (void)state;
    note_cycle(&graph);
    assert_int_equal(lock_graph_count_cycles(&graph), 1);
    assert_int_equal(
        lock_graph_cycle(&graph, lock_graph_find_task(&graph, PID, LOOP, 1), cycle, 8), 3);
    assert_int_equal(cycle[1]->task.address, 2);
    assert_false(cycle[1]->is_stuck_in_thread);
    assert_false(lock_graph_find(&graph, PID, LOOP)->is_stuck);
    assert_int_equal(lock_graph_holder(&graph, cycle[0]).task, 2);
    lock_graph_deinit(&graph);
}

/* asyncio.wait_for cancels what it waits for. */
static void a_task_that_is_awaited_for_a_time_breaks_the_cycle(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_use forever = wait_for_task(2, false), timed = wait_for_task(2, true);
    const struct lock_use outer = wait_for_task(9, true);
    (void)state;
    note_cycle(&graph);
    note_task(&graph, 9, &forever, 1);
    assert_int_equal(lock_graph_count_cycles(&graph), 1);
    assert_true(lock_graph_find_task(&graph, PID, LOOP, 9)->is_stuck);
    note_task(&graph, 9, &timed, 1);
    assert_int_equal(lock_graph_count_cycles(&graph), 0);
    note_task(&graph, 9, &forever, 1);
    assert_int_equal(lock_graph_count_cycles(&graph), 1);
    note_task(&graph, 10, &outer, 1);
    assert_int_equal(lock_graph_count_cycles(&graph), 0);
    lock_graph_deinit(&graph);
}

/* One of several tasks that goes on may raise an exception, and end the wait for all. */
static void who_waits_for_several_is_stuck_if_all_of_them_are(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_use several[] = { wait_for_task(1, false), wait_for_task(20, false) };
    const struct lock_use stuck = wait_for_task(2, false);
    (void)state;
    note_cycle(&graph);
    note_task(&graph, 20, NULL, 0);
    note_task(&graph, 21, several, 2);
    assert_false(lock_graph_find_task(&graph, PID, LOOP, 21)->is_stuck);
    note_task(&graph, 20, &stuck, 1);
    assert_true(lock_graph_find_task(&graph, PID, LOOP, 21)->is_stuck);
    lock_graph_deinit(&graph);
}

static void a_thread_that_waits_for_a_task_of_its_own_loop_is_a_cycle(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_use wait = wait_for_task(5, false);
    const struct lock_thread *cycle[8];
    (void)state;
    note(&graph, LOOP, &wait, 1);
    /* Nothing is known of the task. */
    assert_int_equal(lock_graph_count_cycles(&graph), 1);
    note_task(&graph, 5, NULL, 0);
    assert_int_equal(lock_graph_cycle(&graph, lock_graph_find(&graph, PID, LOOP), cycle, 8), 2);
    assert_true(cycle[1]->is_stuck_in_thread);
    /* Another thread runs the loop. */
    note(&graph, LOOP, NULL, 0);
    assert_int_equal(lock_graph_count_cycles(&graph), 0);
    lock_graph_deinit(&graph);
}

static void more_waits_than_there_is_room_for_are_no_deadlock(void **state)
{
    enum { THREADS = 1500 };
    struct lock_graph graph = { 0 };
    const struct lock_use uses[] = { { .lock = 1, .is_waited = true }, { .lock = 1 } };
    (void)state;
    for (int32_t tid = 1; tid <= THREADS; tid++)
        lock_graph_note(
            &graph, &(struct lock_report){ .pid = PID, .tid = tid, .uses = uses, .count = 2 },
            1, 2);
    lock_graph_solve(&graph);
    assert_int_equal(lock_graph_count_cycles(&graph), 0);
    lock_graph_deinit(&graph);
}

static void a_later_report_replaces_the_one_before(void **state)
{
    struct lock_graph graph = { 0 };
    (void)state;
    note_pair(&graph, 10, 1, 2, false);
    note(&graph, 10, NULL, 0);
    assert_int_equal(graph.count, 1);
    assert_null(lock_thread_wait(&graph.items[0]));
    lock_graph_deinit(&graph);
}

/* A thread of another process each, that knows nobody of its own who has the lock. */
static void note_shared(struct lock_graph *graph, pid_t pid, uint64_t waited, uint64_t held)
{
    const struct lock_use uses[] = {
        { .object = 1,
          .lock = 1,
          .is_waited = true,
          .has_owner = true,
          .place = { .device = 3, .inode = waited, .offset = 32 } },
        { .object = 2, .lock = 2, .place = { .device = 3, .inode = held, .offset = 32 } },
    };
    const struct lock_report report = { .pid = pid, .tid = pid, .uses = uses, .count = 2 };
    lock_graph_note(graph, &report, 1, 2);
    lock_graph_solve(graph);
}

static void a_lock_is_the_same_in_processes_that_share_its_place(void **state)
{
    struct lock_graph graph = { 0 };
    const struct lock_thread *cycle[8];
    (void)state;
    note_shared(&graph, 5, 101, 100);
    assert_int_equal(lock_graph_holder(&graph, lock_graph_find(&graph, 5, 5)).tid, 0);
    note_shared(&graph, 6, 102, 101);
    note_shared(&graph, 7, 103, 104);
    const struct lock_holder holder = lock_graph_holder(&graph, lock_graph_find(&graph, 5, 5));
    assert_int_equal(holder.thread->pid, 6);
    assert_int_equal(holder.use->object, 2);
    assert_true(lock_graph_is_wanted(&graph, holder.thread, holder.use));
    assert_int_equal(lock_graph_holder(&graph, holder.thread).tid, 0);
    assert_int_equal(lock_graph_count_cycles(&graph), 0);
    note_shared(&graph, 7, 100, 102);
    assert_int_equal(lock_graph_cycle(&graph, lock_graph_find(&graph, 5, 5), cycle, 8), 3);
    lock_graph_deinit(&graph);
}

TEST_GROUP(cmocka_unit_test(a_lock_is_the_same_in_processes_that_share_its_place),
           cmocka_unit_test(tasks_that_wait_for_each_other_are_one_cycle),
           cmocka_unit_test(a_task_that_is_awaited_for_a_time_breaks_the_cycle),
           cmocka_unit_test(who_waits_for_several_is_stuck_if_all_of_them_are),
           cmocka_unit_test(a_thread_that_waits_for_a_task_of_its_own_loop_is_a_cycle),
           cmocka_unit_test(more_waits_than_there_is_room_for_are_no_deadlock),
           cmocka_unit_test(threads_that_wait_for_each_other_are_one_cycle),
           cmocka_unit_test(waits_without_a_common_instant_are_no_cycle),
           cmocka_unit_test(a_wait_that_ends_after_a_time_breaks_the_cycle),
           cmocka_unit_test(a_cycle_of_more_threads_than_there_is_room_is_none),
           cmocka_unit_test(the_object_knows_its_owner_better_than_frames),
           cmocka_unit_test(a_lock_taken_twice_by_one_thread_is_a_cycle_of_one),
           cmocka_unit_test(other_processes_have_other_locks),
           cmocka_unit_test(a_lock_that_was_let_go_has_its_next_holder),
           cmocka_unit_test(of_many_holders_the_first_counts),
           cmocka_unit_test(a_later_report_replaces_the_one_before))
