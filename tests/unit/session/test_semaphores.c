#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/session.h"
#include "sampler/session/semaphores.h"
#include "tests/support/test.h"

enum { OFFSET = 64, OTHER_PAGE = 4096 };

static char *map_page(int fd, int flags)
{
    char *const page = mmap(NULL, OTHER_PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    return page;
}

/* Asks for one semaphore of this process. */
static struct lock_place find_place(struct semaphores *semaphores, const char *address)
{
    struct lock_use use = { .semaphore = (uint64_t)(uintptr_t)address };
    struct session_lock_thread thread = { .pid = getpid(), .use_count = 1 };
    struct session_locks locks = {
        .threads = &thread, .thread_count = 1, .uses = &use, .use_count = 1
    };
    semaphores_place(semaphores, &locks);
    return use.place;
}

static void a_file_has_one_place_at_whatever_address_it_is_mapped(void **state)
{
    struct semaphores semaphores;
    const int fd = memfd_create("semaphore", MFD_CLOEXEC);
    (void)state;
    assert_true(fd >= 0 && ftruncate(fd, OTHER_PAGE) == 0);
    char *const first = map_page(fd, MAP_SHARED), *const second = map_page(fd, MAP_SHARED);
    semaphores_init(&semaphores);
    const struct lock_place place = find_place(&semaphores, first + OFFSET),
                            same = find_place(&semaphores, second + OFFSET),
                            other = find_place(&semaphores, second + 2 * OFFSET);
    assert_int_not_equal(place.inode, 0);
    assert_int_equal(place.offset, OFFSET);
    assert_true(lock_place_is_same(&place, &same));
    assert_false(lock_place_is_same(&place, &other));
    semaphores_deinit(&semaphores);
    munmap(first, OTHER_PAGE);
    munmap(second, OTHER_PAGE);
    close(fd);
}

static void memory_that_is_not_shared_has_none(void **state)
{
    struct semaphores semaphores;
    const int fd = memfd_create("semaphore", MFD_CLOEXEC);
    (void)state;
    assert_true(fd >= 0 && ftruncate(fd, OTHER_PAGE) == 0);
    char *const page = map_page(fd, MAP_PRIVATE);
    semaphores_init(&semaphores);
    assert_int_equal(find_place(&semaphores, page).inode, 0);
    assert_int_equal(find_place(&semaphores, (const char *)8).inode, 0);
    semaphores_deinit(&semaphores);
    munmap(page, OTHER_PAGE);
    close(fd);
}

static void what_was_asked_is_kept_for_a_while(void **state)
{
    struct semaphores semaphores;
    const int fd = memfd_create("semaphore", MFD_CLOEXEC);
    (void)state;
    assert_true(fd >= 0 && ftruncate(fd, OTHER_PAGE) == 0);
    char *const page = map_page(fd, MAP_SHARED);
    semaphores_init(&semaphores);
    const uint64_t inode = find_place(&semaphores, page).inode;
    munmap(page, OTHER_PAGE);
    assert_int_equal(find_place(&semaphores, page).inode, inode);
    semaphores.items[0].asked_ns -= (SEMAPHORES_KEPT_S + 1) * UINT64_C(1000000000);
    assert_int_equal(find_place(&semaphores, page).inode, 0);
    semaphores_deinit(&semaphores);
    close(fd);
}

TEST_GROUP(cmocka_unit_test(a_file_has_one_place_at_whatever_address_it_is_mapped),
           cmocka_unit_test(memory_that_is_not_shared_has_none),
           cmocka_unit_test(what_was_asked_is_kept_for_a_while))
