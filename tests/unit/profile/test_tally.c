#include "sampler/profile/cell_key.h"
#include "sampler/profile/tally.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

static void add(struct tally *tally, uint64_t key, uint64_t count)
{
    struct err err = { 0 };
    assert_ok(tally_add(tally, key, count, 0, &err), &err);
}

static void counts_of_the_same_cell_add_up(void **state)
{
    struct tally tally;
    (void)state;
    tally_init(&tally, 1u << 20);
    for (unsigned round = 1; round <= 3; round++)
        for (uint64_t key = 0; key < 1000; key++)
            add(&tally, key << 20, key * round);
    assert_int_equal(tally.count, 1000);
    for (uint32_t i = 0; i < tally.count; i++) {
        assert_int_equal(tally.cells[i].key, (uint64_t)i << 20);
        assert_int_equal(tally.cells[i].count, 6 * i);
    }
    tally_deinit(&tally);
}

static void a_full_tally_still_counts_the_cells_it_has(void **state)
{
    struct tally tally;
    struct err err = { 0 };
    (void)state;
    tally_init(&tally, 2);
    add(&tally, 5, 1);
    add(&tally, 6, 1);
    assert_int_equal(tally_add(&tally, 7, 1, 0, &err), ERR_LIMIT);
    assert_string_equal(err.message, "a count of samples is full at 2 cells");
    add(&tally, 5, 10);
    assert_int_equal(tally.count, 2);
    assert_int_equal(tally.cells[0].count, 11);
    tally_deinit(&tally);
}

static void a_cleared_tally_starts_from_nothing(void **state)
{
    struct tally tally;
    (void)state;
    tally_init(&tally, 100);
    add(&tally, 5, 7);
    tally_clear(&tally);
    assert_int_equal(tally.count, 0);
    add(&tally, 6, 1);
    add(&tally, 5, 2);
    assert_int_equal(tally.count, 2);
    assert_int_equal(tally.cells[1].count, 2);
    tally_deinit(&tally);
}

static void one_busy_window_does_not_burden_the_later_ones(void **state)
{
    struct tally tally;
    (void)state;
    tally_init(&tally, 1u << 20);
    for (uint64_t key = 0; key < 200000; key++)
        add(&tally, key, 1);
    tally_clear(&tally);
    for (unsigned window = 0; window < 2; window++) {
        for (uint64_t key = 0; key < 500; key++)
            add(&tally, key, 1);
        tally_clear(&tally);
    }
    assert_true(tally.room < 5000);
    assert_true(idmap_bytes(&tally.index) < 100000);
    assert_int_equal(tally.max_cells, 1u << 20);
    tally_deinit(&tally);
}

static void without_memory_no_cell_is_counted_twice(void **state)
{
    struct tally tally;
    unsigned failures = 0;
    (void)state;
    tally_init(&tally, 1u << 20);
    for (uint64_t key = 0; key < 5000; key++) {
        for (unsigned nth = 0;; nth++) {
            failing_alloc_at(nth);
            if (!tally_add(&tally, key, 1, 0, NULL))
                break;
            failures++;
        }
        failing_alloc_never();
        assert_int_equal(tally.count, key + 1);
        assert_int_equal(tally.cells[key].count, 1);
    }
    assert_true(failures >= 10);
    tally_deinit(&tally);
}

static void a_key_keeps_what_it_was_made_of(void **state)
{
    static const struct {
        thread_id thread;
        state_bits state;
        node_id node;
    } table[] = { { 0, 0, 0 },
                  { 1, 2, 3 },
                  { PROFILE_MAX_THREADS - 1, 0, 0 },
                  { 0, 0xffff, 0 },
                  { 0, 0, PROFILE_MAX_NODES - 1 },
                  { PROFILE_MAX_THREADS - 1, 0xffff, PROFILE_MAX_NODES - 1 } };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const uint64_t key = cell_key(table[i].thread, table[i].state, table[i].node);
        assert_int_equal(cell_key_thread(key), table[i].thread);
        assert_int_equal(cell_key_state(key), table[i].state);
        assert_int_equal(cell_key_node(key), table[i].node);
    }
}

static void keys_ascend_by_thread_then_state_then_node(void **state)
{
    (void)state;
    assert_true(cell_key(1, 0, 0) > cell_key(0, 0xffff, PROFILE_MAX_NODES - 1));
    assert_true(cell_key(0, 1, 0) > cell_key(0, 0, PROFILE_MAX_NODES - 1));
    assert_true(cell_key(0, 0, 1) > cell_key(0, 0, 0));
}

TEST_GROUP(cmocka_unit_test(counts_of_the_same_cell_add_up),
           cmocka_unit_test(a_full_tally_still_counts_the_cells_it_has),
           cmocka_unit_test(a_cleared_tally_starts_from_nothing),
           cmocka_unit_test(one_busy_window_does_not_burden_the_later_ones),
           cmocka_unit_test(without_memory_no_cell_is_counted_twice),
           cmocka_unit_test(a_key_keeps_what_it_was_made_of),
           cmocka_unit_test(keys_ascend_by_thread_then_state_then_node))
