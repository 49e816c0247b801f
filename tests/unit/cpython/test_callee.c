#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/objects/callee.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/callables.h"

struct world {
    struct fake_python python;
    struct strtab strings;
    struct callee_table table;
    struct callable_types types;
};

static int begin(void **state)
{
    struct world *const world = calloc(1, sizeof *world);
    fake_python_init(&world->python, 14);
    assert_int_equal(strtab_init(&world->strings, NULL), ERR_OK);
    callee_table_init(&world->table, &world->python.memory.memory,
                      &world->python.runtime.layout, &world->strings);
    world->types = callable_types_make(&world->python);
    *state = world;
    return 0;
}

static int end(void **state)
{
    struct world *const world = *state;
    callee_table_deinit(&world->table);
    strtab_deinit(&world->strings);
    fake_python_deinit(&world->python);
    free(world);
    return 0;
}

static const struct callee *read_callee(struct world *world, remote_addr addr)
{
    const struct callee *callee = NULL;
    assert_int_equal(callee_read(&world->table, addr, &callee), ERR_OK);
    return callee;
}

static void expect(struct world *world, remote_addr addr, const char *name)
{
    const struct callee *const callee = read_callee(world, addr);
    assert_int_equal(callee->is_c, VALUE_YES);
    assert_string_equal(strtab_get(&world->strings, callee->name).text, name);
}

static void expect_nameless(struct world *world, remote_addr addr, enum three_valued is_c)
{
    const struct callee *const callee = read_callee(world, addr);
    assert_int_equal(callee->is_c, is_c);
    assert_int_equal(callee->name, 0);
}

static remote_addr module_function(struct world *world, const char *module, const char *name)
{
    return callable_function(&world->python, &world->types, name,
                             callable_object(&world->python, world->types.module),
                             callable_str(&world->python, &world->types, module));
}

static void functions_and_methods_have_their_code(void **state)
{
    struct world *const world = *state;
    const remote_addr list = callable_type(&world->python, "list", false, false, false),
                      made = callable_type(&world->python, "datetime.date", false, true, true);
    fake_memory_put_u64(&world->python.memory, made + world->python.runtime.layout.object_type,
                        world->types.type);
    assert_int_equal(read_callee(world, module_function(world, "time", "sleep"))->code,
                     callable_code("sleep"));
    assert_int_equal(
        read_callee(world, callable_method(&world->python, &world->types, list, "append"))
            ->code,
        callable_code("append"));
    assert_int_equal(read_callee(world, made)->code, 0);
}

static void functions_are_named_with_their_module(void **state)
{
    struct world *const world = *state;
    expect(world, module_function(world, "time", "sleep"), "<native> time.sleep");
    expect(world, module_function(world, "builtins", "sorted"), "<native> sorted");
}

static void bound_methods_are_named_with_the_type_of_their_object(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const remote_addr list = callable_type(python, "list", false, false, false);
    const remote_addr object = callable_object(python, list);
    expect(world, callable_function(python, &world->types, "append", object, 0),
           "<native> list.append");
}

static void class_methods_are_named_with_their_class(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const remote_addr dict = callable_type(python, "dict", false, false, false);
    fake_memory_put_u64(&python->memory, dict + python->runtime.layout.object_type,
                        world->types.type);
    expect(world, callable_function(python, &world->types, "fromkeys", dict, 0),
           "<native> dict.fromkeys");
}

static void methods_are_named_with_their_type(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const remote_addr str = callable_type(python, "str", false, false, false);
    expect(world, callable_method(python, &world->types, str, "join"), "<native> str.join");
}

static void classes_made_by_c_are_named(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const uint32_t type = python->runtime.layout.object_type;
    const remote_addr range = callable_type(python, "range", false, false, false),
                      pattern = callable_type(python, "re.Pattern", true, false, false),
                      point = callable_type(python, "Point", true, false, false);
    fake_memory_put_u64(&python->memory, range + type, world->types.type);
    fake_memory_put_u64(&python->memory, pattern + type, world->types.type);
    fake_memory_put_u64(&python->memory, point + type, world->types.type);
    expect(world, range, "<native> range");
    expect(world, pattern, "<native> re.Pattern");
    expect_nameless(world, point, VALUE_UNKNOWN);
}

static void objects_that_c_code_made_callable_are_named(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const remote_addr encoder = callable_type(python, "_json.Encoder", true, true, false),
                      python_class = callable_type(python, "Callable", true, true, false),
                      plain = callable_type(python, "int", false, false, false);
    expect(world, callable_object(python, encoder), "<native> _json.Encoder.__call__");
    expect_nameless(world, callable_object(python, python_class), VALUE_UNKNOWN);
    expect_nameless(world, callable_object(python, plain), VALUE_UNKNOWN);
}

enum { CYTHON_ROOM = 160, CYTHON_029 = 64, CYTHON_3 = 72 };

/* name_at: where its name is, before its qualified name; CYTHON_029: there is none yet. */
static remote_addr cython_function(struct world *world, remote_addr type, const char *name,
                                   const char *qualified, uint32_t name_at)
{
    struct fake_python *const python = &world->python;
    const remote_addr addr = fake_alloc(python, CYTHON_ROOM);
    callable_put_function(python, addr, &world->types, name, addr,
                          callable_str(python, &world->types, "sklearn.tree"));
    fake_memory_put_u64(&python->memory, addr + python->runtime.layout.object_type, type);
    if (name_at != CYTHON_029)
        fake_memory_put_u64(&python->memory, addr + name_at,
                            callable_str(python, &world->types, name));
    fake_memory_put_u64(&python->memory, addr + name_at + 8,
                        callable_str(python, &world->types, qualified));
    return addr;
}

static void functions_of_cython_are_named_as_python_names_them(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const remote_addr old =
        callable_type(python, "cython_function_or_method", false, true, false);
    const remote_addr new =
        callable_type(python, "_cython_3_2_5.cython_function_or_method", true, true, false);
    const remote_addr fused =
        callable_type(python, "_cython_3_2_5.fused_cython_function", true, true, false);
    const remote_addr fit = cython_function(world, new, "fit", "Tree.fit", CYTHON_3);
    expect(world, fit, "<native> sklearn.tree.Tree.fit");
    assert_int_equal(read_callee(world, fit)->code, callable_code("fit"));
    expect(world, cython_function(world, old, "grow", "grow", CYTHON_029),
           "<native> sklearn.tree.grow");
    /* Nobody has asked for its name yet. */
    expect(world, cython_function(world, old, "trim", "Tree.trim", CYTHON_029),
           "<native> sklearn.tree.Tree.trim");
    expect(world, cython_function(world, fused, "dist", "make.<locals>.dist", CYTHON_3),
           "<native> sklearn.tree.make.<locals>.dist");
}

static void bound_functions_of_cython_are_c(void **state)
{
    enum { FUNCTION = 16 };
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const remote_addr type =
        callable_type(python, "_cython_3_2_5.cython_function_or_method", true, true, false);
    const remote_addr bound = callable_type(python, "method", false, true, false);
    const remote_addr method = callable_object(python, bound);
    fake_memory_put_u64(&python->memory, method + FUNCTION,
                        cython_function(world, type, "fit", "Tree.fit", CYTHON_3));
    expect(world, method, "<native> sklearn.tree.Tree.fit");
    fake_memory_put_u64(&python->memory, method + FUNCTION,
                        callable_object(python, world->types.python));
    expect_nameless(world, method, VALUE_NO);
}

/* Names that do not belong together, none, and a definition that is not one. */
static void what_has_no_name_of_cython_has_that_of_its_definition(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const remote_addr type =
        callable_type(python, "_cython_3_2_5.cython_function_or_method", true, true, false);
    const remote_addr liar =
        callable_type(python, "cython_function_or_method", true, true, false);
    const remote_addr nothing = fake_alloc(python, CYTHON_ROOM);
    expect(world, cython_function(world, type, "fit", "Tree.grow", CYTHON_3),
           "<native> sklearn.tree.fit");
    expect(world, cython_function(world, type, "fit", "Tree.unfit", CYTHON_3),
           "<native> sklearn.tree.fit");
    fake_memory_put_u64(&python->memory, nothing + python->runtime.layout.object_type, type);
    expect_nameless(world, nothing, VALUE_YES);
    expect_nameless(world, callable_object(python, liar), VALUE_UNKNOWN);
}

static void functions_of_python_are_not_c(void **state)
{
    struct world *const world = *state;
    expect_nameless(world, callable_object(&world->python, world->types.python), VALUE_NO);
    /* A class statement can use any name. */
    const remote_addr liar =
        callable_type(&world->python, "builtin_function_or_method", true, true, false);
    expect_nameless(world, callable_object(&world->python, liar), VALUE_UNKNOWN);
}

static void names_that_are_no_plain_text_are_not_shown(void **state)
{
    struct world *const world = *state;
    char endless[4 * CALLEE_MAX_NAME_BYTES];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    expect_nameless(world, module_function(world, "time", "sl\neep"), VALUE_YES);
    expect_nameless(world, module_function(world, "time", ""), VALUE_YES);
    expect_nameless(world, module_function(world, "time", endless), VALUE_YES);
    expect_nameless(world, module_function(world, "time", "\x1b[2J"), VALUE_YES);
}

static void an_address_used_again_has_its_new_name(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const remote_addr list = callable_type(python, "list", false, false, false);
    const remote_addr object = callable_object(python, list);
    const remote_addr addr = callable_function(python, &world->types, "count", object, 0);
    expect(world, addr, "<native> list.count");
    callable_put_function(python, addr, &world->types, "index", object, 0);
    expect(world, addr, "<native> list.index");
}

static void an_address_without_a_name_may_get_one(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const remote_addr encoder = callable_type(python, "_json.Encoder", true, true, false),
                      plain = callable_type(python, "int", false, false, false);
    const remote_addr addr = callable_object(python, plain);
    expect_nameless(world, addr, VALUE_UNKNOWN);
    fake_memory_put_u64(&python->memory, addr + python->runtime.layout.object_type, encoder);
    expect(world, addr, "<native> _json.Encoder.__call__");
}

static void functions_of_modules_are_trusted_for_a_while(void **state)
{
    struct world *const world = *state;
    const remote_addr addr = module_function(world, "time", "sleep");
    read_callee(world, addr);
    const uint64_t reads = world->python.memory.memory.reads;
    for (int i = 1; i < CALLEE_TRUSTED_USES; i++)
        read_callee(world, addr);
    assert_int_equal(world->python.memory.memory.reads, reads);
    read_callee(world, addr);
    assert_int_equal(world->python.memory.memory.reads, reads + 1);
}

static void an_object_compared_since_a_copy_was_made_is_not_compared_again(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    const remote_addr list = callable_type(python, "list", false, false, false);
    const remote_addr object = callable_object(python, list);
    const remote_addr addr = callable_function(python, &world->types, "count", object, 0);
    read_callee(world, addr);
    const uint64_t reads = python->memory.memory.reads;
    world->table.taken_ns = clock_now_ns();
    expect(world, addr, "<native> list.count");
    assert_int_equal(python->memory.memory.reads, reads + 1);
    expect(world, addr, "<native> list.count");
    assert_int_equal(python->memory.memory.reads, reads + 1);
    callable_put_function(python, addr, &world->types, "index", object, 0);
    world->table.taken_ns = clock_now_ns() + 1;
    expect(world, addr, "<native> list.index");
    assert_true(python->memory.memory.reads > reads + 1);
}

static void a_missing_object_is_an_error_each_time(void **state)
{
    struct world *const world = *state;
    const struct callee *callee;
    for (int i = 0; i < 3; i++)
        assert_int_not_equal(callee_read(&world->table, 0x1234560, &callee), ERR_OK);
}

static void a_full_table_is_cleared(void **state)
{
    struct world *const world = *state;
    struct fake_python *const python = &world->python;
    enum { OBJECT_BYTES = 64 };
    const remote_addr objects = fake_alloc(python, ((size_t)CALLEE_MAX + 1) * OBJECT_BYTES);
    const remote_addr named = module_function(world, "time", "sleep");
    for (uint32_t i = 0; i <= CALLEE_MAX; i++) {
        const remote_addr addr = objects + (remote_addr)i * OBJECT_BYTES;
        fake_memory_put_u64(&python->memory, addr + python->runtime.layout.object_type,
                            world->types.python);
        expect_nameless(world, addr, VALUE_NO);
    }
    assert_true(world->table.callees.count < CALLEE_MAX);
    expect(world, named, "<native> time.sleep");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

TEST_GROUP(
    TEST(functions_are_named_with_their_module), TEST(functions_and_methods_have_their_code),
    TEST(bound_methods_are_named_with_the_type_of_their_object),
    TEST(class_methods_are_named_with_their_class), TEST(methods_are_named_with_their_type),
    TEST(classes_made_by_c_are_named), TEST(objects_that_c_code_made_callable_are_named),
    TEST(functions_of_cython_are_named_as_python_names_them),
    TEST(bound_functions_of_cython_are_c),
    TEST(what_has_no_name_of_cython_has_that_of_its_definition),
    TEST(functions_of_python_are_not_c), TEST(names_that_are_no_plain_text_are_not_shown),
    TEST(an_address_used_again_has_its_new_name), TEST(an_address_without_a_name_may_get_one),
    TEST(functions_of_modules_are_trusted_for_a_while),
    TEST(an_object_compared_since_a_copy_was_made_is_not_compared_again),
    TEST(a_missing_object_is_an_error_each_time), TEST(a_full_table_is_cleared))
