#include "sampler/base/hash.h"
#include "sampler/profile/tables.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

struct row {
    uint32_t number;
    uint8_t letter; /* padding follows */
};

static bool same(const void *row, const void *other)
{
    const struct row *const a = row;
    const struct row *const b = other;
    return a->number == b->number && a->letter == b->letter;
}

static enum err_code try_intern(struct table *table, uint32_t number, uint32_t *id_out)
{
    const struct row row = { number, 'r' };
    return table_intern(table, hash_mix(number, 0), &row, id_out, NULL);
}

static uint32_t intern(struct table *table, uint32_t number)
{
    uint32_t id;
    assert_int_equal(try_intern(table, number, &id), ERR_OK);
    return id;
}

static void equal_rows_are_kept_once(void **state)
{
    struct table table;
    (void)state;
    table_init(&table, sizeof(struct row), 0, same);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(intern(&table, i * 7), i);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(intern(&table, i * 7), i);
    assert_int_equal(table_count(&table), 10000);
    assert_int_equal(((const struct row *)table_at(&table, 9))->number, 63);
    table_deinit(&table);
}

static void rows_with_the_same_hash_are_distinguished(void **state)
{
    struct table table;
    uint32_t a, b, again;
    (void)state;
    table_init(&table, sizeof(struct row), 0, same);
    assert_int_equal(table_intern(&table, 5, &(struct row){ 1, 'a' }, &a, NULL), ERR_OK);
    assert_int_equal(table_intern(&table, 5, &(struct row){ 1, 'b' }, &b, NULL), ERR_OK);
    assert_int_equal(table_intern(&table, 5, &(struct row){ 1, 'a' }, &again, NULL), ERR_OK);
    assert_int_not_equal(a, b);
    assert_int_equal(again, a);
    table_deinit(&table);
}

static void a_full_table_still_finds_what_it_has(void **state)
{
    struct table table;
    uint32_t id = 99;
    struct err err = { 0 };
    (void)state;
    table_init(&table, sizeof(struct row), 3, same);
    for (uint32_t i = 0; i < 3; i++)
        intern(&table, i);
    const size_t bytes = table_bytes(&table);
    for (uint32_t i = 3; i < 1000; i++)
        assert_int_equal(try_intern(&table, i, &id), ERR_LIMIT);
    assert_int_equal(table_intern(&table, 0, &(struct row){ 3, 'r' }, &id, &err), ERR_LIMIT);
    assert_string_equal(err.message, "a table is full at 3 rows");
    assert_int_equal(id, 99);
    assert_int_equal(table_bytes(&table), bytes);
    assert_int_equal(intern(&table, 2), 2);
    table_deinit(&table);
}

static void without_memory_no_row_is_kept_twice(void **state)
{
    struct table table;
    unsigned failures = 0;
    (void)state;
    table_init(&table, sizeof(struct row), 0, same);
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t id;
        for (unsigned nth = 0;; nth++) {
            failing_alloc_at(nth);
            if (!try_intern(&table, i, &id))
                break;
            failures++;
        }
        failing_alloc_never();
        assert_int_equal(id, i);
        assert_int_equal(intern(&table, i), i);
    }
    assert_true(failures >= 10);
    table_deinit(&table);
}

TEST_GROUP(cmocka_unit_test(equal_rows_are_kept_once),
           cmocka_unit_test(rows_with_the_same_hash_are_distinguished),
           cmocka_unit_test(a_full_table_still_finds_what_it_has),
           cmocka_unit_test(without_memory_no_row_is_kept_twice))
