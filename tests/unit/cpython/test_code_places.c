#include <stdlib.h>

#include "sampler/cpython/objects/code_place.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/code_world.h"

static struct code_place *place_at(struct code_world *world, code_id id, remote_addr addr,
                                   uint32_t unit)
{
    struct code_place *const place =
        code_place(&world->codes, id, fake_instr(&world->python, addr, unit));
    assert_non_null(place);
    return place;
}

static void a_table_over_the_limit_leaves_lines_unknown(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 15);
    const struct layout *const layout = &world.python.runtime.layout;
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    const remote_addr table =
        fake_memory_u64(&world.python.memory, addr + layout->code_linetable);
    fake_memory_put_u64(&world.python.memory, table + layout->bytes_length,
                        OBJECT_MAX_BYTES + 1ull);
    const code_id id = code_world_load(&world, addr);
    const struct code_place *const place =
        code_place(&world.codes, id, fake_instr(&world.python, addr, 3));
    assert_int_equal(place->location.line, 0);
    assert_string_equal(code_world_name(&world, id), "Class.method");
    code_world_end(&world);
}

static void each_instruction_has_its_place(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct code_world world;
        code_world_begin(&world, minor);
        const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
        const code_id id = code_world_load(&world, addr);
        /* Neither in order nor once. */
        static const uint32_t units[] = { 5, 2, 9, 5, 0, 2, 2, 7, 1, 9 };
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            struct code_place *const place =
                code_place(&world.codes, id, fake_instr(&world.python, addr, units[i]));
            assert_non_null(place);
            assert_int_equal(place->unit, units[i]);
            assert_int_equal(place->location.line, 42 + (int)units[i]);
            /* The tag is the caller's and stays. */
            assert_true(place->tag == 0 || place->tag == units[i] + 1);
            place->tag = units[i] + 1;
        }
        assert_int_equal(code_at(&world.codes, id)->place_count, 6);
        code_world_end(&world);
    }
}

static void the_second_byte_of_a_unit_is_the_same_place(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    const code_id id = code_world_load(&world, addr);
    const remote_addr instr = fake_instr(&world.python, addr, 4);
    const struct code_place *const place = code_place(&world.codes, id, instr);
    assert_int_equal(place->unit, 4);
    assert_ptr_equal(code_place(&world.codes, id, instr + 1), place);
    code_world_end(&world);
}

static void an_instruction_outside_is_on_the_first_line(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 12);
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    const code_id id = code_world_load(&world, addr);
    const remote_addr outside[] = { fake_instr(&world.python, addr, 0) - 2,
                                    fake_instr(&world.python, addr, 10),
                                    0,
                                    UINT64_MAX,
                                    UINT64_MAX - 1,
                                    addr };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        const struct code_place *const place = code_place(&world.codes, id, outside[i]);
        assert_int_equal(place->location.line, 42);
        assert_int_equal(place->location.column, -1);
    }
    assert_int_equal(code_at(&world.codes, id)->place_count, 1);
    code_world_end(&world);
}

/* Three instructions without a line, RESUME on line 0 (of a module), then line 43. */
static void what_comes_before_the_first_line_is_on_the_line_of_the_def(void **state)
{
    static const unsigned char table[] = {
        0x80 | 15 << 3 | 2,          /* no location, 3 units */
        0x80 | 13 << 3 | 0, 85,      /* line 42 - 42, 1 unit */
        0x80 | 13 << 3 | 3, 86 & 63, /* further on, 4 units */
        0x80 | 15 << 3 | 1,          /* no location, 2 units */
    };
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct code_world world;
        struct fake_code shape = CODE_WORLD_EXAMPLE;
        code_world_begin(&world, minor);
        shape.table = table;
        shape.table_bytes = sizeof table;
        const remote_addr addr = fake_code(&world.python, &shape);
        fake_memory_put_u32(&world.python.memory,
                            addr + world.python.runtime.layout.code_firsttraceable, 3);
        const code_id id = code_world_load(&world, addr);
        for (uint32_t unit = 0; unit <= 3; unit++) {
            const struct location at = place_at(&world, id, addr, unit)->location;
            assert_int_equal(at.line, 42);
            assert_int_equal(at.end_line, 42);
            assert_int_equal(at.column, -1);
        }
        /* A later instruction without a line is not in the source, so its line is unknown. */
        assert_int_not_equal(place_at(&world, id, addr, 5)->location.line, 42);
        assert_int_equal(place_at(&world, id, addr, 8)->location.line, 0);
        code_world_end(&world);
    }
}

static void too_many_places_are_cleared(void **state)
{
    static const unsigned char no_lines = 0x80 | 15 << 3;
    const struct fake_code shape = { .units = CODE_MAX_PLACES + 16,
                                     .table = &no_lines,
                                     .table_bytes = 1 };
    struct code_world world;
    (void)state;
    code_world_begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &shape);
    const code_id id = code_world_load(&world, addr);
    for (uint32_t unit = 0; unit < CODE_MAX_PLACES; unit++)
        place_at(&world, id, addr, unit)->tag = 1;
    assert_int_equal(code_at(&world.codes, id)->place_count, CODE_MAX_PLACES);
    const size_t bytes = world.codes.bytes;
    assert_int_equal(place_at(&world, id, addr, CODE_MAX_PLACES - 1)->tag, 1);
    assert_int_equal(place_at(&world, id, addr, CODE_MAX_PLACES)->tag, 0);
    assert_int_equal(code_at(&world.codes, id)->place_count, 1);
    assert_int_equal(place_at(&world, id, addr, 0)->tag, 0);
    assert_int_equal(code_at(&world.codes, id)->place_count, 2);
    assert_int_equal(world.codes.bytes, bytes);
    code_world_end(&world);
}

/* The table of one code object is as large as can be; those after it have none. */
static void location_tables_have_a_limit_together(void **state)
{
    struct code_world world;
    (void)state;
    code_world_begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &CODE_WORLD_EXAMPLE);
    unsigned char *const lines = calloc(1, OBJECT_MAX_BYTES);
    assert_non_null(lines);
    const remote_addr table = fake_bytes(&world.python, lines, OBJECT_MAX_BYTES);
    free(lines);
    fake_memory_put_u64(&world.python.memory, addr + world.python.runtime.layout.code_linetable,
                        table);
    for (size_t i = 0; i < CODE_MAX_BYTES / OBJECT_MAX_BYTES; i++) {
        assert_false(code_table_is_full(&world.codes));
        assert_int_equal(code_at(&world.codes, code_world_load(&world, addr))->table_bytes,
                         OBJECT_MAX_BYTES);
    }
    assert_true(code_table_is_full(&world.codes));
    assert_null(code_at(&world.codes, code_world_load(&world, addr))->table);
    assert_int_equal(world.codes.bytes, CODE_MAX_BYTES);
    code_table_clear(&world.codes);
    assert_non_null(code_at(&world.codes, code_world_load(&world, addr))->table);
    code_world_end(&world);
}

TEST_GROUP(cmocka_unit_test(a_table_over_the_limit_leaves_lines_unknown),
           cmocka_unit_test(each_instruction_has_its_place),
           cmocka_unit_test(the_second_byte_of_a_unit_is_the_same_place),
           cmocka_unit_test(an_instruction_outside_is_on_the_first_line),
           cmocka_unit_test(what_comes_before_the_first_line_is_on_the_line_of_the_def),
           cmocka_unit_test(too_many_places_are_cleared),
           cmocka_unit_test(location_tables_have_a_limit_together))
