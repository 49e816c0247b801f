#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/process/maps.h"
#include "tests/support/test.h"

#define ARRAY_LENGTH(a) (sizeof(a) / sizeof *(a))

static void parse(struct maps *maps, const char *text)
{
    struct err err = { 0 };
    assert_ok(maps_parse(maps, text, &err), &err);
}

static void every_field_of_a_line_is_read(void **state)
{
    struct maps maps;
    (void)state;
    parse(&maps, "00400000-00452000 r-xp 00001000 08:1f 173521      /usr/bin/python3\n");
    assert_int_equal(maps.count, 1);
    const struct mapping *const m = &maps.items[0];
    assert_int_equal(m->start, 0x400000);
    assert_int_equal(m->end, 0x452000);
    assert_int_equal(m->offset, 0x1000);
    assert_int_equal(m->device_major, 8);
    assert_int_equal(m->device_minor, 0x1f);
    assert_int_equal(m->inode, 173521);
    assert_true(m->readable && m->executable && !m->writable);
    assert_string_equal(m->path, "/usr/bin/python3");
    maps_deinit(&maps);
}

static void paths_are_unchanged(void **state)
{
    static const struct {
        const char *line, *path;
    } table[] = {
        { "1000-2000 rw-p 00000000 00:00 0", "" },
        { "1000-2000 rw-p 00000000 00:00 0 ", "" },
        { "1000-2000 rw-p 00000000 00:00 0     [heap]", "[heap]" },
        { "1000-2000 rw-p 00000000 00:00 0     [anon: a b]", "[anon: a b]" },
        { "1000-2000 r--p 0 fd:00 12     /opt/my python/bin/python 3",
          "/opt/my python/bin/python 3" },
        { "1000-2000 r--p 0 fd:00 12     /tmp/x (deleted)", "/tmp/x (deleted)" },
        { "1000-2000 r--p 0 fd:00 12     /tmp/two\\012lines", "/tmp/two\\012lines" },
        { "1000-2000 r--p 0 fd:00 12     /tmp/%s%n%d", "/tmp/%s%n%d" },
        { "1000-2000 r--p 0 fd:00 12     /memfd:a-b (deleted)", "/memfd:a-b (deleted)" },
        { "1000-2000 r--s 0 fd:00 12     /\xff\xfe", "/\xff\xfe" },
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct maps maps;
        parse(&maps, table[i].line);
        assert_int_equal(maps.count, 1);
        assert_string_equal(maps.items[0].path, table[i].path);
        maps_deinit(&maps);
    }
}

static void a_malformed_line_is_refused_and_named(void **state)
{
    static const char *const table[] = {
        "hello\n",
        "\n",
        " \n",
        "1000\n",
        "1000-\n",
        "1000-2000\n",
        "1000-2000 rw-p\n",
        "1000-2000 rw-p 0 08:01\n",
        "1000-2000 rw-p 0 0801 12 /x\n",
        "1000-2000 rw-p zzz 08:01 12 /x\n",
        "1000-2000 rw-pxyz 0 08:01 12 /x\n",
        "xyz-2000 rw-p 0 08:01 12 /x\n",
        "1000-2000 rw-p 0 08:01 12 /x\n1000",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        struct maps maps;
        struct err err = { 0 };
        assert_int_equal(maps_parse(&maps, table[i], &err), ERR_CORRUPT);
        assert_non_null(strstr(err.message, "mapping"));
        assert_null(maps.items);
        maps_deinit(&maps);
    }
}

static void a_refused_line_is_quoted_in_part_only(void **state)
{
    char line[4096];
    struct maps maps;
    struct err err = { 0 };
    (void)state;
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\0';
    assert_int_equal(maps_parse(&maps, line, &err), ERR_CORRUPT);
    assert_true(strlen(err.message) < 160);
}

static void no_text_is_no_mappings(void **state)
{
    struct maps maps;
    (void)state;
    parse(&maps, "");
    assert_int_equal(maps.count, 0);
    assert_null(maps_find(&maps, 0x1000));
    maps_deinit(&maps);
}

static void an_address_finds_the_mapping_that_holds_it(void **state)
{
    static const struct {
        remote_addr addr;
        int index; /* -1: none */
    } table[] = {
        { 0, -1 },      { 0xfff, -1 },  { 0x1000, 0 },     { 0x1fff, 0 }, { 0x2000, 1 },
        { 0x2fff, 1 },  { 0x3000, -1 }, { 0x4fff, -1 },    { 0x5000, 2 }, { 0x5fff, 2 },
        { 0x6000, -1 }, { ~0ull, -1 },  { ~0xfffull, -1 },
    };
    struct maps maps;
    (void)state;
    parse(&maps, "1000-2000 r--p 0 0:0 0\n2000-3000 r--p 0 0:0 0\n5000-6000 r--p 0 0:0 0\n");
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        const struct mapping *const found = maps_find(&maps, table[i].addr);
        assert_ptr_equal(found, table[i].index < 0 ? NULL : &maps.items[table[i].index]);
    }
    maps_deinit(&maps);
}

static void the_limit_of_mappings_is_an_error_and_not_a_cut(void **state)
{
    enum { LINE_BYTES = 48 };
    char *const text = malloc((size_t)(MAPS_MAX + 1) * LINE_BYTES);
    struct maps maps;
    struct err err = { 0 };
    size_t used = 0, before_last = 0;
    (void)state;
    assert_non_null(text);
    for (unsigned i = 0; i <= MAPS_MAX; i++) {
        before_last = used;
        used += (size_t)sprintf(text + used, "%x000-%x000 r--p 0 0:0 0\n", i + 1, i + 2);
    }
    assert_int_equal(maps_parse(&maps, text, &err), ERR_LIMIT);
    text[before_last] = '\0';
    parse(&maps, text);
    assert_int_equal(maps.count, MAPS_MAX);
    assert_ptr_equal(maps_find(&maps, 0x1000), &maps.items[0]);
    maps_deinit(&maps);
    free(text);
}

static void our_own_mappings_are_found(void **state)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *const pages =
        mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct maps maps;
    struct err err = { 0 };
    (void)state;
    assert_ok(maps_read(&maps, getpid(), &err), &err);
    const struct mapping *const m = maps_find(&maps, (remote_addr)(uintptr_t)pages);
    assert_non_null(m);
    assert_true(m->readable && m->writable && !m->executable);
    const struct mapping *const code =
        maps_find(&maps, (remote_addr)(uintptr_t)our_own_mappings_are_found);
    assert_non_null(code);
    assert_true(code->executable && code->inode != 0);
    assert_non_null(strstr(code->path, "test_process"));
    maps_deinit(&maps);
    munmap(pages, page);
}

static void a_missing_process_is_gone(void **state)
{
    struct maps maps = { 0 };
    (void)state;
    assert_int_equal(maps_read(&maps, INT32_MAX, NULL), ERR_GONE);
    maps_deinit(&maps);
}

TEST_GROUP(cmocka_unit_test(every_field_of_a_line_is_read),
           cmocka_unit_test(paths_are_unchanged),
           cmocka_unit_test(a_malformed_line_is_refused_and_named),
           cmocka_unit_test(a_refused_line_is_quoted_in_part_only),
           cmocka_unit_test(no_text_is_no_mappings),
           cmocka_unit_test(an_address_finds_the_mapping_that_holds_it),
           cmocka_unit_test(the_limit_of_mappings_is_an_error_and_not_a_cut),
           cmocka_unit_test(our_own_mappings_are_found),
           cmocka_unit_test(a_missing_process_is_gone))
