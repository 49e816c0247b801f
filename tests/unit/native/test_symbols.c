#include <dlfcn.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sampler/native/symbols.h"
#include "sampler/process/elf.h"
#include "tests/support/test.h"
#include "tests/unit/native/made_elf.h"

static const struct deadline never = { .at_ns = UINT64_MAX };

static struct symbols *load_fd(int fd, const struct symbols_options *options)
{
    struct elf *elf;
    struct symbols *symbols;
    struct err err = { 0 };
    assert_ok(elf_open(fd, never, &elf, &err), &err);
    assert_ok(symbols_load(elf, options, &symbols, &err), &err);
    elf_close(elf);
    close(fd);
    return symbols;
}

static struct symbols *load(const struct made_elf *made)
{
    const struct symbols_options options = { .deadline = never };
    return load_fd(made_elf_open(made), &options);
}

/* The name at an address; "": there is none. */
static const char *name_at(const struct symbols *symbols, uint64_t vaddr)
{
    static char name[SYMBOL_NAME_BYTES];
    struct symbol symbol;
    *name = '\0';
    if (symbols_find(symbols, vaddr, &symbol)) {
        assert_true(vaddr - symbol.vaddr < symbol.bytes);
        const size_t length = symbols_name(symbols, symbol.id, name);
        assert_int_equal(length, strlen(name));
    }
    return name;
}

static void function_is_found_by_each_of_its_addresses(void **state)
{
    struct made_elf made;
    (void)state;
    made_elf_begin(&made);
    const uint16_t text = made_elf_add_code(&made, ".text", 0x1000, 0x1000);
    const struct made_symbol list[] = {
        { "second", 0x1100, 0x20, STT_FUNC, STB_LOCAL, text },
        { "first", 0x1000, 0x80, STT_FUNC, STB_GLOBAL, text },
        { "chosen", 0x1200, 0x10, STT_GNU_IFUNC, STB_GLOBAL, text },
        { "data", 0x1300, 0x10, STT_OBJECT, STB_GLOBAL, text },
        { "absent", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF },
        { "constant", 0x1400, 8, STT_FUNC, STB_GLOBAL, SHN_ABS },
    };
    made_elf_add_symbols(&made, SHT_SYMTAB, list, sizeof list / sizeof *list);
    struct symbols *const symbols = load(&made);
    assert_int_equal(symbols_count(symbols), 3);
    assert_true(symbols_are_complete(symbols));
    assert_string_equal(name_at(symbols, 0xfff), "");
    assert_string_equal(name_at(symbols, 0x1000), "first");
    assert_string_equal(name_at(symbols, 0x107f), "first");
    assert_string_equal(name_at(symbols, 0x1080), "");
    assert_string_equal(name_at(symbols, 0x1100), "second");
    assert_string_equal(name_at(symbols, 0x120f), "chosen");
    assert_string_equal(name_at(symbols, 0x1300), "");
    assert_string_equal(name_at(symbols, UINT64_MAX), "");
    symbols_destroy(symbols);
    made_elf_end(&made);
}

static void symbol_without_size_ends_at_the_next_one_and_at_its_section(void **state)
{
    struct made_elf made;
    (void)state;
    made_elf_begin(&made);
    const uint16_t init = made_elf_add_code(&made, ".init", 0x1000, 0x20);
    const uint16_t text = made_elf_add_code(&made, ".text", 0x1800, 0x100);
    const struct made_symbol list[] = {
        { "_init", 0x1000, 0, STT_FUNC, STB_GLOBAL, init },
        { "begin", 0x1800, 0, STT_NOTYPE, STB_LOCAL, text },
        { "next", 0x1810, 0x10, STT_FUNC, STB_GLOBAL, text },
        { "too_long", 0x18f0, 0x1000, STT_FUNC, STB_GLOBAL, text },
    };
    made_elf_add_symbols(&made, SHT_SYMTAB, list, sizeof list / sizeof *list);
    struct symbols *const symbols = load(&made);
    assert_string_equal(name_at(symbols, 0x101f), "_init");
    assert_string_equal(name_at(symbols, 0x1020), "");
    assert_string_equal(name_at(symbols, 0x180f), "begin");
    assert_string_equal(name_at(symbols, 0x1810), "next");
    assert_string_equal(name_at(symbols, 0x1820), "");
    assert_string_equal(name_at(symbols, 0x18ff), "too_long");
    assert_string_equal(name_at(symbols, 0x1900), "");
    symbols_destroy(symbols);
    made_elf_end(&made);
}

/* As in musl: behind the last exported function are others, whose names no table has. */
static void of_a_stripped_file_a_symbol_without_size_ends_before_what_makes_system_calls(
    void **state)
{
    static const unsigned char code[] = {
        0x31, 0xc0, 0xc3,             /* xor %eax,%eax; ret */
        0x74, 0xfb, 0xc3,             /* je; ret */
        0x48, 0x89, 0xfe, 0x0f, 0x05, /* mov %rdi,%rsi; syscall */
        0xc3,
    };
    static const unsigned char own[] = { 0xb8, 0x3a, 0, 0, 0, 0x0f, 0x05, 0xc3 };
    struct utsname machine;
    (void)state;
    uname(&machine);
    if (strcmp(machine.machine, "x86_64") != 0)
        skip();
    for (unsigned is_stripped = 0; is_stripped < 2; is_stripped++) {
        struct made_elf made;
        made_elf_begin(&made);
        const uint16_t text = made_elf_add(
            &made, (struct made_section){ .name = ".text",
                                          .header = { .sh_type = SHT_PROGBITS,
                                                      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                                      .sh_addr = 0x1000 },
                                          .data = code,
                                          .bytes = sizeof code });
        const uint16_t other = made_elf_add(
            &made, (struct made_section){ .name = ".other",
                                          .header = { .sh_type = SHT_PROGBITS,
                                                      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                                      .sh_addr = 0x2000 },
                                          .data = own,
                                          .bytes = sizeof own });
        const struct made_symbol list[] = {
            { "memset", 0x1000, 0, STT_FUNC, STB_GLOBAL, text },
            { "vfork", 0x2000, 0, STT_FUNC, STB_GLOBAL, other },
        };
        made_elf_add_symbols(&made, is_stripped ? SHT_DYNSYM : SHT_SYMTAB, list,
                             sizeof list / sizeof *list);
        struct symbols *const symbols = load(&made);
        assert_string_equal(name_at(symbols, 0x1005), "memset");
        assert_string_equal(name_at(symbols, 0x1006), is_stripped ? "" : "memset");
        assert_string_equal(name_at(symbols, 0x2007), "vfork");
        symbols_destroy(symbols);
        made_elf_end(&made);
    }
}

static void of_nested_functions_the_innermost_is_found_and_labels_are_none(void **state)
{
    struct made_elf made;
    (void)state;
    made_elf_begin(&made);
    const uint16_t text = made_elf_add_code(&made, ".text", 0x1000, 0x1000);
    const struct made_symbol list[] = {
        { "outer", 0x1000, 0x100, STT_FUNC, STB_GLOBAL, text },
        { "inner", 0x1040, 0x10, STT_FUNC, STB_LOCAL, text },
        { "loop", 0x1080, 0, STT_NOTYPE, STB_LOCAL, text },
        { "$x", 0x1200, 0, STT_NOTYPE, STB_LOCAL, text },
        { ".L7", 0x1300, 0, STT_NOTYPE, STB_LOCAL, text },
        { "entry", 0x1400, 0, STT_NOTYPE, STB_LOCAL, text },
    };
    made_elf_add_symbols(&made, SHT_SYMTAB, list, sizeof list / sizeof *list);
    struct symbols *const symbols = load(&made);
    assert_string_equal(name_at(symbols, 0x103f), "outer");
    assert_string_equal(name_at(symbols, 0x1040), "inner");
    assert_string_equal(name_at(symbols, 0x1050), "outer");
    assert_string_equal(name_at(symbols, 0x1090), "outer");
    assert_string_equal(name_at(symbols, 0x1200), "");
    assert_string_equal(name_at(symbols, 0x1300), "");
    assert_string_equal(name_at(symbols, 0x1400), "entry");
    symbols_destroy(symbols);
    made_elf_end(&made);
}

static void of_several_names_the_clearest_is_shown(void **state)
{
    static const struct {
        struct made_symbol a, b;
    } pairs[] = {
        { { "good", 0, 8, STT_FUNC, STB_GLOBAL, 1 }, { "bad", 0, 8, STT_NOTYPE, 1, 1 } },
        { { "good", 0, 8, STT_FUNC, STB_LOCAL, 1 }, { "bad", 0, 0, STT_FUNC, 1, 1 } },
        { { "__good", 0, 8, STT_FUNC, STB_GLOBAL, 1 }, { "bad", 0, 8, STT_FUNC, 0, 1 } },
        { { "good", 0, 8, STT_FUNC, STB_WEAK, 1 }, { "__libc_bad", 0, 8, STT_FUNC, 1, 1 } },
        { { "_good", 0, 8, STT_FUNC, STB_GLOBAL, 1 }, { "_bad", 0, 8, STT_FUNC, STB_WEAK, 1 } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (int turn = 0; turn < 2; turn++) {
            struct made_elf made;
            struct made_symbol list[] = { turn ? pairs[i].b : pairs[i].a,
                                          turn ? pairs[i].a : pairs[i].b };
            list[0].vaddr = list[1].vaddr = 0x1010;
            made_elf_begin(&made);
            made_elf_add_code(&made, ".text", 0x1000, 0x100);
            made_elf_add_symbols(&made, SHT_SYMTAB, list, 2);
            struct symbols *const symbols = load(&made);
            assert_int_equal(symbols_count(symbols), 1);
            assert_string_equal(name_at(symbols, 0x1010), pairs[i].a.name);
            symbols_destroy(symbols);
            made_elf_end(&made);
        }
}

/* Debian's and Fedora's libraries have exported symbols, and compressed ones of the others. */
static void stripped_file_has_exported_and_compressed_symbols(void **state)
{
    struct made_elf inner, made;
    static unsigned char packed[1 << 16];
    size_t bytes, packed_bytes = 0;
    (void)state;
    made_elf_begin(&inner);
    made_elf_begin(&made);
    const uint16_t there = made_elf_add_code(&inner, ".text", 0x1000, 0x1000);
    const uint16_t text = made_elf_add_code(&made, ".text", 0x1000, 0x1000);
    const struct made_symbol hidden = { "hidden", 0x1100, 8, STT_FUNC, STB_LOCAL, there };
    const struct made_symbol exported = { "exported", 0x1200, 8, STT_FUNC, STB_GLOBAL, text };
    made_elf_add_symbols(&inner, SHT_SYMTAB, &hidden, 1);
    unsigned char *const file = made_elf_write(&inner, &bytes);
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, file, bytes, packed,
                                             &packed_bytes, sizeof packed),
                     LZMA_OK);
    free(file);
    made_elf_add_symbols(&made, SHT_DYNSYM, &exported, 1);
    made_elf_add(&made, (struct made_section){ .name = ".gnu_debugdata",
                                               .header = { .sh_type = SHT_PROGBITS },
                                               .data = packed,
                                               .bytes = packed_bytes });
    struct symbols *const symbols = load(&made);
    assert_int_equal(symbols_count(symbols), 2);
    assert_string_equal(name_at(symbols, 0x1100), "hidden");
    assert_string_equal(name_at(symbols, 0x1200), "exported");
    symbols_destroy(symbols);
    made_elf_end(&made);
    made_elf_end(&inner);
}

static void file_without_symbols_has_none(void **state)
{
    struct made_elf made;
    (void)state;
    made_elf_begin(&made);
    made_elf_add_code(&made, ".text", 0x1000, 0x1000);
    struct symbols *const symbols = load(&made);
    assert_int_equal(symbols_count(symbols), 0);
    assert_true(symbols_are_complete(symbols));
    assert_string_equal(name_at(symbols, 0x1000), "");
    symbols_destroy(symbols);
    symbols_destroy(NULL);
    made_elf_end(&made);
}

/* The code is that of x86-64. */
static void stub_has_the_name_of_what_it_jumps_to(void **state)
{
    /* push, jmp; jmp *0x2010(%rip); endbr64, bnd jmp *0x1ff9(%rip); a jump to no slot */
    static const unsigned char code[64] = {
        [0] = 0xff,  [1] = 0x35,  [16] = 0xff, [17] = 0x25, [18] = 0x0a, [19] = 0x20,
        [32] = 0xf3, [33] = 0x0f, [34] = 0x1e, [35] = 0xfa, [36] = 0xf2, [37] = 0xff,
        [38] = 0x25, [39] = 0xfd, [40] = 0x1f, [48] = 0xff, [49] = 0x25,
    };
    static const Elf64_Rela slots[] = { { 0x3028, ELF64_R_INFO(1, R_X86_64_JUMP_SLOT), 0 },
                                        { 0x3020, ELF64_R_INFO(2, R_X86_64_JUMP_SLOT), 0 },
                                        { 0x3030, ELF64_R_INFO(99, R_X86_64_JUMP_SLOT), 0 } };
    static const struct made_symbol wanted[] = { { "malloc", 0, 0, STT_FUNC, STB_GLOBAL, 0 },
                                                 { "free", 0, 0, STT_FUNC, STB_GLOBAL, 0 } };
    struct made_elf made;
    struct utsname machine;
    (void)state;
    assert_int_equal(uname(&machine), 0);
    if (strcmp(machine.machine, "x86_64") != 0)
        skip();
    made_elf_begin(&made);
    const uint16_t table = made_elf_add_symbols(&made, SHT_DYNSYM, wanted, 2);
    made_elf_add(&made, (struct made_section){ .name = ".rela.plt",
                                               .header = { .sh_type = SHT_RELA,
                                                           .sh_link = table,
                                                           .sh_entsize = sizeof *slots },
                                               .data = slots,
                                               .bytes = sizeof slots });
    made_elf_add(&made,
                 (struct made_section){ .name = ".plt",
                                        .header = { .sh_type = SHT_PROGBITS,
                                                    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                                    .sh_addr = 0x1000 },
                                        .data = code,
                                        .bytes = sizeof code });
    struct symbols *const symbols = load(&made);
    assert_string_equal(name_at(symbols, 0x1000), "");
    assert_string_equal(name_at(symbols, 0x1010), "free@plt");
    assert_string_equal(name_at(symbols, 0x102f), "malloc@plt");
    assert_string_equal(name_at(symbols, 0x1030), "");
    symbols_destroy(symbols);
    made_elf_end(&made);
}

/* The file's own symbols against what the dynamic linker knows. */
static void names_of_real_files_are_those_of_the_linker(void **state)
{
    static const char *const names[] = { "qsort", "fopen", "dlsym", "getaddrinfo" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Dl_info info;
        char name[SYMBOL_NAME_BYTES];
        struct symbol symbol;
        const struct symbols_options options = { .deadline = never };
        void *const there = dlsym(RTLD_DEFAULT, names[i]);
        assert_non_null(there);
        assert_true(dladdr(there, &info) != 0);
        const uint64_t vaddr = (uint64_t)((char *)there - (char *)info.dli_fbase);
        struct symbols *const symbols =
            load_fd(open(info.dli_fname, O_RDONLY | O_CLOEXEC), &options);
        assert_true(symbols_find(symbols, vaddr + 3, &symbol));
        assert_int_equal(symbol.vaddr, vaddr);
        (void)symbols_name(symbols, symbol.id, name);
        assert_ptr_equal(dlsym(RTLD_DEFAULT, name), there);
        symbols_destroy(symbols);
    }
}

static void own_functions_are_found(void **state)
{
    char name[SYMBOL_NAME_BYTES];
    const struct symbols_options options = { .deadline = never };
    struct symbols *const symbols =
        load_fd(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &options);
    size_t found = 0;
    (void)state;
    for (uint32_t id = 0; id < symbols_count(symbols); id++) {
        const struct symbol symbol = symbols_at(symbols, id);
        struct symbol again;
        assert_true(symbol.bytes > 0 && symbols_find(symbols, symbol.vaddr, &again));
        assert_int_equal(again.id, id);
        (void)symbols_name(symbols, id, name);
        found += strcmp(name, "own_functions_are_found") == 0 || strcmp(name, "main") == 0 ||
                 strcmp(name, "symbols_find") == 0;
    }
    assert_int_equal(found, 3);
    symbols_destroy(symbols);
}

TEST_GROUP(cmocka_unit_test(function_is_found_by_each_of_its_addresses),
           cmocka_unit_test(symbol_without_size_ends_at_the_next_one_and_at_its_section),
           cmocka_unit_test(
               of_a_stripped_file_a_symbol_without_size_ends_before_what_makes_system_calls),
           cmocka_unit_test(of_nested_functions_the_innermost_is_found_and_labels_are_none),
           cmocka_unit_test(of_several_names_the_clearest_is_shown),
           cmocka_unit_test(stripped_file_has_exported_and_compressed_symbols),
           cmocka_unit_test(file_without_symbols_has_none),
           cmocka_unit_test(stub_has_the_name_of_what_it_jumps_to),
           cmocka_unit_test(names_of_real_files_are_those_of_the_linker),
           cmocka_unit_test(own_functions_are_found))
