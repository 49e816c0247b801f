#include <string.h>

#include "sampler/native/native_copy.h"
#include "tests/support/fake_memory.h"
#include "tests/support/test.h"

enum { PAGE = 4096, TID = 42 };

static const remote_addr BASE = 0x7f0000100000, START = 0x7ffe00000000;

/* In place of machine.c: what the thread's registers are. */
static struct native_registers registers;
static remote_addr descriptor;
static enum err_code outcome;

enum err_code machine_read_registers(int32_t tid, struct native_registers *out,
                                     remote_addr *thread_pointer_out)
{
    assert_int_equal(tid, TID);
    *out = registers;
    *thread_pointer_out = descriptor;
    return outcome;
}

static struct fake_memory memory;
static unsigned char *buffer;
static struct native_copy copy;

/* A thread whose stack pointer is that, and whose stack ends at BASE. */
static void begin(remote_addr sp)
{
    fake_memory_init(&memory);
    buffer = guard_alloc(NATIVE_COPY_BYTES);
    registers = (struct native_registers){ .ip = 1, .sp = sp, .saved = { 2, 3, 4, 5, 6, 7 } };
    descriptor = BASE;
    outcome = ERR_OK;
}

/* Maps it; each word is its own address. */
static void map(remote_addr from, remote_addr to)
{
    fake_memory_map(&memory, from, to - from);
    for (remote_addr at = from; at < to; at += 8)
        fake_memory_put_u64(&memory, at, at);
}

static enum err_code read_copy(void)
{
    return native_copy_read(&memory.memory, TID, START, buffer, &copy);
}

static void end(void)
{
    guard_free(buffer, NATIVE_COPY_BYTES);
    fake_memory_deinit(&memory);
}

static void check_span(size_t index, remote_addr from, remote_addr to)
{
    const struct native_span *const span = &copy.stack.spans[index];
    assert_true(index < copy.stack.span_count);
    assert_int_equal(span->addr, from);
    assert_int_equal(span->count, to - from);
    for (size_t i = 0; i + 8 <= span->count; i += 8) {
        uint64_t word;
        memcpy(&word, span->bytes + i, sizeof word);
        assert_int_equal(word, from + i);
    }
}

static void a_stack_is_read_at_once(void **state)
{
    static const size_t sizes[] = { 8, PAGE, NATIVE_COPY_BYTES - MACHINE_RED_ZONE_BYTES };
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const remote_addr sp = BASE - sizes[i];
        begin(sp);
        map(sp - PAGE, BASE + PAGE);
        assert_int_equal(read_copy(), ERR_OK);
        assert_memory_equal(&copy.registers, &registers, sizeof registers);
        assert_int_equal(copy.stack.base, BASE);
        assert_int_equal(copy.stack.span_count, 1);
        check_span(0, sp - MACHINE_RED_ZONE_BYTES, BASE);
        assert_false(copy.is_cut || copy.is_faulted);
        assert_int_equal(memory.memory.reads, 1);
        end();
    }
}

static void of_a_thread_that_waits_only_sp_and_ip_are_known(void **state)
{
    const remote_addr starts[] = { BASE, 0 };
    const remote_addr sp = BASE - PAGE;
    const struct system_call call = { .is_known = true, .sp = sp, .ip = 7 };
    (void)state;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        begin(sp);
        map(sp - PAGE, BASE);
        assert_int_equal(
            native_copy_read_waiting(&memory.memory, &call, starts[i], buffer, &copy), ERR_OK);
        assert_int_equal(copy.registers.sp, sp);
        assert_int_equal(copy.registers.ip, 7);
        assert_true(copy.registers.has_only_sp);
        assert_int_equal(copy.stack.base, starts[i]);
        check_span(0, sp - MACHINE_RED_ZONE_BYTES, BASE);
        assert_int_equal(copy.is_cut, starts[i] == 0);
        end();
    }
}

static void of_a_large_stack_both_ends_are_read_at_once(void **state)
{
    const remote_addr sp = BASE - NATIVE_COPY_BYTES - 8;
    (void)state;
    begin(sp);
    map(sp - PAGE, BASE);
    assert_int_equal(read_copy(), ERR_OK);
    assert_int_equal(copy.stack.span_count, 2);
    check_span(0, sp - MACHINE_RED_ZONE_BYTES,
               sp - MACHINE_RED_ZONE_BYTES + NATIVE_COPY_PART_BYTES);
    check_span(1, BASE - NATIVE_COPY_PART_BYTES, BASE);
    assert_true(copy.is_cut);
    assert_false(copy.is_faulted);
    assert_int_equal(memory.memory.reads, 1);
    end();
}

static void the_first_threads_stack_ends_where_it_began(void **state)
{
    static const remote_addr elsewhere[] = { 0, 0x7f0000000000, UINT64_MAX };
    (void)state;
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        begin(START - PAGE);
        descriptor = elsewhere[i];
        map(START - 2 * PAGE, START);
        assert_int_equal(read_copy(), ERR_OK);
        assert_int_equal(copy.stack.base, START);
        check_span(0, START - PAGE - MACHINE_RED_ZONE_BYTES, START);
        end();
    }
}

static void nothing_may_lie_below_the_stack_pointer(void **state)
{
    (void)state;
    begin(BASE - 2 * PAGE);
    map(BASE - 2 * PAGE, BASE);
    assert_int_equal(read_copy(), ERR_OK);
    assert_int_equal(copy.stack.span_count, 1);
    check_span(0, BASE - 2 * PAGE, BASE);
    assert_false(copy.is_cut || copy.is_faulted);
    end();
}

static void what_lies_around_a_hole_is_read(void **state)
{
    const remote_addr sp = BASE - 2 * NATIVE_COPY_BYTES;
    (void)state;
    begin(sp);
    map(sp - PAGE, sp + 2 * PAGE);
    map(BASE - NATIVE_COPY_PART_BYTES, BASE);
    assert_int_equal(read_copy(), ERR_OK);
    assert_int_equal(copy.stack.span_count, 2);
    check_span(0, sp - MACHINE_RED_ZONE_BYTES, sp + 2 * PAGE);
    check_span(1, BASE - NATIVE_COPY_PART_BYTES, BASE);
    assert_true(copy.is_cut && copy.is_faulted);
    end();
}

static void of_a_stack_with_an_unknown_base_the_innermost_part_is_read(void **state)
{
    const remote_addr sp = START + PAGE;
    (void)state;
    begin(sp);
    map(sp - PAGE, sp + 16 * PAGE);
    assert_int_equal(read_copy(), ERR_OK);
    assert_int_equal(copy.stack.base, 0);
    assert_int_equal(copy.stack.span_count, 1);
    check_span(0, sp - MACHINE_RED_ZONE_BYTES,
               sp - MACHINE_RED_ZONE_BYTES + NATIVE_COPY_PART_BYTES);
    assert_true(copy.is_cut);
    assert_false(copy.is_faulted);
    end();
}

static void a_stack_pointer_may_be_anything(void **state)
{
    static const remote_addr wild[] = { 0,         1,      127,        128,
                                        129,       0x1000, 1ULL << 63, UINT64_MAX - 65536,
                                        UINT64_MAX };
    static const remote_addr bases[] = { 0, 1, 130, 0x1001, UINT64_MAX };
    (void)state;
    for (size_t i = 0; i < sizeof wild / sizeof *wild; i++)
        for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
            begin(wild[i]);
            descriptor = bases[b];
            assert_int_equal(read_copy(), ERR_OK);
            assert_int_equal(copy.stack.span_count, 0);
            end();
        }
}

static void a_thread_that_cannot_be_read_has_no_copy(void **state)
{
    (void)state;
    begin(BASE - PAGE);
    outcome = ERR_UNSUPPORTED;
    assert_int_equal(read_copy(), ERR_UNSUPPORTED);
    outcome = ERR_OK;
    memory.failure = ERR_GONE;
    assert_int_equal(read_copy(), ERR_GONE);
    end();
}

TEST_GROUP(cmocka_unit_test(a_stack_is_read_at_once),
           cmocka_unit_test(of_a_thread_that_waits_only_sp_and_ip_are_known),
           cmocka_unit_test(of_a_large_stack_both_ends_are_read_at_once),
           cmocka_unit_test(the_first_threads_stack_ends_where_it_began),
           cmocka_unit_test(nothing_may_lie_below_the_stack_pointer),
           cmocka_unit_test(what_lies_around_a_hole_is_read),
           cmocka_unit_test(of_a_stack_with_an_unknown_base_the_innermost_part_is_read),
           cmocka_unit_test(a_stack_pointer_may_be_anything),
           cmocka_unit_test(a_thread_that_cannot_be_read_has_no_copy))
