#include <stdlib.h>

#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"

enum { MANY = 50000 };

static void add(struct idmap *map, uint32_t hash, uint32_t id)
{
    struct err err = { 0 };
    assert_ok(idmap_add(map, hash, id, &err), &err);
}

/* How often (hash, id) is met on the way to the first free slot. */
static unsigned times_met(const struct idmap *map, uint32_t hash, uint32_t id)
{
    unsigned times = 0;
    for (struct idmap_slot *at = idmap_first(map, hash); at; at = idmap_next(map, at))
        times += at->hash == hash && at->id == id;
    return times;
}

static void an_empty_map_finds_nothing(void **state)
{
    struct idmap map;
    (void)state;
    idmap_init(&map);
    assert_int_equal(times_met(&map, 0, 0), 0);
    assert_int_equal(times_met(&map, UINT32_MAX, 0), 0);
    assert_int_equal(idmap_bytes(&map), 0);
    idmap_clear(&map);
    idmap_deinit(&map);
}

static void every_entry_is_found_once_however_far_the_map_grew(void **state)
{
    struct idmap map;
    (void)state;
    idmap_init(&map);
    for (uint32_t i = 0; i < MANY; i++)
        add(&map, hash_mix(i, 0), i);
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(times_met(&map, hash_mix(i, 0), i), 1);
    assert_int_equal(times_met(&map, hash_mix(MANY, 0), MANY), 0);
    assert_int_equal(map.count, MANY);
    idmap_deinit(&map);
}

static void entries_with_the_same_hash_are_all_candidates(void **state)
{
    struct idmap map;
    (void)state;
    idmap_init(&map);
    for (uint32_t i = 0; i < 200; i++)
        add(&map, 0xffffffff, i);
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(times_met(&map, 0xffffffff, i), 1);
    idmap_deinit(&map);
}

static void a_quarter_of_the_slots_stays_free(void **state)
{
    struct idmap map;
    (void)state;
    idmap_init(&map);
    for (uint32_t i = 0; i < MANY; i++) {
        add(&map, i, i);
        assert_true((uint64_t)map.count * 4 <= ((uint64_t)map.mask + 1) * 3);
    }
    idmap_deinit(&map);
}

static void clearing_forgets_all_and_keeps_the_room(void **state)
{
    struct idmap map;
    (void)state;
    idmap_init(&map);
    for (uint32_t i = 0; i < 1000; i++)
        add(&map, i, i);
    const size_t bytes = idmap_bytes(&map);
    idmap_clear(&map);
    assert_int_equal(map.count, 0);
    assert_int_equal(idmap_bytes(&map), bytes);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(times_met(&map, i, i), 0);
    add(&map, 5, 6);
    assert_int_equal(times_met(&map, 5, 6), 1);
    idmap_deinit(&map);
}

static void the_wanted_row_is_found_among_equal_hashes(void **state)
{
    static const int rows[] = { 7, 8, 9 };
    struct idmap map;
    struct idmap_slot *at;
    (void)state;
    idmap_init(&map);
    IDMAP_FIND(at, &map, 3, true);
    assert_null(at);
    for (uint32_t id = 0; id < 3; id++)
        add(&map, 3, id);
    for (uint32_t id = 0; id < 3; id++) {
        IDMAP_FIND(at, &map, 3, rows[at->id] == rows[id]);
        assert_non_null(at);
        assert_int_equal(at->id, id);
    }
    IDMAP_FIND(at, &map, 3, rows[at->id] == 6);
    assert_null(at);
    /* A key with another hash is not found, though its hash leads to the same slots. */
    IDMAP_FIND(at, &map, 3 + 64, rows[at->id] == 7);
    assert_null(at);
    idmap_deinit(&map);
}

static void a_full_map_says_so(void **state)
{
    struct idmap_slot slot;
    struct err err = { 0 };
    /* As after 2^31 entries; the slots are not read. */
    struct idmap map = { .slots = &slot, .mask = 0x7fffffff, .count = 0x7fffffff };
    (void)state;
    assert_int_equal(idmap_add(&map, 0, 0, &err), ERR_LIMIT);
    assert_string_equal(err.message, "an index is full");
}

static void without_memory_nothing_is_added(void **state)
{
    struct idmap map;
    uint32_t count = 0;
    (void)state;
    idmap_init(&map);
    for (bool failed = false; !failed; count++) {
        failing_alloc_at(0);
        failed = map.slots && idmap_add(&map, count, count, NULL);
        failing_alloc_never();
        if (!map.slots)
            add(&map, count, count);
    }
    assert_int_equal(--count, map.count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(times_met(&map, i, i), 1);
    add(&map, count, count);
    assert_int_equal(times_met(&map, count, count), 1);
    idmap_deinit(&map);
}

static void neighbouring_keys_spread(void **state)
{
    enum { BUCKETS = 256, PER_BUCKET = 400 };
    unsigned buckets[BUCKETS] = { 0 };
    (void)state;
    for (uint32_t a = 0; a < 320; a++)
        for (uint32_t b = 0; b < 320; b++)
            buckets[hash_mix(a, b) % BUCKETS]++;
    for (size_t i = 0; i < BUCKETS; i++)
        assert_in_range(buckets[i], PER_BUCKET * 3 / 4, PER_BUCKET * 5 / 4);
}

TEST_GROUP(cmocka_unit_test(an_empty_map_finds_nothing),
           cmocka_unit_test(every_entry_is_found_once_however_far_the_map_grew),
           cmocka_unit_test(entries_with_the_same_hash_are_all_candidates),
           cmocka_unit_test(a_quarter_of_the_slots_stays_free),
           cmocka_unit_test(clearing_forgets_all_and_keeps_the_room),
           cmocka_unit_test(the_wanted_row_is_found_among_equal_hashes),
           cmocka_unit_test(a_full_map_says_so),
           cmocka_unit_test(without_memory_nothing_is_added),
           cmocka_unit_test(neighbouring_keys_spread))
