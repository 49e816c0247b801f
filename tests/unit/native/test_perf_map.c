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

static bool update_for(struct root *root, struct perf_map *map, uid_t user, uint64_t started_ns)
{
    const struct perf_map_process process = { root->fd, PID, user, started_ns };
    return perf_map_update(map, &process, root->now_ns);
}

/* After the interval. */
static bool update(struct root *root, struct perf_map *map)
{
    root->now_ns += PERF_MAP_INTERVAL_NS;
    return update_for(root, map, getuid(), 0);
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

static void code_that_is_overlapped_later_has_no_name(void **state)
{
    struct perf_map map = { 0 };
    (void)state;
    add(&map, "1000 100 wide\n1010 10 in it\n1f00 200 before\n2000 10 cut\n2100 10 behind\n"
              "20f8 8 up to it\n1ff0 20 across\n");
    assert_string_equal(name_at(&map, 0x1000), "");
    assert_string_equal(name_at(&map, 0x1010), "in it");
    assert_string_equal(name_at(&map, 0x1f00), "");
    assert_string_equal(name_at(&map, 0x2000), "across");
    assert_string_equal(name_at(&map, 0x20ff), "up to it");
    assert_string_equal(name_at(&map, 0x2100), "behind");
    assert_int_equal(map.count, 4);
    perf_map_deinit(&map);
}

/* As in a jitdump: numbers of 4 bytes, and pairs of them. */
static size_t put_number(char *out, uint64_t number, size_t bytes)
{
    memcpy(out, &number, bytes);
    return bytes;
}

static size_t put_record(char *out, uint32_t id, uint64_t start, const char *name)
{
    const size_t bytes = 16 + 8 + 4 * 8 + strlen(name) + 1 + 4;
    size_t at = put_number(out, id | (uint64_t)bytes << 32, 8) + 8;
    memset(out + 8, 0, bytes - 8);
    at += 8 + 8;
    at += put_number(out + at, start, 8);
    at += put_number(out + at, 0x10, 8) + 8;
    memcpy(out + at, name, strlen(name));
    return bytes;
}

static size_t put_dump(char *out)
{
    size_t at = put_number(out, 0x4A695444 | 1ull << 32, 8);
    memset(out + at, 0, 40 - at);
    put_number(out + at, 40, 4);
    at = 40;
    at += put_record(out + at, 0, 0x1000, "py::f:/srv/app.py");
    at += put_record(out + at, 4, 0x2000, "other kind");
    return at + put_record(out + at, 0, 0x3000, "block");
}

static void records_of_a_jitdump_name_their_code(void **state)
{
    struct perf_map map = { 0 };
    char dump[512];
    const size_t bytes = put_dump(dump);
    (void)state;
    assert_int_equal(perf_map_add_records(&map, dump, bytes), bytes);
    assert_string_equal(name_at(&map, 0x100f), "f in /srv/app.py");
    assert_string_equal(name_at(&map, 0x2000), "");
    assert_string_equal(name_at(&map, 0x3000), "block");
    perf_map_deinit(&map);
}

static void jitdump_that_is_not_whole_waits(void **state)
{
    char dump[512];
    const size_t bytes = put_dump(dump);
    (void)state;
    for (size_t first = 0; first < bytes; first++) {
        struct perf_map map = { 0 };
        unsigned char *const part = guard_copy(dump, first);
        const size_t done = perf_map_add_records(&map, (const char *)part, first);
        assert_true(done <= first);
        assert_int_equal(done + perf_map_add_records(&map, dump + done, bytes - done), bytes);
        assert_int_equal(map.count, 2);
        guard_free(part, first);
        perf_map_deinit(&map);
    }
}

static void damaged_jitdump_ends_where_it_is_damaged(void **state)
{
    struct perf_map map = { 0 };
    char dump[512];
    const size_t bytes = put_dump(dump);
    (void)state;
    put_number(dump + 40 + 4, 15, 4);
    assert_int_equal(perf_map_add_records(&map, dump, bytes), 40);
    put_number(dump + 40 + 4, UINT32_MAX, 4);
    assert_int_equal(perf_map_add_records(&map, dump, bytes), 40);
    /* A name without an end, and a record without room for one. */
    put_number(dump + 40 + 4, 56 + 3, 4);
    assert_int_equal(perf_map_add_records(&map, dump, 40 + 59), 40 + 59);
    put_number(dump + 40 + 4, 16, 4);
    assert_int_equal(perf_map_add_records(&map, dump, 40 + 16), 40 + 16);
    assert_int_equal(map.count, 0);
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
    root->now_ns++;
    assert_false(update_for(root, &map, getuid(), 0));
    assert_true(update(root, &map));
    assert_string_equal(name_at(&map, 0x2000), "two");
    assert_int_equal(map.names, 2);
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

static void file_of_an_earlier_process_is_not_read(void **state)
{
    struct root *const root = *state;
    struct perf_map map = { 0 };
    struct stat st;
    append(root, "1000 10 f\n", 10);
    assert_int_equal(fstatat(root->fd, path, &st, 0), 0);
    const uint64_t changed_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S;
    root->now_ns += PERF_MAP_INTERVAL_NS;
    assert_false(update_for(root, &map, getuid(), changed_ns + 10 * NS_PER_S));
    assert_int_equal(map.count, 0);
    root->now_ns += PERF_MAP_INTERVAL_NS;
    assert_true(update_for(root, &map, getuid(), changed_ns - NS_PER_S));
    perf_map_deinit(&map);
}

static void lines_and_a_jitdump_are_read_beside_each_other(void **state)
{
    struct root *const root = *state;
    struct perf_map map = { 0 };
    char dump[512];
    const size_t bytes = put_dump(dump);
    append(root, "5000 10 line\n", 13);
    const int fd = openat(root->fd, "tmp/jit-4711.dump", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, dump, bytes), (ssize_t)bytes);
    close(fd);
    assert_true(update(root, &map));
    assert_string_equal(name_at(&map, 0x5000), "line");
    assert_string_equal(name_at(&map, 0x3000), "block");
    assert_false(update(root, &map));
    append(root, "6000 10 more\n", 13);
    assert_true(update(root, &map));
    assert_int_equal(map.count, 4);
    perf_map_deinit(&map);
}

static void only_a_regular_file_of_the_user_is_read(void **state)
{
    struct root *const root = *state;
    struct perf_map map = { 0 };
    append(root, "1000 10 f\n", 10);
    root->now_ns += PERF_MAP_INTERVAL_NS;
    assert_false(update_for(root, &map, getuid() + 1, 0));
    assert_int_equal(linkat(root->fd, path, root->fd, "tmp/another", 0), 0);
    assert_false(update(root, &map));
    assert_int_equal(unlinkat(root->fd, "tmp/another", 0), 0);
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
        assert_true(map.lines.read_bytes - last <= PERF_MAP_STEP_BYTES);
        last = map.lines.read_bytes;
    }
    assert_int_equal(last, PERF_MAP_MAX_BYTES);
    assert_int_equal(map.count, 0);
    perf_map_deinit(&map);
}

#define IN_A_ROOT(test) cmocka_unit_test_setup_teardown(test, begin, end)

TEST_GROUP(cmocka_unit_test(lines_name_their_code),
           cmocka_unit_test(the_last_line_of_an_address_counts),
           cmocka_unit_test(code_that_is_overlapped_later_has_no_name),
           cmocka_unit_test(records_of_a_jitdump_name_their_code),
           cmocka_unit_test(jitdump_that_is_not_whole_waits),
           cmocka_unit_test(damaged_jitdump_ends_where_it_is_damaged),
           cmocka_unit_test(lines_that_make_no_sense_are_ignored),
           cmocka_unit_test(long_names_are_cut_and_too_many_lines_too),
           IN_A_ROOT(file_is_read_again_when_it_has_grown),
           IN_A_ROOT(file_that_shrinks_or_is_another_is_read_from_its_start),
           IN_A_ROOT(file_of_an_earlier_process_is_not_read),
           IN_A_ROOT(lines_and_a_jitdump_are_read_beside_each_other),
           IN_A_ROOT(only_a_regular_file_of_the_user_is_read),
           IN_A_ROOT(line_without_an_end_is_not_read_for_ever))
