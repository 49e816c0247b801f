#include "sampler/cpython/objects/opcode_check.h"

#include <stdbool.h>

#include "sampler/cpython/objects/code_bytecode.h"
#include "sampler/cpython/objects/dict.h"

enum {
    LEAST_FUNCTIONS = 12, /* more than one module has */
    CODE_AFTER_FIRST_FIELD =
        32, /* in a function: globals, built-ins and two names are before it */
    STACKSIZE_BEFORE_FIRSTLINENO = 4,
};

/* Each module is imported before a program begins, but for what begins without site. */
static const struct known {
    const char *module, *function;
    const char *has,
        *lacks; /* lacks NULL: what reads of moving generators depend on, so it must be there */
} functions[] = {
    { "os", "walk", "FOR_ITER", NULL },
    { "os", "walk", "YIELD_VALUE", NULL },
    { "os", "walk", "RETURN_GENERATOR", NULL },
    { "os", "fwalk", "SEND", NULL },
    { "os", "makedirs", "CALL", "YIELD_VALUE" },
    { "os", "removedirs", "CALL", "SEND" },
    { "os", "renames", "CALL", "FOR_ITER" },
    { "os", "get_exec_path", "RETURN_VALUE", "YIELD_VALUE" },
    { "os", "_execvpe", "FOR_ITER", "RETURN_GENERATOR" },
    { "posixpath", "join", "RETURN_VALUE", "SEND" },
    { "posixpath", "split", "RETURN_VALUE", "FOR_ITER" },
    { "posixpath", "basename", "RETURN_VALUE", "FOR_ITER" },
    { "posixpath", "expanduser", "RETURN_VALUE", "YIELD_VALUE" },
    { "posixpath", "commonpath", "RETURN_VALUE", "RETURN_GENERATOR" },
    { "posixpath", "relpath", "RETURN_VALUE", "YIELD_VALUE" },
    { "_frozen_importlib", "_find_and_load", "RETURN_VALUE", "YIELD_VALUE" },
    { "_frozen_importlib", "_find_spec", "FOR_ITER", "YIELD_VALUE" },
    { "_frozen_importlib", "_handle_fromlist", "FOR_ITER", "SEND" },
    { "_frozen_importlib", "_load_unlocked", "RETURN_VALUE", "FOR_ITER" },
    { "_frozen_importlib", "module_from_spec", "RETURN_VALUE", "FOR_ITER" },
};

static bool has_opcode(const struct bytecode *bytecode, const char *name)
{
    const int opcode = opcodes_find(bytecode->opcodes, name);
    return opcode >= 0 && bytecode_has(bytecode, (uint8_t)opcode);
}

static bool agrees_with(struct code_table *codes, const struct known *known,
                        const struct code *code, const struct bytecode *bytecode)
{
    const struct layout *const layout = codes->layout;
    unsigned char size[4];
    if (memory_read(codes->memory,
                    code->addr + layout->code_firstlineno - STACKSIZE_BEFORE_FIRSTLINENO, size,
                    sizeof size) ||
        !has_opcode(bytecode, known->has) ||
        (known->lacks && has_opcode(bytecode, known->lacks)))
        return false;
    return bytecode_deepest(bytecode) == (int64_t)field_u32(size, 0);
}

enum three_valued opcode_check(struct code_table *codes, remote_addr interp,
                               const struct opcode *opcodes)
{
    struct code_bytecode room = { 0 };
    struct bytecode bytecode;
    size_t found = 0, agreeing = 0;
    bool lacks_needed = false;
    code_id id;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const struct known *const known = &functions[i];
        struct memory *const memory = codes->memory;
        const struct layout *const layout = codes->layout;
        remote_addr function, type, code;
        if (dict_find_global(memory, layout, interp, known->module, known->function,
                             &function) ||
            memory_read_u64(memory, function + layout->object_type, &type) ||
            !object_type_is(memory, layout, type, "function") ||
            memory_read_u64(memory,
                            function + object_first_field(layout) + CODE_AFTER_FIRST_FIELD,
                            &code) ||
            code_load(codes, code, 0, &id))
            continue;
        if (code_bytecode_read(codes->memory, codes->layout, code_at(codes, id), opcodes, true,
                               &room, &bytecode))
            continue;

        found++;
        lacks_needed =
            lacks_needed || (!functions[i].lacks && !has_opcode(&bytecode, functions[i].has));
        agreeing += agrees_with(codes, &functions[i], code_at(codes, id), &bytecode);
    }
    code_bytecode_deinit(&room);
    if (found < LEAST_FUNCTIONS)
        return VALUE_UNKNOWN;
    /* A debugger or a coverage tool may have replaced some of the instructions. */
    return 4 * agreeing >= 3 * found && !lacks_needed ? VALUE_YES : VALUE_NO;
}
