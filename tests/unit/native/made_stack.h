/*
 * made_stack - a process with one library, whose functions cover all forms of rules, and a stack in it.
 *
 * made_x86_64.c has the functions that are named here; test_aarch64.c has its own.
 *
 * Ownership: made_stack_set_up and made_stack_tear_down are cmocka's functions before and after a test; the
 * state is a struct made_stack.
 */
#ifndef TESTS_UNIT_NATIVE_MADE_STACK_H
#define TESTS_UNIT_NATIVE_MADE_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/native/unwind.h"
#include "tests/support/fake_memory.h"
#include "tests/support/test.h"
#include "tests/unit/native/made_image.h"

enum {
    BASE = 0x10000,
    CODE = BASE + MADE_CODE,
    STACK = 0x700000,
    WORDS = 256,
    BASE_OF_STACK = STACK + WORDS * 8,
    MAX_FRAMES = 32,
    GENERATED = 0x300000,
    /* Functions of x86-64, each 0x40 bytes of code. */
    PLAIN = CODE,           /* CFA = sp + 8 */
    PUSHES = CODE + 0x40,   /* from byte 1 on CFA = sp + 16, bp below the return address */
    POINTS = CODE + 0x80,   /* CFA = bp + 16, bp below the return address */
    REALIGNS = CODE + 0xc0, /* CFA = the word at bp - 8; bp and bx are saved around bp */
    THROUGH_R10 = CODE + 0x100,
    STUB = CODE + 0x140,
    SIGNAL = CODE + 0x180,
    FIRST = CODE + 0x1c0, /* has no caller */
    CORRUPT = CODE + 0x200,
    LARGE = CODE + 0x240,   /* CFA = sp + 64, all registers saved */
    UNKNOWN = CODE + 0x300, /* no table describes it */
    CALL = 0x20,            /* a return address in each function */
};

struct made_stack {
    struct fake_memory fake;
    struct made_image image;
    struct unwinder unwinder;
    uint64_t words[WORDS];
    struct native_registers registers;
    struct native_stack stack;
    struct native_frame frames[MAX_FRAMES];
    struct native_walk walk;
};

/* Adds a function of 0x40 bytes of code with these instructions. */
#define MADE_ADD(stack, common, start, ...)                          \
    made_image_function(&(stack)->image, common, (start)-BASE, 0x40, \
                        (const uint8_t[]){ __VA_ARGS__ },            \
                        sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* The functions of the library, each with a call in front of its byte CALL. */
void made_stack_add_functions(struct made_stack *world);
int made_stack_set_up(void **state);
int made_stack_tear_down(void **state);
/* The mappings of the process, as /proc/PID/maps lists them. */
void made_stack_map(struct made_stack *world, const char *text);
/* A word of the stack, by its number from the stack pointer on. */
uint64_t *made_word(struct made_stack *world, int number);
/* Puts the signal frame that the kernel saves at a word of the stack. */
void made_signal(struct made_stack *world, int number, remote_addr ip, remote_addr sp);
enum native_end made_walk(struct made_stack *world);
enum native_end made_walk_with(struct made_stack *world, const remote_addr *entries,
                               size_t count);

#define MADE_TEST(name) \
    cmocka_unit_test_setup_teardown(name, made_stack_set_up, made_stack_tear_down)

#endif /* TESTS_UNIT_NATIVE_MADE_STACK_H */
