#include <string.h>

#include "sampler/session/fold/locals_board.h"
#include "tests/support/test.h"

enum { PID = 4711, TID = 4712 };

static uint32_t add(struct locals_board *board, int32_t tid, const char *frames, size_t bytes)
{
    const struct buffer buffer = { .data = (char *)(uintptr_t)frames, .length = bytes };
    uint32_t row = 0;
    assert_ok(locals_board_add(board, PID, tid, &buffer, &row), NULL);
    return row;
}

static void a_reader_has_a_copy_of_all_threads(void **state)
{
    struct locals_board board;
    struct session_locals copy;
    (void)state;
    locals_board_init(&board);
    assert_int_equal(add(&board, TID, "abc", 3), 1);
    assert_int_equal(add(&board, TID + 1, "de", 2), 2);
    locals_board_place(&board, 2, 17);
    assert_ok(locals_board_copy(&board, &copy, NULL), NULL);
    locals_board_deinit(&board);
    assert_int_equal(copy.count, 2);
    assert_int_equal(copy.threads[0].node, 0);
    assert_int_equal(copy.threads[1].node, 17);
    assert_int_equal(copy.threads[1].tid, TID + 1);
    assert_memory_equal(copy.frames + copy.threads[1].from, "de", copy.threads[1].bytes);
    session_locals_deinit(&copy);
}

static void what_has_no_room_is_counted(void **state)
{
    static char frames[SESSION_MAX_LOCALS_BYTES / 2];
    struct locals_board board;
    struct session_locals copy;
    (void)state;
    locals_board_init(&board);
    assert_int_equal(add(&board, TID, frames, sizeof frames), 1);
    assert_int_equal(add(&board, TID, frames, sizeof frames), 2);
    assert_int_equal(add(&board, TID, frames, 1), 0);
    assert_ok(locals_board_copy(&board, &copy, NULL), NULL);
    assert_int_equal(copy.left_out, 1);
    assert_int_equal(copy.frame_bytes, SESSION_MAX_LOCALS_BYTES);
    session_locals_deinit(&copy);
    locals_board_deinit(&board);
}

static void there_are_so_many_threads(void **state)
{
    struct locals_board board;
    (void)state;
    locals_board_init(&board);
    for (int32_t i = 0; i < SESSION_MAX_LOCALS_THREADS; i++)
        assert_int_equal(add(&board, TID + i, "", 0), i + 1);
    assert_int_equal(add(&board, 1, "", 0), 0);
    assert_int_equal(board.locals.left_out, 1);
    locals_board_deinit(&board);
}

TEST_GROUP(cmocka_unit_test(a_reader_has_a_copy_of_all_threads),
           cmocka_unit_test(what_has_no_room_is_counted),
           cmocka_unit_test(there_are_so_many_threads))
