#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/process/elf.h"
#include "tests/support/test.h"
#include "tests/unit/process/elf_file.h"

static const struct deadline never = { .at_ns = UINT64_MAX };

/* A file with one symbol table and its strings, each of the given size and offset; the rest of the file
 * is a hole. */
struct tables {
    uint64_t symbols_at, symbol_bytes, strings_at, string_bytes;
};

enum { SECTIONS_AT = 4096, SECTIONS = 3 };

static int sparse_file(const struct tables *tables, uint16_t sections)
{
    const Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                             ELFDATA2LSB, EV_CURRENT },
                                .e_type = ET_DYN,
                                .e_version = EV_CURRENT,
                                .e_shoff = SECTIONS_AT,
                                .e_ehsize = sizeof(Elf64_Ehdr),
                                .e_shentsize = sizeof(Elf64_Shdr),
                                .e_shnum = sections };
    const Elf64_Shdr headers[SECTIONS] = {
        { .sh_size = 10000000 }, /* the section count if the header says 0 */
        { .sh_type = SHT_SYMTAB,
          .sh_offset = tables->symbols_at,
          .sh_size = tables->symbol_bytes,
          .sh_link = 2,
          .sh_entsize = sizeof(Elf64_Sym) },
        { .sh_type = SHT_STRTAB,
          .sh_offset = tables->strings_at,
          .sh_size = tables->string_bytes },
    };
    const int fd = elf_file(&header, sizeof header);
    assert_int_equal(pwrite(fd, headers, sizeof headers, SECTIONS_AT), sizeof headers);
    const uint64_t symbols_end = tables->symbols_at + tables->symbol_bytes;
    const uint64_t strings_end = tables->strings_at + tables->string_bytes;
    assert_int_equal(
        ftruncate(fd, (off_t)(symbols_end > strings_end ? symbols_end : strings_end)), 0);
    return fd;
}

static void put_symbol(int fd, const struct tables *tables, uint64_t index, uint32_t name)
{
    const Elf64_Sym symbol = {
        .st_name = name, .st_value = 0x1234, .st_size = 8, .st_shndx = 1
    };
    const off_t at = (off_t)(tables->symbols_at + index * sizeof symbol);
    assert_int_equal(pwrite(fd, &symbol, sizeof symbol, at), sizeof symbol);
}

static void put_string(int fd, const struct tables *tables, uint64_t offset, const char *text)
{
    const ssize_t bytes = (ssize_t)strlen(text) + 1;
    assert_int_equal(pwrite(fd, text, (size_t)bytes, (off_t)(tables->strings_at + offset)),
                     bytes);
}

static bool finds(int fd, const char *name, struct deadline deadline, bool *is_unfinished_out)
{
    struct elf *elf = NULL;
    struct elf_place place = { 0, 0 };
    struct err err = { 0 };
    assert_ok(elf_open(fd, deadline, &elf, &err), &err);
    const bool found = elf_find_symbol(elf, name, &place);
    *is_unfinished_out = elf_is_unfinished(elf);
    assert_int_equal(place.vaddr, found ? 0x1234 : 0);
    elf_close(elf);
    return found;
}

static size_t most_rss_kib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (size_t)usage.ru_maxrss;
}

/* 3 GiB of symbols and 3 GiB of strings that take a few pages on disk. */
static void holes_cost_neither_memory_nor_time(void **state)
{
    const uint64_t gib = 1ull << 30;
    const struct tables tables = { .symbols_at = 8192,
                                   .symbol_bytes = 3 * gib,
                                   .strings_at = 4 * gib,
                                   .string_bytes = 3 * gib };
    const int fd = sparse_file(&tables, SECTIONS);
    const size_t rss_kib = most_rss_kib();
    bool is_unfinished;
    (void)state;
    put_string(fd, &tables, 2 * gib, "_PyRuntime");
    const uint64_t began_ns = clock_thread_ns();
    assert_false(finds(fd, "_PyRuntime", never, &is_unfinished));
    put_symbol(fd, &tables, ELF_MAX_SYMBOLS - 1, (uint32_t)(2 * gib));
    assert_true(finds(fd, "_PyRuntime", never, &is_unfinished));
    /* Reading six gigabytes of zeros takes seconds. */
    assert_true(clock_thread_ns() - began_ns < NS_PER_S / 2);
    assert_true(most_rss_kib() - rss_kib < 64 << 10);
    put_symbol(fd, &tables, ELF_MAX_SYMBOLS - 1, 0);
    put_symbol(fd, &tables, ELF_MAX_SYMBOLS, (uint32_t)(2 * gib));
    assert_false(finds(fd, "_PyRuntime", never, &is_unfinished));
    close(fd);
}

static void a_name_is_found_wherever_blocks_end(void **state)
{
    const struct tables tables = { .symbols_at = 8192,
                                   .symbol_bytes = 100000 * 24,
                                   .strings_at = 4 << 20,
                                   .string_bytes = 2 << 20 };
    const uint32_t block = 8192 * 24;
    bool is_unfinished;
    (void)state;
    for (uint32_t name = block - 12; name <= block + 1; name++) {
        const int fd = sparse_file(&tables, SECTIONS);
        /* Without holes, blocks end where they do in a real file. */
        for (uint32_t at = 0; at < tables.string_bytes; at += 512)
            put_string(fd, &tables, at, "other");
        put_string(fd, &tables, name, "_PyRuntime");
        put_symbol(fd, &tables, 99999, name);
        assert_true(finds(fd, "_PyRuntime", never, &is_unfinished));
        assert_false(finds(fd, "_PyRuntime1", never, &is_unfinished));
        /* A name may be the end of a longer one. */
        assert_false(finds(fd, "Runtime", never, &is_unfinished));
        put_symbol(fd, &tables, 5, name + 3);
        assert_true(finds(fd, "Runtime", never, &is_unfinished));
        assert_false(is_unfinished);
        close(fd);
    }
}

static void ten_million_sections_are_ignored(void **state)
{
    const struct tables tables = {
        .symbols_at = 8192, .symbol_bytes = 640000000, .strings_at = 8192, .string_bytes = 4096
    };
    const int fd = sparse_file(&tables, 0);
    const size_t rss_kib = most_rss_kib();
    struct elf *elf = NULL;
    struct elf_place place;
    struct err err = { 0 };
    (void)state;
    assert_ok(elf_open(fd, never, &elf, &err), &err);
    assert_false(elf_find_section(elf, ".PyRuntime", &place));
    assert_false(elf_find_symbol(elf, "_PyRuntime", &place));
    assert_true(most_rss_kib() - rss_kib < 64 << 10);
    elf_close(elf);
    close(fd);
}

/* The file may hold what was not read. */
static void after_the_deadline_nothing_is_certain(void **state)
{
    const struct tables tables = {
        .symbols_at = 8192, .symbol_bytes = 24, .strings_at = 12288, .string_bytes = 4096
    };
    const atomic_bool yes = true;
    const struct deadline over = { .at_ns = 0 };
    const struct deadline cancelled = { .at_ns = UINT64_MAX, .is_cancelled = &yes };
    const int fd = sparse_file(&tables, SECTIONS);
    bool is_unfinished;
    (void)state;
    put_string(fd, &tables, 7, "_PyRuntime");
    put_symbol(fd, &tables, 0, 7);
    assert_true(finds(fd, "_PyRuntime", never, &is_unfinished));
    assert_false(is_unfinished);
    assert_false(finds(fd, "_PyRuntime", over, &is_unfinished));
    assert_true(is_unfinished);
    assert_false(finds(fd, "_PyRuntime", cancelled, &is_unfinished));
    assert_true(is_unfinished);
    close(fd);
}

/* The file is never mapped, so it only causes a short read. */
static void a_file_that_shrinks_while_it_is_read_does_no_harm(void **state)
{
    const struct tables tables = {
        .symbols_at = 8192, .symbol_bytes = 24, .strings_at = 12288, .string_bytes = 4096
    };
    const int fd = sparse_file(&tables, SECTIONS);
    struct elf *elf = NULL;
    struct elf_place place;
    struct err err = { 0 };
    (void)state;
    put_string(fd, &tables, 7, "_PyRuntime");
    put_symbol(fd, &tables, 0, 7);
    assert_ok(elf_open(fd, never, &elf, &err), &err);
    assert_int_equal(ftruncate(fd, 8200), 0);
    assert_false(elf_find_symbol(elf, "_PyRuntime", &place));
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_false(elf_find_symbol(elf, "_PyRuntime", &place));
    elf_close(elf);
    close(fd);
}

/* Searches a malformed file for everything; that must not crash. */
static void search_everywhere(const void *bytes, size_t count)
{
    struct elf *elf;
    struct elf_place place;
    uint64_t bias;
    const int fd = elf_file(bytes, count);
    if (!elf_open(fd, never, &elf, NULL)) {
        (void)elf_find_section(elf, ".PyRuntime", &place);
        (void)elf_find_symbol(elf, "_PyRuntime", &place);
        (void)elf_load_bias(elf, 0x10000, 0, &bias);
        elf_close(elf);
    }
    close(fd);
}

static void other_files_are_refused(void **state)
{
    static const char script[] = "#!/bin/sh\necho hello\n";
    static const Elf32_Ehdr narrow = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                                                    ELFCLASS32, ELFDATA2LSB, EV_CURRENT } };
    const struct {
        const void *bytes;
        size_t count;
    } table[] = { { "", 0 },
                  { "\177", 1 },
                  { "\177ELF", 4 },
                  { script, sizeof script },
                  { &narrow, sizeof narrow } };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct elf *elf = NULL;
        struct err err = { 0 };
        const int fd = elf_file(table[i].bytes, table[i].count);
        assert_int_equal(elf_open(fd, never, &elf, &err), ERR_INVALID);
        assert_non_null(strstr(err.message, "ELF"));
        assert_null(elf);
        close(fd);
    }
    elf_close(NULL);
}

/* The start of our own executable, which the test damages. */
static unsigned char *own_bytes(size_t *count_out)
{
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    const off_t end = lseek(fd, 0, SEEK_END);
    unsigned char *const bytes = malloc((size_t)end);
    assert_non_null(bytes);
    assert_int_equal(pread(fd, bytes, (size_t)end, 0), end);
    close(fd);
    *count_out = (size_t)end;
    return bytes;
}

static void a_file_that_is_cut_off_anywhere_does_no_harm(void **state)
{
    size_t count;
    unsigned char *const bytes = own_bytes(&count);
    (void)state;
    for (size_t i = 0; i < 64; i++)
        search_everywhere(bytes, count * i / 64);
    for (size_t i = 0; i < 128; i++)
        search_everywhere(bytes, i);
    free(bytes);
}

static void hostile_counts_and_offsets_do_no_harm(void **state)
{
    static const uint64_t values[] = { 0,          1,          64,         0xffff,
                                       0x7fffffff, 1ull << 32, 1ull << 63, UINT64_MAX - 63,
                                       UINT64_MAX };
    size_t count;
    unsigned char *const bytes = own_bytes(&count);
    Elf64_Ehdr saved;
    (void)state;
    memcpy(&saved, bytes, sizeof saved);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const uint64_t v = values[i];
        Elf64_Ehdr hostile[6] = { saved, saved, saved, saved, saved, saved };
        hostile[0].e_shoff = v;
        hostile[1].e_shnum = (Elf64_Half)v;
        hostile[2].e_shstrndx = (Elf64_Half)v;
        hostile[3].e_phoff = v;
        hostile[4].e_phnum = (Elf64_Half)v;
        hostile[5].e_shentsize = hostile[5].e_phentsize = (Elf64_Half)v;
        for (size_t k = 0; k < 6; k++) {
            memcpy(bytes, &hostile[k], sizeof hostile[k]);
            search_everywhere(bytes, count);
        }
    }
    free(bytes);
}

static void hostile_sections_do_no_harm(void **state)
{
    static const uint64_t values[] = { 0, 1, 7, 1ull << 31, 1ull << 40, UINT64_MAX };
    size_t count;
    unsigned char *const bytes = own_bytes(&count);
    Elf64_Ehdr header;
    (void)state;
    memcpy(&header, bytes, sizeof header);
    for (unsigned s = 0; s < header.e_shnum; s++) {
        unsigned char *const at = bytes + header.e_shoff + s * sizeof(Elf64_Shdr);
        Elf64_Shdr saved;
        memcpy(&saved, at, sizeof saved);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            Elf64_Shdr hostile[5] = { saved, saved, saved, saved, saved };
            hostile[0].sh_size = values[i];
            hostile[1].sh_offset = values[i];
            hostile[2].sh_entsize = values[i];
            hostile[3].sh_link = (Elf64_Word)values[i];
            hostile[4].sh_name = (Elf64_Word)values[i];
            for (size_t k = 0; k < 5; k++) {
                memcpy(at, &hostile[k], sizeof hostile[k]);
                search_everywhere(bytes, count);
            }
        }
        memcpy(at, &saved, sizeof saved);
    }
    free(bytes);
}

TEST_GROUP(cmocka_unit_test(holes_cost_neither_memory_nor_time),
           cmocka_unit_test(a_name_is_found_wherever_blocks_end),
           cmocka_unit_test(ten_million_sections_are_ignored),
           cmocka_unit_test(after_the_deadline_nothing_is_certain),
           cmocka_unit_test(a_file_that_shrinks_while_it_is_read_does_no_harm),
           cmocka_unit_test(other_files_are_refused),
           cmocka_unit_test(a_file_that_is_cut_off_anywhere_does_no_harm),
           cmocka_unit_test(hostile_counts_and_offsets_do_no_harm),
           cmocka_unit_test(hostile_sections_do_no_harm))
