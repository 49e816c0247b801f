#include "sampler/cpython/stack/call_edges.h"
#include "tests/support/test.h"

static void a_call_is_known_once_it_was_seen(void **state)
{
    struct links links;
    (void)state;
    links_init(&links);
    assert_false(links_has(&links, 1, 2));
    links_add(&links, 1, 2);
    assert_true(links_has(&links, 1, 2));
    assert_false(links_has(&links, 2, 1));
    assert_false(links_has(&links, 1, 1));
    assert_false(links_has(&links, CODE_NONE, 2));
    links_deinit(&links);
}

static void the_bottom_of_a_stack_is_a_caller_too(void **state)
{
    struct links links;
    (void)state;
    links_init(&links);
    links_add(&links, CODE_NONE, 0);
    assert_true(links_has(&links, CODE_NONE, 0));
    assert_false(links_has(&links, 0, 0));
    assert_false(links_has(&links, 0, CODE_NONE));
    links_deinit(&links);
}

static void a_call_seen_again_takes_no_room(void **state)
{
    struct links links;
    (void)state;
    links_init(&links);
    for (int i = 0; i < 1000; i++)
        links_add(&links, 3, 4);
    assert_int_equal(links.items.count, 1);
    links_deinit(&links);
}

static void many_calls_are_told_apart(void **state)
{
    enum { SIDE = 300 };
    struct links links;
    (void)state;
    links_init(&links);
    for (code_id caller = 0; caller < SIDE; caller++)
        for (code_id callee = 0; callee < SIDE; callee++)
            if ((caller * 31 + callee) % 3 == 0)
                links_add(&links, caller, callee);
    for (code_id caller = 0; caller < SIDE; caller++)
        for (code_id callee = 0; callee < SIDE; callee++)
            assert_int_equal(links_has(&links, caller, callee),
                             (caller * 31 + callee) % 3 == 0);
    links_deinit(&links);
}

static void a_full_set_declines_and_keeps_what_it_has(void **state)
{
    struct links links;
    (void)state;
    links_init(&links);
    for (code_id i = 0; i < LINKS_MAX; i++)
        links_add(&links, i, i + 1);
    links_add(&links, 7, 7);
    assert_false(links_has(&links, 7, 7));
    assert_true(links_has(&links, 0, 1));
    assert_true(links_has(&links, LINKS_MAX - 1, LINKS_MAX));
    assert_int_equal(links.items.count, LINKS_MAX);
    links_deinit(&links);
}

/* What only one reading showed may be wrong, but not often in the same way. */
static void what_was_suspected_often_enough_is_believed(void **state)
{
    struct links links;
    (void)state;
    links_init(&links);
    for (int i = 1; i < LINKS_ENOUGH; i++)
        links_suspect(&links, 1, 2);
    assert_false(links_has(&links, 1, 2));
    links_suspect(&links, 1, 2);
    assert_true(links_has(&links, 1, 2));
    links_deinit(&links);
}

static void what_is_rare_among_the_suspected_is_not_believed(void **state)
{
    enum { TRUE_ONES = 2 * LINKS_ENOUGH * LINKS_ONE_IN };
    struct links links;
    (void)state;
    links_init(&links);
    for (int i = 0; i < LINKS_ENOUGH; i++)
        links_suspect(&links, 3, 2);
    assert_true(links_has(&links, 3, 2));
    for (int i = 0; i < TRUE_ONES; i++)
        links_suspect(&links, 1, 2);
    assert_true(links_has(&links, 1, 2));
    assert_false(links_has(&links, 3, 2));
    /* Once it is certain, it stays so. */
    links_add(&links, 3, 2);
    assert_true(links_has(&links, 3, 2));
    links_deinit(&links);
}

static void a_call_is_made_from_where_it_was_last_seen(void **state)
{
    struct links links;
    (void)state;
    links_init(&links);
    links_note_site(&links, 1, 2, 0x10);
    assert_int_equal(links_site(&links, 1, 2), 0);
    links_add(&links, 1, 2);
    assert_int_equal(links_site(&links, 1, 2), 0);
    links_note_site(&links, 1, 2, 0x10);
    links_note_site(&links, 1, 2, 0x20);
    assert_int_equal(links_site(&links, 1, 2), 0x20);
    assert_int_equal(links_site(&links, 2, 1), 0);
    links_deinit(&links);
}

TEST_MAIN(cmocka_unit_test(a_call_is_known_once_it_was_seen),
          cmocka_unit_test(the_bottom_of_a_stack_is_a_caller_too),
          cmocka_unit_test(a_call_seen_again_takes_no_room),
          cmocka_unit_test(what_was_suspected_often_enough_is_believed),
          cmocka_unit_test(what_is_rare_among_the_suspected_is_not_believed),
          cmocka_unit_test(a_call_is_made_from_where_it_was_last_seen),
          cmocka_unit_test(many_calls_are_told_apart),
          cmocka_unit_test(a_full_set_declines_and_keeps_what_it_has))
