#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/stack/leaf.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/callables.h"
#include "tests/unit/cpython/made/stack_world.h"

enum { WORD = 8, UNITS = 16, WORDS = 8, CALL_AT = 6, OTHER_AT = 3, HANDLERS = 24 };

/* A function that calls the object on its value stack with one argument, stopped at the call. */
struct world {
    struct stack_world *stack;
    struct leaves leaves;
    struct callable_types types;
    remote_addr frame, code;
    size_t callable; /* its place on the value stack */
};

static struct fake_python *python_of(struct world *world)
{
    return &world->stack->python;
}

static bool callable_is_first(struct world *world)
{
    return world->stack->python.minor >= 13;
}

static unsigned char number(struct world *world, const char *name)
{
    const int op = opcodes_find(world->leaves.opcodes, name);
    assert_true(op >= 0);
    return (unsigned char)op;
}

static void put_code(struct world *world)
{
    struct fake_python *const python = python_of(world);
    const struct layout *const layout = &python->runtime.layout;
    const bool has_precall = python->minor == 11;
    const unsigned char units[UNITS * 2] = {
        number(world, "NOP"),
        0,
        number(world, "NOP"),
        0,
        number(world, "NOP"),
        0,
        number(world, callable_is_first(world) ? "LOAD_FAST" : "PUSH_NULL"),
        0,
        number(world, callable_is_first(world) ? "PUSH_NULL" : "LOAD_FAST"),
        0,
        number(world, "LOAD_FAST"),
        1,
        number(world, has_precall ? "PRECALL" : "CALL"),
        1,
    };
    fake_memory_put(&python->memory, fake_instr(python, world->code, 0), units, sizeof units);
    fake_memory_put_u64(&python->memory, world->code + layout->bytes_length + HANDLERS,
                        fake_bytes(python, "", 0));
}

static remote_addr locals(struct world *world)
{
    return world->frame + world->stack->python.runtime.layout.frame_bytes - WORD;
}

/* The made 3.11 has two words of value stack, and takes the rest for locals. */
static size_t nlocals(struct world *world)
{
    return world->stack->python.minor == 11 ? WORDS - 2 : 0;
}

/* Puts the value stack, from its bottom, and from 3.14 on its top. */
static void put_stack(struct world *world, remote_addr callable, size_t depth)
{
    struct fake_python *const python = python_of(world);
    const remote_addr bottom = locals(world) + nlocals(world) * WORD;
    fake_memory_put_u64(&python->memory, bottom + world->callable * WORD, callable);
    fake_memory_put_u64(&python->memory, bottom + (1 - world->callable) * WORD, 0);
    if (python->minor >= 14)
        fake_memory_put_u64(&python->memory, world->frame + python->runtime.layout.frame_stack,
                            bottom + depth * WORD);
}

static void begin(struct world *world, unsigned minor, enum fake_call how)
{
    memset(world, 0, sizeof *world);
    world->stack = stack_world_create(minor);
    struct fake_python *const python = python_of(world);
    leaves_init(&world->leaves, &python->memory.memory, &python->runtime.layout,
                &world->stack->codes, &world->stack->strings);
    world->types = callable_types_make(python);
    world->callable = callable_is_first(world) ? 0 : 1;
    world->code = fake_code(python, &(struct fake_code){ .units = UNITS, .words = WORDS });
    put_code(world);
    if (how != FAKE_CALL_FROM_C)
        fake_push(&world->stack->thread, fake_function(python, "main"), FAKE_CALL_FROM_C);
    world->frame = fake_push(&world->stack->thread, world->code, how);
    fake_go_to(&world->stack->thread, world->frame, CALL_AT);
}

static void end(struct world *world)
{
    leaves_deinit(&world->leaves);
    stack_world_destroy(world->stack);
}

static struct leaf sample(struct world *world)
{
    struct leaf leaf;
    /* The first reading finds out where the frames are. */
    assert_int_equal(stack_world_read(world->stack), ERR_OK);
    assert_int_equal(stack_world_read(world->stack), ERR_OK);
    assert_int_equal(leaf_read(&world->leaves, &world->stack->stack, &leaf), ERR_OK);
    return leaf;
}

static remote_addr sleep_function(struct world *world)
{
    struct fake_python *const python = python_of(world);
    return callable_function(python, &world->types, "sleep",
                             callable_object(python, world->types.module),
                             callable_str(python, &world->types, "time"));
}

static void expect_name(struct world *world, const struct leaf *leaf, const char *name)
{
    assert_int_equal(leaf->in_native, VALUE_YES);
    assert_string_equal(strtab_get(&world->stack->strings, leaf->callee).text, name);
}

static void in_every_version(void (*test)(struct world *world))
{
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor, FAKE_CALL_FROM_C);
        test(&world);
        end(&world);
    }
}

static void check_named(struct world *world)
{
    put_stack(world, sleep_function(world), 3);
    const struct leaf leaf = sample(world);
    expect_name(world, &leaf, "<native> time.sleep");
    assert_string_equal(world->leaves.opcodes[leaf.opcode].name,
                        world->stack->python.minor == 11 ? "PRECALL" : "CALL");
}

static void a_c_function_that_is_called_is_named(void **state)
{
    (void)state;
    in_every_version(check_named);
}

static void check_python(struct world *world)
{
    put_stack(world, callable_object(python_of(world), world->types.python), 3);
    const struct leaf leaf = sample(world);
    assert_int_equal(leaf.in_native, VALUE_NO);
    assert_int_equal(leaf.callee, 0);
}

static void a_python_function_that_is_called_is_not_native(void **state)
{
    (void)state;
    in_every_version(check_python);
}

static void check_other_instruction(struct world *world)
{
    put_stack(world, sleep_function(world), 3);
    fake_go_to(&world->stack->thread, world->frame, OTHER_AT);
    const struct leaf leaf = sample(world);
    assert_int_equal(leaf.in_native, VALUE_NO);
    assert_int_equal(leaf.callee, 0);
}

static void only_an_instruction_that_calls_is_at_a_call(void **state)
{
    (void)state;
    in_every_version(check_other_instruction);
}

static void check_top(struct world *world)
{
    put_stack(world, sleep_function(world), 1);
    const struct leaf leaf = sample(world);
    if (world->stack->python.minor >= 14) {
        assert_int_equal(leaf.in_native, VALUE_NO);
        assert_int_equal(leaf.callee, 0);
    }
}

static void a_call_is_over_when_the_stack_has_another_depth(void **state)
{
    (void)state;
    in_every_version(check_top);
}

static void check_tag(struct world *world)
{
    put_stack(world, sleep_function(world) | 1, 3);
    const struct leaf leaf = sample(world);
    expect_name(world, &leaf, "<native> time.sleep");
}

static void references_are_known_below_their_tags(void **state)
{
    (void)state;
    in_every_version(check_tag);
}

static void check_nothing(struct world *world)
{
    put_stack(world, 0, 3);
    assert_int_equal(sample(world).callee, 0);
    put_stack(world, 0x123456789000, 3);
    assert_int_equal(sample(world).callee, 0);
    put_stack(world, ~0ull, 3);
    assert_int_equal(sample(world).callee, 0);
}

static void what_is_no_object_has_no_name(void **state)
{
    (void)state;
    in_every_version(check_nothing);
}

/* The call moves on to another function before it is read once more. */
static void check_doubtful(struct world *world)
{
    struct fake_python *const python = python_of(world);
    put_stack(world, callable_object(python, world->types.python), 3);
    sample(world);
    put_stack(world, callable_function(python, &world->types, "f", 0, 0), 3);
    assert_int_equal(stack_world_read(world->stack), ERR_OK);
    put_stack(world, sleep_function(world), 3);
    struct leaf leaf;
    assert_int_equal(leaf_read(&world->leaves, &world->stack->stack, &leaf), ERR_OK);
    assert_int_equal(leaf.in_native, VALUE_YES);
    assert_int_equal(leaf.callee, 0);
}

static void what_one_reading_alone_has_seen_is_not_named(void **state)
{
    (void)state;
    in_every_version(check_doubtful);
}

static void a_generator_that_calls_is_read_again(void **state)
{
    (void)state;
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct world world;
        begin(&world, minor, FAKE_RESUME);
        put_stack(&world, sleep_function(&world), 3);
        const struct leaf leaf = sample(&world);
        assert_int_equal(world.stack->stack.count, 2);
        expect_name(&world, &leaf, "<native> time.sleep");
        end(&world);
    }
}

static void a_thread_without_frames_is_native(void **state)
{
    struct stack_world *const stack = stack_world_create(14);
    struct leaves leaves;
    struct leaf leaf;
    (void)state;
    leaves_init(&leaves, &stack->python.memory.memory, &stack->python.runtime.layout,
                &stack->codes, &stack->strings);
    assert_int_equal(stack_world_read(stack), ERR_OK);
    assert_int_equal(leaf_read(&leaves, &stack->stack, &leaf), ERR_OK);
    assert_int_equal(leaf.in_native, VALUE_YES);
    assert_int_equal(leaf.opcode, LEAF_NO_OPCODE);
    leaves_deinit(&leaves);
    stack_world_destroy(stack);
}

static void forms_are_read_again_when_they_are_wanted(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14, FAKE_CALL_FROM_C);
    put_stack(&world, sleep_function(&world), 3);
    sample(&world);
    const unsigned char form = number(&world, "CALL_BUILTIN_O");
    fake_memory_put_u8(&python_of(&world)->memory,
                       fake_instr(python_of(&world), world.code, CALL_AT), form);
    assert_int_not_equal(sample(&world).opcode, form);
    world.leaves.wants_opcodes = true;
    assert_int_equal(sample(&world).opcode, form);
    end(&world);
}

static void instructions_that_run_anything_are_unknown(void **state)
{
    struct world world;
    (void)state;
    begin(&world, 14, FAKE_CALL_FROM_C);
    fake_memory_put_u8(&python_of(&world)->memory,
                       fake_instr(python_of(&world), world.code, OTHER_AT),
                       number(&world, "CONTAINS_OP"));
    fake_go_to(&world.stack->thread, world.frame, OTHER_AT);
    assert_int_equal(sample(&world).in_native, VALUE_UNKNOWN);
    end(&world);
}

TEST_GROUP(cmocka_unit_test(a_c_function_that_is_called_is_named),
           cmocka_unit_test(a_python_function_that_is_called_is_not_native),
           cmocka_unit_test(only_an_instruction_that_calls_is_at_a_call),
           cmocka_unit_test(a_call_is_over_when_the_stack_has_another_depth),
           cmocka_unit_test(references_are_known_below_their_tags),
           cmocka_unit_test(what_is_no_object_has_no_name),
           cmocka_unit_test(what_one_reading_alone_has_seen_is_not_named),
           cmocka_unit_test(a_generator_that_calls_is_read_again),
           cmocka_unit_test(a_thread_without_frames_is_native),
           cmocka_unit_test(forms_are_read_again_when_they_are_wanted),
           cmocka_unit_test(instructions_that_run_anything_are_unknown))
