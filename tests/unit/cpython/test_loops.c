/* Places in loops, in code of every interpreter of this machine. */
#include <stdlib.h>

#include "sampler/cpython/objects/loops.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/pythons.h"

enum { VERSION_3_14 = 0x030e00f0, VERSION_3_11 = 0x030b00f0 };

struct record {
    uint32_t version, units, unit, place;
    char name[32];
};

static struct bytecode code_of(uint32_t version, const unsigned char *units, size_t bytes)
{
    return (struct bytecode){ .opcodes = opcodes_of(version),
                              .units = units,
                              .unit_count = (uint32_t)(bytes / BYTECODE_UNIT_BYTES) };
}

static void compare_places(FILE *in, const char *version)
{
    struct record record;
    size_t count = 0;
    for (; fread(&record, sizeof record, 1, in) == 1; count++) {
        const size_t bytes = (size_t)record.units * BYTECODE_UNIT_BYTES;
        unsigned char *const units = guard_alloc(bytes);
        assert_int_equal(fread(units, 1, bytes, in), bytes);
        const struct bytecode code = code_of(record.version, units, bytes);
        const enum loop_place found = loops_find(&code, record.unit);
        if (found != record.place)
            fail_msg("%s: %s: %d instead of %u", version, record.name, (int)found,
                     record.place);
        guard_free(units, bytes);
    }
    assert_true(count > 15);
}

static void a_call_that_gets_what_a_loop_works_on_is_its_head(void **state)
{
    (void)state;
    if (!pythons_run("unit/cpython/made/loops.py", compare_places))
        skip();
}

static void any_bytes_can_be_asked(void **state)
{
    unsigned char *const bytes = guard_alloc(256);
    (void)state;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        for (size_t at = 0; at < 256; at++)
            bytes[at] = (unsigned char)rand();
        const struct bytecode code = code_of(i & 1 ? VERSION_3_14 : VERSION_3_11, bytes, 256);
        (void)loops_find(&code, (uint32_t)(i % 140));
    }
    guard_free(bytes, 256);
}

static void code_over_the_limit_has_no_loops(void **state)
{
    const size_t bytes = ((size_t)LOOPS_MAX_UNITS + 1) * BYTECODE_UNIT_BYTES;
    unsigned char *const units = calloc(1, bytes);
    (void)state;
    assert_non_null(units);
    const struct bytecode code = code_of(VERSION_3_14, units, bytes);
    assert_int_equal(loops_find(&code, 0), LOOP_UNKNOWN);
    free(units);
}

TEST_GROUP(cmocka_unit_test(a_call_that_gets_what_a_loop_works_on_is_its_head),
           cmocka_unit_test(any_bytes_can_be_asked),
           cmocka_unit_test(code_over_the_limit_has_no_loops))
