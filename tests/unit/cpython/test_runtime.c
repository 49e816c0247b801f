#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/cpython/runtime/runtime.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/offsets.h"

struct found {
    enum err_code rc;
    struct runtime runtime;
    struct err err;
};

static enum runtime_effort effort = RUNTIME_THOROUGH;

static _Noreturn void search(int pid, struct found *found)
{
    struct process process;
    found->rc = process_open(&process, pid, &found->err);
    if (!found->rc)
        found->rc = runtime_find(&process, effort, &found->runtime, &found->err);
    _exit(0);
}

/* One child, with a copy of our memory, searches another.  The search leaves what it found in the memory of
 * the searcher, so a searcher cannot be the target of another search. */
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
    make_interpreter();
    const struct found found = find_in_child();
    assert_ok(found.rc, &found.err);
    assert_int_equal(found.runtime.addr, (uintptr_t)made.runtime);
    assert_int_equal(found.runtime.layout.version, 0x030f02f0);
}

/* Scanning the memory of every process would take too long. */
static void a_quick_search_does_not_scan_memory(void **state)
{
    (void)state;
    make_interpreter();
    effort = RUNTIME_QUICK;
    const struct found found = find_in_child();
    effort = RUNTIME_THOROUGH;
    assert_int_equal(found.rc, ERR_NOT_PYTHON);
}

static void an_inconsistent_interpreter_is_refused(void **state)
{
    struct offsets table;
    (void)state;
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
    make_interpreter();
    memset(made.runtime + offsetof(struct offsets, slots), 0xff, 512);
    const struct found found = find_in_child();
    assert_int_equal(found.rc, ERR_CORRUPT);
    assert_non_null(strstr(found.err.message, "offsets"));
}

/* The text that Py_GetVersion has made, in the data of the same program. */
static char version_text[40];
enum { OLD_VERSION = 0x030912f0 };

/* All that an interpreter of 3.9 needs to be found by its pointers. */
static struct {
    _Alignas(16) unsigned char modules[64], type[512], runtime[1024], interp[8192], newer[8192],
        tstate[512], other[512];
} old;

/* RUNTIME_HIDDEN_ONLY searches only the data of our program; a full search is slow under a sanitizer. */
static const struct layout *make_old_interpreter(void)
{
    static struct layout layout;
    effort = RUNTIME_HIDDEN_ONLY;
    memset(&made, 0, sizeof made);
    memset(&old, 0, sizeof old);
    assert_int_equal(layout_of_version(OLD_VERSION, &layout, NULL), ERR_OK);
    /* The version follows the end of another text. */
    memcpy(version_text + 1, "3.9.18 (main, ", 14);
    put(old.runtime, layout.runtime_interpreters_head, old.interp);
    put(old.runtime, layout.runtime_interpreters_head + 8u, old.interp);
    put(old.interp, layout.interp_threads_head, old.tstate);
    put(old.tstate, layout.tstate_interp, old.interp);
    put(old.interp, layout.interp_imports_modules, old.modules);
    put(old.modules, layout.object_type, old.type);
    put(old.type, layout.type_name, "dict");
    return &layout;
}

static void forget_old_interpreter(void)
{
    effort = RUNTIME_THOROUGH;
    memset(&old, 0, sizeof old);
    memset(version_text, 0, sizeof version_text);
}

static void assert_found_by_pointers(void)
{
    const struct found found = find_in_child();
    assert_ok(found.rc, &found.err);
    assert_int_equal(found.runtime.addr, (uintptr_t)old.runtime);
    assert_int_equal(found.runtime.layout.version, OLD_VERSION);
    assert_int_equal(found.runtime.way, RUNTIME_BY_POINTERS);
}

static void an_old_interpreter_is_found_by_what_points_at_what(void **state)
{
    (void)state;
    const struct layout *const layout = make_old_interpreter();
    assert_found_by_pointers();
    /* With a newer interpreter in front, which has a thread or none. */
    put(old.runtime, layout->runtime_interpreters_head, old.newer);
    put(old.newer, layout->interp_next, old.interp);
    assert_found_by_pointers();
    put(old.newer, layout->interp_threads_head, old.other);
    put(old.other, layout->tstate_interp, old.newer);
    assert_found_by_pointers();
    forget_old_interpreter();
}

static void pointers_that_are_no_interpreter_are_not_believed(void **state)
{
    (void)state;
    enum { NOT_BACK, NOT_LAST, NOT_FIRST, IN_CIRCLE, NO_MODULES, NO_VERSION, CASES };
    for (int i = 0; i < CASES; i++) {
        const struct layout *const layout = make_old_interpreter();
        const uint32_t head = layout->runtime_interpreters_head;
        if (i == NOT_BACK)
            put(old.tstate, layout->tstate_interp, old.newer);
        if (i == NOT_LAST)
            put(old.interp, layout->interp_next, old.newer);
        if (i == NOT_FIRST)
            old.interp[layout->interp_id] = 1;
        if (i == IN_CIRCLE) {
            put(old.runtime, head, old.newer);
            put(old.newer, layout->interp_next, old.newer);
        }
        if (i == NO_MODULES)
            put(old.type, layout->type_name, "dicts");
        if (i == NO_VERSION)
            version_text[1] = '4';
        const struct found found = find_in_child();
        assert_int_equal(found.rc, ERR_NOT_PYTHON);
    }
    forget_old_interpreter();
}

/* Writable memory of a file that is empty: it can be mapped and not be read, so that looking
 * through it takes no time. */
enum { HOLLOW_GIB = 5 };
static const size_t HOLLOW_BYTES = (size_t)HOLLOW_GIB << 30;

static void *map_hollow(void)
{
    const int fd = memfd_create("hollow", MFD_CLOEXEC);
    assert_true(fd >= 0);
    void *const memory = mmap((void *)0x200000000000, HOLLOW_BYTES, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
    assert_true(memory != MAP_FAILED);
    close(fd);
    return memory;
}

static void what_a_program_maps_below_its_interpreter_does_not_hide_it(void **state)
{
    (void)state;
    make_interpreter();
    void *const hollow = map_hollow();
    assert_true((uintptr_t)hollow < (uintptr_t)&made);
    const struct found found = find_in_child();
    munmap(hollow, HOLLOW_BYTES);
    assert_ok(found.rc, &found.err);
    assert_int_equal(found.runtime.addr, (uintptr_t)made.runtime);
}

static void an_error_reports_memory_that_was_not_searched(void **state)
{
    (void)state;
    memset(&made, 0, sizeof made);
    void *const hollow = map_hollow();
    const struct found found = find_in_child();
    munmap(hollow, HOLLOW_BYTES);
    assert_int_equal(found.rc, ERR_NOT_PYTHON);
    assert_non_null(
        strstr(found.err.message, "not a Python process, as far as was searched: "));
    assert_non_null(strstr(found.err.message, " and not the other "));
}

/* As many as /proc/PID/maps may list here: every page of a file a mapping of its own. */
static void a_file_in_many_mappings_is_read_once(void **state)
{
    enum { PIECES = 20000 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)state;
    make_interpreter();
    const int fd = memfd_create("pieces", MFD_CLOEXEC);
    assert_true(fd >= 0);
    unsigned char *const pieces =
        mmap(NULL, PIECES * page, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    assert_true(pieces != MAP_FAILED);
    for (size_t i = 0; i < PIECES; i += 2)
        assert_int_equal(mprotect(pieces + i * page, page, PROT_READ | PROT_WRITE), 0);
    const struct found found = find_in_child();
    munmap(pieces, PIECES * page);
    close(fd);
    assert_ok(found.rc, &found.err);
    assert_int_equal(found.runtime.addr, (uintptr_t)made.runtime);
}

TEST_GROUP(cmocka_unit_test(a_process_without_an_interpreter_is_not_python),
           cmocka_unit_test(an_interpreter_is_found_by_its_cookie_alone),
           cmocka_unit_test(a_quick_search_does_not_scan_memory),
           cmocka_unit_test(an_inconsistent_interpreter_is_refused),
           cmocka_unit_test(a_table_that_cannot_be_true_is_named),
           cmocka_unit_test(an_old_interpreter_is_found_by_what_points_at_what),
           cmocka_unit_test(pointers_that_are_no_interpreter_are_not_believed),
           cmocka_unit_test(what_a_program_maps_below_its_interpreter_does_not_hide_it),
           cmocka_unit_test(an_error_reports_memory_that_was_not_searched),
           cmocka_unit_test(a_file_in_many_mappings_is_read_once))
