#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/trusted_path.h"
#include "tests/support/test.h"

enum { NOBODY = 65534 };

static char *in(const char *folder, const char *name)
{
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    return path;
}

static void put(const char *folder, const char *name, const char *text)
{
    char *const path = in(folder, name);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static void put_link(const char *folder, const char *name, const char *target)
{
    char *const path = in(folder, name);
    assert_int_equal(symlink(target, path), 0);
    free(path);
}

/* The errno of opening; 0: none. */
static int open_in(const char *folder, const char *name, int flags)
{
    char *const path = in(folder, name);
    struct err err = { 0 };
    int fd = -1;
    const enum err_code rc = trusted_path_open(path, flags, 0600, &fd, &err);
    free(path);
    assert_int_equal(rc == ERR_OK, fd >= 0);
    if (fd >= 0)
        close(fd);
    assert_int_equal(rc == ERR_OK, err.sys == 0);
    return err.sys;
}

static void found_at(const char *folder, const char *path, const char *where, const char *name)
{
    struct trusted_path at;
    struct err err = { 0 };
    struct stat wanted, found;
    char *const from = in(folder, path), *const to = in(folder, where);
    assert_ok(trusted_path_find(from, &at, &err), &err);
    assert_string_equal(at.name, name);
    assert_int_equal(stat(to, &wanted), 0);
    assert_int_equal(fstat(at.folder_fd, &found), 0);
    assert_int_equal(wanted.st_ino, found.st_ino);
    close(at.folder_fd);
    free(from);
    free(to);
}

static void a_path_is_followed_to_its_last_name(void **state)
{
    char *const folder = temp_dir();
    (void)state;
    char *const a = in(folder, "a"), *const b = in(folder, "a/b"),
                *const far = in(folder, "far");
    assert_int_equal(mkdir(a, 0700) | mkdir(b, 0700), 0);
    put_link(folder, "a/up", "../a/b/");
    put_link(folder, "a/b/file", "new");
    put_link(folder, "far", a);
    found_at(folder, "new", ".", "new");
    found_at(folder, "a//./b/../b/new", "a/b", "new");
    found_at(folder, "a/up/new", "a/b", "new");
    found_at(folder, "far/up/file", "a/b", "new");
    found_at(folder, "a/b", "a", "b");
    found_at(folder, "a/b/", "a", "b");
    found_at(folder, "far/up", "a", "b");
    found_at(folder, "a/b/.", "a/b", ".");
    temp_dir_remove(folder);
    free(a);
    free(b);
    free(far);
}

static void what_leads_nowhere_says_so(void **state)
{
    char *const folder = temp_dir();
    char name[300];
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    put(folder, "file", "");
    put_link(folder, "loop", "loop");
    assert_int_equal(open_in(folder, "none", O_RDONLY), ENOENT);
    assert_int_equal(open_in(folder, "none/x", O_WRONLY | O_CREAT), ENOENT);
    assert_int_equal(open_in(folder, "file/x", O_WRONLY | O_CREAT), ENOTDIR);
    assert_int_equal(open_in(folder, "loop", O_RDONLY), ELOOP);
    assert_int_equal(open_in(folder, name, O_WRONLY | O_CREAT), ENAMETOOLONG);
    assert_int_equal(open_in(folder, ".", O_WRONLY), EISDIR);
    assert_int_equal(open_in(folder, "file", O_WRONLY | O_CREAT | O_EXCL), EEXIST);
    assert_int_equal(open_in(folder, "new", O_WRONLY | O_CREAT | O_EXCL), 0);
    assert_int_equal(open_in(folder, "new", O_WRONLY), 0);
    temp_dir_remove(folder);
}

static void what_a_process_has_open_can_be_named(void **state)
{
    int ends[2], fd;
    char path[64];
    struct err err = { 0 };
    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    assert_ok(trusted_path_open(path, O_WRONLY, 0, &fd, &err), &err);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    close(ends[0]);
    close(ends[1]);
}

static void give_away(const char *folder, const char *name)
{
    char *const path = in(folder, name);
    assert_int_equal(lchown(path, NOBODY, NOBODY), 0);
    free(path);
}

static void skip_without_root(void)
{
    if (geteuid() == 0)
        return;
    print_message("skipped: only root can make a file another user's\n");
    skip();
}

/* A folder of nobody: what root makes in it and what nobody does. */
static char *folder_of_nobody(void)
{
    char *const folder = temp_dir();
    char *const inner = in(folder, "inner"), *const pipe = in(folder, "pipe");
    assert_int_equal(mkdir(inner, 0755) | mkfifo(pipe, 0600), 0);
    put(folder, "roots", "of root");
    put(folder, "theirs", "of nobody");
    put(folder, "named-twice", "of root");
    put_link(folder, "roots-link", "roots");
    put_link(folder, "their-link", "roots");
    put_link(folder, "their-folder", "inner");
    char *const two = in(folder, "named-twice"), *const names = in(folder, "hard-link");
    assert_int_equal(link(two, names), 0);
    static const char *const given[] = { ".", "pipe", "theirs", "their-link", "their-folder" };
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        give_away(folder, given[i]);
    free(inner);
    free(pipe);
    free(two);
    free(names);
    return folder;
}

static void root_obeys_nothing_that_another_user_has_planted(void **state)
{
    (void)state;
    skip_without_root();
    char *const folder = folder_of_nobody();
    for (int i = 0; i < 2; i++) {
        const int flags = i ? O_WRONLY | O_CREAT : O_RDONLY;
        assert_int_equal(open_in(folder, "their-link", flags), EPERM);
        assert_int_equal(open_in(folder, "their-folder/new", O_CREAT | flags), EPERM);
        assert_int_equal(open_in(folder, "roots-link", flags), 0);
        assert_int_equal(open_in(folder, "roots", flags), 0);
        assert_int_equal(open_in(folder, "theirs", flags), 0);
        assert_int_equal(open_in(folder, "hard-link", flags), i ? EPERM : 0);
    }
    /* Without waiting for a reader. */
    assert_int_equal(open_in(folder, "pipe", O_WRONLY), EPERM);
    assert_int_equal(open_in(folder, "inner/new", O_WRONLY | O_CREAT), 0);
    temp_dir_remove(folder);
}

static void a_file_of_another_user_is_not_written_where_all_can_make_one(void **state)
{
    (void)state;
    skip_without_root();
    char *const folder = folder_of_nobody();
    assert_int_equal(chown(folder, 0, 0) | chmod(folder, 01777), 0);
    assert_int_equal(open_in(folder, "theirs", O_WRONLY), EPERM);
    assert_int_equal(open_in(folder, "theirs", O_RDONLY), 0);
    assert_int_equal(open_in(folder, "roots", O_WRONLY), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(open_in(folder, "theirs", O_WRONLY), 0);
    temp_dir_remove(folder);
}

static void root_obeys_no_more_once_it_is_another_user(void **state)
{
    (void)state;
    skip_without_root();
    char *const folder = folder_of_nobody();
    assert_int_equal(seteuid(NOBODY), 0);
    assert_int_equal(open_in(folder, "their-link", O_RDONLY), EPERM);
    assert_int_equal(open_in(folder, "roots", O_WRONLY), EACCES);
    assert_int_equal(open_in(folder, "theirs", O_WRONLY), 0);
    assert_int_equal(seteuid(0), 0);
    temp_dir_remove(folder);
}

TEST_GROUP(cmocka_unit_test(a_path_is_followed_to_its_last_name),
           cmocka_unit_test(what_leads_nowhere_says_so),
           cmocka_unit_test(what_a_process_has_open_can_be_named),
           cmocka_unit_test(root_obeys_nothing_that_another_user_has_planted),
           cmocka_unit_test(a_file_of_another_user_is_not_written_where_all_can_make_one),
           cmocka_unit_test(root_obeys_no_more_once_it_is_another_user))
