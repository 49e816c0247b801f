#include <stdio.h>

#include "tests/support/test.h"
#include "tests/unit/cpython/made/code_world.h"

static void an_address_used_again_never_gives_the_old_name(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct code_world world;
        code_world_begin(&world, minor);
        const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
        const code_id old = code_world_load(&world, addr);
        assert_true(code_world_check(&world, old));
        fake_code_replace(&world.python, addr, &(struct fake_code){ .name = "other" });
        code_begin_epoch(&world.codes);
        assert_false(code_world_check(&world, old));
        assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
        assert_int_equal(world.codes.counters.stale, 1);
        const code_id now = code_world_load(&world, addr);
        assert_int_not_equal(now, old);
        assert_string_equal(code_world_name(&world, now), "other");
        assert_true(code_world_check(&world, now));
        assert_int_equal(code_find(&world.codes, addr, 0), now);
        code_world_end(&world);
    }
}

/* The new code object, its name, file and table have the addresses of the old ones. */
static void a_function_defined_again_at_the_same_place_is_noticed(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct code_world world;
        code_world_begin(&world, minor);
        const struct layout *const layout = &world.python.runtime.layout;
        const remote_addr addr =
            fake_code(&world.python, &(struct fake_code){ .name = "aaaa" });
        const code_id old = code_world_load(&world, addr);
        assert_true(code_world_check(&world, old));
        /* A str of the same length, with another hash. */
        const remote_addr name =
            fake_memory_u64(&world.python.memory, addr + layout->code_qualname);
        fake_memory_put(&world.python.memory, name + layout->unicode_ascii_bytes, "bbbb", 4);
        fake_memory_put_u64(&world.python.memory, name + layout->unicode_length + 8, 4711);
        if (minor > 11)
            fake_memory_put_u32(&world.python.memory, addr + layout->code_framesize + 12, 999);
        code_begin_epoch(&world.codes);
        assert_false(code_world_check(&world, old));
        assert_string_equal(code_world_name(&world, code_world_load(&world, addr)), "bbbb");
        code_world_end(&world);
    }
}

static void in_one_epoch_a_code_object_is_checked_once(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    const code_id id = code_world_load(&world, addr);
    uint64_t *const reads = &world.python.memory.memory.reads;
    uint64_t before = *reads;
    /* Never checked since it was loaded in several reads. */
    assert_true(code_world_check(&world, id));
    assert_int_equal(*reads, before + 1);
    assert_true(code_world_check(&world, id));
    assert_true(code_world_check(&world, id));
    assert_int_equal(*reads, before + 1);
    assert_int_equal(world.codes.counters.hits, 2);
    code_begin_epoch(&world.codes);
    assert_true(code_world_check(&world, id));
    assert_int_equal(*reads, before + 2);
    code_world_end(&world);
}

static void a_change_while_it_is_read_is_found_by_the_first_check(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 13);
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    const code_id id = code_world_load(&world, addr);
    fake_code_replace(&world.python, addr, &(struct fake_code){ .name = "other" });
    assert_false(code_world_check(&world, id));
    assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    code_world_end(&world);
}

static void one_stale_code_object_does_not_spoil_the_others(void **state)
{
    enum { COUNT = 300, STALE = 150 };
    code_id ids[COUNT * 2];
    remote_addr addrs[COUNT];
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor += 2) {
        struct code_world world;
        code_world_begin(&world, minor);
        for (size_t i = 0; i < COUNT; i++) {
            char name[16];
            snprintf(name, sizeof name, "f%zu", i);
            addrs[i] = fake_function(&world.python, name);
            /* Each is twice in the stack. */
            ids[i] = ids[COUNT + i] = code_world_load(&world, addrs[i]);
        }
        assert_true(code_check(&world.codes, ids, COUNT * 2));
        fake_code_replace(&world.python, addrs[STALE], &(struct fake_code){ .name = "new" });
        code_begin_epoch(&world.codes);
        const uint64_t before = world.python.memory.memory.reads;
        assert_false(code_check(&world.codes, ids, COUNT * 2));
        assert_true(world.python.memory.memory.reads - before <= COUNT / 100 + 1);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(code_find(&world.codes, addrs[i], 0),
                             i == STALE ? CODE_NONE : ids[i]);
        code_world_end(&world);
    }
}

static void a_code_object_that_is_unmapped_is_forgotten(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    const code_id id = code_world_load(&world, addr);
    assert_true(code_world_check(&world, id));
    fake_memory_unmap(&world.python.memory, addr);
    code_begin_epoch(&world.codes);
    assert_false(code_world_check(&world, id));
    assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    code_world_end(&world);
}

static void forgotten_code_objects_fill_the_table(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    for (uint32_t i = 0; i < CODE_MAX_FORGOTTEN; i++) {
        assert_false(code_table_is_full(&world.codes));
        const code_id id = code_world_load(&world, addr);
        assert_true(code_world_check(&world, id));
        fake_code_replace(&world.python, addr, &CODE_WORLD_EXAMPLE);
        code_begin_epoch(&world.codes);
        assert_false(code_world_check(&world, id));
        assert_false(code_world_check(&world, id));
    }
    assert_true(code_table_is_full(&world.codes));
    code_table_clear(&world.codes);
    assert_false(code_table_is_full(&world.codes));
    assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    assert_int_equal(world.codes.bytes, 0);
    assert_int_equal(world.codes.counters.clears, 1);
    assert_string_equal(code_world_name(&world, code_world_load(&world, addr)), "Class.method");
    code_world_end(&world);
}

static void more_code_objects_than_the_table_holds_are_not_loaded(void **state)
{
    struct code_world world;
    code_id id;
    (void)state;
    code_world_begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    for (uint32_t i = 0; i < CODE_MAX; i++)
        (void)code_world_load(&world, addr);
    assert_true(code_table_is_full(&world.codes));
    assert_int_equal(code_load(&world.codes, addr, 0, &id), ERR_LIMIT);
    code_table_clear(&world.codes);
    (void)code_world_load(&world, addr);
    code_world_end(&world);
}

/* A code object that the kernel engine described is right for the copies that come after it,
 * whatever the process has by now. */
static void what_was_described_is_not_read_from_the_process(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct code_world world;
        code_id now;
        code_world_begin(&world, minor);
        struct memory *const memory = &world.python.memory.memory;
        const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
        assert_int_equal(code_learn(&world.codes, memory, addr), ERR_OK);
        const code_id old = code_find(&world.codes, addr, 0);
        assert_string_equal(code_world_name(&world, old), "Class.method");
        fake_code_replace(&world.python, addr, &(struct fake_code){ .name = "other" });
        const uint64_t before = memory->reads;
        world.codes.is_described = true;
        code_begin_epoch(&world.codes);
        assert_true(code_world_check(&world, old));
        assert_int_equal(memory->reads, before);
        assert_int_equal(code_learn(&world.codes, memory, addr), ERR_CORRUPT);
        world.codes.is_described = false;
        assert_int_equal(code_learn(&world.codes, memory, addr), ERR_OK);
        now = code_find(&world.codes, addr, 0);
        assert_string_equal(code_world_name(&world, now), "other");
        world.codes.is_described = true;
        assert_false(code_world_check(&world, old));
        assert_true(code_world_check(&world, now));
        code_world_end(&world);
    }
}

/* The engine describes it again when it has forgotten that it did. */
static void what_is_described_twice_keeps_its_id(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 13);
    struct memory *const memory = &world.python.memory.memory;
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    assert_int_equal(code_learn(&world.codes, memory, addr), ERR_OK);
    const code_id id = code_find(&world.codes, addr, 0);
    assert_int_equal(code_learn(&world.codes, memory, addr), ERR_OK);
    assert_int_equal(code_find(&world.codes, addr, 0), id);
    assert_int_equal(world.codes.counters.stale, 0);
    code_world_end(&world);
}

/* A description that fails leaves no code object behind: not the one that was there before either. */
static void what_cannot_be_learnt_is_unknown(void **state)
{
    struct code_world world;
    code_id id;
    (void)state;
    code_world_begin(&world, 13);
    struct memory *const memory = &world.python.memory.memory;
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    assert_int_equal(code_learn(&world.codes, memory, addr), ERR_OK);
    fake_memory_put_u64(&world.python.memory, addr + world.python.runtime.layout.code_filename,
                        UINT64_MAX);
    fake_memory_put_u32(&world.python.memory,
                        addr + world.python.runtime.layout.code_firstlineno, 4711);
    assert_int_not_equal(code_learn(&world.codes, memory, addr), ERR_OK);
    assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    world.codes.is_described = true;
    assert_int_equal(code_load(&world.codes, addr, 0, &id), ERR_CORRUPT);
    code_world_end(&world);
}

TEST_GROUP(cmocka_unit_test(what_was_described_is_not_read_from_the_process),
           cmocka_unit_test(what_is_described_twice_keeps_its_id),
           cmocka_unit_test(what_cannot_be_learnt_is_unknown),
           cmocka_unit_test(an_address_used_again_never_gives_the_old_name),
           cmocka_unit_test(a_function_defined_again_at_the_same_place_is_noticed),
           cmocka_unit_test(in_one_epoch_a_code_object_is_checked_once),
           cmocka_unit_test(a_change_while_it_is_read_is_found_by_the_first_check),
           cmocka_unit_test(one_stale_code_object_does_not_spoil_the_others),
           cmocka_unit_test(a_code_object_that_is_unmapped_is_forgotten),
           cmocka_unit_test(forgotten_code_objects_fill_the_table),
           cmocka_unit_test(more_code_objects_than_the_table_holds_are_not_loaded))
