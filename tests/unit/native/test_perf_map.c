#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/native/perf_map.h"
#include "tests/support/test.h"

enum { PID = 4711 };

/* The root directory of a process, with /tmp in it. */
struct root {
    char *folder;
    int fd;
    uint64_t now_ns;
};

static int begin(void **state)
{
    static struct root root;
    root = (struct root){ .folder = temp_dir(), .now_ns = NS_PER_S };
    root.fd = open(root.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(root.fd >= 0);
    assert_int_equal(mkdirat(root.fd, "tmp", 0755), 0);
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

static const char path[] = "tmp/perf-4711.map";

static void append(const struct root *root, const char *text, size_t bytes)
{
    const int fd = openat(root->fd, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
    close(fd);
}

/* After the interval. */
static bool update(struct root *root, struct perf_map *map)
{
    root->now_ns += PERF_MAP_INTERVAL_NS;
    return perf_map_update(map, root->fd, PID, getuid(), root->now_ns);
}

static const char *name_at(const struct perf_map *map, uint64_t address)
{
    static char text[2 * PERF_MAP_MAX_NAME];
    struct perf_map_name name;
    if (!perf_map_find(map, address, &name))
        return "";
    assert_true(address - name.start < name.bytes);
    snprintf(text, sizeof text, "%.*s%s%s", (int)name.name_bytes, name.name,
             name.file ? " in " : "", name.file ? name.file : "");
    return text;
}

static void add(struct perf_map *map, const char *lines)
{
    assert_int_equal(perf_map_add_lines(map, lines, strlen(lines)), strlen(lines));
}

static void lines_name_their_code(void **state)
{
    struct perf_map map = { 0 };
    (void)state;
    add(&map, "7f0000002000 10 py::f:/srv/app.py\n"
              "7f0000001000 100 jit code with spaces\n"
              "0x7F0000003000 0xA py::C.<locals>.<lambda>:/a:b.py\n"
              "7f0000004000 8 py::\n7f0000005000 8 py:::x\n7f0000006000 8 py::f\n");
    assert_string_equal(name_at(&map, 0x7f0000000fff), "");
    assert_string_equal(name_at(&map, 0x7f0000001000), "jit code with spaces");
    assert_string_equal(name_at(&map, 0x7f00000010ff), "jit code with spaces");
    assert_string_equal(name_at(&map, 0x7f0000001100), "");
    assert_string_equal(name_at(&map, 0x7f000000200f), "f in /srv/app.py");
    assert_string_equal(name_at(&map, 0x7f0000003009), "C.<locals>.<lambda> in /a:b.py");
    assert_string_equal(name_at(&map, 0x7f0000004000), "py::");
    assert_string_equal(name_at(&map, 0x7f0000005000), "py:::x");
    assert_string_equal(name_at(&map, 0x7f0000006000), "py::f");
    assert_string_equal(name_at(&map, UINT64_MAX), "");
    perf_map_deinit(&map);
}

static void the_last_line_of_an_address_counts(void **state)
{
    struct perf_map map = { 0 };
    (void)state;
    add(&map, "1000 10 old\n2000 10 other\n1000 20 new\n");
    assert_string_equal(name_at(&map, 0x1010), "new");
    add(&map, "1000 8 newest\n");
    assert_string_equal(name_at(&map, 0x1000), "newest");
    assert_string_equal(name_at(&map, 0x1010), "");
    assert_int_equal(map.count, 2);
    perf_map_deinit(&map);
}

static void lines_that_make_no_sense_are_ignored(void **state)
{
    static const char text[] = "\n \n1000\n1000 \n1000 10\n1000 10 \n x 10 f\n1000 g0 f\n"
                               "11112222333344445 10 f\n1000 0 f\n1000 40000001 f\n"
                               "ffffffffffffffff 10 f\n-1000 10 f\n0x 10 f\n1000 0x f\n"
                               "1000 10 a\0b\n";
    struct perf_map map = { 0 };
    (void)state;
    assert_int_equal(perf_map_add_lines(&map, text, sizeof text - 1), sizeof text - 1);
    assert_int_equal(map.count, 0);
    assert_string_equal(name_at(&map, 0x1000), "");
    perf_map_deinit(&map);
}

static void long_names_are_cut_and_too_many_lines_too(void **state)
{
    struct perf_map map = { 0 };
    char *const text = malloc(8 << 20);
    size_t used = 0;
    (void)state;
    assert_non_null(text);
    used += (size_t)sprintf(text, "1000 10 ");
    memset(text + used, 'x', 4096);
    used += 4096;
    text[used++] = '\n';
    assert_int_equal(perf_map_add_lines(&map, text, used), used);
    assert_int_equal(strlen(name_at(&map, 0x1000)), PERF_MAP_MAX_NAME);
    used = 0;
    for (unsigned i = 0; i < PERF_MAP_MAX_ENTRIES + 10; i++)
        used += (size_t)sprintf(text + used, "%x 8 f%u\n", 0x2000 + 8 * i, i);
    assert_int_equal(perf_map_add_lines(&map, text, used), used);
    assert_true(map.is_full);
    assert_int_equal(map.count, PERF_MAP_MAX_ENTRIES);
    perf_map_deinit(&map);
    free(text);
}

static void file_is_read_again_when_it_has_grown(void **state)
{
    struct root *const root = *state;
    struct perf_map map = { 0 };
    assert_false(update(root, &map));
    append(root, "1000 10 one\n2000 10 tw", 22);
    assert_true(update(root, &map));
    assert_string_equal(name_at(&map, 0x1000), "one");
    assert_string_equal(name_at(&map, 0x2000), "");
    assert_false(update(root, &map));
    append(root, "o\n", 2);
    assert_false(perf_map_update(&map, root->fd, PID, getuid(), root->now_ns + 1));
    assert_true(update(root, &map));
    assert_string_equal(name_at(&map, 0x2000), "two");
    assert_int_equal(map.lines, 2);
    perf_map_deinit(&map);
}

static void file_that_shrinks_or_is_another_is_read_from_its_start(void **state)
{
    struct root *const root = *state;
    struct perf_map map = { 0 };
    append(root, "1000 10 first\n3000 10 more\n", 27);
    assert_true(update(root, &map));
    assert_int_equal(unlinkat(root->fd, path, 0), 0);
    append(root, "2000 10 second\n", 15);
    assert_true(update(root, &map));
    assert_string_equal(name_at(&map, 0x1000), "");
    assert_string_equal(name_at(&map, 0x2000), "second");
    perf_map_deinit(&map);
}

static void only_a_regular_file_of_the_user_is_read(void **state)
{
    struct root *const root = *state;
    struct perf_map map = { 0 };
    append(root, "1000 10 f\n", 10);
    root->now_ns += PERF_MAP_INTERVAL_NS;
    assert_false(perf_map_update(&map, root->fd, PID, getuid() + 1, root->now_ns));
    assert_int_equal(renameat(root->fd, path, root->fd, "tmp/other"), 0);
    assert_int_equal(symlinkat("other", root->fd, path), 0);
    assert_false(update(root, &map));
    assert_int_equal(unlinkat(root->fd, path, 0), 0);
    assert_int_equal(mkfifoat(root->fd, path, 0600), 0);
    assert_false(update(root, &map));
    assert_int_equal(unlinkat(root->fd, path, 0), 0);
    assert_int_equal(mkdirat(root->fd, path, 0700), 0);
    assert_false(update(root, &map));
    assert_int_equal(map.count, 0);
    perf_map_deinit(&map);
}

static void line_without_an_end_is_not_read_for_ever(void **state)
{
    struct root *const root = *state;
    struct perf_map map = { 0 };
    append(root, "1000 10 f", 9);
    const int fd = openat(root->fd, path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 3 * (off_t)PERF_MAP_MAX_BYTES), 0);
    close(fd);
    uint64_t last = 0;
    for (int i = 0; i < 2 * PERF_MAP_MAX_BYTES / PERF_MAP_STEP_BYTES; i++) {
        (void)update(root, &map);
        assert_true(map.read_bytes - last <= PERF_MAP_STEP_BYTES);
        last = map.read_bytes;
    }
    assert_int_equal(last, PERF_MAP_MAX_BYTES);
    assert_int_equal(map.count, 0);
    perf_map_deinit(&map);
}

#define IN_A_ROOT(test) cmocka_unit_test_setup_teardown(test, begin, end)

TEST_MAIN(cmocka_unit_test(lines_name_their_code),
          cmocka_unit_test(the_last_line_of_an_address_counts),
          cmocka_unit_test(lines_that_make_no_sense_are_ignored),
          cmocka_unit_test(long_names_are_cut_and_too_many_lines_too),
          IN_A_ROOT(file_is_read_again_when_it_has_grown),
          IN_A_ROOT(file_that_shrinks_or_is_another_is_read_from_its_start),
          IN_A_ROOT(only_a_regular_file_of_the_user_is_read),
          IN_A_ROOT(line_without_an_end_is_not_read_for_ever))
