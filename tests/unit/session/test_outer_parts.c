#include <stdlib.h>
#include <string.h>

#include "sampler/kernel/decode.h"
#include "sampler/native/native_copy.h"
#include "sampler/session/kernel/outer_parts.h"
#include "tests/support/test.h"

enum { COUNT = 1 << 19, THREADS = OUTER_PARTS_BYTES / COUNT };

static const remote_addr BASE = 0x7f0000100000;

static unsigned char bytes[COUNT + 8];

/* A copy that goes on up to the base, or that lacks the outer `count` bytes. */
static struct native_copy copy_of(size_t count, bool is_whole)
{
    struct native_copy copy = { .stack = { .base = BASE, .span_count = 1 } };
    const size_t inner = 8;
    copy.stack.spans[0] =
        (struct native_span){ BASE - count - inner, bytes, is_whole ? inner + count : inner };
    return copy;
}

static void learn(struct outer_part *part, struct outer_parts *parts, uint64_t ns, size_t count)
{
    const struct kernel_outer_place place = { BASE - count, 0 };
    const struct native_copy copy = copy_of(count, true);
    for (size_t i = 0; i < count; i++)
        bytes[8 + i] = (unsigned char)(ns + i);
    outer_part_learn(part, parts, ns, &place, &copy);
}

/* Has the copy the outer part of the record of that time? */
static bool completes(const struct outer_part *part, struct outer_parts *parts, uint64_t ns,
                      size_t count)
{
    const struct kernel_outer_place place = { BASE - count, ns };
    struct native_copy copy = copy_of(count, false);
    parts->is_missed = false;
    outer_part_complete(part, parts, &place, &copy);
    assert_int_equal(copy.is_cut, copy.stack.span_count == 1);
    if (copy.is_cut)
        return false;
    const struct native_span *const span = &copy.stack.spans[1];
    assert_int_equal(span->addr, BASE - count);
    assert_int_equal(span->count, count);
    assert_int_equal(span->bytes[0], (unsigned char)ns);
    assert_int_equal(span->bytes[count - 1], (unsigned char)(ns + count - 1));
    assert_false(parts->is_missed);
    return true;
}

static void a_part_completes_the_stacks_that_have_it(void **state)
{
    struct outer_parts parts = { 0 };
    struct outer_part part = { 0 };
    (void)state;
    learn(&part, &parts, 5, 4096);
    assert_true(completes(&part, &parts, 5, 4096));
    assert_true(completes(&part, &parts, 5, 4096));
    learn(&part, &parts, 7, 4096);
    assert_true(completes(&part, &parts, 7, 4096));
    learn(&part, &parts, 9, COUNT);
    assert_true(completes(&part, &parts, 9, COUNT));
    assert_int_equal(parts.bytes, COUNT);
    outer_part_deinit(&part);
    assert_int_equal(parts.bytes, 0);
}

static void another_part_completes_nothing_and_is_missed(void **state)
{
    struct outer_parts parts = { 0 };
    struct outer_part part = { 0 };
    (void)state;
    learn(&part, &parts, 5, 4096);
    assert_false(completes(&part, &parts, 4, 4096));
    assert_true(parts.is_missed);
    assert_false(completes(&part, &parts, 5, 4088));
    assert_true(parts.is_missed);
    outer_part_deinit(&part);
}

static void of_many_threads_some_have_no_part(void **state)
{
    struct outer_parts parts = { 0 };
    struct outer_part all[THREADS + 1] = { { 0 } };
    (void)state;
    for (size_t i = 0; i <= THREADS; i++)
        learn(&all[i], &parts, 5, COUNT);
    assert_int_equal(parts.bytes, OUTER_PARTS_BYTES);
    assert_true(completes(&all[THREADS - 1], &parts, 5, COUNT));
    /* It would not be kept either if it came again. */
    assert_false(completes(&all[THREADS], &parts, 5, COUNT));
    assert_false(parts.is_missed);
    outer_part_deinit(&all[0]);
    learn(&all[THREADS], &parts, 6, COUNT);
    assert_true(completes(&all[THREADS], &parts, 6, COUNT));
    for (size_t i = 0; i <= THREADS; i++)
        outer_part_deinit(&all[i]);
    assert_int_equal(parts.bytes, 0);
}

TEST_GROUP(cmocka_unit_test(a_part_completes_the_stacks_that_have_it),
           cmocka_unit_test(another_part_completes_nothing_and_is_missed),
           cmocka_unit_test(of_many_threads_some_have_no_part))
