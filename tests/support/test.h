/*
 * test - for every unit test: cmocka, groups of tests, guarded memory, temporary folders.
 *
 * Threads: none.
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampler/base/err.h"

/* The tests of a file: one group of its program (support/main.c says how they are chosen). */
struct test_group {
    const char *file;
    const struct CMUnitTest *tests;
    size_t count;
    CMFixtureFunction begin, end;
    struct test_group *next;
};

void test_group_add(struct test_group *group);

#define TEST_GROUP(...) TEST_GROUP_WITHIN(NULL, NULL, __VA_ARGS__)
/* Within two functions that are called once, like those of cmocka_run_group_tests. */
#define TEST_GROUP_WITHIN(group_begin, group_end, ...)                            \
    __attribute__((constructor)) static void add_group(void)                      \
    {                                                                             \
        static const struct CMUnitTest tests[] = { __VA_ARGS__ };                 \
        static struct test_group group = { .file = __FILE__,                      \
                                           .tests = tests,                        \
                                           .count = sizeof tests / sizeof *tests, \
                                           .begin = (group_begin),                \
                                           .end = (group_end) };                  \
        test_group_add(&group);                                                   \
    }

/* Fails the test with the call, the code and the message of a failed call that takes &err last:
 *     struct err err = { 0 };
 *     assert_ok(strtab_init(&tab, &err), &err); */
#define assert_ok(call, err) test_assert_ok((call), (err), #call, __FILE__, __LINE__)

void test_assert_ok(enum err_code code, const struct err *err, const char *call,
                    const char *file, int line);

/* A buffer whose last byte lies before an unmapped page: one byte too far is a crash. */
unsigned char *guard_alloc(size_t bytes);
unsigned char *guard_copy(const void *data, size_t bytes);
void guard_free(unsigned char *buffer, size_t bytes);

/* A new empty folder; temp_dir_remove removes it with its contents, and frees the path. */
char *temp_dir(void);
void temp_dir_remove(char *path);
/* Writes a file below the folder, "/a/b", and makes the folders above it. */
void temp_dir_put(const char *folder, const char *path, const char *text);

#endif /* TESTS_SUPPORT_TEST_H */
