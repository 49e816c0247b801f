#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/base/open_files.h"
#include "tests/support/test.h"

static void what_is_left_is_counted_to_the_last_file(void **state)
{
    enum { LIMIT = 40 };
    struct rlimit before, limit;
    int opened[LIMIT];
    size_t count = 0;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = (struct rlimit){ .rlim_cur = LIMIT, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (count < LIMIT && (opened[count] = dup(STDERR_FILENO)) >= 0)
        count++;
    assert_true(count > 4);
    struct err err = { 0 };
    assert_true(open_files_are_left(0));
    assert_false(open_files_are_left(1));
    assert_int_equal(open_files_check(1, "a test", &err), ERR_SYS);
    assert_true(open_files_are_short(&err));
    assert_string_equal(err.message, "only 40 files may be open, too few for a test: raise "
                                     "the limit (ulimit -n)");
    assert_int_equal(open_files_check(1, "a test", NULL), ERR_SYS);
    /* Holes count, too. */
    close(opened[0]);
    close(opened[count - 2]);
    assert_true(open_files_are_left(2));
    assert_false(open_files_are_left(3));
    close(opened[count - 1]);
    for (size_t i = 1; i + 2 < count; i++)
        close(opened[i]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void any_limit_will_do(void **state)
{
    struct err err = { .sys = ENOENT };
    (void)state;
    assert_int_equal(open_files_check(8, "a test", &err), ERR_OK);
    assert_false(open_files_are_short(&err));
    err.sys = ENFILE;
    assert_true(open_files_are_short(&err));
}

TEST_GROUP(cmocka_unit_test(what_is_left_is_counted_to_the_last_file),
           cmocka_unit_test(any_limit_will_do))
