/* Contexts made of bytes: tries of variables and values, the objects that values are, and a thread that moves while
 * it is read. */
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/objects/hamt.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "sampler/cpython/threads/threads.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/fake_python.h"

enum { WORD = 8, TYPE_FLAGS = 168 };

static const uint64_t NOW_NS = 1000 * NS_PER_S;
static const char NAME[] = "request_id";

struct world {
    struct fake_python python;
    struct fake_thread thread;
    struct thread_list list;
    struct contexts *contexts;
    remote_addr types[5];
    remote_addr map, bitmap, array, collision; /* types */
    remote_addr context, variable;
    uint64_t hash;
};

static struct layout *layout(struct world *world)
{
    return &world->python.runtime.layout;
}

static void put(struct world *world, remote_addr addr, uint64_t value)
{
    fake_memory_put_u64(&world->python.memory, addr, value);
}

/* An object of this type with words behind its head. */
static remote_addr make(struct world *world, remote_addr type, const uint64_t *words,
                        size_t count)
{
    const remote_addr addr = fake_alloc(&world->python, 64 + count * WORD);
    put(world, addr + layout(world)->object_type, type);
    for (size_t i = 0; i < count; i++)
        put(world, addr + object_first_field(layout(world)) + i * WORD, words[i]);
    return addr;
}

static remote_addr make_type(struct world *world, const char *name, uint64_t flags)
{
    const remote_addr type = fake_type(&world->python, name);
    put(world, type + TYPE_FLAGS, flags);
    return type;
}

static remote_addr make_variable(struct world *world, const char *name, uint64_t hash)
{
    const uint64_t words[] = { fake_str(&world->python, name), 0, 0, 0, 0, hash };
    return make(world, world->types[1], words, 6);
}

static remote_addr make_str(struct world *world, const char *text)
{
    const remote_addr addr = fake_str(&world->python, text);
    put(world, addr + layout(world)->object_type, world->types[2]);
    return addr;
}

static remote_addr make_int(struct world *world, bool is_negative, const uint32_t *digits,
                            unsigned count)
{
    uint64_t words[4] = { layout(world)->has_int_tag
                              ? (uint64_t)count << 3 | (is_negative ? 2 : count == 0)
                          : is_negative ? UINT64_C(0) - count
                                        : count };
    if (count)
        memcpy(words + 1, digits, count * sizeof *digits);
    return make(world, world->types[3], words, 4);
}

/* A bitmap or a collision node. */
static remote_addr make_node(struct world *world, remote_addr type, uint32_t bits,
                             const uint64_t *items, size_t count)
{
    uint64_t words[2 + 64] = { count, bits };
    if (count)
        memcpy(words + 2, items, count * WORD);
    return make(world, type, words, 2 + count);
}

static remote_addr make_map(struct world *world, remote_addr root, uint64_t count)
{
    const uint64_t words[] = { root, 0, count };
    return make(world, world->map, words, 3);
}

/* The branch of the variable's hash at a level. */
static uint32_t branch(const struct world *world, int level)
{
    const uint32_t folded = (uint32_t)world->hash ^ (uint32_t)(world->hash >> 32);
    return folded >> 5 * level & 31;
}

/* A root that has the variable alone. */
static remote_addr root_of(struct world *world, remote_addr value)
{
    const uint64_t items[] = { world->variable, value };
    return make_node(world, world->bitmap, 1u << branch(world, 0), items, 2);
}

static void set_map(struct world *world, remote_addr map)
{
    put(world, world->context + object_first_field(layout(world)) + WORD, map);
}

static void set_value(struct world *world, remote_addr value)
{
    set_map(world, make_map(world, root_of(world, value), 1));
}

static remote_addr place_of_context(struct world *world)
{
    return world->thread.addr + (layout(world)->tstate_bytes / WORD - 1) * WORD;
}

static struct world *begin(unsigned minor)
{
    struct world *const world = calloc(1, sizeof *world);
    assert_non_null(world);
    fake_python_init(&world->python, minor);
    const remote_addr interp = fake_interp(&world->python, 0);
    fake_thread_init(&world->thread, &world->python, interp, 0x7000, 100);
    world->types[0] = make_type(world, minor < 10 ? "Context" : "_contextvars.Context", 0);
    world->types[1] =
        make_type(world, minor < 10 ? "ContextVar" : "_contextvars.ContextVar", 0);
    world->types[2] = make_type(world, "str", OBJECT_IS_STR);
    world->types[3] = make_type(world, "int", OBJECT_IS_INT);
    world->types[4] = make_type(world, "bytes", OBJECT_IS_BYTES);
    world->map = make_type(world, "hamt", 0);
    world->bitmap = make_type(world, "hamt_bitmap_node", 0);
    world->array = make_type(world, "hamt_array_node", 0);
    world->collision = make_type(world, "hamt_collision_node", 0);
    world->hash = UINT64_C(0x123456789abcdef7);
    world->variable = make_variable(world, NAME, world->hash);
    world->context = make(world, world->types[0], (uint64_t[]){ 0, 0 }, 2);
    set_value(world, make_str(world, "4711"));
    put(world, place_of_context(world), world->context);
    thread_list_init(&world->list, &world->python.memory.memory, &world->python.runtime);
    assert_int_equal(thread_list_walk(&world->list), ERR_OK);
    sub_stacks_find(&world->list);
    assert_int_equal(contexts_create(NAME, layout(world), &world->list, &world->contexts),
                     ERR_OK);
    return world;
}

static void end(struct world *world)
{
    contexts_destroy(world->contexts);
    thread_list_deinit(&world->list);
    fake_python_deinit(&world->python);
    free(world);
}

/* As a tick does: the thread state first. */
static struct context_value *read_at(struct world *world, uint64_t now_ns)
{
    struct memory *const memory = &world->python.memory.memory;
    struct thread *const thread = world->list.items[0];
    contexts_locate(world->contexts, now_ns);
    contexts_read_places(world->contexts);
    assert_int_equal(memory_read(memory, thread->head.addr, thread->stack.copy.tstate,
                                 thread->stack.copy.tstate_bytes),
                     ERR_OK);
    return contexts_read(world->contexts, thread, memory, false, now_ns);
}

static struct context_value *read_now(struct world *world)
{
    return read_at(world, NOW_NS);
}

static void expect(struct world *world, const char *text)
{
    const struct context_value *const value = read_now(world);
    assert_int_equal(value->kind, CONTEXT_SET);
    assert_string_equal(value->text, text);
}

static void expect_kind(struct world *world, enum context_kind kind)
{
    assert_int_equal(read_now(world)->kind, kind);
}

static void in_every_version(void (*test)(struct world *world))
{
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world *const world = begin(minor);
        test(world);
        end(world);
    }
}

/* As on aarch64, whose processes have 48 bits of addresses. */
static void move_context_far(struct world *world)
{
    static const remote_addr FAR = UINT64_C(0xffff80001000);
    enum { BYTES = 64 + 2 * WORD };
    unsigned char *const far = fake_memory_map(&world->python.memory, FAR, BYTES);
    memcpy(far, fake_memory_at(&world->python.memory, world->context, BYTES), BYTES);
    world->context = FAR;
    put(world, place_of_context(world), FAR);
    expect(world, "4711");
}

static void a_context_may_lie_at_any_address_of_48_bits(void **state)
{
    (void)state;
    in_every_version(move_context_far);
}

static void test_value(struct world *world)
{
    expect(world, "4711");
    set_value(world, make_str(world, "4712"));
    expect(world, "4712");
    put(world, place_of_context(world), 0);
    expect_kind(world, CONTEXT_UNSET);
}

static void the_value_is_found_in_every_version(void **state)
{
    (void)state;
    in_every_version(test_value);
}

static void test_nobody_has_a_context(struct world *world)
{
    put(world, place_of_context(world), 0);
    expect_kind(world, CONTEXT_UNSET);
    assert_int_equal(layout(world)->tstate_context, 0);
    /* It is not searched again at once. */
    put(world, place_of_context(world), world->context);
    expect_kind(world, CONTEXT_UNSET);
    assert_int_equal(read_at(world, NOW_NS + NS_PER_S)->kind, CONTEXT_SET);
    assert_int_equal(layout(world)->tstate_context,
                     place_of_context(world) - world->thread.addr);
}

static void the_place_is_searched_until_a_thread_has_a_context(void **state)
{
    (void)state;
    in_every_version(test_nobody_has_a_context);
}

/* An array, in it a bitmap with a neighbour, in it the pair beside another one. */
static remote_addr deep_root(struct world *world, remote_addr leaf)
{
    const uint64_t neighbour = make_variable(world, "other", world->hash ^ 1);
    const uint32_t at = branch(world, 1);
    const uint64_t first[] = { neighbour, 1, 0, leaf };
    const uint64_t last[] = { 0, leaf, neighbour, 1 };
    uint64_t children[33] = { 0 };
    const uint32_t other = at > 0 ? at - 1 : at + 1;
    children[branch(world, 0)] =
        make_node(world, world->bitmap, 1u << at | 1u << other, other < at ? first : last, 4);
    return make(world, world->array, children, 33);
}

static void test_deep(struct world *world)
{
    const uint64_t pair[] = { world->variable, make_str(world, "deep") };
    const uint64_t collision[] = { make_variable(world, "same", world->hash), 1,
                                   world->variable, make_str(world, "collides") };
    const remote_addr leaf = make_node(world, world->bitmap, 1u << branch(world, 2), pair, 2);
    set_map(world, make_map(world, deep_root(world, leaf), 2));
    expect(world, "deep");
    set_map(world,
            make_map(world,
                     deep_root(world, make_node(world, world->collision, 0, collision, 4)), 3));
    expect(world, "collides");
}

static void tries_of_all_nodes_are_followed(void **state)
{
    (void)state;
    in_every_version(test_deep);
}

static void another_variable_of_the_name_counts_where_the_first_has_no_value(void **state)
{
    struct world *const world = begin(14);
    const uint64_t hash = 9;
    const remote_addr other = make_variable(world, NAME, hash);
    (void)state;
    expect(world, "4711");
    const uint64_t items[] = { other, make_str(world, "of the other") };
    set_map(world, make_map(world, make_node(world, world->bitmap, 1u << 9, items, 2), 1));
    /* Variables are searched once a second. */
    assert_int_equal(read_at(world, NOW_NS + 2 * NS_PER_S)->kind, CONTEXT_SET);
    expect(world, "of the other");
    end(world);
}

static void a_variable_without_a_value_is_unset(void **state)
{
    struct world *const world = begin(14);
    const uint64_t items[] = { make_variable(world, "other", 3), make_str(world, "x") };
    (void)state;
    set_map(world, make_map(world, make_node(world, world->bitmap, 1u << 3, items, 2), 1));
    expect_kind(world, CONTEXT_UNSET);
    const uint64_t before = world->python.memory.memory.reads;
    assert_int_equal(read_at(world, NOW_NS + 10 * NS_PER_S)->kind, CONTEXT_UNSET);
    assert_int_equal(world->python.memory.memory.reads - before, 2);
    set_map(world, make_map(world, make_node(world, world->bitmap, 0, NULL, 0), 0));
    expect_kind(world, CONTEXT_UNSET);
    end(world);
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
                   &instant->older.word, WORD);
        *bytes_out += arrived;
    }
    return ERR_OK;
}

static struct context_value *read_copy_of(struct world *world, struct instant *instant)
{
    instant->memory = (struct memory){ .readv = read_instant };
    instant->process = &world->python.memory.memory;
    return contexts_read(world->contexts, world->list.items[0], &instant->memory, true, NOW_NS);
}

static void test_copies(struct world *world)
{
    const remote_addr place = place_of_context(world);
    const remote_addr before = make(world, world->types[0], (uint64_t[]){ 0, 0 }, 2);
    struct instant instant = { 0 };
    struct contexts_trail trail;
    put(world, before + object_first_field(layout(world)) + WORD,
        make_map(world, root_of(world, make_str(world, "before")), 1));
    contexts_locate(world->contexts, NOW_NS);
    contexts_trail(world->contexts, &trail);
    assert_int_equal(trail.place, place - world->thread.addr);
    assert_int_equal(trail.variable_count, 0);
    /* Whoever copied it did not know the variable; it is found meanwhile. */
    instant.missing = world->variable + object_first_field(layout(world));
    contexts_search(world->contexts, NOW_NS);
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
    instant.missing = world->context + object_first_field(layout(world)) + WORD;
    assert_int_equal(read_copy_of(world, &instant)->kind, CONTEXT_UNKNOWN);
    instant.missing = world->variable + object_first_field(layout(world));
    assert_int_equal(read_copy_of(world, &instant)->kind, CONTEXT_UNKNOWN);
    contexts_trail(world->contexts, &trail);
    assert_int_equal(trail.variable_count, 1);
}

static void copies_have_the_value_of_their_instant(void **state)
{
    (void)state;
    in_every_version(test_copies);
}

static void a_copy_has_no_value_where_nobody_has_the_variable(void **state)
{
    struct world *const world = begin(14);
    const uint64_t items[] = { make_variable(world, "other", 3), make_str(world, "x") };
    struct instant instant = { 0 };
    (void)state;
    set_map(world, make_map(world, make_node(world, world->bitmap, 1u << 3, items, 2), 1));
    contexts_locate(world->contexts, NOW_NS);
    for (uint64_t i = 0; i < 100; i++) {
        contexts_search(world->contexts, NOW_NS + i);
        assert_int_equal(read_copy_of(world, &instant)->kind, CONTEXT_UNSET);
    }
    put(world, place_of_context(world), 0);
    assert_int_equal(read_copy_of(world, &instant)->kind, CONTEXT_UNSET);
    end(world);
}

static void expect_int(struct world *world, bool is_negative, const uint32_t *digits,
                       unsigned count, const char *text)
{
    set_value(world, make_int(world, is_negative, digits, count));
    expect(world, text);
}

static void test_values(struct world *world)
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
    put(world, of_bytes + layout(world)->object_type, world->types[4]);
    set_value(world, of_bytes);
    expect(world, "a??b");
    set_value(world, make(world, make_type(world, "NoneType", 0), NULL, 0));
    expect(world, "None");
    set_value(world, make(world, make_type(world, "Request", 0), NULL, 0));
    expect(world, "<Request>");
    set_value(world, make(world, make_type(world, "ellipsis", 0), NULL, 0));
    expect_kind(world, CONTEXT_UNSET);
    set_value(world, make_str(world, "a\tb"));
    expect(world, "a?b");
}

static void values_of_every_type_have_a_text(void **state)
{
    (void)state;
    in_every_version(test_values);
}

static void long_values_are_cut(void **state)
{
    struct world *const world = begin(14);
    char text[1000];
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    set_value(world, make_str(world, text));
    assert_int_equal(read_now(world)->kind, CONTEXT_SET);
    assert_int_equal(strlen(read_now(world)->text), VALUE_MAX_CHARACTERS);
    end(world);
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
static void try_change(struct world *world, remote_addr addr, uint64_t value,
                       const char *before, const char *after)
{
    const uint64_t old = fake_memory_u64(&world->python.memory, addr);
    unsigned unknown = 0;
    for (unsigned call = 0; call < 20; call++) {
        struct change wanted = { addr, value, world->python.memory.memory.reads + call };
        world->python.memory.hook = change;
        world->python.memory.context = &wanted;
        const struct context_value *const found = read_now(world);
        unknown += found->kind == CONTEXT_UNKNOWN;
        if (found->kind != CONTEXT_UNKNOWN)
            assert_true(strcmp(found->text, before) == 0 || strcmp(found->text, after) == 0);
        world->python.memory.hook = NULL;
        put(world, addr, old);
    }
    assert_true(unknown > 0);
}

static void what_changes_while_it_is_read_is_unknown(void **state)
{
    struct world *const world = begin(15);
    const remote_addr other = make(world, world->types[0], (uint64_t[]){ 0, 0 }, 2);
    const remote_addr map = make_map(world, root_of(world, make_str(world, "4712")), 1);
    (void)state;
    put(world, other + object_first_field(layout(world)) + WORD, map);
    expect(world, "4711");
    try_change(world, world->context + object_first_field(layout(world)) + WORD, map, "4711",
               "4712");
    try_change(world, place_of_context(world), other, "4711", "4712");
    expect(world, "4711");
    end(world);
}

static void a_value_that_is_known_costs_one_call_more(void **state)
{
    struct world *const world = begin(15);
    (void)state;
    expect(world, "4711");
    read_now(world);
    const uint64_t before = world->python.memory.memory.reads;
    read_now(world);
    /* One for the thread state, one for all that led to the value. */
    assert_int_equal(world->python.memory.memory.reads - before, 2);
    end(world);
}

static void a_tag_stays_while_the_value_does(void **state)
{
    struct world *const world = begin(15);
    (void)state;
    read_now(world)->tag = 7;
    assert_int_equal(read_now(world)->tag, 7);
    set_value(world, make_str(world, "4711"));
    assert_int_equal(read_now(world)->tag, 7);
    set_value(world, make_str(world, "4712"));
    assert_int_equal(read_now(world)->tag, 0);
    end(world);
}

/* Nodes that contain themselves, claim to be huge, or have another type. */
static void damaged_tries_are_unknown_and_end(void **state)
{
    struct world *const world = begin(15);
    (void)state;
    expect(world, "4711");
    const remote_addr big =
        make_node(world, world->bitmap, UINT32_MAX, (uint64_t[64]){ 0 }, 64);
    for (size_t i = 0; i < 32; i++)
        put(world, big + object_first_field(layout(world)) + (3 + 2 * i) * WORD, big);
    set_map(world, make_map(world, big, 1));
    const uint64_t before = world->python.memory.memory.reads;
    expect_kind(world, CONTEXT_UNKNOWN);
    assert_int_equal(read_at(world, NOW_NS + 10 * NS_PER_S)->kind, CONTEXT_UNKNOWN);
    assert_true(world->python.memory.memory.reads - before < 4 * HAMT_MAX_NODES);
    put(world, big + object_first_field(layout(world)), UINT64_MAX);
    expect_kind(world, CONTEXT_UNKNOWN);
    put(world, big + object_first_field(layout(world)), 3);
    expect_kind(world, CONTEXT_UNKNOWN);
    put(world, big + layout(world)->object_type, world->types[2]);
    expect_kind(world, CONTEXT_UNKNOWN);
    put(world, world->context + layout(world)->object_type, world->types[2]);
    expect_kind(world, CONTEXT_UNKNOWN);
    put(world, place_of_context(world), 8);
    expect_kind(world, CONTEXT_UNKNOWN);
    end(world);
}

static void a_variable_that_is_another_object_now_is_forgotten(void **state)
{
    struct world *const world = begin(15);
    (void)state;
    expect(world, "4711");
    put(world, world->variable + object_first_field(layout(world)),
        fake_str(&world->python, "other"));
    expect_kind(world, CONTEXT_UNKNOWN);
    assert_int_equal(read_at(world, NOW_NS + NS_PER_S)->kind, CONTEXT_UNSET);
    end(world);
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
           cmocka_unit_test(long_values_are_cut),
           cmocka_unit_test(what_changes_while_it_is_read_is_unknown),
           cmocka_unit_test(a_value_that_is_known_costs_one_call_more),
           cmocka_unit_test(a_tag_stays_while_the_value_does),
           cmocka_unit_test(damaged_tries_are_unknown_and_end),
           cmocka_unit_test(a_variable_that_is_another_object_now_is_forgotten))
