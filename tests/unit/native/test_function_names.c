#include <string.h>
#include <unistd.h>

#include "sampler/native/function_names.h"
#include "sampler/process/elf.h"
#include "tests/support/test.h"
#include "tests/unit/native/made_elf.h"

static const struct deadline never = { .at_ns = UINT64_MAX };

enum { TEXT = 0x1000, BYTES = 16 };

static const struct {
    const char *symbol, *name;
    enum function_language language;
    bool is_wrapper;
    uint32_t module_bytes;
} table[] = {
    { "main", "main", FUNCTION_PLAIN, false, 0 },
    { "_ZN4list4pushEi", "list::push(int)", FUNCTION_CPP, false, 0 },
    { "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place",
      FUNCTION_RUST, false, 0 },
    { "CPyInit_mypy___build", "CPyInit_mypy___build", FUNCTION_PLAIN, false, 0 },
    { "CPyInit_mypy___main", "CPyInit_mypy___main", FUNCTION_PLAIN, false, 0 },
    { "CPyPy_build___State___trace", "mypy.build.State.trace", FUNCTION_MYPYC, true, 10 },
    { "CPyDef_build___State___trace", "mypy.build.State.trace", FUNCTION_MYPYC, false, 10 },
    { "_ZL27__pyx_f_5numpy_4core_arangev", "numpy.core.arange", FUNCTION_CYTHON, false, 0 },
    { "CPyDef_unknown___f", "CPyDef_unknown___f", FUNCTION_PLAIN, false, 0 },
};

enum { COUNT = sizeof table / sizeof *table };

static void function_has_the_name_of_its_author(void **state)
{
    struct made_symbol list[COUNT];
    struct made_elf made;
    struct elf *elf;
    struct function_names *names;
    struct symbol symbol;
    struct err err = { 0 };
    (void)state;
    made_elf_begin(&made);
    const uint16_t text = made_elf_add_code(&made, ".text", TEXT, BYTES * COUNT);
    for (unsigned i = 0; i < COUNT; i++)
        list[i] = (struct made_symbol){ table[i].symbol, TEXT + BYTES * i, BYTES,
                                        STT_FUNC,        STB_GLOBAL,       text };
    made_elf_add_symbols(&made, SHT_SYMTAB, list, COUNT);
    const int fd = made_elf_open(&made);
    assert_ok(elf_open(fd, never, &elf, &err), &err);
    assert_ok(function_names_load(elf, NULL, never, &names, &err), &err);
    elf_close(elf);
    close(fd);
    assert_true(function_names_are_complete(names));
    assert_true(function_names_bytes(names) > COUNT * 12);
    assert_false(function_names_find(names, TEXT + BYTES * COUNT, &symbol));
    for (unsigned i = 0; i < COUNT; i++) {
        struct function_name name;
        assert_true(function_names_find(names, TEXT + BYTES * i + 7, &symbol));
        function_names_read(names, symbol.id, &name);
        assert_string_equal(name.text, table[i].name);
        assert_int_equal(name.language, table[i].language);
        assert_int_equal(name.is_wrapper, table[i].is_wrapper);
        assert_int_equal(name.module_bytes, table[i].module_bytes);
    }
    function_names_destroy(names);
    function_names_destroy(NULL);
    made_elf_end(&made);
}

TEST_GROUP(cmocka_unit_test(function_has_the_name_of_its_author))
