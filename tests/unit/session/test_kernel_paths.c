#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/kernel/kallsyms.h"
#include "sampler/kernel/record.h"
#include "sampler/session/kernel/kernel_paths.h"
#include "tests/support/made_profile.h"
#include "tests/support/test.h"

/* Functions of a made-up kernel, 0x100 bytes each. */
static const char *const functions[] = {
    "entry_SYSCALL_64_after_hwframe",
    "do_syscall_64",
    "__x64_sys_read",
    "ksys_write",
    "vfs_read.isra.0",
    "pipe_read",
    "schedule",
    "__schedule",
    "bpf_trace_run4",
    "asm_exc_page_fault",
    "exc_page_fault",
    "handle_mm_fault",
    "asm_sysvec_apic_timer_interrupt",
    "sysvec_apic_timer_interrupt",
    "irqentry_exit",
};
enum { COUNT = sizeof functions / sizeof *functions };
static const uint64_t BASE = 0xffffffff81000000;

static struct {
    struct profile *profile;
    struct kallsyms *kallsyms;
    struct kernel_paths *paths;
} world;

static int set_up(void **state)
{
    char path[32];
    struct err err = { 0 };
    const int fd = memfd_create("kallsyms", MFD_CLOEXEC);
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        dprintf(fd, "%" PRIx64 " t %s\n", BASE + i * 0x100, functions[i]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_ok(kallsyms_create(path, &world.kallsyms, &err), &err);
    close(fd);
    assert_ok(kallsyms_read(world.kallsyms, &err), &err);
    world.profile = made_profile();
    assert_ok(kernel_paths_create(world.profile, world.kallsyms, &world.paths, &err), &err);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kernel_paths_destroy(world.paths);
    profile_destroy(world.profile);
    kallsyms_destroy(world.kallsyms);
    return 0;
}

/* The return address in the function of this name; of another name, an address in none. */
static uint64_t call_in(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(functions[i], name) == 0)
            return BASE + i * 0x100 + 0x20;
    return 0x1000;
}

static kernel_path_id find(unsigned kind, const uint64_t *calls, size_t count)
{
    unsigned char spans[16 + sizeof(uint64_t) * KERNEL_MAX_CALLS];
    const struct kernel_record record = { .kind = kind,
                                          .bytes = 16,
                                          .kernel_bytes = (unsigned)(count * sizeof *calls) };
    kernel_path_id out = 99;
    memcpy(spans + 16, calls, count * sizeof *calls);
    assert_ok(kernel_paths_find(world.paths, &record, spans, &out), NULL);
    return out;
}

/* `stack` names functions, outermost first, as "do_syscall_64;ksys_read"; the answer is in the same form. */
static const char *shown(unsigned kind, const char *stack)
{
    static char out[256];
    char text[256], *rest = text;
    uint64_t calls[KERNEL_MAX_CALLS];
    size_t count = 0;
    snprintf(text, sizeof text, "%s", stack);
    for (const char *name; (name = strsep(&rest, ";"));)
        calls[count++] = call_in(name);
    for (size_t i = 0; i < count / 2; i++) {
        const uint64_t call = calls[i];
        calls[i] = calls[count - 1 - i];
        calls[count - 1 - i] = call;
    }
    const struct kernel_path path = kernel_paths_path(world.paths, find(kind, calls, count));
    made_seal(world.profile, 1);
    struct profile_snapshot snapshot = made_snapshot(world.profile);
    *out = '\0';
    for (size_t i = 0; i < path.count; i++) {
        const struct profile_function row = profile_function_at(
            &snapshot, profile_frame_at(&snapshot, path.frames[i]).function);
        const struct profile_library library = profile_library_at(&snapshot, row.library);
        assert_int_equal(library.flags, PROFILE_LIBRARY_KERNEL);
        assert_string_equal(profile_string(&snapshot, library.path).text, "[kernel]");
        assert_int_equal(row.entry, 0);
        const size_t used = strlen(out);
        snprintf(out + used, sizeof out - used, "%s%s", i ? ";" : "",
                 profile_string(&snapshot, row.name).text);
    }
    profile_snapshot_release(&snapshot);
    return out;
}

static void a_stack_begins_with_the_system_call(void **state)
{
    (void)state;
    assert_string_equal(shown(KERNEL_TICK,
                              "entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_read;"
                              "vfs_read.isra.0;pipe_read"),
                        "sys_read;vfs_read;pipe_read");
    assert_string_equal(
        shown(KERNEL_TICK, "entry_SYSCALL_64_after_hwframe;do_syscall_64;ksys_write"),
        "sys_write");
    assert_string_equal(shown(KERNEL_TICK, "do_syscall_64;nowhere"), "[kernel]");
    assert_string_equal(shown(KERNEL_TICK, "do_syscall_64"), "");
}

static void a_stack_that_leaves_ends_before_the_scheduler(void **state)
{
    static const char stack[] = "do_syscall_64;__x64_sys_read;pipe_read;schedule;__schedule;"
                                "bpf_trace_run4;nowhere";
    (void)state;
    assert_string_equal(shown(KERNEL_LEFT, stack), "sys_read;pipe_read");
    assert_string_equal(shown(KERNEL_TICK, stack),
                        "sys_read;pipe_read;schedule;__schedule;bpf_trace_run4;[kernel]");
}

static void faults_and_interrupts_have_names_of_their_own(void **state)
{
    (void)state;
    assert_string_equal(shown(KERNEL_TICK, "asm_exc_page_fault;exc_page_fault;handle_mm_fault"),
                        "page_fault;handle_mm_fault");
    assert_string_equal(
        shown(KERNEL_TICK, "asm_sysvec_apic_timer_interrupt;sysvec_apic_timer_interrupt"),
        "interrupt");
    /* It takes the processor away from the thread's own code. */
    assert_string_equal(shown(KERNEL_LEFT, "asm_sysvec_apic_timer_interrupt;irqentry_exit;"
                                           "schedule;__schedule"),
                        "");
}

static void equal_stacks_are_one_path(void **state)
{
    const uint64_t calls[] = { call_in("pipe_read"), call_in("__x64_sys_read") };
    (void)state;
    const kernel_path_id first = find(KERNEL_TICK, calls, 2);
    assert_int_equal(find(KERNEL_TICK, calls, 2), first);
    assert_int_not_equal(find(KERNEL_LEFT, calls, 2), first);
    assert_int_not_equal(find(KERNEL_TICK, calls, 1), first);
    assert_int_equal(find(KERNEL_TICK, calls, 0), 0);
    assert_int_equal(kernel_paths_path(world.paths, 0).count, 0);
}

static void the_table_is_bounded(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < KERNEL_PATHS_MAX; i++) {
        const uint64_t calls[] = { i + 1, call_in("__x64_sys_read") };
        assert_int_equal(find(KERNEL_TICK, calls, 2), i + 1);
    }
    const uint64_t more[] = { call_in("pipe_read"), call_in("__x64_sys_read") };
    assert_int_equal(find(KERNEL_TICK, more, 2), 0);
    const uint64_t known[] = { 1, call_in("__x64_sys_read") };
    assert_int_equal(find(KERNEL_TICK, known, 2), 1);
}

static void without_paths_nothing_is_found(void **state)
{
    const struct kernel_record record = { .kind = KERNEL_TICK, .kernel_bytes = 8 };
    kernel_path_id out = 99;
    (void)state;
    assert_ok(kernel_paths_find(NULL, &record, "12345678", &out), NULL);
    assert_int_equal(out, 0);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
TEST_GROUP(WITH_WORLD(a_stack_begins_with_the_system_call),
           WITH_WORLD(a_stack_that_leaves_ends_before_the_scheduler),
           WITH_WORLD(faults_and_interrupts_have_names_of_their_own),
           WITH_WORLD(equal_stacks_are_one_path), WITH_WORLD(the_table_is_bounded),
           cmocka_unit_test(without_paths_nothing_is_found))
