/* Packages that files belong to. */
#include <limits.h>
#include <string.h>

#include "sampler/profile/packages.h"
#include "tests/support/test.h"

static void a_row_is_a_file_or_all_directly_in_a_folder(void **state)
{
    struct packages packages = { 0 };
    struct err err = { 0 };
    (void)state;
    assert_ok(packages_add(&packages, "/srv/req", "requests", &err), &err);
    assert_ok(packages_add(&packages, "/srv/six.py", "six", &err), &err);
    assert_ok(packages_add(&packages, "/srv/six.py", "seven", &err), &err);
    assert_int_equal(packages_count(&packages), 2);
    assert_string_equal(packages_find(&packages, "/srv/req/api.py"), "requests");
    assert_string_equal(packages_find(&packages, "/srv/six.py"), "six");
    assert_null(packages_find(&packages, "/srv/req/deep/api.py"));
    assert_null(packages_find(&packages, "/srv/app.py"));
    packages_deinit(&packages);
}

static void what_names_no_file_is_refused(void **state)
{
    struct packages packages = { 0 };
    char path[PATH_MAX + 1];
    struct err err = { 0 };
    (void)state;
    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[PATH_MAX] = '\0';
    assert_int_equal(packages_add(&packages, path, "six", &err), ERR_INVALID);
    assert_int_equal(packages_add(&packages, "six.py", "six", &err), ERR_INVALID);
    assert_int_equal(packages_add(&packages, "/six.py", "a/b", &err), ERR_INVALID);
    assert_int_equal(packages_count(&packages), 0);
    path[PATH_MAX - 1] = '\0';
    assert_ok(packages_add(&packages, path, "six", &err), &err);
    packages_deinit(&packages);
}

TEST_GROUP(cmocka_unit_test(a_row_is_a_file_or_all_directly_in_a_folder),
           cmocka_unit_test(what_names_no_file_is_refused))
