#include <string.h>

#include "sampler/kernel/copy_memory.h"
#include "tests/support/test.h"

enum { ROOM = 4096 };

/* Spans as the program writes them. */
struct spans {
    unsigned char bytes[ROOM];
    size_t count;
};

static void add(struct spans *spans, remote_addr addr, const char *text, bool is_padded)
{
    const struct kernel_span head = { .addr = addr,
                                      .bytes = (unsigned)strlen(text),
                                      .is_padded = is_padded };
    const size_t padded = (head.bytes + 7) / 8 * 8;
    memcpy(spans->bytes + spans->count, &head, sizeof head);
    memset(spans->bytes + spans->count + sizeof head, '#', padded);
    memcpy(spans->bytes + spans->count + sizeof head, text, head.bytes);
    spans->count += sizeof head + padded;
}

static struct copy_memory copy;

static void show(const struct spans *spans)
{
    copy_memory_init(&copy);
    assert_int_equal(copy_memory_show(&copy, spans->bytes, spans->count), ERR_OK);
}

static void every_span_is_read_where_it_was(void **state)
{
    struct spans spans = { .count = 0 };
    char text[8] = "";
    (void)state;
    add(&spans, 0x1000, "abcdefgh", false);
    add(&spans, 0x5000, "xyz", false);
    add(&spans, 0x3000, "", false);
    add(&spans, 0x2000, "0123456789", false);
    show(&spans);
    assert_int_equal(memory_read(&copy.memory, 0x2003, text, 4), ERR_OK);
    assert_memory_equal(text, "3456", 4);
    assert_int_equal(memory_read(&copy.memory, 0x1000, text, 8), ERR_OK);
    assert_memory_equal(text, "abcdefgh", 8);
    assert_int_equal(memory_read(&copy.memory, 0x5002, text, 1), ERR_OK);
    assert_memory_equal(text, "z", 1);
}

static void what_was_not_copied_is_not_there(void **state)
{
    struct spans spans = { .count = 0 };
    char first[4], second[4];
    size_t arrived = 0;
    (void)state;
    add(&spans, 0x1000, "abcd", false);
    show(&spans);
    assert_int_equal(memory_read(&copy.memory, 0xfff, first, 1), ERR_FAULT);
    assert_int_equal(memory_read(&copy.memory, 0x1004, first, 1), ERR_FAULT);
    assert_int_equal(memory_read(&copy.memory, 0x1002, first, 4), ERR_FAULT);
    assert_int_equal(memory_read(&copy.memory, UINT64_MAX, first, 4), ERR_FAULT);
    const struct memory_span both[] = { { 0x1000, first, 4 }, { 0x2000, second, 4 } };
    assert_int_equal(memory_readv(&copy.memory, both, 2, &arrived), ERR_FAULT);
    assert_int_equal(arrived, 4);
}

static void the_unused_rest_of_a_chunk_reads_as_zeros(void **state)
{
    struct spans spans = { .count = 0 };
    char text[8];
    (void)state;
    add(&spans, 0x1000, "abcd", true);
    show(&spans);
    assert_int_equal(memory_read(&copy.memory, 0x1002, text, 8), ERR_OK);
    assert_memory_equal(text, "cd\0\0\0\0\0\0", 8);
    assert_int_equal(memory_read(&copy.memory, 0x1004, text, 1), ERR_FAULT);
}

static void two_spans_that_touch_read_as_one(void **state)
{
    struct spans spans = { .count = 0 };
    char text[16];
    (void)state;
    add(&spans, 0x1008, "ijkl", true);
    add(&spans, 0x1000, "abcdefgh", false);
    add(&spans, 0x2000, "mn", false);
    add(&spans, 0x2003, "pq", false);
    show(&spans);
    assert_int_equal(memory_read(&copy.memory, 0x1002, text, 9), ERR_OK);
    assert_memory_equal(text, "cdefghijk", 9);
    assert_int_equal(memory_read(&copy.memory, 0x1006, text, 8), ERR_OK);
    assert_memory_equal(text, "ghijkl\0\0", 8);
    assert_int_equal(memory_read(&copy.memory, 0x1000, text, 8), ERR_OK);
    assert_memory_equal(text, "abcdefgh", 8);
    assert_int_equal(memory_read(&copy.memory, 0x2000, text, 4), ERR_FAULT);
    assert_int_equal(memory_read(&copy.memory, 0x2001, text, 2), ERR_FAULT);
}

static void spans_may_come_from_two_places(void **state)
{
    struct spans spans = { .count = 0 }, more = { .count = 0 };
    char text[8];
    (void)state;
    add(&spans, 0x1008, "ijkl", false);
    add(&more, 0x1000, "abcdefgh", false);
    show(&spans);
    copy_memory_name_tail(&copy, 7, 0x1008);
    assert_int_equal(memory_read(&copy.memory, 0x1006, text, 4), ERR_FAULT);
    assert_int_equal(copy_memory_show_more(&copy, more.bytes, more.count), ERR_OK);
    assert_int_equal(memory_read(&copy.memory, 0x1006, text, 4), ERR_OK);
    assert_memory_equal(text, "ghij", 4);
    assert_int_equal(copy.tail_ns, 7);
    assert_int_equal(copy_memory_show(&copy, more.bytes, more.count), ERR_OK);
    assert_int_equal(memory_read(&copy.memory, 0x1008, text, 4), ERR_FAULT);
    assert_int_equal(copy.tail_ns, 0);
}

static void damaged_spans_show_nothing(void **state)
{
    struct spans spans = { .count = 0 };
    char text[4];
    (void)state;
    add(&spans, 0x1000, "abcd", false);
    add(&spans, 0x2000, "efgh", false);
    for (size_t bytes = 1; bytes < spans.count; bytes++) {
        copy_memory_init(&copy);
        const enum err_code rc = copy_memory_show(&copy, spans.bytes, bytes);
        assert_int_equal(rc, bytes == spans.count / 2 ? ERR_OK : ERR_CORRUPT);
        if (rc)
            assert_int_equal(memory_read(&copy.memory, 0x1000, text, 4), ERR_FAULT);
    }
    struct kernel_span head;
    memcpy(&head, spans.bytes, sizeof head);
    head.bytes = UINT32_MAX;
    memcpy(spans.bytes, &head, sizeof head);
    assert_int_equal(copy_memory_show(&copy, spans.bytes, spans.count), ERR_CORRUPT);
}

static void more_spans_than_fit_are_left_out(void **state)
{
    static unsigned char bytes[(COPY_MEMORY_MAX_SPANS + 5) * (sizeof(struct kernel_span) + 8)];
    size_t at = 0;
    uint64_t word = 0;
    (void)state;
    for (unsigned i = 0; i < COPY_MEMORY_MAX_SPANS + 5; i++) {
        const struct kernel_span head = { .addr = 0x1000 + 0x100 * (uint64_t)i, .bytes = 8 };
        memcpy(bytes + at, &head, sizeof head);
        memcpy(bytes + at + sizeof head, &(uint64_t){ i }, 8);
        at += sizeof head + 8;
    }
    copy_memory_init(&copy);
    assert_int_equal(copy_memory_show(&copy, bytes, at), ERR_OK);
    assert_int_equal(
        memory_read_u64(&copy.memory, 0x1000 + 0x100 * (COPY_MEMORY_MAX_SPANS - 1), &word),
        ERR_OK);
    assert_int_equal(word, COPY_MEMORY_MAX_SPANS - 1);
    assert_int_equal(
        memory_read_u64(&copy.memory, 0x1000 + 0x100 * (uint64_t)COPY_MEMORY_MAX_SPANS, &word),
        ERR_FAULT);
}

static void a_span_may_be_empty_or_as_large_as_they_get(void **state)
{
    static unsigned char bytes[2 * sizeof(struct kernel_span) + KERNEL_MAX_SPAN];
    const struct kernel_span empty = { .addr = 0x1000 };
    struct kernel_span large = { .addr = 0x2000, .bytes = KERNEL_MAX_SPAN };
    unsigned char byte = 0;
    (void)state;
    memcpy(bytes, &empty, sizeof empty);
    memcpy(bytes + sizeof empty, &large, sizeof large);
    bytes[sizeof bytes - 1] = 42;
    copy_memory_init(&copy);
    assert_int_equal(copy_memory_show(&copy, bytes, sizeof bytes), ERR_OK);
    assert_int_equal(memory_read(&copy.memory, 0x1000, &byte, 1), ERR_FAULT);
    assert_int_equal(memory_read(&copy.memory, 0x2000 + KERNEL_MAX_SPAN - 1, &byte, 1), ERR_OK);
    assert_int_equal(byte, 42);
    large.bytes++;
    memcpy(bytes + sizeof empty, &large, sizeof large);
    assert_int_equal(copy_memory_show(&copy, bytes, sizeof bytes), ERR_CORRUPT);
}

/* Both show the same memory at one instant, so either is right. */
static void of_spans_that_overlap_one_is_read(void **state)
{
    struct spans spans = { .count = 0 };
    char text[6];
    (void)state;
    add(&spans, 0x1000, "abcdefgh", false);
    add(&spans, 0x1004, "efghijkl", false);
    show(&spans);
    assert_int_equal(memory_read(&copy.memory, 0x1006, text, 6), ERR_OK);
    assert_memory_equal(text, "ghijkl", 6);
    assert_int_equal(memory_read(&copy.memory, 0x1000, text, 6), ERR_OK);
    assert_memory_equal(text, "abcdef", 6);
    add(&spans, UINT64_MAX - 3, "wxyz1234", false);
    show(&spans);
    assert_int_equal(memory_read(&copy.memory, UINT64_MAX - 1, text, 2), ERR_OK);
    assert_memory_equal(text, "yz", 2);
}

struct process {
    struct memory memory;
    size_t spans;
};

static enum err_code read_process(struct memory *memory, const struct memory_span *spans,
                                  size_t count, size_t *bytes_out)
{
    ((struct process *)memory)->spans += count;
    for (size_t i = 0; i < count; i++) {
        memset(spans[i].buffer, 'P', spans[i].bytes);
        *bytes_out += spans[i].bytes;
    }
    return ERR_OK;
}

static void what_a_large_stack_lacks_is_read_from_the_process(void **state)
{
    struct spans spans = { .count = 0 };
    struct process process = { .memory = { .readv = read_process } };
    char text[4][4];
    size_t arrived = 0;
    (void)state;
    add(&spans, 0x1000, "abcd", false);
    add(&spans, 0x3000, "efgh", false);
    show(&spans);
    copy_memory_complete(&copy, &process.memory);
    const struct memory_span wanted[] = { { 0x1000, text[0], 4 },
                                          { 0x2000, text[1], 4 },
                                          { 0x4000, text[2], 4 },
                                          { 0x3000, text[3], 4 } };
    assert_int_equal(memory_readv(&copy.memory, wanted, 4, &arrived), ERR_OK);
    assert_int_equal(arrived, 16);
    assert_memory_equal(text, "abcdPPPPPPPPefgh", 16);
    assert_int_equal(process.memory.reads, 1);
    assert_int_equal(copy.process_reads, 1);
    show(&spans);
    assert_int_equal(copy.process_reads, 0);
    assert_int_equal(memory_read(&copy.memory, 0x2000, text[0], 4), ERR_FAULT);
}

TEST_GROUP(cmocka_unit_test(two_spans_that_touch_read_as_one),
           cmocka_unit_test(spans_may_come_from_two_places),
           cmocka_unit_test(every_span_is_read_where_it_was),
           cmocka_unit_test(what_was_not_copied_is_not_there),
           cmocka_unit_test(the_unused_rest_of_a_chunk_reads_as_zeros),
           cmocka_unit_test(damaged_spans_show_nothing),
           cmocka_unit_test(a_span_may_be_empty_or_as_large_as_they_get),
           cmocka_unit_test(what_a_large_stack_lacks_is_read_from_the_process),
           cmocka_unit_test(of_spans_that_overlap_one_is_read),
           cmocka_unit_test(more_spans_than_fit_are_left_out))
