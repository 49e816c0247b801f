#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/compress.h"
#include "sampler/native/debug_file.h"
#include "sampler/native/symbols.h"
#include "sampler/process/elf.h"
#include "sampler/process/elf_tables.h"
#include "tests/support/test.h"
#include "tests/unit/native/made_elf.h"

static const struct deadline never = { .at_ns = UINT64_MAX };
static const unsigned char id[] = { 0xab, 0xcd, 0xef, 0x01 }, other_id[] = { 0xab, 0xcd, 2, 3 };

/* The root directory of a target. */
struct root {
    char *folder;
    int fd;
};

static int begin(void **state)
{
    static const char *const folders[] = { "usr",
                                           "usr/lib",
                                           "usr/lib/.debug",
                                           "usr/lib/debug",
                                           "usr/lib/debug/.build-id",
                                           "usr/lib/debug/.build-id/ab",
                                           "usr/lib/debug/usr",
                                           "usr/lib/debug/usr/lib" };
    static struct root root;
    root.folder = temp_dir();
    root.fd = open(root.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(root.fd >= 0);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_int_equal(mkdirat(root.fd, folders[i], 0755), 0);
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

/* A file with a hidden function; build_id NULL: none.  Returns its CRC. */
static uint32_t put_debug_file(const struct root *root, const char *path,
                               const unsigned char *build_id)
{
    static const struct made_symbol hidden = { "hidden", 0x1010, 8, STT_FUNC, STB_LOCAL, 1 };
    struct made_elf made;
    size_t bytes;
    made_elf_begin(&made);
    made_elf_add_code(&made, ".text", 0x1000, 0x1000);
    made.sections[1].header.sh_type = SHT_NOBITS;
    made_elf_add_symbols(&made, SHT_SYMTAB, &hidden, 1);
    if (build_id)
        made_elf_add_build_id(&made, build_id, sizeof id);
    unsigned char *const file = made_elf_write(&made, &bytes);
    const int fd = openat(root->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file, bytes), (ssize_t)bytes);
    close(fd);
    const uint32_t crc = compress_crc32(file, bytes);
    free(file);
    made_elf_end(&made);
    return crc;
}

/* Loads a stripped file of a user's process at /usr/lib/liba.so; does it have the hidden function? */
static bool finds_hidden_as(uid_t user, const struct root *root, const unsigned char *build_id,
                            const char *link, uint32_t crc)
{
    const struct debug_file_place place = { root->fd, "/usr/lib/liba.so", user };
    const struct symbols_options options = { .place = &place, .deadline = never };
    struct made_elf made;
    struct elf *elf;
    struct symbols *symbols;
    struct symbol symbol;
    struct err err = { 0 };
    made_elf_begin(&made);
    made_elf_add_code(&made, ".text", 0x1000, 0x1000);
    if (build_id)
        made_elf_add_build_id(&made, build_id, sizeof id);
    if (link)
        made_elf_add_link(&made, link, crc);
    const int fd = made_elf_open(&made);
    assert_ok(elf_open(fd, never, &elf, &err), &err);
    assert_ok(symbols_load(elf, &options, &symbols, &err), &err);
    const bool found = symbols_find(symbols, 0x1010, &symbol);
    symbols_destroy(symbols);
    elf_close(elf);
    close(fd);
    made_elf_end(&made);
    return found;
}

static bool finds_hidden(const struct root *root, const unsigned char *build_id,
                         const char *link, uint32_t crc)
{
    return finds_hidden_as(0, root, build_id, link, crc);
}

static const char by_id[] = "usr/lib/debug/.build-id/ab/cdef01.debug";

static void file_with_the_build_id_is_found(void **state)
{
    assert_false(finds_hidden(*state, id, NULL, 0));
    (void)put_debug_file(*state, by_id, id);
    assert_true(finds_hidden(*state, id, NULL, 0));
    assert_false(finds_hidden(*state, other_id, NULL, 0));
    assert_false(finds_hidden(*state, NULL, NULL, 0));
}

static void file_with_another_build_id_is_refused(void **state)
{
    (void)put_debug_file(*state, by_id, other_id);
    assert_false(finds_hidden(*state, id, NULL, 0));
    const uint32_t crc = put_debug_file(*state, "usr/lib/liba.debug", other_id);
    assert_false(finds_hidden(*state, id, "liba.debug", crc));
}

/* A file of this many sections of notes, the last of which has the id. */
static size_t build_id_bytes_behind(size_t sections)
{
    static const unsigned char empty[16] = { 0 };
    unsigned char found[ELF_MAX_BUILD_ID_BYTES];
    struct made_elf made;
    struct elf *elf;
    struct err err = { 0 };
    made_elf_begin(&made);
    for (size_t i = 0; i < sections; i++)
        (void)made_elf_add(&made, (struct made_section){ .name = ".note",
                                                         .header = { .sh_type = SHT_NOTE },
                                                         .data = empty,
                                                         .bytes = sizeof empty });
    made_elf_add_build_id(&made, id, sizeof id);
    const int fd = made_elf_open(&made);
    assert_ok(elf_open(fd, never, &elf, &err), &err);
    const size_t bytes = elf_build_id(elf, found);
    elf_close(elf);
    close(fd);
    made_elf_end(&made);
    return bytes;
}

static void build_id_is_searched_in_few_sections(void **state)
{
    (void)state;
    assert_int_equal(build_id_bytes_behind(3), sizeof id);
    assert_int_equal(build_id_bytes_behind(100), 0);
}

static void linked_file_is_found_by_its_crc(void **state)
{
    static const char *const paths[] = { "usr/lib/liba.debug", "usr/lib/.debug/liba.debug",
                                         "usr/lib/debug/usr/lib/liba.debug" };
    const struct root *const root = *state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const uint32_t crc = put_debug_file(root, paths[i], NULL);
        assert_true(finds_hidden(root, NULL, "liba.debug", crc));
        assert_true(finds_hidden(root, id, "liba.debug", crc));
        assert_false(finds_hidden(root, NULL, "liba.debug", crc + 1));
        assert_false(finds_hidden(root, NULL, "libb.debug", crc));
        assert_int_equal(unlinkat(root->fd, paths[i], 0), 0);
    }
}

static void linked_file_is_in_no_other_folder(void **state)
{
    const uint32_t crc = put_debug_file(*state, "liba.debug", NULL);
    assert_false(finds_hidden(*state, NULL, "../../liba.debug", crc));
    assert_false(finds_hidden(*state, NULL, "/liba.debug", crc));
}

static void link_out_of_the_root_is_not_followed(void **state)
{
    struct root outside = { .folder = temp_dir() };
    char target[128];
    const struct root *const root = *state;
    outside.fd = open(outside.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(outside.fd >= 0);
    (void)put_debug_file(&outside, "file", id);
    snprintf(target, sizeof target, "%s/file", outside.folder);
    assert_int_equal(symlinkat(target, root->fd, by_id), 0);
    assert_false(finds_hidden(root, id, NULL, 0));
    assert_int_equal(unlinkat(root->fd, by_id, 0), 0);
    /* Fedora's are links beneath the root. */
    (void)put_debug_file(root, "usr/lib/liba-1.0.debug", id);
    assert_int_equal(symlinkat("../../../liba-1.0.debug", root->fd, by_id), 0);
    assert_true(finds_hidden(root, id, NULL, 0));
    close(outside.fd);
    temp_dir_remove(outside.folder);
}

/* A name that the process chooses, and files of others. */
static void file_that_the_user_could_not_read_is_not_used(void **state)
{
    const struct root *const root = *state;
    const uid_t other = geteuid() + 1;
    const uint32_t crc = put_debug_file(root, "secret", NULL);
    assert_int_equal(symlinkat("../../secret", root->fd, "usr/lib/liba.debug"), 0);
    assert_int_equal(fchmod(root->fd, 0755), 0);
    assert_true(finds_hidden_as(other, root, NULL, "liba.debug", crc));
    assert_int_equal(fchmodat(root->fd, "secret", 0600, 0), 0);
    assert_false(finds_hidden_as(other, root, NULL, "liba.debug", crc));
    assert_true(finds_hidden_as(geteuid(), root, NULL, "liba.debug", crc));
}

static void what_is_no_regular_file_is_not_waited_for(void **state)
{
    const struct root *const root = *state;
    assert_int_equal(mkfifoat(root->fd, by_id, 0644), 0);
    assert_int_equal(symlinkat("liba.debug", root->fd, "usr/lib/liba.debug"), 0);
    assert_int_equal(symlinkat("/dev/zero", root->fd, "usr/lib/.debug/liba.debug"), 0);
    assert_int_equal(mkdirat(root->fd, "usr/lib/debug/usr/lib/liba.debug", 0755), 0);
    assert_false(finds_hidden(root, id, "liba.debug", 0));
}

#define IN_A_ROOT(test) cmocka_unit_test_setup_teardown(test, begin, end)

TEST_GROUP(IN_A_ROOT(file_with_the_build_id_is_found),
           IN_A_ROOT(file_with_another_build_id_is_refused),
           cmocka_unit_test(build_id_is_searched_in_few_sections),
           IN_A_ROOT(linked_file_is_found_by_its_crc),
           IN_A_ROOT(linked_file_is_in_no_other_folder),
           IN_A_ROOT(link_out_of_the_root_is_not_followed),
           IN_A_ROOT(file_that_the_user_could_not_read_is_not_used),
           IN_A_ROOT(what_is_no_regular_file_is_not_waited_for))
