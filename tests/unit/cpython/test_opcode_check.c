/* The opcodes of every interpreter of this machine: its own table agrees with it, that of another minor does not. */
#include <stdio.h>
#include <stdlib.h>

#include "sampler/base/strtab.h"
#include "sampler/cpython/objects/opcode_check.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/process/process.h"
#include "tests/support/test.h"
#include "tests/unit/cpython/made/pythons.h"

/* Until 3.11 os.walk is no generator. */
enum { OLDEST_MINOR = 12, NEWEST_MINOR = 16 };

static const struct opcode *opcodes_of_minor(unsigned minor)
{
    return opcodes_of(3u << 24 | minor << 16);
}

static void check_tables(struct process *process, const struct runtime *runtime)
{
    struct memory *const memory = &process->memory.memory;
    const unsigned own = LAYOUT_MINOR(runtime->layout.version);
    struct code_table codes;
    struct strtab strings;
    remote_addr interp;
    assert_int_equal(strtab_init(&strings, NULL), ERR_OK);
    assert_int_equal(memory_read_u64(memory,
                                     runtime->addr + runtime->layout.runtime_interpreters_head,
                                     &interp),
                     ERR_OK);
    code_table_init(&codes, memory, &runtime->layout, &strings);
    for (unsigned minor = OLDEST_MINOR; minor <= NEWEST_MINOR; minor++)
        assert_int_equal(opcode_check(&codes, interp, opcodes_of_minor(minor)),
                         minor == own ? VALUE_YES : VALUE_NO);
    assert_int_equal(opcode_check(&codes, 0, opcodes_of_minor(own)), VALUE_UNKNOWN);
    code_table_deinit(&codes);
    strtab_deinit(&strings);
}

static void check_python(FILE *in, const char *version)
{
    struct process process;
    struct runtime runtime;
    struct err err = { 0 };
    int pid;
    print_message("%s\n", version);
    assert_int_equal(fscanf(in, "%d", &pid), 1);
    assert_ok(process_open(&process, pid, &err), &err);
    assert_ok(runtime_find(&process, RUNTIME_THOROUGH, &runtime, &err), &err);
    if (LAYOUT_MINOR(runtime.layout.version) >= OLDEST_MINOR)
        check_tables(&process, &runtime);
    process_close(&process);
}

static void only_the_table_of_its_minor_agrees_with_an_interpreter(void **state)
{
    (void)state;
    if (!pythons_run("unit/cpython/made/stay.py", check_python))
        skip();
}

TEST_GROUP(cmocka_unit_test(only_the_table_of_its_minor_agrees_with_an_interpreter))
