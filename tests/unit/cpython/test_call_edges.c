#include "sampler/cpython/stack/call_edges.h"
#include "tests/support/test.h"

static void a_call_is_known_once_it_was_seen(void **state)
{
    struct call_edges edges;
    (void)state;
    call_edges_init(&edges);
    assert_false(call_edges_has(&edges, 1, 2));
    call_edges_add(&edges, 1, 2);
    assert_true(call_edges_has(&edges, 1, 2));
    assert_false(call_edges_has(&edges, 2, 1));
    assert_false(call_edges_has(&edges, 1, 1));
    assert_false(call_edges_has(&edges, CODE_NONE, 2));
    call_edges_deinit(&edges);
}

static void the_bottom_of_a_stack_is_a_caller_too(void **state)
{
    struct call_edges edges;
    (void)state;
    call_edges_init(&edges);
    call_edges_add(&edges, CODE_NONE, 0);
    assert_true(call_edges_has(&edges, CODE_NONE, 0));
    assert_false(call_edges_has(&edges, 0, 0));
    assert_false(call_edges_has(&edges, 0, CODE_NONE));
    call_edges_deinit(&edges);
}

static void a_call_seen_again_takes_no_room(void **state)
{
    struct call_edges edges;
    (void)state;
    call_edges_init(&edges);
    for (int i = 0; i < 1000; i++)
        call_edges_add(&edges, 3, 4);
    assert_int_equal(edges.items.count, 1);
    call_edges_deinit(&edges);
}

static void many_calls_are_distinct(void **state)
{
    enum { SIDE = 300 };
    struct call_edges edges;
    (void)state;
    call_edges_init(&edges);
    for (code_id caller = 0; caller < SIDE; caller++)
        for (code_id callee = 0; callee < SIDE; callee++)
            if ((caller * 31 + callee) % 3 == 0)
                call_edges_add(&edges, caller, callee);
    for (code_id caller = 0; caller < SIDE; caller++)
        for (code_id callee = 0; callee < SIDE; callee++)
            assert_int_equal(call_edges_has(&edges, caller, callee),
                             (caller * 31 + callee) % 3 == 0);
    call_edges_deinit(&edges);
}

static void a_full_set_declines_and_keeps_what_it_has(void **state)
{
    struct call_edges edges;
    (void)state;
    call_edges_init(&edges);
    for (code_id i = 0; i < CALL_EDGES_MAX; i++)
        call_edges_add(&edges, i, i + 1);
    call_edges_add(&edges, 7, 7);
    assert_false(call_edges_has(&edges, 7, 7));
    assert_true(call_edges_has(&edges, 0, 1));
    assert_true(call_edges_has(&edges, CALL_EDGES_MAX - 1, CALL_EDGES_MAX));
    assert_int_equal(edges.items.count, CALL_EDGES_MAX);
    call_edges_deinit(&edges);
}

/* What only one reading showed may be wrong, but not often in the same way. */
static void what_was_suspected_often_enough_is_believed(void **state)
{
    struct call_edges edges;
    (void)state;
    call_edges_init(&edges);
    for (int i = 1; i < CALL_EDGES_ENOUGH; i++)
        call_edges_suspect(&edges, 1, 2);
    assert_false(call_edges_has(&edges, 1, 2));
    call_edges_suspect(&edges, 1, 2);
    assert_true(call_edges_has(&edges, 1, 2));
    call_edges_deinit(&edges);
}

static void what_is_rare_among_the_suspected_is_not_believed(void **state)
{
    enum { TRUE_ONES = 2 * CALL_EDGES_ENOUGH * CALL_EDGES_ONE_IN };
    struct call_edges edges;
    (void)state;
    call_edges_init(&edges);
    for (int i = 0; i < CALL_EDGES_ENOUGH; i++)
        call_edges_suspect(&edges, 3, 2);
    assert_true(call_edges_has(&edges, 3, 2));
    for (int i = 0; i < TRUE_ONES; i++)
        call_edges_suspect(&edges, 1, 2);
    assert_true(call_edges_has(&edges, 1, 2));
    assert_false(call_edges_has(&edges, 3, 2));
    /* Once it is certain, it stays so. */
    call_edges_add(&edges, 3, 2);
    assert_true(call_edges_has(&edges, 3, 2));
    call_edges_deinit(&edges);
}

static void a_call_is_made_from_where_it_was_last_seen(void **state)
{
    struct call_edges edges;
    (void)state;
    call_edges_init(&edges);
    call_edges_note_site(&edges, 1, 2, 0x10);
    assert_int_equal(call_edges_site(&edges, 1, 2), 0);
    call_edges_add(&edges, 1, 2);
    assert_int_equal(call_edges_site(&edges, 1, 2), 0);
    call_edges_note_site(&edges, 1, 2, 0x10);
    call_edges_note_site(&edges, 1, 2, 0x20);
    assert_int_equal(call_edges_site(&edges, 1, 2), 0x20);
    assert_int_equal(call_edges_site(&edges, 2, 1), 0);
    call_edges_deinit(&edges);
}

TEST_MAIN(cmocka_unit_test(a_call_is_known_once_it_was_seen),
          cmocka_unit_test(the_bottom_of_a_stack_is_a_caller_too),
          cmocka_unit_test(a_call_seen_again_takes_no_room),
          cmocka_unit_test(what_was_suspected_often_enough_is_believed),
          cmocka_unit_test(what_is_rare_among_the_suspected_is_not_believed),
          cmocka_unit_test(a_call_is_made_from_where_it_was_last_seen),
          cmocka_unit_test(many_calls_are_distinct),
          cmocka_unit_test(a_full_set_declines_and_keeps_what_it_has))
