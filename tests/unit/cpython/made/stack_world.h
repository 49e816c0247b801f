/*
 * stack_world - one simulated thread and everything that reads its stack.
 *
 * Ownership: stack_world_create allocates, stack_world_destroy frees.
 */
#ifndef TESTS_UNIT_CPYTHON_MADE_STACK_WORLD_H
#define TESTS_UNIT_CPYTHON_MADE_STACK_WORLD_H

#include "sampler/base/strtab.h"
#include "sampler/cpython/stack/stack.h"
#include "tests/unit/cpython/made/fake_python.h"

struct stack_world {
    struct fake_python python;
    struct fake_thread thread; /* the main one */
    struct strtab strings;
    struct code_table codes;
    struct stack stack;
};

struct stack_world *stack_world_create(unsigned minor);
void stack_world_destroy(struct stack_world *world);
/* Runs a test for every version that has a layout. */
void stack_world_each_version(void (*test)(struct stack_world *world));

/* The main thread calls a new function of that name: the address of its frame. */
remote_addr stack_world_call(struct stack_world *world, const char *name, enum fake_call how);

enum err_code stack_world_read(struct stack_world *world);
/* The name of the frame at a depth. */
const char *stack_world_name(const struct stack_world *world, size_t depth);
/* Reads the stack; the test fails if it is not made of these names, outermost first. */
void stack_world_expect(struct stack_world *world, const char *names);
/* The names of the current stack, separated by spaces; the caller frees them. */
char *stack_world_names(const struct stack_world *world);

#endif /* TESTS_UNIT_CPYTHON_MADE_STACK_WORLD_H */
