#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/process/file_below.h"
#include "tests/support/test.h"

/* A root directory with "d/file" in it; its text is "hello". */
struct root {
    char *folder;
    int fd;
};

static void put_file(const struct root *root, const char *path, const char *text)
{
    const int fd = openat(root->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static int begin(void **state)
{
    static struct root root;
    root.folder = temp_dir();
    root.fd = open(root.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(root.fd >= 0);
    assert_int_equal(mkdirat(root.fd, "d", 0755), 0);
    put_file(&root, "d/file", "hello");
    *state = &root;
    return 0;
}

static int end(void **state)
{
    struct root *const root = *state;
    close(root->fd);
    temp_dir_remove(root->folder);
    return 0;
}

static enum file_below open_path_as(const struct root *root, const char *path, uid_t user)
{
    int fd = -1;
    char text[6] = "";
    const enum file_below opened = file_below_open(root->fd, path, user, &fd);
    assert_true((opened == FILE_BELOW_OPENED) == (fd >= 0));
    if (fd >= 0) {
        assert_int_equal(read(fd, text, 5), 5);
        assert_string_equal(text, "hello");
        close(fd);
    }
    return opened;
}

static enum file_below open_path(const struct root *root, const char *path)
{
    return open_path_as(root, path, 0);
}

static void put_link(const struct root *root, const char *target, const char *path)
{
    assert_int_equal(symlinkat(target, root->fd, path), 0);
}

static void a_file_is_opened_by_its_path(void **state)
{
    static const char *const good[] = { "/d/file", "d/file", "//d//./file", "/d/../d/file",
                                        "/../../d/file" };
    static const char *const bad[] = { "", "/", "/d", "/d/other", "/d/file/x", "/x/../d/file" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(open_path(*state, good[i]), FILE_BELOW_OPENED);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(open_path(*state, bad[i]), FILE_BELOW_REFUSED);
}

static void links_are_followed_beneath_the_root(void **state)
{
    put_link(*state, "d", "e");
    put_link(*state, "/e/file", "d/absolute");
    put_link(*state, "../d/./absolute", "e/relative");
    put_link(*state, "../../../../../d/file", "d/above");
    assert_int_equal(open_path(*state, "/e/file"), FILE_BELOW_OPENED);
    assert_int_equal(open_path(*state, "/e/absolute"), FILE_BELOW_OPENED);
    assert_int_equal(open_path(*state, "/e/relative"), FILE_BELOW_OPENED);
    assert_int_equal(open_path(*state, "/d/above"), FILE_BELOW_OPENED);
    assert_int_equal(open_path(*state, "/e/../d/file"), FILE_BELOW_OPENED);
}

static void no_link_leads_out_of_the_root(void **state)
{
    char outside[] = "/tmp/file_below-XXXXXX";
    const int fd = mkstemp(outside);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "hello", 5), 5);
    put_link(*state, outside, "d/out");
    char up[128];
    snprintf(up, sizeof up, "../../../../../..%s", outside);
    put_link(*state, up, "d/up");
    put_link(*state, "/proc/self/fd/0", "d/magic");
    assert_int_equal(open_path(*state, "/d/out"), FILE_BELOW_REFUSED);
    assert_int_equal(open_path(*state, "/d/up"), FILE_BELOW_REFUSED);
    assert_int_equal(open_path(*state, "/d/magic"), FILE_BELOW_REFUSED);
    assert_int_equal(open_path(*state, up), FILE_BELOW_REFUSED);
    close(fd);
    unlink(outside);
}

static void many_links_are_not_followed(void **state)
{
    char name[32], target[32];
    put_link(*state, "loop", "d/loop");
    assert_int_equal(open_path(*state, "/d/loop"), FILE_BELOW_REFUSED);
    put_link(*state, "file", "d/0");
    for (int i = 1; i <= FILE_BELOW_MAX_TURNS; i++) {
        snprintf(name, sizeof name, "d/%d", i);
        snprintf(target, sizeof target, "%d", i - 1);
        put_link(*state, target, name);
    }
    snprintf(name, sizeof name, "/d/%d", FILE_BELOW_MAX_TURNS - 1);
    assert_int_equal(open_path(*state, name), FILE_BELOW_OPENED);
    snprintf(name, sizeof name, "/d/%d", FILE_BELOW_MAX_TURNS);
    assert_int_equal(open_path(*state, name), FILE_BELOW_REFUSED);
}

static void only_regular_files_are_opened(void **state)
{
    const struct root *const root = *state;
    const int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = -1;
    assert_int_equal(mkfifoat(root->fd, "d/fifo", 0644), 0);
    assert_int_equal(open_path(root, "/d/fifo"), FILE_BELOW_REFUSED);
    assert_true(proc_fd >= 0);
    assert_int_equal(file_below_open(proc_fd, "/uptime", 0, &fd), FILE_BELOW_REFUSED);
    assert_int_equal(fd, -1);
    close(proc_fd);
}

static void set_mode(const struct root *root, const char *path, mode_t mode)
{
    assert_int_equal(fchmodat(root->fd, path, mode, 0), 0);
}

/* Whatever we may read ourselves. */
static void what_the_user_could_not_read_is_refused(void **state)
{
    const struct root *const root = *state;
    const uid_t own = geteuid() ? geteuid() : 4711, other = own + 1;
    assert_int_equal(fchownat(root->fd, "d/file", own, (gid_t)-1, 0), 0);
    assert_int_equal(fchownat(root->fd, "d", own, (gid_t)-1, 0), 0);
    set_mode(root, ".", 0755);
    put_link(root, "/d/file", "link");
    assert_int_equal(open_path_as(root, "/link", own), FILE_BELOW_OPENED);
    assert_int_equal(open_path_as(root, "/link", other), FILE_BELOW_OPENED);
    static const struct {
        const char *path;
        mode_t mode;
        bool for_own, for_other;
    } cases[] = { { "d/file", 0600, true, false }, { "d/file", 0640, true, false },
                  { "d/file", 0604, true, false }, { "d/file", 0044, false, true },
                  { "d", 0700, true, false },      { "d", 0701, true, false },
                  { "d", 0711, true, true },       { "d", 0055, false, true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* Only root gets past modes that shut out itself. */
        if (geteuid() != 0 && !cases[i].for_own)
            continue;
        set_mode(root, cases[i].path, cases[i].mode);
        for (int is_link = 0; is_link < 2; is_link++) {
            const char *const path = is_link ? "/link" : "/d/file";
            assert_int_equal(open_path_as(root, path, own) == FILE_BELOW_OPENED,
                             cases[i].for_own);
            assert_int_equal(open_path_as(root, path, other) == FILE_BELOW_OPENED,
                             cases[i].for_other);
            assert_int_equal(open_path_as(root, path, 0), FILE_BELOW_OPENED);
        }
        set_mode(root, cases[i].path, 0755);
    }
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    char *const path = malloc(10000);
    assert_non_null(path);
    for (size_t i = 0; i < 9990; i += 2)
        memcpy(path + i, "./", 3);
    assert_int_equal(open_path(*state, path), FILE_BELOW_REFUSED);
    memset(path, 'x', 300);
    path[300] = '\0';
    assert_int_equal(open_path(*state, path), FILE_BELOW_REFUSED);
    free(path);
}

#define IN_A_ROOT(test) cmocka_unit_test_setup_teardown(test, begin, end)

TEST_GROUP(IN_A_ROOT(a_file_is_opened_by_its_path),
           IN_A_ROOT(links_are_followed_beneath_the_root),
           IN_A_ROOT(no_link_leads_out_of_the_root), IN_A_ROOT(many_links_are_not_followed),
           IN_A_ROOT(only_regular_files_are_opened),
           IN_A_ROOT(what_the_user_could_not_read_is_refused),
           IN_A_ROOT(a_path_that_is_too_long_is_refused))
