#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/code.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/fake_python.h"

struct world {
    struct fake_python python;
    struct strtab strings;
    struct code_table codes;
};

static void begin(struct world *world, unsigned minor)
{
    memset(world, 0, sizeof *world);
    fake_python_init(&world->python, minor);
    assert_int_equal(strtab_init(&world->strings, NULL), ERR_OK);
    code_table_init(&world->codes, &world->python.memory.memory, &world->python.runtime.layout,
                    &world->strings);
}

static void end(struct world *world)
{
    code_table_deinit(&world->codes);
    strtab_deinit(&world->strings);
    fake_python_deinit(&world->python);
}

static code_id load(struct world *world, remote_addr addr)
{
    code_id id = CODE_NONE;
    assert_int_equal(code_load(&world->codes, addr, 0, &id), ERR_OK);
    return id;
}

static const char *text(const struct world *world, str_id id)
{
    return strtab_get(&world->strings, id).text;
}

static const char *name_of(const struct world *world, code_id id)
{
    return text(world, code_at(&world->codes, id)->name);
}

static const struct fake_code EXAMPLE = {
    .name = "Class.method", .file = "/srv/app.py", .first_line = 42, .units = 10, .words = 7
};

static void a_code_object_is_read_in_every_version(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        const remote_addr addr = fake_code(&world.python, &EXAMPLE);
        assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
        const code_id id = load(&world, addr);
        const struct code *const code = code_at(&world.codes, id);
        assert_int_equal(code_find(&world.codes, addr, 0), id);
        assert_true(code_is_at(&world.codes, id, addr));
        assert_string_equal(name_of(&world, id), "Class.method");
        assert_string_equal(text(&world, code->file), "/srv/app.py");
        assert_int_equal(code->addr, addr);
        assert_int_equal(code->first_line, 42);
        assert_int_equal(code->units, 10);
        assert_int_equal(code->frame_words, fake_code_words(&world.python, addr));
        assert_int_equal(code->first_traceable, FAKE_FIRST_TRACEABLE);
        assert_int_equal(code->instructions, fake_instr(&world.python, addr, 0));
        assert_int_equal(world.codes.counters.misses, 1);
        end(&world);
    }
}

static bool check(struct world *world, code_id id)
{
    return code_check(&world->codes, &id, 1);
}

static void an_address_used_again_never_gives_the_old_name(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        const remote_addr addr = fake_code(&world.python, &EXAMPLE);
        const code_id old = load(&world, addr);
        assert_true(check(&world, old));
        fake_code_replace(&world.python, addr, &(struct fake_code){ .name = "other" });
        code_begin_epoch(&world.codes);
        assert_false(check(&world, old));
        assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
        assert_false(code_is_at(&world.codes, old, addr));
        assert_int_equal(world.codes.counters.stale, 1);
        const code_id now = load(&world, addr);
        assert_int_not_equal(now, old);
        assert_string_equal(name_of(&world, now), "other");
        assert_true(check(&world, now));
        assert_int_equal(code_find(&world.codes, addr, 0), now);
        end(&world);
    }
}

/* The new one lies where the old one lay, and so do its name, file and table. */
static void a_function_defined_again_at_the_same_place_is_noticed(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        const struct layout *const layout = &world.python.runtime.layout;
        const remote_addr addr =
            fake_code(&world.python, &(struct fake_code){ .name = "aaaa" });
        const code_id old = load(&world, addr);
        assert_true(check(&world, old));
        /* A str of the same length, with another hash. */
        const remote_addr name =
            fake_memory_u64(&world.python.memory, addr + layout->code_qualname);
        fake_memory_put(&world.python.memory, name + layout->unicode_ascii_bytes, "bbbb", 4);
        fake_memory_put_u64(&world.python.memory, name + layout->unicode_length + 8, 4711);
        if (minor > 11)
            fake_memory_put_u32(&world.python.memory, addr + layout->code_framesize + 12, 999);
        code_begin_epoch(&world.codes);
        assert_false(check(&world, old));
        assert_string_equal(name_of(&world, load(&world, addr)), "bbbb");
        end(&world);
    }
}

static void in_one_epoch_a_code_object_is_checked_once(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    const code_id id = load(&world, addr);
    uint64_t *const reads = &world.python.memory.memory.reads;
    uint64_t before = *reads;
    /* Never checked since it was loaded in several reads. */
    assert_true(check(&world, id));
    assert_int_equal(*reads, before + 1);
    assert_true(check(&world, id));
    assert_true(check(&world, id));
    assert_int_equal(*reads, before + 1);
    assert_int_equal(world.codes.counters.hits, 2);
    code_begin_epoch(&world.codes);
    assert_true(check(&world, id));
    assert_int_equal(*reads, before + 2);
    end(&world);
}

static void a_change_while_it_is_read_is_found_by_the_first_check(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 13);
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    const code_id id = load(&world, addr);
    fake_code_replace(&world.python, addr, &(struct fake_code){ .name = "other" });
    assert_false(check(&world, id));
    assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    end(&world);
}

static void one_stale_code_object_does_not_spoil_the_others(void **state)
{
    enum { COUNT = 300, STALE = 150 };
    code_id ids[COUNT * 2];
    remote_addr addrs[COUNT];
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor += 2) {
        struct world world;
        begin(&world, minor);
        for (size_t i = 0; i < COUNT; i++) {
            char name[16];
            snprintf(name, sizeof name, "f%zu", i);
            addrs[i] = fake_function(&world.python, name);
            /* Each is twice in the stack. */
            ids[i] = ids[COUNT + i] = load(&world, addrs[i]);
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
        end(&world);
    }
}

static void a_code_object_that_is_unmapped_is_forgotten(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    const code_id id = load(&world, addr);
    assert_true(check(&world, id));
    fake_memory_unmap(&world.python.memory, addr);
    code_begin_epoch(&world.codes);
    assert_false(check(&world, id));
    assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    end(&world);
}

static void what_is_no_code_object_is_refused(void **state)
{
    struct world world;
    code_id id = 42;
    (void)state;
    begin(&world, 15);
    struct fake_memory *const memory = &world.python.memory;
    const struct layout *const layout = &world.python.runtime.layout;
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    fake_memory_put_u64(memory, addr + layout->object_type, fake_type(&world.python, "codec"));
    assert_int_equal(code_load(&world.codes, addr, 0, &id), ERR_CORRUPT);
    fake_memory_put_u64(memory, addr + layout->object_type, 0);
    assert_int_equal(code_load(&world.codes, addr, 0, &id), ERR_CORRUPT);
    assert_int_equal(code_load(&world.codes, 16, 0, &id), ERR_FAULT);
    assert_int_equal(code_load(&world.codes, fake_alloc(&world.python, 4096), 0, &id),
                     ERR_CORRUPT);
    assert_int_equal(id, 42);
    assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    end(&world);
}

/* Once the type is known, one of the same name at another place is another type. */
static void the_type_of_code_objects_is_one_object(void **state)
{
    struct world world;
    code_id id;
    (void)state;
    begin(&world, 15);
    const remote_addr first = fake_code(&world.python, &EXAMPLE);
    const remote_addr second = fake_code(&world.python, &EXAMPLE);
    (void)load(&world, first);
    fake_memory_put_u64(&world.python.memory, second + world.python.runtime.layout.object_type,
                        fake_type(&world.python, "code"));
    assert_int_equal(code_load(&world.codes, second, 0, &id), ERR_CORRUPT);
    end(&world);
}

static void hostile_fields_fail_and_keep_nothing(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
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
        const remote_addr addr = fake_code(&world.python, &EXAMPLE);
        code_id id;
        fake_memory_put_u64(&world.python.memory, addr + lies[i].offset, lies[i].value);
        const enum err_code rc = code_load(&world.codes, addr, 0, &id);
        assert_true(rc == ERR_CORRUPT || rc == ERR_FAULT);
        assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    }
    end(&world);
}

static void a_table_over_the_limit_leaves_lines_unknown(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    const struct layout *const layout = &world.python.runtime.layout;
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    const remote_addr table =
        fake_memory_u64(&world.python.memory, addr + layout->code_linetable);
    fake_memory_put_u64(&world.python.memory, table + layout->bytes_length,
                        OBJECT_MAX_BYTES + 1ull);
    const code_id id = load(&world, addr);
    const struct code_place *const place =
        code_place(&world.codes, id, fake_instr(&world.python, addr, 3));
    assert_int_equal(place->location.line, 0);
    assert_string_equal(name_of(&world, id), "Class.method");
    end(&world);
}

static void each_instruction_has_its_place(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        const remote_addr addr = fake_code(&world.python, &EXAMPLE);
        const code_id id = load(&world, addr);
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
        end(&world);
    }
}

static void the_second_byte_of_a_unit_is_the_same_place(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    const code_id id = load(&world, addr);
    const remote_addr instr = fake_instr(&world.python, addr, 4);
    const struct code_place *const place = code_place(&world.codes, id, instr);
    assert_int_equal(place->unit, 4);
    assert_ptr_equal(code_place(&world.codes, id, instr + 1), place);
    end(&world);
}

static void an_instruction_outside_is_on_the_first_line(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 12);
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    const code_id id = load(&world, addr);
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
    end(&world);
}

static void a_frame_that_has_not_begun_is_held_and_others_are_not(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 12);
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    const struct code *const code = code_at(&world.codes, load(&world, addr));
    assert_true(code_holds(code, code->instructions - 2));
    assert_false(code_holds(code, code->instructions - 3));
    assert_true(code_holds(code, code->instructions + 19));
    assert_false(code_holds(code, code->instructions + 20));
    assert_false(code_holds(code, 0));
    assert_false(code_holds(code, UINT64_MAX));
    assert_false(code_holds(code, UINT64_MAX - 1));
    end(&world);
}

static void many_code_objects_are_told_apart(void **state)
{
    enum { COUNT = 2000 };
    struct world world;
    remote_addr addrs[COUNT];
    (void)state;
    begin(&world, 14);
    for (size_t i = 0; i < COUNT; i++) {
        addrs[i] = fake_code(&world.python, &(struct fake_code){ .first_line = (int)i + 1 });
        (void)load(&world, addrs[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const code_id id = code_find(&world.codes, addrs[i], 0);
        assert_int_equal(code_at(&world.codes, id)->first_line, i + 1);
    }
    end(&world);
}

static struct code_place *place_at(struct world *world, code_id id, remote_addr addr,
                                   uint32_t unit)
{
    struct code_place *const place =
        code_place(&world->codes, id, fake_instr(&world->python, addr, unit));
    assert_non_null(place);
    return place;
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
        struct world world;
        struct fake_code shape = EXAMPLE;
        begin(&world, minor);
        shape.table = table;
        shape.table_bytes = sizeof table;
        const remote_addr addr = fake_code(&world.python, &shape);
        fake_memory_put_u32(&world.python.memory,
                            addr + world.python.runtime.layout.code_firsttraceable, 3);
        const code_id id = load(&world, addr);
        for (uint32_t unit = 0; unit <= 3; unit++) {
            const struct location at = place_at(&world, id, addr, unit)->location;
            assert_int_equal(at.line, 42);
            assert_int_equal(at.end_line, 42);
            assert_int_equal(at.column, -1);
        }
        /* What has no line later on was not written by anybody and stays unknown. */
        assert_int_not_equal(place_at(&world, id, addr, 5)->location.line, 42);
        assert_int_equal(place_at(&world, id, addr, 8)->location.line, 0);
        end(&world);
    }
}

static void too_many_places_are_made_anew(void **state)
{
    static const unsigned char no_lines = 0x80 | 15 << 3;
    const struct fake_code shape = { .units = CODE_MAX_PLACES + 16,
                                     .table = &no_lines,
                                     .table_bytes = 1 };
    struct world world;
    (void)state;
    begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &shape);
    const code_id id = load(&world, addr);
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
    end(&world);
}

static void forgotten_code_objects_fill_the_table(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    for (uint32_t i = 0; i < CODE_MAX_FORGOTTEN; i++) {
        assert_false(code_table_is_full(&world.codes));
        const code_id id = load(&world, addr);
        assert_true(check(&world, id));
        fake_code_replace(&world.python, addr, &EXAMPLE);
        code_begin_epoch(&world.codes);
        assert_false(check(&world, id));
        assert_false(check(&world, id));
    }
    assert_true(code_table_is_full(&world.codes));
    code_table_clear(&world.codes);
    assert_false(code_table_is_full(&world.codes));
    assert_int_equal(code_find(&world.codes, addr, 0), CODE_NONE);
    assert_int_equal(world.codes.bytes, 0);
    assert_int_equal(world.codes.counters.clears, 1);
    assert_string_equal(name_of(&world, load(&world, addr)), "Class.method");
    end(&world);
}

static void more_code_objects_than_the_table_holds_are_not_loaded(void **state)
{
    struct world world;
    code_id id;
    (void)state;
    begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    for (uint32_t i = 0; i < CODE_MAX; i++)
        (void)load(&world, addr);
    assert_true(code_table_is_full(&world.codes));
    assert_int_equal(code_load(&world.codes, addr, 0, &id), ERR_LIMIT);
    code_table_clear(&world.codes);
    (void)load(&world, addr);
    end(&world);
}

/* The table of one code object is as large as can be; those after it have none. */
static void location_tables_have_a_limit_together(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
    unsigned char *const lines = calloc(1, OBJECT_MAX_BYTES);
    assert_non_null(lines);
    const remote_addr table = fake_bytes(&world.python, lines, OBJECT_MAX_BYTES);
    free(lines);
    fake_memory_put_u64(&world.python.memory, addr + world.python.runtime.layout.code_linetable,
                        table);
    for (size_t i = 0; i < CODE_MAX_BYTES / OBJECT_MAX_BYTES; i++) {
        assert_false(code_table_is_full(&world.codes));
        assert_int_equal(code_at(&world.codes, load(&world, addr))->table_bytes,
                         OBJECT_MAX_BYTES);
    }
    assert_true(code_table_is_full(&world.codes));
    assert_null(code_at(&world.codes, load(&world, addr))->table);
    assert_int_equal(world.codes.bytes, CODE_MAX_BYTES);
    code_table_clear(&world.codes);
    assert_non_null(code_at(&world.codes, load(&world, addr))->table);
    end(&world);
}

/* Frames of a thread stand in its own copy of the instructions, which is no part of the object. */
static void copies_of_instructions_are_known_one_by_one(void **state)
{
    enum { COPIES = 3 };
    struct world world;
    code_id own, copy, again;
    (void)state;
    begin(&world, 14);
    const remote_addr addr = fake_code(&world.python, &EXAMPLE);
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
    own = load(&world, addr);
    assert_int_equal(code_load(&world.codes, addr, 1, &copy), ERR_OK);
    assert_int_equal(code_find(&world.codes, addr, 0), own);
    assert_int_equal(code_find(&world.codes, addr, 1), copy);
    assert_int_equal(code_at(&world.codes, copy)->name, code_at(&world.codes, own)->name);
    assert_int_equal(code_holding(&world.codes, first + 4), copy);
    assert_int_equal(code_holding(&world.codes, addr + layout->code_instructions + 4), own);
    assert_int_equal(code_place(&world.codes, copy, first + 6)->location.line,
                     EXAMPLE.first_line + 3);
    /* One that was never made, one beyond the list. */
    assert_int_equal(code_load(&world.codes, addr, 2, &again), ERR_CORRUPT);
    assert_int_equal(code_load(&world.codes, addr, COPIES, &again), ERR_CORRUPT);
    assert_int_equal(code_load(&world.codes, addr, UINT32_MAX, &again), ERR_CORRUPT);
    /* Given back, and made anew elsewhere. */
    assert_true(code_copy_stands(&world.codes, own) && code_copy_stands(&world.codes, copy));
    fake_memory_put_u64(memory, list + 16, second);
    assert_false(code_copy_stands(&world.codes, copy));
    assert_int_equal(code_load(&world.codes, addr, 1, &again), ERR_OK);
    assert_int_equal(code_find(&world.codes, addr, 1), again);
    assert_true(code_holds(code_at(&world.codes, again), second));
    end(&world);
}

/* What is left of a popped frame is its instruction, which lies in one code object. */
static void an_instruction_tells_its_code_object(void **state)
{
    enum { COUNT = 50 };
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        remote_addr addrs[COUNT];
        code_id ids[COUNT];
        begin(&world, minor);
        assert_int_equal(code_holding(&world.codes, 0x1000), CODE_NONE);
        for (size_t i = 0; i < COUNT; i++) {
            addrs[i] = fake_code(&world.python, &EXAMPLE);
            ids[i] = load(&world, addrs[i]);
        }
        for (size_t i = 0; i < COUNT; i++) {
            const remote_addr first = fake_instr(&world.python, addrs[i], 0);
            assert_int_equal(code_holding(&world.codes, first), ids[i]);
            assert_int_equal(code_holding(&world.codes, first + (EXAMPLE.units - 1) * 2),
                             ids[i]);
            assert_int_equal(code_holding(&world.codes, first + EXAMPLE.units * 2), CODE_NONE);
        }
        assert_int_equal(code_holding(&world.codes, 0), CODE_NONE);
        assert_int_equal(code_holding(&world.codes, UINT64_MAX), CODE_NONE);
        end(&world);
    }
}

static void what_an_instruction_does_is_known_in_every_version(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        const remote_addr addr = fake_function(&world.python, "f");
        const code_id id = load(&world, addr);
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
        /* In 3.12 what has been resumed is waited for at the data behind the instruction. */
        const remote_addr behind = fake_instr(&world.python, addr, FAKE_FOR_ITER_AT + 1);
        assert_int_equal(code_act_at(&world.codes, id, behind),
                         minor == 12 ? CODE_RESUMES : CODE_ACTS);
        end(&world);
    }
}

TEST_MAIN(cmocka_unit_test(an_instruction_tells_its_code_object),
          cmocka_unit_test(what_an_instruction_does_is_known_in_every_version),
          cmocka_unit_test(a_code_object_is_read_in_every_version),
          cmocka_unit_test(an_address_used_again_never_gives_the_old_name),
          cmocka_unit_test(a_function_defined_again_at_the_same_place_is_noticed),
          cmocka_unit_test(in_one_epoch_a_code_object_is_checked_once),
          cmocka_unit_test(a_change_while_it_is_read_is_found_by_the_first_check),
          cmocka_unit_test(one_stale_code_object_does_not_spoil_the_others),
          cmocka_unit_test(a_code_object_that_is_unmapped_is_forgotten),
          cmocka_unit_test(what_is_no_code_object_is_refused),
          cmocka_unit_test(the_type_of_code_objects_is_one_object),
          cmocka_unit_test(hostile_fields_fail_and_keep_nothing),
          cmocka_unit_test(a_table_over_the_limit_leaves_lines_unknown),
          cmocka_unit_test(each_instruction_has_its_place),
          cmocka_unit_test(the_second_byte_of_a_unit_is_the_same_place),
          cmocka_unit_test(an_instruction_outside_is_on_the_first_line),
          cmocka_unit_test(a_frame_that_has_not_begun_is_held_and_others_are_not),
          cmocka_unit_test(many_code_objects_are_told_apart),
          cmocka_unit_test(what_comes_before_the_first_line_is_on_the_line_of_the_def),
          cmocka_unit_test(copies_of_instructions_are_known_one_by_one),
          cmocka_unit_test(too_many_places_are_made_anew),
          cmocka_unit_test(forgotten_code_objects_fill_the_table),
          cmocka_unit_test(more_code_objects_than_the_table_holds_are_not_loaded),
          cmocka_unit_test(location_tables_have_a_limit_together))
