/* Compares stacks of running programs with those that libunwind finds, program counter by program counter. */
#include <libunwind-ptrace.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/native/unwind.h"
#include "tests/support/test.h"
#include "tests/unit/native/stopped_thread.h"

enum { MAX_FRAMES = 512, SKIPPED = 77 };

struct comparison {
    struct stopped_thread thread;
    struct unwinder unwinder;
    unw_addr_space_t space;
    void *access;
    struct native_frame frames[MAX_FRAMES];
    remote_addr expected[MAX_FRAMES];
    size_t expected_count;
    unsigned equal, all;
};

static void unwind_with_libunwind(struct comparison *comparison)
{
    unw_cursor_t cursor;
    size_t count = 0;
    assert_int_equal(unw_init_remote(&cursor, comparison->space, comparison->access), 0);
    do {
        unw_word_t ip;
        if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0)
            break;
        comparison->expected[count++] = ip;
    } while (count < MAX_FRAMES && unw_step(&cursor) > 0);
    comparison->expected_count = count;
}

static void print_difference(const struct comparison *comparison,
                             const struct native_walk *walk)
{
    print_message("stack %u: %zu frames (%s), %zu with libunwind\n", comparison->all,
                  walk->count, native_end_text(walk->end), comparison->expected_count);
    for (size_t i = 0; i < walk->count || i < comparison->expected_count; i++) {
        const remote_addr ours = i < walk->count ? walk->frames[i].pc : 0;
        const remote_addr theirs = i < comparison->expected_count ? comparison->expected[i] : 0;
        if (ours != theirs || i < 3)
            print_message("  %zu: %#llx, with libunwind %#llx\n", i, (unsigned long long)ours,
                          (unsigned long long)theirs);
    }
}

/* libunwind does not read the tables of the vdso, and guesses there. */
static bool is_in_vdso(const struct comparison *comparison, const struct native_walk *walk)
{
    const struct image *const image =
        images_find(&comparison->unwinder.images, walk->frames[0].pc);
    return image && strcmp(image->path, "[vdso]") == 0;
}

static void compare_once(struct comparison *comparison, unsigned after_us)
{
    struct native_walk walk = { .frames = comparison->frames, .room = MAX_FRAMES };
    stopped_thread_stop(&comparison->thread, after_us);
    unwinder_walk(&comparison->unwinder, &comparison->thread.registers,
                  &comparison->thread.stack, NULL, 0, clock_now_ns(), &walk);
    unwind_with_libunwind(comparison);
    stopped_thread_resume(&comparison->thread);
    bool is_equal = walk.end == NATIVE_COMPLETE;
    if (!is_in_vdso(comparison, &walk)) {
        is_equal = is_equal && walk.count == comparison->expected_count;
        for (size_t i = 0; i < walk.count && is_equal; i++)
            is_equal = walk.frames[i].pc == comparison->expected[i];
    }
    comparison->all++;
    comparison->equal += is_equal;
    if (!is_equal)
        print_difference(comparison, &walk);
}

static void compare(char *const argv[], unsigned stops)
{
    struct comparison *const comparison = calloc(1, sizeof *comparison);
    struct err err = { 0 };
    assert_non_null(comparison);
    if (!stopped_thread_start(&comparison->thread, argv)) {
        printf("skipped: ptrace is not permitted\n");
        exit(SKIPPED);
    }
    comparison->space = unw_create_addr_space(&_UPT_accessors, 0);
    unw_set_caching_policy(comparison->space, UNW_CACHE_GLOBAL);
    comparison->access = _UPT_create(comparison->thread.tid);
    assert_ok(unwinder_init(&comparison->unwinder, &comparison->thread.memory.memory,
                            comparison->thread.pid, &err),
              &err);
    srand(1);
    for (unsigned i = 0; i < stops; i++)
        compare_once(comparison, 200 + (unsigned)rand() % 2000);
    print_message("%u of %u stacks are equal\n", comparison->equal, comparison->all);
    assert_int_equal(comparison->equal, comparison->all);
    _UPT_destroy(comparison->access);
    unw_destroy_addr_space(comparison->space);
    unwinder_deinit(&comparison->unwinder);
    stopped_thread_end(&comparison->thread);
    free(comparison);
}

static unsigned stops(unsigned usual)
{
    const char *const text = getenv("PYROMETER_STOPS");
    return text ? (unsigned)atoi(text) : usual;
}

static void stacks_of_a_c_program_are_those_of_libunwind(void **state)
{
    char *const argv[] = { (char[]){ VICTIM }, NULL };
    (void)state;
    compare(argv, stops(60));
}

static void stacks_of_a_thread_are_those_of_libunwind(void **state)
{
    char *const argv[] = { (char[]){ VICTIM }, (char[]){ "thread" }, NULL };
    (void)state;
    compare(argv, stops(60));
}

static void stacks_of_python_are_those_of_libunwind(void **state)
{
    static const char *const versions[] = { "3.8", "3.12", "3.15" };
    char python[512];
    char *const argv[] = { python, (char[]){ TEST_SOURCE_DIR "/unit/native/busy.py" }, NULL };
    unsigned tried = 0;
    (void)state;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        snprintf(python, sizeof python, "%s/../.pythons/bin/python%s", TEST_SOURCE_DIR,
                 versions[i]);
        if (access(python, X_OK) != 0)
            continue;
        print_message("Python %s\n", versions[i]);
        compare(argv, stops(40));
        tried++;
    }
    if (!tried)
        skip();
}

TEST_GROUP(cmocka_unit_test(stacks_of_a_c_program_are_those_of_libunwind),
           cmocka_unit_test(stacks_of_a_thread_are_those_of_libunwind),
           cmocka_unit_test(stacks_of_python_are_those_of_libunwind))
