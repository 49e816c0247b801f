#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/object.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/fake_python.h"

struct world {
    struct fake_python python;
    struct object_bytes bytes;
};

static void begin(struct world *world, unsigned minor)
{
    memset(world, 0, sizeof *world);
    fake_python_init(&world->python, minor);
}

static void end(struct world *world)
{
    object_bytes_deinit(&world->bytes);
    fake_python_deinit(&world->python);
}

static enum err_code read_str(struct world *world, remote_addr addr)
{
    return object_read_str(&world->python.memory.memory, &world->python.runtime.layout, addr,
                           &world->bytes);
}

static bool refuse(void *context)
{
    ++*(unsigned *)context;
    return false;
}

static void expect_str(struct world *world, remote_addr addr, const char *text)
{
    assert_int_equal(read_str(world, addr), ERR_OK);
    assert_int_equal(world->bytes.count, strlen(text));
    assert_memory_equal(world->bytes.bytes, text, strlen(text));
}

static void ascii_is_read_as_it_is_in_every_version(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        expect_str(&world, fake_str(&world.python, "Class.method"), "Class.method");
        expect_str(&world, fake_str(&world.python, ""), "");
        expect_str(&world, fake_str(&world.python, "x"), "x");
        end(&world);
    }
}

/* Free-threaded builds have a byte where others have the two bits of the interned state. */
static void ascii_is_read_without_a_gil(void **state)
{
    (void)state;
    for (unsigned minor = 13; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        const remote_addr addr = fake_str(&world.python, "Class.method");
        const uint32_t form = fake_str_state(FAKE_STR_1BYTE, true, true);
        world.python.runtime.layout.is_free_threaded = true;
        fake_memory_put_u32(&world.python.memory,
                            addr + world.python.runtime.layout.unicode_state,
                            minor >= 14 ? form >> 2 << 8 | 3 : form);
        expect_str(&world, addr, "Class.method");
        end(&world);
    }
}

static void wider_characters_become_utf8_in_every_version(void **state)
{
    static const unsigned char latin[] = { 'h', 0xe9, 0xff, 0x80 };
    static const uint16_t two[] = { 'a', 0xe9, 0x4e00, 0xfffd };
    static const uint32_t four[] = { 'a', 0x4e00, 0x1f600, 0x10ffff };
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        expect_str(&world, fake_wide_str(&world.python, FAKE_STR_1BYTE, latin, 4),
                   "h\xc3\xa9\xc3\xbf\xc2\x80");
        expect_str(&world, fake_wide_str(&world.python, FAKE_STR_2BYTE, two, 4),
                   "a\xc3\xa9\xe4\xb8\x80\xef\xbf\xbd");
        expect_str(&world, fake_wide_str(&world.python, FAKE_STR_4BYTE, four, 4),
                   "a\xe4\xb8\x80\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf");
        end(&world);
    }
}

static void what_is_no_character_becomes_the_replacement(void **state)
{
    static const uint16_t surrogates[] = { 0xd800, 'x', 0xdfff };
    static const uint32_t beyond[] = { 0x110000, 'x', UINT32_MAX };
    struct world world;
    (void)state;
    begin(&world, 15);
    expect_str(&world, fake_wide_str(&world.python, FAKE_STR_2BYTE, surrogates, 3),
               "\xef\xbf\xbdx\xef\xbf\xbd");
    expect_str(&world, fake_wide_str(&world.python, FAKE_STR_4BYTE, beyond, 3),
               "\xef\xbf\xbdx\xef\xbf\xbd");
    end(&world);
}

static void the_name_of_a_file_keeps_its_bytes(void **state)
{
    static const uint16_t name[] = { 'a', 0xdc80, 0xdcff, 0xdc7f, 0xd800 };
    struct world world;
    (void)state;
    begin(&world, 15);
    const remote_addr addr = fake_wide_str(&world.python, FAKE_STR_2BYTE, name, 5);
    assert_int_equal(object_read_file_name(&world.python.memory.memory,
                                           &world.python.runtime.layout, addr, &world.bytes),
                     ERR_OK);
    const char wanted[] = "a\uef80\uefff\ufffd\ufffd";
    assert_int_equal(world.bytes.count, sizeof wanted - 1);
    assert_memory_equal(world.bytes.bytes, wanted, sizeof wanted - 1);
    end(&world);
}

static void a_nul_inside_is_a_character(void **state)
{
    static const uint16_t text[] = { 'a', 0, 'b' };
    struct world world;
    (void)state;
    begin(&world, 14);
    assert_int_equal(read_str(&world, fake_wide_str(&world.python, FAKE_STR_2BYTE, text, 3)),
                     ERR_OK);
    assert_int_equal(world.bytes.count, 3);
    assert_memory_equal(world.bytes.bytes, "a\0b", 3);
    end(&world);
}

/* Nothing is mapped behind a made object, so a read of more than it has would fail. */
static void a_str_at_the_end_of_its_mapping_is_read(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 13);
    const remote_addr addr = fake_str(&world.python, "");
    expect_str(&world, addr, "");
    expect_str(&world, fake_str(&world.python, "abc"), "abc");
    end(&world);
}

static void the_buffer_is_used_again_for_shorter_and_longer_text(void **state)
{
    static const char *const texts[] = { "a", "much longer than that", "short", "",
                                         "the longest of all of these texts" };
    struct world world;
    (void)state;
    begin(&world, 12);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_str(&world, fake_str(&world.python, texts[i]), texts[i]);
    end(&world);
}

static void a_long_str_is_cut_at_the_limit(void **state)
{
    enum { LONG = OBJECT_MAX_CHARACTERS + 100 };
    uint32_t *const text = malloc(LONG * sizeof *text);
    struct world world;
    (void)state;
    assert_non_null(text);
    begin(&world, 15);
    for (size_t i = 0; i < LONG; i++)
        text[i] = 0x10ffff;
    assert_int_equal(read_str(&world, fake_wide_str(&world.python, FAKE_STR_4BYTE, text, LONG)),
                     ERR_OK);
    assert_int_equal(world.bytes.count, OBJECT_MAX_CHARACTERS * 4);
    end(&world);
    free(text);
}

static void a_length_that_lies_reads_no_more_than_there_is(void **state)
{
    static const uint64_t lies[] = { 5,          100,       OBJECT_MAX_CHARACTERS,
                                     1ull << 32, INT64_MAX, UINT64_MAX };
    struct world world;
    (void)state;
    begin(&world, 15);
    const struct layout *const layout = &world.python.runtime.layout;
    const remote_addr addr = fake_str(&world.python, "abc");
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        fake_memory_put_u64(&world.python.memory, addr + layout->unicode_length, lies[i]);
        assert_int_equal(read_str(&world, addr), ERR_FAULT);
    }
    assert_true(world.python.memory.max_span_bytes <= OBJECT_MAX_CHARACTERS * 4);
    end(&world);
}

static void what_is_no_compact_str_is_refused(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    const uint32_t offset = world.python.runtime.layout.unicode_state;
    const remote_addr addr = fake_str(&world.python, "abc");
    for (unsigned kind = 0; kind < 8; kind++) {
        const bool known = kind == 1 || kind == 2 || kind == 4;
        fake_memory_put_u32(&world.python.memory, addr + offset,
                            fake_str_state(kind, false, true));
        assert_int_equal(read_str(&world, addr), ERR_CORRUPT);
        if (known)
            continue;
        fake_memory_put_u32(&world.python.memory, addr + offset,
                            fake_str_state(kind, true, true));
        assert_int_equal(read_str(&world, addr), ERR_CORRUPT);
    }
    end(&world);
}

static void an_address_that_leads_nowhere_is_an_error(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    assert_int_equal(read_str(&world, 0), ERR_CORRUPT);
    assert_int_equal(read_str(&world, 8), ERR_FAULT);
    assert_int_equal(read_str(&world, UINT64_MAX - 3), ERR_FAULT);
    world.python.memory.failure = ERR_GONE;
    assert_int_equal(read_str(&world, fake_str(&world.python, "x")), ERR_GONE);
    end(&world);
}

static enum err_code read_bytes(struct world *world, remote_addr addr)
{
    return object_read_bytes(&world->python.memory.memory, &world->python.runtime.layout, addr,
                             &world->bytes);
}

static void bytes_are_read_as_they_are(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        assert_int_equal(read_bytes(&world, fake_bytes(&world.python, "\0\xff\x80", 3)),
                         ERR_OK);
        assert_int_equal(world.bytes.count, 3);
        assert_memory_equal(world.bytes.bytes, "\0\xff\x80", 3);
        assert_int_equal(read_bytes(&world, fake_bytes(&world.python, "", 0)), ERR_OK);
        assert_int_equal(world.bytes.count, 0);
        end(&world);
    }
}

static void bytes_over_the_limit_are_refused_before_they_are_read(void **state)
{
    static const uint64_t lengths[] = { OBJECT_MAX_BYTES + 1, 1ull << 40, UINT64_MAX };
    struct world world;
    (void)state;
    begin(&world, 15);
    const remote_addr addr = fake_bytes(&world.python, "abc", 3);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        fake_memory_put_u64(&world.python.memory,
                            addr + world.python.runtime.layout.bytes_length, lengths[i]);
        assert_int_equal(read_bytes(&world, addr), ERR_LIMIT);
    }
    assert_true(world.python.memory.max_span_bytes <= 8);
    fake_memory_put_u64(&world.python.memory, addr + world.python.runtime.layout.bytes_length,
                        OBJECT_MAX_BYTES);
    assert_int_equal(read_bytes(&world, addr), ERR_FAULT);
    assert_int_equal(read_bytes(&world, 0), ERR_CORRUPT);
    assert_int_equal(read_bytes(&world, 8), ERR_FAULT);
    end(&world);
}

static void bytes_up_to_the_limit_are_read(void **state)
{
    unsigned char *const data = calloc(1, OBJECT_MAX_BYTES);
    struct world world;
    (void)state;
    assert_non_null(data);
    begin(&world, 15);
    data[OBJECT_MAX_BYTES - 1] = 42;
    const remote_addr addr = fake_bytes(&world.python, data, OBJECT_MAX_BYTES);
    assert_int_equal(read_bytes(&world, addr), ERR_OK);
    assert_int_equal(world.bytes.count, OBJECT_MAX_BYTES);
    assert_int_equal(world.bytes.bytes[OBJECT_MAX_BYTES - 1], 42);
    end(&world);
    free(data);
}

static bool type_is(struct world *world, remote_addr type, const char *name)
{
    return object_type_is(&world->python.memory.memory, &world->python.runtime.layout, type,
                          name);
}

static void a_type_is_known_by_its_whole_name(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 15);
    assert_true(type_is(&world, world.python.code_type, "code"));
    assert_false(type_is(&world, world.python.code_type, "cod"));
    assert_false(type_is(&world, world.python.code_type, "code2"));
    assert_false(type_is(&world, fake_type(&world.python, ""), "code"));
    assert_false(type_is(&world, fake_type(&world.python, "codec"), "code"));
    assert_false(type_is(&world, 0, "code"));
    assert_false(type_is(&world, world.python.code_type,
                         "a name that is longer than any type we ever look for"));
    end(&world);
}

/* The guard is asked after the bytes were read. */
static void texts_are_not_those_of_another_program(void **state)
{
    struct world world;
    unsigned times = 0;
    char name[16];
    const struct memory_guard guard = { refuse, &times };
    (void)state;
    begin(&world, FAKE_NEWEST_MINOR);
    const remote_addr text = fake_str(&world.python, "Class.method");
    const remote_addr plain = fake_bytes(&world.python, "name", sizeof "name") +
                              world.python.runtime.layout.bytes_data;
    assert_int_equal(object_read_text(&world.python.memory.memory, plain, name, sizeof name),
                     ERR_OK);
    world.python.memory.memory.guard = &guard;
    assert_int_equal(read_str(&world, text), ERR_GONE);
    assert_int_equal(object_read_text(&world.python.memory.memory, plain, name, sizeof name),
                     ERR_GONE);
    assert_int_equal(times, 2);
    assert_int_equal(read_str(&world, 8), ERR_FAULT);
    assert_int_equal(times, 2);
    end(&world);
}

TEST_GROUP(cmocka_unit_test(ascii_is_read_as_it_is_in_every_version),
           cmocka_unit_test(ascii_is_read_without_a_gil),
           cmocka_unit_test(wider_characters_become_utf8_in_every_version),
           cmocka_unit_test(what_is_no_character_becomes_the_replacement),
           cmocka_unit_test(the_name_of_a_file_keeps_its_bytes),
           cmocka_unit_test(a_nul_inside_is_a_character),
           cmocka_unit_test(a_str_at_the_end_of_its_mapping_is_read),
           cmocka_unit_test(the_buffer_is_used_again_for_shorter_and_longer_text),
           cmocka_unit_test(a_long_str_is_cut_at_the_limit),
           cmocka_unit_test(a_length_that_lies_reads_no_more_than_there_is),
           cmocka_unit_test(what_is_no_compact_str_is_refused),
           cmocka_unit_test(an_address_that_leads_nowhere_is_an_error),
           cmocka_unit_test(bytes_are_read_as_they_are),
           cmocka_unit_test(bytes_over_the_limit_are_refused_before_they_are_read),
           cmocka_unit_test(bytes_up_to_the_limit_are_read),
           cmocka_unit_test(a_type_is_known_by_its_whole_name),
           cmocka_unit_test(texts_are_not_those_of_another_program))
