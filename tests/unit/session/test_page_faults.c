#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/session/remote/remote_target.h"
#include "tests/support/test.h"

enum { PAGES = 100, NO_PID = 1 << 30 };

static void touch_new_pages(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *const memory =
        mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(madvise(memory, PAGES * page, MADV_NOHUGEPAGE), 0);
    for (size_t i = 0; i < PAGES; i++)
        memory[i * page] = 1;
    munmap(memory, PAGES * page);
}

static void faults_are_counted_from_call_to_call(void **state)
{
    struct page_faults faults = { 0 };
    (void)state;
    assert_int_equal(page_faults_since(&faults, getpid(), NS_PER_S), 0);
    touch_new_pages();
    assert_int_equal(page_faults_since(&faults, getpid(), NS_PER_S + NS_PER_MS), 0);
    assert_in_range(page_faults_since(&faults, getpid(), 2 * NS_PER_S), PAGES, UINT32_MAX);
    touch_new_pages();
    assert_in_range(page_faults_since(&faults, getpid(), 3 * NS_PER_S), PAGES, UINT32_MAX);
}

static void a_process_that_is_gone_has_none(void **state)
{
    struct page_faults faults = { 0 };
    (void)state;
    assert_int_equal(page_faults_since(&faults, getpid(), NS_PER_S), 0);
    touch_new_pages();
    assert_int_equal(page_faults_since(&faults, NO_PID, 2 * NS_PER_S), 0);
    assert_int_equal(page_faults_since(&faults, NO_PID, 3 * NS_PER_S), 0);
}

TEST_GROUP(cmocka_unit_test(faults_are_counted_from_call_to_call),
           cmocka_unit_test(a_process_that_is_gone_has_none))
