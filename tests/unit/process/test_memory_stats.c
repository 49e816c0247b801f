#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/process/memory_stats.h"
#include "tests/support/test.h"

enum { MIB = 1 << 20 };

static void a_process_cannot_write_its_numbers_into_its_name(void **state)
{
    uint64_t minor = 0, major = 0, bytes = 0;
    (void)state;
    assert_true(memory_stats_parse_faults(
        "71 (a) S 1 1 1 0 -1 4 999 0 999 (b)) R 1 2 3 0 -1 4194304 170 2 3 4 5 6", &minor,
        &major));
    assert_int_equal(minor, 170);
    assert_int_equal(major, 3);
    assert_true(memory_stats_parse_swap(
        "Name:\tx VmSwap: 7 kB\nGroups:\t1\nVmSwap:\t      12 kB\nThreads:\t1\n", &bytes));
    assert_int_equal(bytes, 12 * 1024);
    assert_true(memory_stats_parse_rss("100 25 3 1 0 20 0", &bytes));
    assert_true(bytes == 25 * (uint64_t)sysconf(_SC_PAGESIZE));
}

static void what_is_cut_or_missing_is_unknown(void **state)
{
    uint64_t minor, major, bytes;
    (void)state;
    assert_false(memory_stats_parse_faults("71 (a) S 1 1 1 0", &minor, &major));
    assert_false(memory_stats_parse_faults("", &minor, &major));
    assert_false(memory_stats_parse_swap("Name:\tVmSwap: 7 kB\n", &bytes));
    assert_false(memory_stats_parse_swap("VmSwap:\tmuch\n", &bytes));
    assert_false(memory_stats_parse_rss("", &bytes));
    /* A zombie has no memory. */
    assert_false(memory_stats_parse_rss("0 0 0 0 0 0 0", &bytes));
    assert_false(memory_stats_rss(-1, &bytes));
    assert_false(memory_stats_faults(-1, &minor, &major));
    assert_false(memory_stats_swap(-1, &bytes));
}

static void memory_that_is_touched_and_given_back_is_seen(void **state)
{
    uint64_t before, grown, after, minor, minor_after, major, swap;
    const size_t bytes = 32 * MIB;
    (void)state;
    assert_true(memory_stats_rss(getpid(), &before));
    assert_true(memory_stats_faults(getpid(), &minor, &major));
    assert_true(memory_stats_swap(getpid(), &swap));
    char *const area =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(area != MAP_FAILED);
    (void)madvise(area, bytes, MADV_NOHUGEPAGE);
    memset(area, 1, bytes);
    assert_true(memory_stats_rss(getpid(), &grown));
    assert_true(memory_stats_faults(getpid(), &minor_after, &major));
    munmap(area, bytes);
    assert_true(memory_stats_rss(getpid(), &after));
    assert_in_range(grown - before, bytes - 2 * MIB, bytes + 2 * MIB);
    assert_in_range(grown - after, bytes - 2 * MIB, bytes + 2 * MIB);
    assert_true(minor_after - minor >= bytes / (size_t)sysconf(_SC_PAGESIZE) / 2);
}

TEST_GROUP(cmocka_unit_test(a_process_cannot_write_its_numbers_into_its_name),
           cmocka_unit_test(what_is_cut_or_missing_is_unknown),
           cmocka_unit_test(memory_that_is_touched_and_given_back_is_seen))
