#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/session/fold/lock_board.h"
#include "tests/support/test.h"

enum { PID = 4711, WAITER = 4712, HOLDER = 4713 };

static const uint64_t BEGIN_NS = NS_PER_S, STEP_NS = 50 * NS_PER_MS;

static void note(struct lock_board *board, int32_t tid, const struct lock_use *uses,
                 size_t count, uint64_t since_ns, uint64_t now_ns)
{
    const struct lock_report report = { .pid = PID, .tid = tid, .uses = uses, .count = count };
    assert_ok(lock_board_note(board, &report, since_ns, now_ns), NULL);
}

static struct lock_use wait_for(uint64_t lock, int32_t line)
{
    return (struct lock_use){ .object = lock,
                              .lock = lock,
                              .type = 1,
                              .function = 2,
                              .file = 3,
                              .line = line,
                              .is_waited = true,
                              .may_be_held = true };
}

/* A reading that finds a thread that waits, and one that holds at this line; 0: none. */
static void read_pair(struct lock_board *board, uint64_t lock, int32_t held_line,
                      uint64_t since_ns, uint64_t now_ns)
{
    const struct lock_use wait = wait_for(lock, 10);
    const struct lock_use held = {
        .object = lock, .lock = lock, .type = 1, .function = 4, .file = 3, .line = held_line
    };
    lock_board_begin(board);
    if (!lock_board_keep(board, (struct lock_user){ PID, WAITER, 0 }, since_ns, now_ns, false))
        note(board, WAITER, &wait, 1, since_ns, now_ns);
    if (held_line)
        note(board, HOLDER, &held, 1, 0, now_ns);
    assert_ok(lock_board_find_held(board), NULL);
    assert_true(lock_board_lacks_holder(board, PID) == !held_line);
    assert_ok(lock_board_count(board, now_ns, STEP_NS), NULL);
}

static void waits_count_for_the_time_between_readings_and_by_line(void **state)
{
    struct lock_board board;
    struct session_locks locks;
    (void)state;
    lock_board_init(&board);
    board.created_ns = BEGIN_NS;
    read_pair(&board, 0x10, 20, BEGIN_NS + 1, BEGIN_NS + STEP_NS);
    read_pair(&board, 0x10, 21, BEGIN_NS + 1, BEGIN_NS + 2 * STEP_NS);
    read_pair(&board, 0x10, 0, BEGIN_NS + 1, BEGIN_NS + 3 * STEP_NS);
    assert_ok(lock_board_copy(&board, &locks, NULL), NULL);
    assert_int_equal(locks.count, 1);
    assert_int_equal(locks.measured_ns, 3 * STEP_NS);
    assert_int_equal(locks.read_ns, 3 * STEP_NS);
    const struct session_lock *const lock = &locks.items[0];
    assert_int_equal(lock->waited_ns, 3 * STEP_NS);
    assert_int_equal(lock->held_ns, 2 * STEP_NS);
    assert_int_equal(lock->longest_ns, 3 * STEP_NS - 1);
    assert_int_equal(lock->waits, 1);
    assert_int_equal(lock->waiting, 1);
    assert_int_equal(lock->waiter_count, 1);
    assert_int_equal(lock->holder_count, 2);
    assert_int_equal(lock->holders[1].line, 21);
    assert_int_equal(lock->holders[1].waited_ns, STEP_NS);
    /* The thread that is no longer found holds nothing. */
    assert_int_equal(locks.thread_count, 1);
    assert_int_equal(locks.threads[0].from_ns, STEP_NS);
    assert_int_equal(locks.threads[0].to_ns, STEP_NS);
    session_locks_deinit(&locks);
    lock_board_deinit(&board);
}

static void a_thread_that_went_on_waits_again(void **state)
{
    struct lock_board board;
    struct session_locks locks;
    (void)state;
    lock_board_init(&board);
    board.created_ns = BEGIN_NS;
    read_pair(&board, 0x10, 20, BEGIN_NS + 1, BEGIN_NS + STEP_NS);
    read_pair(&board, 0x10, 20, BEGIN_NS + STEP_NS + 5, BEGIN_NS + 2 * STEP_NS);
    assert_ok(lock_board_copy(&board, &locks, NULL), NULL);
    assert_int_equal(locks.items[0].waits, 2);
    assert_int_equal(locks.items[0].longest_ns, STEP_NS - 1);
    session_locks_deinit(&locks);
    lock_board_deinit(&board);
}

static void a_lock_that_was_taken_between_two_readings_is_waited_for_again(void **state)
{
    const struct lock_use wait = wait_for(0x10, 10);
    struct lock_report report = { .pid = PID, .tid = WAITER, .uses = &wait, .count = 1 };
    struct lock_board board;
    struct session_locks locks;
    (void)state;
    lock_board_init(&board);
    for (uint64_t i = 1; i <= 3; i++) {
        report.switches = i < 3 ? 7 : 8;
        assert_ok(lock_board_note(&board, &report, 0, i * STEP_NS), NULL);
        assert_ok(lock_board_copy(&board, &locks, NULL), NULL);
        assert_int_equal(locks.threads[0].from_ns, i < 3 ? STEP_NS : 3 * STEP_NS);
        assert_int_equal(locks.threads[0].to_ns, i * STEP_NS);
        session_locks_deinit(&locks);
    }
    lock_board_deinit(&board);
}

static void what_is_known_of_a_thread_is_kept_until_it_moves_or_is_old(void **state)
{
    struct lock_board board;
    const uint64_t since_ns = BEGIN_NS + 1, now_ns = BEGIN_NS + STEP_NS;
    struct lock_use wait = wait_for(0x10, 10);
    (void)state;
    lock_board_init(&board);
    assert_false(
        lock_board_keep(&board, (struct lock_user){ PID, WAITER, 0 }, since_ns, now_ns, false));
    note(&board, WAITER, &wait, 1, since_ns, now_ns);
    assert_true(lock_board_keep(&board, (struct lock_user){ PID, WAITER, 0 }, since_ns,
                                now_ns + 1, false));
    assert_false(lock_board_keep(&board, (struct lock_user){ PID, WAITER, 0 }, since_ns + 1,
                                 now_ns + 1, false));
    assert_false(lock_board_keep(&board, (struct lock_user){ PID, WAITER, 0 }, since_ns,
                                 now_ns + 2 * NS_PER_S, false));
    assert_true(lock_board_keep(&board, (struct lock_user){ PID, WAITER, 0 }, since_ns,
                                now_ns + 2 * NS_PER_S, true));
    /* Its owner may be another one. */
    wait.has_owner = true;
    note(&board, WAITER, &wait, 1, since_ns, now_ns);
    assert_false(lock_board_keep(&board, (struct lock_user){ PID, WAITER, 0 }, since_ns,
                                 now_ns + 1, false));
    lock_board_deinit(&board);
}

/* Samples count its time. */
static void the_gil_is_known_but_not_counted(void **state)
{
    struct lock_board board;
    struct session_locks locks;
    struct lock_use wait = wait_for(0x10, 10);
    (void)state;
    lock_board_init(&board);
    wait.gil_turn = 1;
    wait.may_be_held = false;
    lock_board_begin(&board);
    note(&board, WAITER, &wait, 1, 0, BEGIN_NS);
    assert_false(lock_board_lacks_holder(&board, PID));
    assert_ok(lock_board_count(&board, BEGIN_NS, STEP_NS), NULL);
    assert_ok(lock_board_copy(&board, &locks, NULL), NULL);
    assert_int_equal(locks.count, 0);
    assert_int_equal(locks.use_count, 1);
    session_locks_deinit(&locks);
    lock_board_deinit(&board);
}

static void the_least_waited_for_makes_room_and_is_counted(void **state)
{
    struct lock_board board;
    struct session_locks locks;
    uint64_t now_ns = BEGIN_NS;
    (void)state;
    lock_board_init(&board);
    board.created_ns = BEGIN_NS;
    for (uint64_t i = 0; i < 3; i++, now_ns += STEP_NS)
        read_pair(&board, 1, 20, BEGIN_NS + 1, now_ns + STEP_NS);
    for (uint64_t i = 0; i < 2 * SESSION_MAX_LOCKS; i++, now_ns += STEP_NS)
        read_pair(&board, 0x1000 + i, 20, now_ns, now_ns + STEP_NS);
    assert_ok(lock_board_copy(&board, &locks, NULL), NULL);
    assert_int_equal(locks.count, SESSION_MAX_LOCKS);
    assert_int_equal(locks.dropped, SESSION_MAX_LOCKS + 1);
    assert_int_equal(locks.dropped_ns, (SESSION_MAX_LOCKS + 1) * STEP_NS);
    assert_int_equal(locks.items[0].object, 1);
    session_locks_deinit(&locks);
    lock_board_deinit(&board);
}

static void lines_beyond_the_limit_count_as_time_alone(void **state)
{
    struct lock_board board;
    struct session_locks locks;
    (void)state;
    lock_board_init(&board);
    for (int32_t i = 0; i < 2 * SESSION_LOCK_LINES; i++)
        read_pair(&board, 1, 20 + i, 5, 10 * NS_PER_S + (uint64_t)i * STEP_NS);
    assert_ok(lock_board_copy(&board, &locks, NULL), NULL);
    assert_int_equal(locks.items[0].holder_count, SESSION_LOCK_LINES);
    assert_int_equal(locks.items[0].held_ns, 2 * SESSION_LOCK_LINES * STEP_NS);
    session_locks_deinit(&locks);
    lock_board_deinit(&board);
}

TEST_GROUP(cmocka_unit_test(the_gil_is_known_but_not_counted),
           cmocka_unit_test(waits_count_for_the_time_between_readings_and_by_line),
           cmocka_unit_test(a_thread_that_went_on_waits_again),
           cmocka_unit_test(a_lock_that_was_taken_between_two_readings_is_waited_for_again),
           cmocka_unit_test(what_is_known_of_a_thread_is_kept_until_it_moves_or_is_old),
           cmocka_unit_test(the_least_waited_for_makes_room_and_is_counted),
           cmocka_unit_test(lines_beyond_the_limit_count_as_time_alone))
