#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/native/symbols.h"
#include "sampler/process/elf.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/test.h"
#include "tests/unit/native/made_elf.h"

static const struct deadline never = { .at_ns = UINT64_MAX };

static enum err_code load(int fd, struct deadline deadline, struct symbols **out)
{
    struct elf *elf;
    const struct symbols_options options = { .deadline = deadline };
    enum err_code rc = elf_open(fd, deadline, &elf, NULL);
    if (rc)
        return rc;
    rc = symbols_load(elf, &options, out, NULL);
    elf_close(elf);
    return rc;
}

/* Finds and names everything; that must not crash. */
static void use(const struct symbols *symbols)
{
    char name[SYMBOL_NAME_BYTES];
    struct symbol symbol;
    for (uint32_t id = 0; id < symbols_count(symbols); id++) {
        const struct symbol at = symbols_at(symbols, id);
        assert_true(symbols_name(symbols, id, name) < sizeof name);
        assert_true(symbols_find(symbols, at.vaddr, &symbol));
        (void)symbols_find(symbols, at.vaddr + at.bytes, &symbol);
    }
}

enum { TEXT = 0x1000, TEXT_BYTES = 0x1000, FUNCTIONS = 8 };

/* A file with a few functions in both tables. */
static void make(struct made_elf *made)
{
    static const char *const names[FUNCTIONS] = {
        "a", "b", "cc", "_d", "e.cold", "f", "g", "h"
    };
    struct made_symbol list[FUNCTIONS];
    made_elf_begin(made);
    const uint16_t text = made_elf_add_code(made, ".text", TEXT, TEXT_BYTES);
    for (unsigned i = 0; i < FUNCTIONS; i++)
        list[i] = (struct made_symbol){ names[i], TEXT + 16 * i, i % 3 * 8,
                                        STT_FUNC, STB_GLOBAL,    text };
    made_elf_add_symbols(made, SHT_SYMTAB, list, FUNCTIONS);
    made_elf_add_symbols(made, SHT_DYNSYM, list, FUNCTIONS);
}

static void any_damage_to_tables_does_no_harm(void **state)
{
    static const uint64_t values[] = { 0,         1, 7, 1ull << 31, 1ull << 40, UINT64_MAX - 7,
                                       UINT64_MAX };
    struct made_elf made;
    (void)state;
    make(&made);
    for (size_t s = 1; s < made.count; s++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            for (int field = 0; field < 5; field++) {
                struct made_elf hostile = made;
                Elf64_Shdr *const header = &hostile.sections[s].header;
                *(field == 0 ? &header->sh_addr : &header->sh_size) =
                    field < 2 ? values[v] : header->sh_size;
                header->sh_entsize = field == 2 ? values[v] : header->sh_entsize;
                header->sh_link = field == 3 ? (Elf64_Word)values[v] : header->sh_link;
                header->sh_type = field == 4 ? (Elf64_Word)values[v] : header->sh_type;
                struct symbols *symbols;
                const int fd = made_elf_open(&hostile);
                assert_int_equal(load(fd, never, &symbols), ERR_OK);
                use(symbols);
                symbols_destroy(symbols);
                close(fd);
            }
    made_elf_end(&made);
}

static void any_damage_to_symbols_does_no_harm(void **state)
{
    static const uint64_t values[] = { 0, TEXT - 1, TEXT + TEXT_BYTES, 1ull << 63, UINT64_MAX };
    struct made_elf made;
    (void)state;
    make(&made);
    for (size_t s = 2; s <= 4; s += 2) {
        const size_t at = (size_t)((const unsigned char *)made.sections[s].data - made.bytes);
        Elf64_Sym *const table = (Elf64_Sym *)(void *)(made.bytes + at);
        for (size_t i = 1; i <= FUNCTIONS; i++)
            for (size_t v = 0; v < sizeof values / sizeof *values; v++)
                for (int field = 0; field < 4; field++) {
                    const Elf64_Sym saved = table[i];
                    table[i].st_value = field == 0 ? values[v] : saved.st_value;
                    table[i].st_size = field == 1 ? values[v] : saved.st_size;
                    table[i].st_name = field == 2 ? (Elf64_Word)values[v] : saved.st_name;
                    table[i].st_shndx = field == 3 ? (Elf64_Half)values[v] : saved.st_shndx;
                    struct symbols *symbols;
                    const int fd = made_elf_open(&made);
                    assert_int_equal(load(fd, never, &symbols), ERR_OK);
                    use(symbols);
                    symbols_destroy(symbols);
                    close(fd);
                    table[i] = saved;
                }
    }
    made_elf_end(&made);
}

static void file_that_is_cut_off_anywhere_does_no_harm(void **state)
{
    struct made_elf made;
    size_t bytes;
    (void)state;
    make(&made);
    unsigned char *const file = made_elf_write(&made, &bytes);
    for (size_t cut = 0; cut < bytes; cut += 5) {
        struct symbols *symbols;
        const int fd = memfd_create("cut", MFD_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, file, cut), (ssize_t)cut);
        if (load(fd, never, &symbols) == ERR_OK) {
            use(symbols);
            symbols_destroy(symbols);
        }
        close(fd);
    }
    free(file);
    made_elf_end(&made);
}

struct shrinking {
    int fd;
    size_t names;
};

static void shrink(void *to, const char *name, size_t length)
{
    struct shrinking *const shrinking = to;
    assert_int_equal(strlen(name), length);
    shrinking->names++;
    assert_int_equal(ftruncate(shrinking->fd, 100), 0);
}

static void file_that_shrinks_while_it_is_read_does_no_harm(void **state)
{
    struct made_elf made;
    struct elf *elf;
    struct symbols *symbols;
    struct err err = { 0 };
    (void)state;
    make(&made);
    struct shrinking shrinking = { .fd = made_elf_open(&made) };
    const struct symbols_options options = { .deadline = never,
                                             .take = shrink,
                                             .to = &shrinking };
    assert_ok(elf_open(shrinking.fd, never, &elf, &err), &err);
    assert_ok(symbols_load(elf, &options, &symbols, &err), &err);
    assert_true(shrinking.names > 0);
    use(symbols);
    symbols_destroy(symbols);
    elf_close(elf);
    close(shrinking.fd);
    made_elf_end(&made);
}

static void after_the_deadline_symbols_are_incomplete(void **state)
{
    const struct deadline over = { .at_ns = 0 };
    struct made_elf made;
    struct symbols *symbols;
    (void)state;
    make(&made);
    const int fd = made_elf_open(&made);
    assert_int_equal(load(fd, never, &symbols), ERR_OK);
    assert_true(symbols_are_complete(symbols));
    assert_int_equal(symbols_count(symbols), FUNCTIONS);
    symbols_destroy(symbols);
    assert_int_equal(load(fd, over, &symbols), ERR_OK);
    assert_false(symbols_are_complete(symbols));
    assert_int_equal(symbols_count(symbols), 0);
    symbols_destroy(symbols);
    close(fd);
    made_elf_end(&made);
}

/* A file with one table of symbols, all of them named alike, and strings that never end. */
static int file_of_many(size_t count)
{
    struct made_elf made;
    static const struct made_symbol first = { "f", TEXT, 1, STT_FUNC, STB_GLOBAL, 1 };
    made_elf_begin(&made);
    made_elf_add_code(&made, ".text", TEXT, count);
    made_elf_add_symbols(&made, SHT_SYMTAB, &first, 1);
    const int fd = made_elf_open(&made);
    made_elf_end(&made);
    Elf64_Ehdr header;
    Elf64_Shdr sections[5];
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    assert_int_equal(pread(fd, sections, sizeof sections, (off_t)header.e_shoff),
                     sizeof sections);
    const off_t table = 1 << 20;
    Elf64_Sym *const block = calloc(4096, sizeof *block);
    assert_non_null(block);
    for (size_t at = 0; at < count; at += 4096) {
        for (size_t i = 0; i < 4096; i++)
            block[i] = (Elf64_Sym){ .st_name = 1,
                                    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                    .st_shndx = 1,
                                    .st_value = TEXT + at + i,
                                    .st_size = 1 };
        assert_int_equal(
            pwrite(fd, block, 4096 * sizeof *block, table + (off_t)(at * sizeof *block)),
            4096 * sizeof *block);
    }
    free(block);
    sections[2].sh_offset = (Elf64_Off)table;
    sections[2].sh_size = count * sizeof(Elf64_Sym);
    assert_int_equal(pwrite(fd, sections, sizeof sections, (off_t)header.e_shoff),
                     sizeof sections);
    return fd;
}

static void table_with_too_many_symbols_is_cut(void **state)
{
    struct symbols *symbols;
    (void)state;
    const int fd = file_of_many(SYMBOL_LIST_MAX + 4096);
    assert_int_equal(load(fd, never, &symbols), ERR_OK);
    assert_int_equal(symbols_count(symbols), SYMBOL_LIST_MAX);
    assert_false(symbols_are_complete(symbols));
    assert_true(symbols_bytes(symbols) < 13 * (size_t)SYMBOL_LIST_MAX);
    symbols_destroy(symbols);
    close(fd);
}

struct cancelling {
    atomic_bool is_cancelled;
    size_t names;
};

static void cancel_after_thousand(void *to, const char *name, size_t length)
{
    struct cancelling *const cancelling = to;
    (void)name;
    (void)length;
    if (++cancelling->names == 1000)
        atomic_store(&cancelling->is_cancelled, true);
}

static void names_are_not_taken_long_after_the_deadline(void **state)
{
    static struct cancelling cancelling;
    const struct deadline soon = { .at_ns = UINT64_MAX,
                                   .is_cancelled = &cancelling.is_cancelled };
    const struct symbols_options options = { .deadline = soon,
                                             .take = cancel_after_thousand,
                                             .to = &cancelling };
    struct symbols *symbols;
    struct elf *elf;
    (void)state;
    const int fd = file_of_many(1 << 16);
    assert_int_equal(elf_open(fd, soon, &elf, NULL), ERR_OK);
    assert_int_equal(symbols_load(elf, &options, &symbols, NULL), ERR_OK);
    assert_in_range(cancelling.names, 1000, 1100);
    assert_in_range(symbols_count(symbols), 1000, 1100);
    assert_false(symbols_are_complete(symbols));
    symbols_destroy(symbols);
    elf_close(elf);
    close(fd);
}

static void cancel_at_local(void *to, const char *name, size_t length)
{
    atomic_bool *const is_cancelled = to;
    (void)length;
    if (strcmp(name, "local") == 0)
        atomic_store(is_cancelled, true);
}

static void exported_names_are_kept_if_a_limit_cuts_the_table(void **state)
{
    /* The strings of .symtab are longer than one reading of them. */
    enum { COUNT = 8, NAME_BYTES = 1 << 16 };
    static char text[COUNT][NAME_BYTES];
    atomic_bool is_cancelled = false;
    const struct deadline soon = { .at_ns = UINT64_MAX, .is_cancelled = &is_cancelled };
    struct made_symbol list[COUNT + 1] = { { "local", TEXT, 8, STT_FUNC, STB_LOCAL, 1 } };
    const struct made_symbol last = { "exported", TEXT + 256, 8, STT_FUNC, STB_GLOBAL, 1 };
    char name[SYMBOL_NAME_BYTES];
    struct made_elf made;
    struct symbols *symbols;
    struct symbol found;
    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        memset(text[i], 'b', NAME_BYTES - 1);
        list[i + 1] =
            (struct made_symbol){ text[i], TEXT + 16 + 8 * i, 8, STT_FUNC, STB_LOCAL, 1 };
    }
    made_elf_begin(&made);
    made_elf_add_code(&made, ".text", TEXT, TEXT_BYTES);
    made_elf_add_symbols(&made, SHT_SYMTAB, list, COUNT + 1);
    made_elf_add_symbols(&made, SHT_DYNSYM, &last, 1);
    const int fd = made_elf_open(&made);
    const struct symbols_options options = { .deadline = soon,
                                             .take = cancel_at_local,
                                             .to = &is_cancelled };
    struct elf *elf;
    assert_int_equal(elf_open(fd, soon, &elf, NULL), ERR_OK);
    assert_int_equal(symbols_load(elf, &options, &symbols, NULL), ERR_OK);
    elf_close(elf);
    assert_false(symbols_are_complete(symbols));
    assert_true(symbols_count(symbols) < COUNT + 2);
    assert_true(symbols_find(symbols, TEXT + 256, &found));
    assert_int_equal(symbols_name(symbols, found.id, name), strlen(last.name));
    assert_string_equal(name, last.name);
    assert_true(symbols_find(symbols, TEXT, &found));
    assert_int_equal(symbols_name(symbols, found.id, name), 5);
    assert_string_equal(name, "local");
    symbols_destroy(symbols);
    close(fd);
    made_elf_end(&made);
}

static void name_without_an_end_is_cut(void **state)
{
    static char endless[3 * SYMBOL_NAME_BYTES];
    char name[SYMBOL_NAME_BYTES];
    struct made_elf made;
    struct symbols *symbols;
    (void)state;
    memset(endless, 'x', sizeof endless - 1);
    const struct made_symbol one = { endless, TEXT, 8, STT_FUNC, STB_GLOBAL, 1 };
    made_elf_begin(&made);
    made_elf_add_code(&made, ".text", TEXT, TEXT_BYTES);
    made_elf_add_symbols(&made, SHT_SYMTAB, &one, 1);
    made.sections[3].bytes = 2 * SYMBOL_NAME_BYTES;
    const int fd = made_elf_open(&made);
    assert_int_equal(load(fd, never, &symbols), ERR_OK);
    assert_int_equal(symbols_count(symbols), 1);
    assert_int_equal(symbols_name(symbols, 0, name), NAME_STORE_MAX_NAME);
    symbols_destroy(symbols);
    close(fd);
    made_elf_end(&made);
}

static void running_out_of_memory_is_reported(void **state)
{
    struct made_elf made;
    struct symbols *symbols = NULL;
    (void)state;
    make(&made);
    const int fd = made_elf_open(&made);
    struct elf *elf;
    struct err err = { 0 };
    const struct symbols_options options = { .deadline = never };
    assert_ok(elf_open(fd, never, &elf, &err), &err);
    enum err_code rc = ERR_NOMEM;
    unsigned failures = 0;
    for (unsigned nth = 0; nth < 100; nth++) {
        failing_alloc_at(nth);
        rc = symbols_load(elf, &options, &symbols, &err);
        const bool happened = failing_alloc_happened();
        failing_alloc_never();
        failures += rc != ERR_OK;
        if (rc == ERR_OK)
            symbols_destroy(symbols);
        if (!happened)
            break;
    }
    assert_int_equal(rc, ERR_OK);
    assert_true(failures > 3);
    elf_close(elf);
    close(fd);
    made_elf_end(&made);
}

TEST_GROUP(cmocka_unit_test(any_damage_to_tables_does_no_harm),
           cmocka_unit_test(any_damage_to_symbols_does_no_harm),
           cmocka_unit_test(file_that_is_cut_off_anywhere_does_no_harm),
           cmocka_unit_test(file_that_shrinks_while_it_is_read_does_no_harm),
           cmocka_unit_test(after_the_deadline_symbols_are_incomplete),
           cmocka_unit_test(table_with_too_many_symbols_is_cut),
           cmocka_unit_test(names_are_not_taken_long_after_the_deadline),
           cmocka_unit_test(exported_names_are_kept_if_a_limit_cuts_the_table),
           cmocka_unit_test(name_without_an_end_is_cut),
           cmocka_unit_test(running_out_of_memory_is_reported))
