#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/process/memory.h"
#include "tests/support/fake_memory.h"
#include "tests/support/test.h"

static remote_addr addr_of(const void *pointer)
{
    return (remote_addr)(uintptr_t)pointer;
}

static void spans_are_read_in_order_in_one_call(void **state)
{
    static const char first[] = "first", second[] = "second";
    char a[sizeof first], b[sizeof second];
    struct process_memory pm;
    size_t arrived;
    (void)state;
    process_memory_init(&pm, getpid());
    const struct memory_span spans[] = { { addr_of(second), b, sizeof b },
                                         { addr_of(first), a, sizeof a } };
    assert_int_equal(memory_readv(&pm.memory, spans, 2, &arrived), ERR_OK);
    assert_int_equal(arrived, sizeof a + sizeof b);
    assert_string_equal(a, "first");
    assert_string_equal(b, "second");
    assert_int_equal(pm.memory.reads, 1);
    assert_int_equal(pm.memory.read_bytes, arrived);
}

static void an_unmapped_span_ends_the_read_after_the_bytes_before_it(void **state)
{
    static const char good[] = "good";
    char a[sizeof good], b[16], c[16];
    struct process_memory pm;
    size_t arrived;
    (void)state;
    process_memory_init(&pm, getpid());
    const struct memory_span spans[] = { { addr_of(good), a, sizeof a },
                                         { 8, b, sizeof b },
                                         { addr_of(good), c, sizeof good } };
    assert_int_equal(memory_readv(&pm.memory, spans, 3, &arrived), ERR_FAULT);
    assert_int_equal(arrived, sizeof a);
    assert_string_equal(a, "good");
    assert_int_equal(pm.memory.read_bytes, sizeof a);
}

static void a_read_of_an_unmapped_address_gives_no_bytes(void **state)
{
    struct process_memory pm;
    uint64_t value = 42;
    size_t arrived = 99;
    const struct memory_span span = { 0, &value, sizeof value };
    (void)state;
    process_memory_init(&pm, getpid());
    assert_int_equal(memory_readv(&pm.memory, &span, 1, &arrived), ERR_FAULT);
    assert_int_equal(arrived, 0);
    assert_int_equal(memory_read_u64(&pm.memory, 0, &value), ERR_FAULT);
    assert_int_equal(memory_read_u64(&pm.memory, ~7ull, &value), ERR_FAULT);
    assert_int_equal(value, 42);
}

static void a_read_into_an_unmapped_page_stops_there(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *const remote = guard_alloc(page);
    unsigned char local[64];
    struct process_memory pm;
    size_t arrived;
    const struct memory_span span = { addr_of(remote) + page - 16, local, sizeof local };
    (void)state;
    process_memory_init(&pm, getpid());
    assert_int_equal(memory_readv(&pm.memory, &span, 1, &arrived), ERR_FAULT);
    assert_true(arrived <= 16);
    guard_free(remote, page);
}

static void as_many_spans_as_promised_fit_into_one_call(void **state)
{
    static uint32_t numbers[MEMORY_MAX_SPANS], copies[MEMORY_MAX_SPANS];
    static struct memory_span spans[MEMORY_MAX_SPANS];
    struct process_memory pm;
    size_t arrived;
    (void)state;
    process_memory_init(&pm, getpid());
    for (uint32_t i = 0; i < MEMORY_MAX_SPANS; i++) {
        numbers[i] = i * 7;
        spans[i] = (struct memory_span){ addr_of(&numbers[i]), &copies[i], sizeof copies[i] };
    }
    assert_int_equal(memory_readv(&pm.memory, spans, MEMORY_MAX_SPANS, &arrived), ERR_OK);
    assert_memory_equal(numbers, copies, sizeof numbers);
    assert_int_equal(pm.memory.reads, 1);
}

static void no_spans_are_read_at_once(void **state)
{
    struct process_memory pm;
    size_t arrived = 99;
    (void)state;
    process_memory_init(&pm, getpid());
    assert_int_equal(memory_readv(&pm.memory, NULL, 0, &arrived), ERR_OK);
    assert_int_equal(arrived, 0);
}

static void a_child_is_read_until_it_is_gone(void **state)
{
    static volatile uint64_t number = 1;
    struct process_memory pm;
    uint64_t seen = 0;
    int ready[2], order[2];
    char byte = 0;
    (void)state;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(order), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(order[1]);
        number = 12345678901;
        _exit(write(ready[1], &byte, 1) == 1 && read(order[0], &byte, 1) >= 0 ? 0 : 1);
    }
    close(order[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    process_memory_init(&pm, pid);
    assert_int_equal(memory_read_u64(&pm.memory, (uintptr_t)&number, &seen), ERR_OK);
    assert_int_equal(seen, 12345678901);
    assert_int_equal(number, 1);
    close(order[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(memory_read_u64(&pm.memory, (uintptr_t)&number, &seen), ERR_GONE);
    assert_int_equal(seen, 12345678901);
    close(ready[0]);
    close(ready[1]);
}

static void test_memory_behaves_like_a_process(void **state)
{
    struct fake_memory fake;
    char text[16] = "";
    size_t arrived;
    (void)state;
    fake_memory_init(&fake);
    fake_memory_map(&fake, 0x1000, 8);
    fake_memory_map(&fake, 0x1008, 4);
    fake_memory_map(&fake, UINT64_MAX - 7, 8);
    fake_memory_put(&fake, 0x1004, "abcd", 4);
    fake_memory_put(&fake, 0x1008, "efgh", 4);
    const struct memory_span inside = { 0x1004, text, 8 }, beyond = { 0x1004, text, 9 },
                             top = { UINT64_MAX - 7, text, 8 };
    assert_int_equal(memory_readv(&fake.memory, &inside, 1, &arrived), ERR_OK);
    assert_memory_equal(text, "abcdefgh", 8);
    assert_int_equal(memory_readv(&fake.memory, &beyond, 1, &arrived), ERR_FAULT);
    assert_int_equal(arrived, 8);
    assert_int_equal(memory_readv(&fake.memory, &top, 1, &arrived), ERR_OK);
    fake_memory_unmap(&fake, 0x1008);
    assert_int_equal(memory_readv(&fake.memory, &inside, 1, &arrived), ERR_FAULT);
    assert_int_equal(arrived, 4);
    assert_int_equal(fake.memory.reads, 4);
    fake_memory_deinit(&fake);
}

TEST_GROUP(cmocka_unit_test(spans_are_read_in_order_in_one_call),
           cmocka_unit_test(an_unmapped_span_ends_the_read_after_the_bytes_before_it),
           cmocka_unit_test(a_read_of_an_unmapped_address_gives_no_bytes),
           cmocka_unit_test(a_read_into_an_unmapped_page_stops_there),
           cmocka_unit_test(as_many_spans_as_promised_fit_into_one_call),
           cmocka_unit_test(no_spans_are_read_at_once),
           cmocka_unit_test(a_child_is_read_until_it_is_gone),
           cmocka_unit_test(test_memory_behaves_like_a_process))
