#include "sampler/base/pool.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

struct item {
    uint64_t number;
    char tail[4];
};

static void push(struct pool *pool, uint64_t number)
{
    const struct item item = { .number = number, .tail = "end" };
    struct err err = { 0 };
    uint32_t id;
    assert_ok(pool_push(pool, &item, &id, &err), &err);
    assert_int_equal(id, number);
}

static void fill(struct pool *pool, uint32_t count)
{
    pool_init(pool, sizeof(struct item), 0);
    for (uint32_t i = 0; i < count; i++)
        push(pool, i);
}

static void ids_count_up_and_lead_to_their_items(void **state)
{
    struct pool pool;
    (void)state;
    fill(&pool, 100000);
    for (uint32_t i = 0; i < 100000; i++) {
        const struct item *const item = pool_at(&pool, i);
        assert_int_equal(item->number, i);
        assert_string_equal(item->tail, "end");
    }
    pool_deinit(&pool);
}

static void items_stay_put_while_the_pool_grows(void **state)
{
    /* Both sides of each border between segments. */
    static const uint32_t ids[] = { 0, 1, 1023, 1024, 3071, 3072, 7167, 7168 };
    const void *address[sizeof ids / sizeof *ids];
    struct pool pool;
    (void)state;
    fill(&pool, 8000);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        address[i] = pool_at(&pool, ids[i]);
    for (uint32_t i = 8000; i < 200000; i++)
        push(&pool, i);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_ptr_equal(pool_at(&pool, ids[i]), address[i]);
    pool_deinit(&pool);
}

static void a_full_pool_says_so_and_keeps_what_it_has(void **state)
{
    struct pool pool;
    struct err err = { 0 };
    uint32_t id = 99;
    const struct item item = { 0 };
    (void)state;
    pool_init(&pool, sizeof item, 2);
    push(&pool, 0);
    push(&pool, 1);
    assert_int_equal(pool_push(&pool, &item, &id, &err), ERR_LIMIT);
    assert_string_equal(err.message, "a table is full at 2 rows");
    assert_int_equal(id, 99);
    assert_int_equal(pool.count, 2);
    assert_int_equal(((struct item *)pool_at(&pool, 1))->number, 1);
    pool_deinit(&pool);
}

static void the_last_id_of_all_has_a_place(void **state)
{
    struct pool pool;
    (void)state;
    pool_init(&pool, 1, 0);
    /* 22 segments, the last of 2^21 times 1024. */
    assert_int_equal(pool.max_count, 4294966272u);
    pool.segments[POOL_MAX_SEGMENTS - 1] = (unsigned char *)0x10000;
    const size_t last = (size_t)(unsigned char *)pool_at(&pool, pool.max_count - 1) - 0x10000;
    assert_int_equal(last, ((size_t)1024 << 21) - 1);
}

static void the_newest_item_can_be_taken_back(void **state)
{
    struct pool pool;
    (void)state;
    fill(&pool, 1025);
    pool_pop(&pool);
    assert_int_equal(pool.count, 1024);
    push(&pool, 1024);
    assert_int_equal(((struct item *)pool_at(&pool, 1024))->number, 1024);
    pool_deinit(&pool);
}

static void bytes_are_those_of_the_segments(void **state)
{
    struct pool pool;
    (void)state;
    fill(&pool, 0);
    assert_int_equal(pool_bytes(&pool), 0);
    push(&pool, 0);
    assert_int_equal(pool_bytes(&pool), 1024 * sizeof(struct item));
    for (uint32_t i = 1; i <= 1024; i++)
        push(&pool, i);
    assert_int_equal(pool_bytes(&pool), 3 * 1024 * sizeof(struct item));
    pool_deinit(&pool);
    assert_int_equal(pool_bytes(&pool), 0);
}

static void without_memory_nothing_is_added(void **state)
{
    const struct item item = { 0 };
    struct pool pool;
    uint32_t id = 99;
    (void)state;
    fill(&pool, 1024);
    failing_alloc_at(0);
    assert_int_equal(pool_push(&pool, &item, &id, NULL), ERR_NOMEM);
    failing_alloc_never();
    assert_int_equal(id, 99);
    assert_int_equal(pool.count, 1024);
    push(&pool, 1024);
    pool_deinit(&pool);
}

TEST_GROUP(cmocka_unit_test(ids_count_up_and_lead_to_their_items),
           cmocka_unit_test(items_stay_put_while_the_pool_grows),
           cmocka_unit_test(a_full_pool_says_so_and_keeps_what_it_has),
           cmocka_unit_test(the_last_id_of_all_has_a_place),
           cmocka_unit_test(the_newest_item_can_be_taken_back),
           cmocka_unit_test(bytes_are_those_of_the_segments),
           cmocka_unit_test(without_memory_nothing_is_added))
