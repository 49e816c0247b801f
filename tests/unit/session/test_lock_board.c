#include "sampler/base/clock.h"
#include "sampler/session/fold/lock_board.h"
#include "tests/support/test.h"

/* A thread that waits for lock 1 and holds lock 2. */
static void note(struct lock_board *board, int32_t tid, uint64_t now_ns)
{
    const struct lock_use uses[] = { { .object = 1, .lock = 1, .is_waited = true },
                                     { .object = 2, .lock = 2 } };
    const struct lock_report report = { 4711, tid, uses, 2 };
    assert_int_equal(lock_board_note(board, &report, now_ns), ERR_OK);
}

static struct sampler_locks copy(struct lock_board *board)
{
    struct sampler_locks locks;
    assert_int_equal(lock_board_copy(board, &locks, NULL), ERR_OK);
    return locks;
}

static void a_thread_that_went_on_waits_no_more_and_holds_what_it_held(void **state)
{
    struct lock_board board;
    (void)state;
    lock_board_init(&board);
    lock_board_end_wait(&board, 4711, 7, NS_PER_S);
    note(&board, 7, NS_PER_S);
    note(&board, 7, NS_PER_S);
    lock_board_end_wait(&board, 4711, 7, NS_PER_S);
    lock_board_end_wait(&board, 4711, 7, NS_PER_S);
    struct sampler_locks locks = copy(&board);
    assert_int_equal(locks.thread_count, 1);
    assert_int_equal(locks.threads[0].same_waits, 0);
    assert_int_equal(locks.use_count, 1);
    assert_int_equal(locks.uses[0].lock, 2);
    assert_false(locks.uses[0].is_waited);
    sampler_locks_deinit(&locks);

    note(&board, 7, NS_PER_S);
    locks = copy(&board);
    assert_int_equal(locks.threads[0].same_waits, 1);
    sampler_locks_deinit(&locks);
    lock_board_deinit(&board);
}

static void a_thread_that_is_read_no_more_is_forgotten(void **state)
{
    struct lock_board board;
    (void)state;
    lock_board_init(&board);
    note(&board, 7, NS_PER_S);
    note(&board, 8, 2 * NS_PER_S);
    note(&board, 8, 12 * NS_PER_S);
    struct sampler_locks locks = copy(&board);
    assert_int_equal(locks.thread_count, 1);
    assert_int_equal(locks.threads[0].tid, 8);
    assert_int_equal(locks.use_count, 2);
    sampler_locks_deinit(&locks);
    lock_board_deinit(&board);
}

static void the_thread_that_was_read_longest_ago_makes_room_for_another(void **state)
{
    struct lock_board board;
    uint64_t now_ns = NS_PER_S;
    (void)state;
    lock_board_init(&board);
    for (int32_t tid = 2; tid < SAMPLER_MAX_LOCK_THREADS + 3; tid++)
        note(&board, tid, now_ns++);
    note(&board, 1, 2 * NS_PER_S);
    struct sampler_locks locks = copy(&board);
    assert_int_equal(locks.thread_count, SAMPLER_MAX_LOCK_THREADS);
    assert_int_equal(locks.threads[0].tid, 1);
    assert_int_equal(locks.threads[1].tid, 4);
    assert_int_equal(locks.threads[locks.thread_count - 1].tid, SAMPLER_MAX_LOCK_THREADS + 2);
    sampler_locks_deinit(&locks);
    lock_board_deinit(&board);
}

TEST_GROUP(cmocka_unit_test(a_thread_that_went_on_waits_no_more_and_holds_what_it_held),
           cmocka_unit_test(a_thread_that_is_read_no_more_is_forgotten),
           cmocka_unit_test(the_thread_that_was_read_longest_ago_makes_room_for_another))
