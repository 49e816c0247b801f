#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/cpython/runtime.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/offsets.h"

struct found {
    enum err_code rc;
    struct runtime runtime;
    struct err err;
};

static _Noreturn void search(int pid, struct found *found)
{
    struct process process;
    found->rc = process_open(&process, pid, &found->err);
    if (!found->rc)
        found->rc = runtime_find(&process, &found->runtime, &found->err);
    _exit(0);
}

/* One child, with all of our memory, is looked at, and another looks: whoever has looked has what
 * was found in its own memory too, and must not be looked at any more. */
static struct found find_in_child(void)
{
    struct found *const shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    const pid_t target = fork();
    assert_true(target >= 0);
    if (target == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    const pid_t searcher = fork();
    assert_true(searcher >= 0);
    if (searcher == 0)
        search(target, shared);
    assert_int_equal(waitpid(searcher, NULL, 0), searcher);
    kill(target, SIGKILL);
    assert_int_equal(waitpid(target, NULL, 0), target);
    const struct found found = *shared;
    munmap(shared, sizeof *shared);
    return found;
}

static void a_process_without_an_interpreter_is_not_python(void **state)
{
    (void)state;
    const struct found found = find_in_child();
    assert_int_equal(found.rc, ERR_NOT_PYTHON);
    assert_non_null(strstr(found.err.message, "not a Python process"));
}

/* Sanitizers keep terabytes of writable memory, more than is ever searched for a cookie. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* All that an interpreter needs to be found by its cookie, in our own writable memory. */
static struct {
    _Alignas(16) unsigned char runtime[400000], interp[240000], tstate[1024];
} made;

static void put(unsigned char *structure, uint64_t offset, const void *target)
{
    const uint64_t addr = (uint64_t)(uintptr_t)target;
    memcpy(structure + offset, &addr, sizeof addr);
}

/* Takes a table away so that it is not found on our stack. */
static void wipe(struct offsets *table)
{
    memset(table, 0, sizeof *table);
    __asm__ volatile("" : : "r"(table) : "memory");
}

static void make_interpreter(void)
{
    struct offsets table;
    memset(&made, 0, sizeof made);
    offsets_fill(&table, 15);
    memcpy(made.runtime, &table, sizeof table);
    put(made.runtime, table.slots[OFFSETS_3_15_runtime_interpreters_head], made.interp);
    put(made.interp, table.slots[OFFSETS_3_15_interp_threads_head], made.tstate);
    put(made.tstate, table.slots[OFFSETS_3_15_tstate_interp], made.interp);
    wipe(&table);
}

static void an_interpreter_is_found_by_its_cookie_alone(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    make_interpreter();
    const struct found found = find_in_child();
    assert_ok(found.rc, &found.err);
    assert_int_equal(found.runtime.addr, (uintptr_t)made.runtime);
    assert_int_equal(found.runtime.layout.version, 0x030f02f0);
}

static void an_interpreter_whose_parts_do_not_fit_is_not_believed(void **state)
{
    struct offsets table;
    (void)state;
    if (SANITIZED)
        skip();
    make_interpreter();
    offsets_fill(&table, 15);
    put(made.tstate, table.slots[OFFSETS_3_15_tstate_interp], made.runtime);
    wipe(&table);
    const struct found found = find_in_child();
    assert_int_equal(found.rc, ERR_NOT_PYTHON);
    assert_non_null(strstr(found.err.message, "has not started or is ending"));
}

static void a_table_that_cannot_be_true_is_named(void **state)
{
    (void)state;
    if (SANITIZED)
        skip();
    make_interpreter();
    memset(made.runtime + offsetof(struct offsets, slots), 0xff, 512);
    const struct found found = find_in_child();
    assert_int_equal(found.rc, ERR_CORRUPT);
    assert_non_null(strstr(found.err.message, "offsets"));
}

TEST_MAIN(cmocka_unit_test(a_process_without_an_interpreter_is_not_python),
          cmocka_unit_test(an_interpreter_is_found_by_its_cookie_alone),
          cmocka_unit_test(an_interpreter_whose_parts_do_not_fit_is_not_believed),
          cmocka_unit_test(a_table_that_cannot_be_true_is_named))
