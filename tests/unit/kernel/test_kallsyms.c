#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/kernel/kallsyms.h"
#include "tests/support/test.h"

/* The names that a file with this text has. */
static struct kallsyms *created(const char *text)
{
    char path[32];
    struct kallsyms *out = NULL;
    struct err err = { 0 };
    const int fd = memfd_create("kallsyms", MFD_CLOEXEC);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_ok(kallsyms_create(path, &out, &err), &err);
    close(fd);
    return out;
}

static void functions_have_names(void **state)
{
    struct err err = { 0 };
    struct kallsyms *const names = created("ffffffff81002000 T vfs_read\n"
                                           "ffffffff81001000 t ksys_read\n"
                                           "ffffffff81003000 d some_data\n"
                                           "ffffffffc0001000 t ext4_read\t[ext4]\n"
                                           "not a line\n\n"
                                           "ffffffff81004000 T\n");
    (void)state;
    assert_ok(kallsyms_read(names, &err), &err);
    assert_ok(kallsyms_read(names, &err), &err);
    assert_string_equal(kallsyms_find(names, 0xffffffff81001000), "ksys_read");
    assert_string_equal(kallsyms_find(names, 0xffffffff81001fff), "ksys_read");
    assert_string_equal(kallsyms_find(names, 0xffffffff81002004), "vfs_read");
    assert_string_equal(kallsyms_find(names, 0xffffffff81003004), "vfs_read");
    assert_string_equal(kallsyms_find(names, 0xffffffffc0001001), "ext4_read");
    assert_null(kallsyms_find(names, 0xffffffff81000fff));
    assert_null(kallsyms_find(names, 0xffffffffd0000000));
    assert_null(kallsyms_find(names, 0));
    kallsyms_destroy(names);
}

static void hidden_addresses_are_said(void **state)
{
    struct err err = { 0 };
    struct kallsyms *const names = created("0000000000000000 T vfs_read\n"
                                           "0000000000000000 t ksys_read\n");
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kallsyms_read(names, &err), ERR_PERM);
        assert_non_null(strstr(err.message, "kernel.kptr_restrict is 2, or CAP_SYSLOG"));
    }
    assert_null(kallsyms_find(names, 0xffffffff81001000));
    kallsyms_destroy(names);
}

static void a_file_that_is_not_there_is_said_when_it_is_wanted(void **state)
{
    struct kallsyms *names = NULL;
    struct err err = { 0 };
    (void)state;
    assert_ok(kallsyms_create("/proc/no/such/file", &names, &err), &err);
    assert_int_not_equal(kallsyms_read(names, &err), ERR_OK);
    assert_non_null(strstr(err.message, "/proc/kallsyms cannot be read: No such file"));
    kallsyms_destroy(names);
    kallsyms_destroy(NULL);
}

static void a_name_that_is_too_long_is_left_out(void **state)
{
    char text[KALLSYMS_MAX_NAME + 64];
    struct err err = { 0 };
    (void)state;
    const int start =
        snprintf(text, sizeof text, "ffffffff81001000 T good\nffffffff81002000 T ");
    memset(text + start, 'x', KALLSYMS_MAX_NAME + 1);
    text[start + KALLSYMS_MAX_NAME + 1] = '\0';
    struct kallsyms *const names = created(text);
    assert_ok(kallsyms_read(names, &err), &err);
    assert_string_equal(kallsyms_find(names, 0xffffffff81002001), "good");
    kallsyms_destroy(names);
}

TEST_GROUP(cmocka_unit_test(functions_have_names), cmocka_unit_test(hidden_addresses_are_said),
           cmocka_unit_test(a_file_that_is_not_there_is_said_when_it_is_wanted),
           cmocka_unit_test(a_name_that_is_too_long_is_left_out))
