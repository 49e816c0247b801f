/* Contexts made of bytes: tries of variables and values, the objects that values are, and a thread that moves while
 * it is read. */
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/hamt.h"
#include "sampler/cpython/objects/object.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/context_world.h"

/* As on aarch64, whose processes have 48 bits of addresses. */
static void move_context_far(struct context_world *world)
{
    static const remote_addr FAR = UINT64_C(0xffff80001000);
    enum { BYTES = 64 + 2 * CONTEXT_WORLD_WORD };
    unsigned char *const far = fake_memory_map(&world->python.memory, FAR, BYTES);
    memcpy(far, fake_memory_at(&world->python.memory, world->context, BYTES), BYTES);
    world->context = FAR;
    context_world_put(world, context_world_place(world), FAR);
    context_world_expect(world, "4711");
}

static void a_context_may_lie_at_any_address_of_48_bits(void **state)
{
    (void)state;
    context_world_in_every_version(move_context_far);
}

static void test_value(struct context_world *world)
{
    context_world_expect(world, "4711");
    context_world_set_value(world, context_world_str(world, "4712"));
    context_world_expect(world, "4712");
    context_world_put(world, context_world_place(world), 0);
    context_world_expect_kind(world, CONTEXT_UNSET);
}

static void the_value_is_found_in_every_version(void **state)
{
    (void)state;
    context_world_in_every_version(test_value);
}

static void test_nobody_has_a_context(struct context_world *world)
{
    context_world_put(world, context_world_place(world), 0);
    context_world_expect_kind(world, CONTEXT_UNSET);
    assert_int_equal(context_world_layout(world)->tstate_context, 0);
    /* It is not searched again at once. */
    context_world_put(world, context_world_place(world), world->context);
    context_world_expect_kind(world, CONTEXT_UNSET);
    assert_int_equal(context_world_read_at(world, CONTEXT_WORLD_NOW_NS + NS_PER_S)->kind,
                     CONTEXT_SET);
    assert_int_equal(context_world_layout(world)->tstate_context,
                     context_world_place(world) - world->thread.addr);
}

static void the_place_is_searched_until_a_thread_has_a_context(void **state)
{
    (void)state;
    context_world_in_every_version(test_nobody_has_a_context);
}

/* An array, in it a bitmap with a neighbour, in it the pair beside another one. */
static remote_addr deep_root(struct context_world *world, remote_addr leaf)
{
    const uint64_t neighbour = context_world_variable(world, "other", world->hash ^ 1);
    const uint32_t at = context_world_branch(world, 1);
    const uint64_t first[] = { neighbour, 1, 0, leaf };
    const uint64_t last[] = { 0, leaf, neighbour, 1 };
    uint64_t children[33] = { 0 };
    const uint32_t other = at > 0 ? at - 1 : at + 1;
    children[context_world_branch(world, 0)] = context_world_node(
        world, world->bitmap, 1u << at | 1u << other, other < at ? first : last, 4);
    return context_world_make(world, world->array, children, 33);
}

static void test_deep(struct context_world *world)
{
    const uint64_t pair[] = { world->variable, context_world_str(world, "deep") };
    const uint64_t collision[] = { context_world_variable(world, "same", world->hash), 1,
                                   world->variable, context_world_str(world, "collides") };
    const remote_addr leaf =
        context_world_node(world, world->bitmap, 1u << context_world_branch(world, 2), pair, 2);
    context_world_set_map(world, context_world_map(world, deep_root(world, leaf), 2));
    context_world_expect(world, "deep");
    context_world_set_map(
        world,
        context_world_map(
            world,
            deep_root(world, context_world_node(world, world->collision, 0, collision, 4)), 3));
    context_world_expect(world, "collides");
}

static void tries_of_all_nodes_are_followed(void **state)
{
    (void)state;
    context_world_in_every_version(test_deep);
}

static void another_variable_of_the_name_counts_where_the_first_has_no_value(void **state)
{
    struct context_world *const world = context_world_begin(14);
    const uint64_t hash = 9;
    const remote_addr other = context_world_variable(world, CONTEXT_WORLD_NAME, hash);
    (void)state;
    context_world_expect(world, "4711");
    const uint64_t items[] = { other, context_world_str(world, "of the other") };
    context_world_set_map(
        world, context_world_map(
                   world, context_world_node(world, world->bitmap, 1u << 9, items, 2), 1));
    /* Variables are searched once a second. */
    assert_int_equal(context_world_read_at(world, CONTEXT_WORLD_NOW_NS + 2 * NS_PER_S)->kind,
                     CONTEXT_SET);
    context_world_expect(world, "of the other");
    context_world_end(world);
}

static void a_variable_without_a_value_is_unset(void **state)
{
    struct context_world *const world = context_world_begin(14);
    const uint64_t items[] = { context_world_variable(world, "other", 3),
                               context_world_str(world, "x") };
    (void)state;
    context_world_set_map(
        world, context_world_map(
                   world, context_world_node(world, world->bitmap, 1u << 3, items, 2), 1));
    context_world_expect_kind(world, CONTEXT_UNSET);
    const uint64_t before = world->python.memory.memory.reads;
    assert_int_equal(context_world_read_at(world, CONTEXT_WORLD_NOW_NS + 10 * NS_PER_S)->kind,
                     CONTEXT_UNSET);
    assert_int_equal(world->python.memory.memory.reads - before, 2);
    context_world_set_map(
        world,
        context_world_map(world, context_world_node(world, world->bitmap, 0, NULL, 0), 0));
    context_world_expect_kind(world, CONTEXT_UNSET);
    context_world_end(world);
}

/* As of a record of the kernel engine: its memory, of an instant, has some words only. */
struct instant {
    struct memory memory;
    struct memory *process;
    remote_addr missing; /* what is not in it */
    struct {
        remote_addr addr;
        uint64_t word;
    } older; /* as it was at the instant */
};

static enum err_code read_instant(struct memory *memory, const struct memory_span *spans,
                                  size_t count, size_t *bytes_out)
{
    const struct instant *const instant = (const struct instant *)memory;
    for (size_t i = 0; i < count; i++) {
        const remote_addr from = spans[i].addr, to = from + spans[i].bytes;
        size_t arrived = 0;
        if (instant->missing >= from && instant->missing < to)
            return ERR_FAULT;
        const enum err_code rc = memory_readv(instant->process, &spans[i], 1, &arrived);
        if (rc)
            return rc;
        if (instant->older.addr >= from && instant->older.addr < to)
            memcpy((unsigned char *)spans[i].buffer + (instant->older.addr - from),
                   &instant->older.word, CONTEXT_WORLD_WORD);
        *bytes_out += arrived;
    }
    return ERR_OK;
}

static struct context_value *read_copy_of(struct context_world *world, struct instant *instant)
{
    instant->memory = (struct memory){ .readv = read_instant };
    instant->process = &world->python.memory.memory;
    return contexts_read(world->contexts, world->list.items[0], &instant->memory,
                         CONTEXT_OF_COPY, CONTEXT_WORLD_NOW_NS);
}

static void test_copies(struct context_world *world)
{
    const remote_addr place = context_world_place(world);
    const remote_addr before =
        context_world_make(world, world->types[0], (uint64_t[]){ 0, 0 }, 2);
    struct instant instant = { 0 };
    struct contexts_trail trail;
    context_world_put(
        world, before + object_first_field(context_world_layout(world)) + CONTEXT_WORLD_WORD,
        context_world_map(world, context_world_root(world, context_world_str(world, "before")),
                          1));
    contexts_locate(world->contexts, CONTEXT_WORLD_NOW_NS);
    contexts_trail(world->contexts, &trail);
    assert_int_equal(trail.place, place - world->thread.addr);
    assert_int_equal(trail.variable_count, 0);
    /* Whoever copied it did not know the variable; it is found meanwhile. */
    instant.missing = world->variable + object_first_field(context_world_layout(world));
    contexts_search(world->contexts, CONTEXT_WORLD_NOW_NS);
    assert_int_equal(read_copy_of(world, &instant)->kind, CONTEXT_UNKNOWN);
    contexts_trail(world->contexts, &trail);
    assert_int_equal(trail.variable_count, 1);
    assert_int_equal(trail.variables[0].addr, world->variable);
    assert_int_equal(trail.variables[0].hash, world->hash);
    assert_int_equal(trail.bitmap, world->bitmap);
    /* The thread was in another context then. */
    instant.missing = 0;
    instant.older.addr = place;
    instant.older.word = before;
    struct context_value *value = read_copy_of(world, &instant);
    assert_int_equal(value->kind, CONTEXT_SET);
    assert_string_equal(value->text, "before");
    instant.older.addr = 0;
    value = read_copy_of(world, &instant);
    assert_int_equal(value->kind, CONTEXT_SET);
    assert_string_equal(value->text, "4711");
    /* A known value of the same context does not fill what a copy lacks. */
    instant.missing =
        world->context + object_first_field(context_world_layout(world)) + CONTEXT_WORLD_WORD;
    assert_int_equal(read_copy_of(world, &instant)->kind, CONTEXT_UNKNOWN);
    instant.missing = world->variable + object_first_field(context_world_layout(world));
    assert_int_equal(read_copy_of(world, &instant)->kind, CONTEXT_UNKNOWN);
    contexts_trail(world->contexts, &trail);
    assert_int_equal(trail.variable_count, 1);
}

static void copies_have_the_value_of_their_instant(void **state)
{
    (void)state;
    context_world_in_every_version(test_copies);
}

static void a_copy_has_no_value_where_nobody_has_the_variable(void **state)
{
    struct context_world *const world = context_world_begin(14);
    const uint64_t items[] = { context_world_variable(world, "other", 3),
                               context_world_str(world, "x") };
    struct instant instant = { 0 };
    (void)state;
    context_world_set_map(
        world, context_world_map(
                   world, context_world_node(world, world->bitmap, 1u << 3, items, 2), 1));
    contexts_locate(world->contexts, CONTEXT_WORLD_NOW_NS);
    for (uint64_t i = 0; i < 100; i++) {
        contexts_search(world->contexts, CONTEXT_WORLD_NOW_NS + i);
        assert_int_equal(read_copy_of(world, &instant)->kind, CONTEXT_UNSET);
    }
    context_world_put(world, context_world_place(world), 0);
    assert_int_equal(read_copy_of(world, &instant)->kind, CONTEXT_UNSET);
    context_world_end(world);
}

static void expect_int(struct context_world *world, bool is_negative, const uint32_t *digits,
                       unsigned count, const char *text)
{
    context_world_set_value(world, context_world_int(world, is_negative, digits, count));
    context_world_expect(world, text);
}

static void test_values(struct context_world *world)
{
    static const uint32_t most[] = { 0x3fffffff, 0x3fffffff, 0x3fffffff, 0x3fffffff, 0xff };
    static const uint32_t too_many[6] = { 1, 1, 1, 1, 1, 1 };
    static const char bytes[] = { 'a', '\n', (char)0xff, 'b' };
    expect_int(world, false, NULL, 0, "0");
    expect_int(world, false, (uint32_t[]){ 4711 }, 1, "4711");
    expect_int(world, true, (uint32_t[]){ 1 }, 1, "-1");
    expect_int(world, false, (uint32_t[]){ 0, 1 }, 2, "1073741824");
    expect_int(world, false, most, 5, "340282366920938463463374607431768211455");
    expect_int(world, false, too_many, 6, "<int>");
    const remote_addr of_bytes = fake_bytes(&world->python, bytes, sizeof bytes);
    context_world_put(world, of_bytes + context_world_layout(world)->object_type,
                      world->types[4]);
    context_world_set_value(world, of_bytes);
    context_world_expect(world, "a??b");
    context_world_set_value(
        world, context_world_make(world, context_world_type(world, "NoneType", 0), NULL, 0));
    context_world_expect(world, "None");
    context_world_set_value(
        world, context_world_make(world, context_world_type(world, "Request", 0), NULL, 0));
    context_world_expect(world, "<Request>");
    context_world_set_value(
        world, context_world_make(world, context_world_type(world, "ellipsis", 0), NULL, 0));
    context_world_expect_kind(world, CONTEXT_UNSET);
    context_world_set_value(world, context_world_str(world, "a\tb"));
    context_world_expect(world, "a?b");
}

static void values_of_every_type_have_a_text(void **state)
{
    (void)state;
    context_world_in_every_version(test_values);
}

/* Reads a str of so many characters, all 'x' but the one at `at`; SIZE_MAX: all. */
static void read_long_value(struct context_world *world, size_t count, size_t at,
                            char out[VALUE_MAX_TEXT])
{
    char *const text = malloc(count + 1);
    assert_non_null(text);
    memset(text, 'x', count);
    text[count] = '\0';
    if (at < count)
        text[at] = 'y';
    context_world_set_value(world, context_world_str(world, text));
    const struct context_value *const value = context_world_read(world);
    assert_int_equal(value->kind, CONTEXT_SET);
    strcpy(out, value->text);
    free(text);
}

static void long_values_are_cut_and_hashed(void **state)
{
    static const struct {
        size_t count, at;
    } others[] = { { 1000, VALUE_MAX_CHARACTERS },
                   { 1000, VALUE_HASHED_BYTES - 1 },
                   { 1001, SIZE_MAX } };
    struct context_world *const world = context_world_begin(14);
    char whole[VALUE_MAX_TEXT], first[VALUE_MAX_TEXT], other[VALUE_MAX_TEXT];
    (void)state;
    read_long_value(world, VALUE_MAX_CHARACTERS, SIZE_MAX, whole);
    assert_int_equal(strlen(whole), VALUE_MAX_CHARACTERS);
    read_long_value(world, 1000, SIZE_MAX, first);
    assert_memory_equal(first, whole, VALUE_MAX_CHARACTERS);
    assert_true(strlen(first) > VALUE_MAX_CHARACTERS);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        read_long_value(world, others[i].count, others[i].at, other);
        assert_memory_equal(other, whole, VALUE_MAX_CHARACTERS);
        assert_string_not_equal(other, first);
    }
    /* Characters that nobody has read. */
    read_long_value(world, 1000, VALUE_HASHED_BYTES, other);
    assert_string_equal(other, first);
    context_world_end(world);
}

/* Changes a word once, before the call of that number. */
struct change {
    remote_addr addr;
    uint64_t value, read;
};

static void change(struct fake_memory *fake, const struct fake_read_at *moment, void *context)
{
    const struct change *const wanted = context;
    if (moment->read == wanted->read && moment->span == 0 && moment->offset == 0)
        fake_memory_put_u64(fake, wanted->addr, wanted->value);
}

/* The change comes before each of the calls in turn: what is read is the old value, the new one, or unknown. */
static void try_change(struct context_world *world, remote_addr addr, uint64_t value,
                       const char *before, const char *after)
{
    const uint64_t old = fake_memory_u64(&world->python.memory, addr);
    unsigned unknown = 0;
    for (unsigned call = 0; call < 20; call++) {
        struct change wanted = { addr, value, world->python.memory.memory.reads + call };
        world->python.memory.hook = change;
        world->python.memory.context = &wanted;
        const struct context_value *const found = context_world_read(world);
        unknown += found->kind == CONTEXT_UNKNOWN;
        if (found->kind != CONTEXT_UNKNOWN)
            assert_true(strcmp(found->text, before) == 0 || strcmp(found->text, after) == 0);
        world->python.memory.hook = NULL;
        context_world_put(world, addr, old);
    }
    assert_true(unknown > 0);
}

static void what_changes_while_it_is_read_is_unknown(void **state)
{
    struct context_world *const world = context_world_begin(15);
    const remote_addr other =
        context_world_make(world, world->types[0], (uint64_t[]){ 0, 0 }, 2);
    const remote_addr map = context_world_map(
        world, context_world_root(world, context_world_str(world, "4712")), 1);
    (void)state;
    context_world_put(
        world, other + object_first_field(context_world_layout(world)) + CONTEXT_WORLD_WORD,
        map);
    context_world_expect(world, "4711");
    try_change(world,
               world->context + object_first_field(context_world_layout(world)) +
                   CONTEXT_WORLD_WORD,
               map, "4711", "4712");
    try_change(world, context_world_place(world), other, "4711", "4712");
    context_world_expect(world, "4711");
    context_world_end(world);
}

static void a_value_that_is_known_costs_one_call_more(void **state)
{
    struct context_world *const world = context_world_begin(15);
    (void)state;
    context_world_expect(world, "4711");
    context_world_read(world);
    const uint64_t before = world->python.memory.memory.reads;
    context_world_read(world);
    /* One for the thread state, one for all that led to the value. */
    assert_int_equal(world->python.memory.memory.reads - before, 2);
    context_world_end(world);
}

static void a_tag_stays_while_the_value_does(void **state)
{
    struct context_world *const world = context_world_begin(15);
    (void)state;
    context_world_read(world)->tag = 7;
    assert_int_equal(context_world_read(world)->tag, 7);
    context_world_set_value(world, context_world_str(world, "4711"));
    assert_int_equal(context_world_read(world)->tag, 7);
    context_world_set_value(world, context_world_str(world, "4712"));
    assert_int_equal(context_world_read(world)->tag, 0);
    context_world_end(world);
}

/* Nodes that contain themselves, claim to be huge, or have another type. */
static void damaged_tries_are_unknown_and_end(void **state)
{
    struct context_world *const world = context_world_begin(15);
    (void)state;
    context_world_expect(world, "4711");
    const remote_addr big =
        context_world_node(world, world->bitmap, UINT32_MAX, (uint64_t[64]){ 0 }, 64);
    for (size_t i = 0; i < 32; i++)
        context_world_put(world,
                          big + object_first_field(context_world_layout(world)) +
                              (3 + 2 * i) * CONTEXT_WORLD_WORD,
                          big);
    context_world_set_map(world, context_world_map(world, big, 1));
    const uint64_t before = world->python.memory.memory.reads;
    context_world_expect_kind(world, CONTEXT_UNKNOWN);
    assert_int_equal(context_world_read_at(world, CONTEXT_WORLD_NOW_NS + 10 * NS_PER_S)->kind,
                     CONTEXT_UNKNOWN);
    assert_true(world->python.memory.memory.reads - before < 4 * HAMT_MAX_NODES);
    context_world_put(world, big + object_first_field(context_world_layout(world)), UINT64_MAX);
    context_world_expect_kind(world, CONTEXT_UNKNOWN);
    context_world_put(world, big + object_first_field(context_world_layout(world)), 3);
    context_world_expect_kind(world, CONTEXT_UNKNOWN);
    context_world_put(world, big + context_world_layout(world)->object_type, world->types[2]);
    context_world_expect_kind(world, CONTEXT_UNKNOWN);
    context_world_put(world, world->context + context_world_layout(world)->object_type,
                      world->types[2]);
    context_world_expect_kind(world, CONTEXT_UNKNOWN);
    context_world_put(world, context_world_place(world), 8);
    context_world_expect_kind(world, CONTEXT_UNKNOWN);
    context_world_end(world);
}

static void a_variable_that_is_another_object_now_is_forgotten(void **state)
{
    struct context_world *const world = context_world_begin(15);
    (void)state;
    context_world_expect(world, "4711");
    context_world_put(world, world->variable + object_first_field(context_world_layout(world)),
                      fake_str(&world->python, "other"));
    context_world_expect_kind(world, CONTEXT_UNKNOWN);
    assert_int_equal(context_world_read_at(world, CONTEXT_WORLD_NOW_NS + NS_PER_S)->kind,
                     CONTEXT_UNSET);
    context_world_end(world);
}

TEST_GROUP(cmocka_unit_test(a_context_may_lie_at_any_address_of_48_bits),
           cmocka_unit_test(the_value_is_found_in_every_version),
           cmocka_unit_test(the_place_is_searched_until_a_thread_has_a_context),
           cmocka_unit_test(tries_of_all_nodes_are_followed),
           cmocka_unit_test(another_variable_of_the_name_counts_where_the_first_has_no_value),
           cmocka_unit_test(a_variable_without_a_value_is_unset),
           cmocka_unit_test(copies_have_the_value_of_their_instant),
           cmocka_unit_test(a_copy_has_no_value_where_nobody_has_the_variable),
           cmocka_unit_test(values_of_every_type_have_a_text),
           cmocka_unit_test(long_values_are_cut_and_hashed),
           cmocka_unit_test(what_changes_while_it_is_read_is_unknown),
           cmocka_unit_test(a_value_that_is_known_costs_one_call_more),
           cmocka_unit_test(a_tag_stays_while_the_value_does),
           cmocka_unit_test(damaged_tries_are_unknown_and_end),
           cmocka_unit_test(a_variable_that_is_another_object_now_is_forgotten))
