#include <stdlib.h>
#include <unistd.h>

#include "sampler/process/process_scan.h"
#include "tests/support/test.h"
#include "tests/unit/process/child.h"

static int wait_for_ever(void *context)
{
    (void)context;
    for (;;)
        pause();
    return 0;
}

static bool holds(const struct pid_list *list, int pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == pid)
            return true;
    return false;
}

static void all_processes_are_listed_once(void **state)
{
    struct pid_list list = { 0 };
    struct err err = { 0 };
    (void)state;
    assert_ok(process_scan_all(&list, &err), &err);
    assert_true(holds(&list, getpid()));
    for (size_t i = 1; i < list.count; i++)
        assert_int_not_equal(list.items[i], list.items[i - 1]);
    pid_list_deinit(&list);
}

static void both_methods_find_children(void **state)
{
    static const enum process_scan_method methods[] = { PROCESS_SCAN_PARENTS,
                                                        PROCESS_SCAN_CHILD_LISTS };
    const int parents[] = { getpid(), 0x7fffffff };
    /* Not every kernel has the second method. */
    const size_t count = process_scan_method() == PROCESS_SCAN_CHILD_LISTS ? 2 : 1;
    struct child one, two;
    (void)state;
    child_start(&one, wait_for_ever, NULL);
    child_start(&two, wait_for_ever, NULL);
    for (size_t i = 0; i < count; i++) {
        struct pid_list list = { 0 };
        assert_int_equal(process_scan_children(methods[i], parents, 2, &list), ERR_OK);
        assert_true(holds(&list, one.pid));
        assert_true(holds(&list, two.pid));
        assert_false(holds(&list, getpid()));
        pid_list_deinit(&list);
        assert_int_equal(process_scan_children(methods[i], &one.pid, 1, &list), ERR_OK);
        assert_int_equal(list.count, 0);
        pid_list_deinit(&list);
    }
    child_end(&one);
    child_end(&two);
}

static void a_list_grows_to_its_bound(void **state)
{
    struct pid_list list = { 0 };
    enum err_code rc = ERR_OK;
    (void)state;
    for (int pid = 1; !rc; pid++)
        rc = pid_list_add(&list, pid);
    assert_int_equal(rc, ERR_LIMIT);
    assert_int_equal(list.count, PROCESS_SCAN_MAX_PIDS);
    assert_int_equal(list.items[PROCESS_SCAN_MAX_PIDS - 1], PROCESS_SCAN_MAX_PIDS);
    pid_list_deinit(&list);
}

TEST_GROUP(cmocka_unit_test(all_processes_are_listed_once),
           cmocka_unit_test(both_methods_find_children),
           cmocka_unit_test(a_list_grows_to_its_bound))
