#include "tests/unit/cpython/made/stack_world.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/test.h"

struct stack_world *stack_world_create(unsigned minor)
{
    struct stack_world *const world = calloc(1, sizeof *world);
    assert_non_null(world);
    fake_python_init(&world->python, minor);
    const struct layout *const layout = &world->python.runtime.layout;
    const remote_addr interp = fake_interp(&world->python, 0);
    fake_thread_init(&world->thread, &world->python, interp, 0x7f00, 100);
    assert_int_equal(strtab_init(&world->strings, NULL), ERR_OK);
    code_table_init(&world->codes, &world->python.memory.memory, layout, &world->strings);
    stack_init(&world->stack, &world->python.memory.memory, layout, world->thread.addr,
               layout->interp_code_generation ? interp + layout->interp_code_generation : 0);
    return world;
}

void stack_world_destroy(struct stack_world *world)
{
    stack_deinit(&world->stack);
    code_table_deinit(&world->codes);
    strtab_deinit(&world->strings);
    fake_python_deinit(&world->python);
    free(world);
}

void stack_world_each_version(void (*test)(struct stack_world *world))
{
    for (unsigned minor = FAKE_OLDEST_MINOR; minor <= FAKE_NEWEST_MINOR; minor++) {
        struct stack_world *const world = stack_world_create(minor);
        test(world);
        stack_world_destroy(world);
    }
}

remote_addr stack_world_call(struct stack_world *world, const char *name, enum fake_call how)
{
    return fake_push(&world->thread, fake_function(&world->python, name), how);
}

enum err_code stack_world_read(struct stack_world *world)
{
    return stack_read(&world->stack, &world->codes);
}

const char *stack_world_name(const struct stack_world *world, size_t depth)
{
    const struct code *const code = code_at(&world->codes, world->stack.frames[depth].code);
    return strtab_get(&world->strings, code->name).text;
}

char *stack_world_names(const struct stack_world *world)
{
    size_t bytes = 1;
    for (size_t i = 0; i < world->stack.count; i++)
        bytes += strlen(stack_world_name(world, i)) + 1;
    char *const names = malloc(bytes);
    assert_non_null(names);
    char *at = names;
    for (size_t i = 0; i < world->stack.count; i++) {
        if (i)
            *at++ = ' ';
        at = stpcpy(at, stack_world_name(world, i));
    }
    *at = '\0';
    return names;
}

void stack_world_expect(struct stack_world *world, const char *names)
{
    assert_int_equal(stack_world_read(world), ERR_OK);
    char *const found = stack_world_names(world);
    assert_string_equal(found, names);
    free(found);
}
