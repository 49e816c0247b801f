/* Objects made of bytes, and what is said of them in every version. */
#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/utf8.h"
#include "sampler/cpython/locals/object_text.h"
#include "sampler/cpython/objects/number.h"
#include "sampler/cpython/objects/object.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/fake_python.h"

enum { WORD = sizeof(uint64_t), OBJECTS = 100, MORE_THAN_ANY = 8 << 10 };

struct world {
    struct fake_python python;
    struct object_texts texts;
    struct buffer out;
};

static void begin(struct world *world, unsigned minor)
{
    memset(world, 0, sizeof *world);
    fake_python_init(&world->python, minor);
    object_texts_init(&world->texts, &world->python.memory.memory,
                      &world->python.runtime.layout);
    object_texts_begin(&world->texts, OBJECTS, 0);
}

static void end(struct world *world)
{
    buffer_deinit(&world->out);
    fake_python_deinit(&world->python);
}

static void in_every_version(void (*test)(struct world *world))
{
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor);
        test(&world);
        end(&world);
    }
}

static void put_type(struct world *world, remote_addr object, const char *type)
{
    fake_memory_put_u64(&world->python.memory,
                        object + world->python.runtime.layout.object_type,
                        fake_type(&world->python, type));
}

/* An object of a type, with these words behind its head. */
static remote_addr make(struct world *world, const char *type, const void *fields, size_t bytes)
{
    const uint32_t head = object_first_field(&world->python.runtime.layout);
    const remote_addr object = fake_alloc(&world->python, head + bytes + WORD);
    put_type(world, object, type);
    if (bytes)
        fake_memory_put(&world->python.memory, object + head, fields, bytes);
    return object;
}

static remote_addr make_int(struct world *world, bool is_negative, size_t digits,
                            const uint32_t *values)
{
    unsigned char fields[WORD + 64] = { 0 };
    const bool has_tag = world->python.runtime.layout.has_int_tag;
    const uint64_t size = has_tag       ? (uint64_t)digits << 3 | (is_negative ? 2u
                                                                   : digits    ? 0u
                                                                               : 1u)
                          : is_negative ? UINT64_C(0) - digits
                                        : digits;
    memcpy(fields, &size, sizeof size);
    memcpy(fields + WORD, values, digits * sizeof *values);
    return make(world, "int", fields, WORD + digits * sizeof *values);
}

static remote_addr make_list(struct world *world, const remote_addr *items, size_t count)
{
    const remote_addr room = fake_alloc(&world->python, (count + 1) * WORD);
    const uint64_t fields[] = { count, room };
    fake_memory_put(&world->python.memory, room, items, count * WORD);
    return make(world, "list", fields, sizeof fields);
}

static void expect(struct world *world, remote_addr object, const char *text)
{
    buffer_clear(&world->out);
    object_texts_begin(&world->texts, OBJECTS, 0);
    object_texts_put(&world->texts, object, &world->out);
    assert_string_equal(buffer_string(&world->out), text);
}

static void test_numbers(struct world *world)
{
    const uint32_t most[] = { (1u << 30) - 1, (1u << 30) - 1, 5 };
    static const struct {
        double value;
        const char *text;
    } floats[] = { { 0.0, "0.0" },
                   { -0.0, "-0.0" },
                   { 1e5, "100000.0" },
                   { 1e16, "1e+16" },
                   { 1e-4, "0.0001" },
                   { 1e-5, "1e-05" },
                   { 0.1, "0.1" },
                   { 1.0 / 3, "0.3333333333333333" },
                   { 9007199254740993.0, "9007199254740992.0" },
                   { 1.7976931348623157e308, "1.7976931348623157e+308" } };
    static const double parts[][2] = { { 0, 1 }, { 1, -2.5 }, { -0.0, 0 } };
    static const char *const complexes[] = { "1j", "(1-2.5j)", "(-0+0j)" };
    expect(world, make_int(world, false, 0, most), "0");
    expect(world, make_int(world, false, 1, most), "1073741823");
    expect(world, make_int(world, true, 3, most), "-6917529027641081855");
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        expect(world, make(world, "float", &floats[i].value, sizeof floats[i].value),
               floats[i].text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        expect(world, make(world, "complex", parts[i], sizeof parts[i]), complexes[i]);
}

static void numbers_are_as_python_writes_them(void **state)
{
    (void)state;
    in_every_version(test_numbers);
}

static void test_large(struct world *world)
{
    uint32_t digits[NUMBER_MAX_DIGITS + 1];
    char text[64];
    for (size_t i = 0; i < NUMBER_MAX_DIGITS + 1; i++)
        digits[i] = 3;
    const remote_addr object = make_int(world, true, NUMBER_MAX_DIGITS + 1, digits);
    snprintf(text, sizeof text, "<int of 362 bits at %#llx>", (unsigned long long)object);
    expect(world, object, text);
}

static void an_int_with_too_many_digits_is_its_size(void **state)
{
    (void)state;
    in_every_version(test_large);
}

static void test_texts(struct world *world)
{
    static const uint32_t codes[] = { '\'', '"',    '\\',   '\n',    0x1b,    0x9b,
                                      0xe9, 0x202e, 0xdc80, 0x1f40d, 0x110000 };
    const remote_addr text =
        fake_wide_str(&world->python, FAKE_STR_4BYTE, codes, sizeof codes / sizeof *codes);
    const remote_addr bytes = fake_bytes(&world->python, "\0'\xff", 3);
    char long_text[OBJECT_TEXT_CHARACTERS + 2];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    const remote_addr longer = fake_str(&world->python, long_text);
    put_type(world, text, "str");
    put_type(world, bytes, "bytes");
    put_type(world, longer, "str");
    expect(world, text, "'\\'\"\\\\\\n\\x1b\\x9b\xc3\xa9\\u202e\\udc80\xf0\x9f\x90\x8d\\?'");
    expect(world, bytes, "b\"\\x00'\\xff\"");
    expect(
        world, longer,
        "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
        "… (101 characters)");
}

static void texts_are_escaped_and_cut(void **state)
{
    (void)state;
    in_every_version(test_texts);
}

static void test_containers(struct world *world)
{
    enum { MANY = 30 };
    const uint32_t one[] = { 1 };
    const remote_addr number = make_int(world, false, 1, one);
    remote_addr items[MANY], deep = make_list(world, &number, 1);
    for (size_t i = 0; i < MANY; i++)
        items[i] = number;
    expect(world, make_list(world, items, 0), "[]");
    expect(world, make_list(world, items, 2), "[1, 1]");
    expect(world, make_list(world, items, MANY), "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, … 20 more]");
    for (unsigned i = 0; i < 5; i++)
        deep = make_list(world, &deep, 1);
    expect(world, deep, "[[[[[…]]]]]");
    const remote_addr itself = make_list(world, items, 2);
    const uint64_t room =
        fake_memory_u64(&world->python.memory,
                        itself + object_first_field(&world->python.runtime.layout) + WORD);
    fake_memory_put_u64(&world->python.memory, room, itself);
    expect(world, itself, "[[...], 1]");
}

static void containers_end(void **state)
{
    (void)state;
    in_every_version(test_containers);
}

static void test_others(struct world *world)
{
    enum { MADE = 1 << 9 };
    const remote_addr object = make(world, "shop.Cart", NULL, 0);
    const remote_addr hostile = make(world, "A\x1b[31m\n", NULL, 0);
    const remote_addr derived = make(world, "list", NULL, 0);
    const remote_addr type = fake_memory_u64(
        &world->python.memory, derived + world->python.runtime.layout.object_type);
    char text[64];
    fake_memory_put_u64(&world->python.memory,
                        type + object_type_flags_offset(&world->python.runtime.layout), MADE);
    snprintf(text, sizeof text, "<shop.Cart at %#llx>", (unsigned long long)object);
    expect(world, object, text);
    snprintf(text, sizeof text, "<A\\x1b[31m\\x0a at %#llx>", (unsigned long long)hostile);
    expect(world, hostile, text);
    snprintf(text, sizeof text, "<list at %#llx>", (unsigned long long)derived);
    expect(world, derived, text);
    expect(world, 0x1230, "<unreadable object at 0x1230>");
    /* A list whose items are nowhere, and one with a size below zero. */
    const uint64_t lost[] = { 3, 0x1230 }, negative[] = { UINT64_MAX, 0x1230 };
    snprintf(text, sizeof text, "<list at %#llx>",
             (unsigned long long)make(world, "list", lost, 0));
    const remote_addr broken = make(world, "list", lost, sizeof lost);
    snprintf(text, sizeof text, "<list at %#llx>", (unsigned long long)broken);
    expect(world, broken, text);
    const remote_addr below = make(world, "list", negative, sizeof negative);
    snprintf(text, sizeof text, "<list at %#llx>", (unsigned long long)below);
    expect(world, below, text);
}

static void all_others_are_their_type_and_address(void **state)
{
    (void)state;
    in_every_version(test_others);
}

static void what_may_be_read_is_limited(void **state)
{
    struct world world;
    const uint32_t one[] = { 1 };
    (void)state;
    begin(&world, 14);
    const remote_addr number = make_int(&world, false, 1, one);
    const remote_addr items[] = { number, number, number };
    const remote_addr list = make_list(&world, items, 3);
    object_texts_begin(&world.texts, 3, 0);
    object_texts_put(&world.texts, list, &world.out);
    assert_string_equal(buffer_string(&world.out), "[1, 1, … 1 more]");
    buffer_clear(&world.out);
    object_texts_begin(&world.texts, OBJECTS, clock_now_ns() - 1);
    object_texts_put(&world.texts, list, &world.out);
    assert_string_equal(buffer_string(&world.out), "…");
    assert_true(world.texts.is_late);
    end(&world);
}

/* Containers of containers with long texts: the sum counts. */
static void a_value_has_a_size_at_most(void **state)
{
    struct world world;
    char characters[OBJECT_TEXT_CHARACTERS + 1];
    remote_addr items[OBJECT_TEXT_ITEMS];
    (void)state;
    begin(&world, 13);
    memset(characters, '\x01', sizeof characters - 1);
    characters[sizeof characters - 1] = '\0';
    remote_addr item = fake_str(&world.python, characters);
    put_type(&world, item, "str");
    for (unsigned depth = 0; depth < OBJECT_TEXT_DEPTH; depth++) {
        for (size_t i = 0; i < OBJECT_TEXT_ITEMS; i++)
            items[i] = item;
        item = make_list(&world, items, OBJECT_TEXT_ITEMS);
    }
    object_texts_begin(&world.texts, 1 << 20, 0);
    object_texts_put(&world.texts, item, &world.out);
    assert_true(world.out.length < MORE_THAN_ANY);
    assert_true(utf8_is_valid(world.out.data, world.out.length));
    end(&world);
}

TEST_GROUP(cmocka_unit_test(numbers_are_as_python_writes_them),
           cmocka_unit_test(an_int_with_too_many_digits_is_its_size),
           cmocka_unit_test(texts_are_escaped_and_cut), cmocka_unit_test(containers_end),
           cmocka_unit_test(all_others_are_their_type_and_address),
           cmocka_unit_test(what_may_be_read_is_limited),
           cmocka_unit_test(a_value_has_a_size_at_most))
