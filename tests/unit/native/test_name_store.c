#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/native/name_store.h"
#include "tests/support/test.h"

static size_t name_of(uint32_t number, char out[128])
{
    return (size_t)snprintf(out, 128, "_ZN7pyro%uNameIiLi%uEE3runEv", number * 7919, number);
}

static void names_are_read_as_they_were_added(void **state)
{
    enum { NAMES = 20000 };
    struct name_store store = { 0 };
    uint32_t *const ids = calloc(NAMES, sizeof *ids);
    char name[128], text[NAME_STORE_MAX_NAME + 1];
    size_t total = 0;
    (void)state;
    assert_non_null(ids);
    for (uint32_t i = 0; i < NAMES; i++) {
        const size_t length = name_of(i, name);
        total += length + 1;
        assert_int_equal(name_store_add(&store, name, length, &ids[i]), ERR_OK);
    }
    assert_int_equal(name_store_close(&store), ERR_OK);
    assert_true(name_store_bytes(&store) < total / 2);
    for (uint32_t i = 0; i < NAMES; i += 37) {
        const size_t length = name_of(i, name);
        assert_int_equal(name_store_read(&store, ids[i], text), length);
        assert_string_equal(text, name);
    }
    name_store_deinit(&store);
    free(ids);
}

static void long_names_are_cut_and_unknown_ids_have_none(void **state)
{
    static char longer[2 * NAME_STORE_MAX_NAME];
    struct name_store store = { 0 };
    char text[NAME_STORE_MAX_NAME + 1];
    uint32_t empty, cut;
    (void)state;
    memset(longer, 'x', sizeof longer);
    assert_int_equal(name_store_add(&store, "", 0, &empty), ERR_OK);
    assert_int_equal(name_store_add(&store, longer, sizeof longer, &cut), ERR_OK);
    assert_int_equal(name_store_close(&store), ERR_OK);
    assert_int_equal(name_store_read(&store, empty, text), 0);
    assert_int_equal(name_store_read(&store, cut, text), NAME_STORE_MAX_NAME);
    assert_int_equal(strlen(text), NAME_STORE_MAX_NAME);
    assert_int_equal(name_store_read(&store, NAME_STORE_MAX_NAME + 9, text), 0);
    assert_int_equal(name_store_read(&store, UINT32_MAX, text), 0);
    assert_string_equal(text, "");
    name_store_deinit(&store);
}

static void full_store_takes_no_more(void **state)
{
    static char name[NAME_STORE_MAX_NAME];
    struct name_store store = { 0 };
    size_t added = 0;
    uint32_t id;
    (void)state;
    memset(name, 'y', sizeof name);
    while (name_store_add(&store, name, sizeof name, &id) == ERR_OK)
        added += sizeof name + 1;
    assert_true(added <= NAME_STORE_MAX_BYTES);
    assert_true(added > NAME_STORE_MAX_BYTES - NAME_STORE_BLOCK_BYTES);
    assert_int_equal(name_store_add(&store, name, sizeof name, &id), ERR_LIMIT);
    assert_int_equal(name_store_close(&store), ERR_OK);
    name_store_deinit(&store);
}

static void names_that_do_not_become_smaller_fill_the_store_sooner(void **state)
{
    static char name[NAME_STORE_MAX_NAME];
    struct name_store store = { 0 };
    uint32_t id, noise = 1;
    (void)state;
    do {
        for (size_t i = 0; i < sizeof name; i++) {
            noise = noise * 1664525 + 1013904223;
            name[i] = (char)(noise >> 24 ? noise >> 24 : 1);
        }
    } while (name_store_add(&store, name, sizeof name, &id) == ERR_OK);
    assert_int_equal(name_store_close(&store), ERR_OK);
    assert_in_range(store.compressed_bytes, NAME_STORE_MAX_COMPRESSED_BYTES,
                    NAME_STORE_MAX_COMPRESSED_BYTES + 2 * NAME_STORE_BLOCK_BYTES);
    name_store_deinit(&store);
}

static void empty_store_has_no_names(void **state)
{
    struct name_store store = { 0 };
    char text[NAME_STORE_MAX_NAME + 1];
    (void)state;
    assert_int_equal(name_store_close(&store), ERR_OK);
    assert_int_equal(name_store_read(&store, 0, text), 0);
    assert_int_equal(name_store_bytes(&store), 0);
    name_store_deinit(&store);
}

TEST_GROUP(cmocka_unit_test(names_are_read_as_they_were_added),
           cmocka_unit_test(long_names_are_cut_and_unknown_ids_have_none),
           cmocka_unit_test(full_store_takes_no_more),
           cmocka_unit_test(names_that_do_not_become_smaller_fill_the_store_sooner),
           cmocka_unit_test(empty_store_has_no_names))
