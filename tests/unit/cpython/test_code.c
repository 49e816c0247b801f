#include "sampler/cpython/objects/code_place.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/code_world.h"

static void a_code_object_is_read_in_every_version(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct code_world world;
        code_world_begin(&world, minor);
        const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
        assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
        const code_id id = code_world_load(&world, addr);
        const struct code *const code = code_at(&world.codes, id);
        assert_int_equal(code_find(&world.codes, addr, 0), id);
        assert_string_equal(code_world_name(&world, id), "Class.method");
        assert_string_equal(code_world_text(&world, code->file), "/srv/app.py");
        assert_int_equal(code->addr, addr);
        assert_int_equal(code->first_line, 42);
        assert_int_equal(code->units, 10);
        assert_int_equal(code->frame_words, fake_code_words(&world.python, addr));
        assert_int_equal(code->first_traceable, FAKE_FIRST_TRACEABLE);
        assert_int_equal(code->instructions, fake_instr(&world.python, addr, 0));
        assert_int_equal(world.codes.counters.misses, 1);
        code_world_end(&world);
    }
}

static void what_is_no_code_object_is_refused(void **state)
{
    struct code_world world;
    code_id id = 42;
    (void)state;
    code_world_begin(&world, 15);
    struct fake_memory *const memory = &world.python.memory;
    const struct layout *const layout = &world.python.runtime.layout;
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    fake_memory_put_u64(memory, addr + layout->object_type, fake_type(&world.python, "codec"));
    assert_int_equal(code_load(&world.codes, addr, 0, &id), ERR_CORRUPT);
    fake_memory_put_u64(memory, addr + layout->object_type, 0);
    assert_int_equal(code_load(&world.codes, addr, 0, &id), ERR_CORRUPT);
    assert_int_equal(code_load(&world.codes, 16, 0, &id), ERR_FAULT);
    assert_int_equal(code_load(&world.codes, fake_alloc(&world.python, 4096), 0, &id),
                     ERR_CORRUPT);
    assert_int_equal(id, 42);
    assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    code_world_end(&world);
}

/* Once the type is known, one of the same name at another place is another type. */
static void the_type_of_code_objects_is_one_object(void **state)
{
    struct code_world world;
    code_id id;
    (void)state;
    code_world_begin(&world, 15);
    const remote_addr first = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    const remote_addr second = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    (void)code_world_load(&world, first);
    fake_memory_put_u64(&world.python.memory, second + world.python.runtime.layout.object_type,
                        fake_type(&world.python, "code"));
    assert_int_equal(code_load(&world.codes, second, 0, &id), ERR_CORRUPT);
    code_world_end(&world);
}

static void hostile_fields_fail_and_keep_nothing(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 15);
    const struct layout *const layout = &world.python.runtime.layout;
    const struct {
        uint32_t offset;
        uint64_t value;
    } lies[] = {
        { layout->bytes_length, CODE_MAX_UNITS + 1ull },
        { layout->bytes_length, UINT64_MAX },
        { layout->code_qualname, 0 },
        { layout->code_qualname, 8 },
        { layout->code_qualname, world.python.code_type },
        { layout->code_filename, UINT64_MAX },
        { layout->code_linetable, 0 },
        { layout->code_linetable, 24 },
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
        code_id id;
        fake_memory_put_u64(&world.python.memory, addr + lies[i].offset, lies[i].value);
        const enum err_code rc = code_load(&world.codes, addr, 0, &id);
        assert_true(rc == ERR_CORRUPT || rc == ERR_FAULT);
        assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    }
    code_world_end(&world);
}

static void a_frame_that_has_not_begun_is_held_and_others_are_not(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 12);
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    const struct code *const code = code_at(&world.codes, code_world_load(&world, addr));
    assert_true(code_holds(code, code->instructions - 2));
    assert_false(code_holds(code, code->instructions - 3));
    assert_true(code_holds(code, code->instructions + 19));
    assert_false(code_holds(code, code->instructions + 20));
    assert_false(code_holds(code, 0));
    assert_false(code_holds(code, UINT64_MAX));
    assert_false(code_holds(code, UINT64_MAX - 1));
    code_world_end(&world);
}

static void many_code_objects_are_distinct(void **state)
{
    enum { COUNT = 2000 };
    struct code_world world;
    remote_addr addrs[COUNT];
    (void)state;
    code_world_begin(&world, 14);
    for (size_t i = 0; i < COUNT; i++) {
        addrs[i] = fake_code(&world.python, &(struct fake_code){ .first_line = (int)i + 1 });
        (void)code_world_load(&world, addrs[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const code_id id = code_find(&world.codes, addrs[i], 0);
        assert_int_equal(code_at(&world.codes, id)->first_line, i + 1);
    }
    code_world_end(&world);
}

/* Frames of a thread stand in its own copy of the instructions, which is no part of the object. */
static void copies_of_instructions_are_known_one_by_one(void **state)
{
    enum { COPIES = 3 };
    struct code_world world;
    code_id own, copy, again;
    (void)state;
    code_world_begin(&world, 14);
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    struct fake_memory *const memory = &world.python.memory;
    const remote_addr list = fake_alloc(&world.python, (1 + COPIES) * 8),
                      first = fake_alloc(&world.python, 64),
                      second = fake_alloc(&world.python, 64);
    struct layout *const layout = &world.python.runtime.layout;
    layout->code_tlbc = layout->code_instructions - 8;
    fake_memory_put_u64(memory, addr + layout->code_tlbc, list);
    fake_memory_put_u64(memory, list, COPIES);
    fake_memory_put_u64(memory, list + 8, addr + layout->code_instructions);
    fake_memory_put_u64(memory, list + 16, first);
    own = code_world_load(&world, addr);
    assert_int_equal(code_load(&world.codes, addr, 1, &copy), ERR_OK);
    assert_int_equal(code_find(&world.codes, addr, 0), own);
    assert_int_equal(code_find(&world.codes, addr, 1), copy);
    assert_int_equal(code_at(&world.codes, copy)->name, code_at(&world.codes, own)->name);
    assert_int_equal(code_holding(&world.codes, first + 4), copy);
    assert_int_equal(code_holding(&world.codes, addr + layout->code_instructions + 4), own);
    assert_int_equal(code_place(&world.codes, copy, first + 6)->location.line,
                     CODE_WORLD_EXAMPLE.first_line + 3);
    /* One that was never made, one beyond the list. */
    assert_int_equal(code_load(&world.codes, addr, 2, &again), ERR_CORRUPT);
    assert_int_equal(code_load(&world.codes, addr, COPIES, &again), ERR_CORRUPT);
    assert_int_equal(code_load(&world.codes, addr, UINT32_MAX, &again), ERR_CORRUPT);
    /* The copy is freed, and made again elsewhere. */
    assert_true(code_copy_is_valid(&world.codes, own) &&
                code_copy_is_valid(&world.codes, copy));
    fake_memory_put_u64(memory, list + 16, second);
    assert_false(code_copy_is_valid(&world.codes, copy));
    assert_int_equal(code_load(&world.codes, addr, 1, &again), ERR_OK);
    assert_int_equal(code_find(&world.codes, addr, 1), again);
    assert_true(code_holds(code_at(&world.codes, again), second));
    /* Once another object is described, the copy of the old one is right no more. */
    world.codes.is_described = true;
    assert_true(code_check(&world.codes, &again, 1));
    fake_memory_put_u32(memory, addr + layout->code_firstlineno, 4711);
    world.codes.is_described = false;
    assert_int_equal(code_learn(&world.codes, &memory->memory, addr), ERR_OK);
    world.codes.is_described = true;
    assert_false(code_check(&world.codes, &again, 1));
    assert_int_equal(code_find(&world.codes, addr, 1), CODE_NONE);
    code_world_end(&world);
}

/* A popped frame still has its instruction, which is in one code object. */
static void an_instruction_identifies_its_code_object(void **state)
{
    enum { COUNT = 50 };
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct code_world world;
        remote_addr addrs[COUNT];
        code_id ids[COUNT];
        code_world_begin(&world, minor);
        assert_int_equal(code_holding(&world.codes, 0x1000), CODE_NONE);
        for (size_t i = 0; i < COUNT; i++) {
            addrs[i] = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
            ids[i] = code_world_load(&world, addrs[i]);
        }
        for (size_t i = 0; i < COUNT; i++) {
            const remote_addr first = fake_instr(&world.python, addrs[i], 0);
            assert_int_equal(code_holding(&world.codes, first), ids[i]);
            assert_int_equal(
                code_holding(&world.codes, first + (CODE_WORLD_EXAMPLE.units - 1) * 2), ids[i]);
            assert_int_equal(code_holding(&world.codes, first + CODE_WORLD_EXAMPLE.units * 2),
                             CODE_NONE);
        }
        assert_int_equal(code_holding(&world.codes, 0), CODE_NONE);
        assert_int_equal(code_holding(&world.codes, UINT64_MAX), CODE_NONE);
        code_world_end(&world);
    }
}

static void what_an_instruction_does_is_known_in_every_version(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct code_world world;
        code_world_begin(&world, minor);
        const remote_addr addr = fake_function(&world.python, "f");
        const code_id id = code_world_load(&world, addr);
        static const struct {
            uint32_t unit;
            enum code_act act;
        } rows[] = {
            { FAKE_RETURN_AT, CODE_RETURNS },
            { FAKE_YIELD_AT, CODE_YIELDS },
            { FAKE_FOR_ITER_AT, CODE_RESUMES },
            { FAKE_FIRST_TRACEABLE + 1, CODE_ACTS },
            { 1000, CODE_ACTS },
        };
        for (int again = 0; again < 2; again++)
            for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                assert_int_equal(code_act_at(&world.codes, id,
                                             fake_instr(&world.python, addr, rows[i].unit)),
                                 rows[i].act);
        /* In 3.12 a frame that waits for a generator is at the cache units of its instruction. */
        const remote_addr behind = fake_instr(&world.python, addr, FAKE_FOR_ITER_AT + 1);
        assert_int_equal(code_act_at(&world.codes, id, behind),
                         minor == 12 ? CODE_RESUMES : CODE_ACTS);
        code_world_end(&world);
    }
}

TEST_GROUP(cmocka_unit_test(a_code_object_is_read_in_every_version),
           cmocka_unit_test(what_is_no_code_object_is_refused),
           cmocka_unit_test(the_type_of_code_objects_is_one_object),
           cmocka_unit_test(hostile_fields_fail_and_keep_nothing),
           cmocka_unit_test(a_frame_that_has_not_begun_is_held_and_others_are_not),
           cmocka_unit_test(many_code_objects_are_distinct),
           cmocka_unit_test(copies_of_instructions_are_known_one_by_one),
           cmocka_unit_test(an_instruction_identifies_its_code_object),
           cmocka_unit_test(what_an_instruction_does_is_known_in_every_version))
