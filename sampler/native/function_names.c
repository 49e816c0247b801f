#include "sampler/native/function_names.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)DEMANGLE_MAX_NAME < (int)FUNCTION_NAME_BYTES, "a name of C++ fits too");

struct function_names {
    struct symbols *symbols;
    struct python_names python;
};

enum err_code function_names_load(struct elf *elf, const struct debug_file_place *place,
                                  struct deadline deadline, struct function_names **out,
                                  struct err *err)
{
    struct function_names *const names = calloc(1, sizeof *names);
    if (!names)
        return err_nomem(err);
    const struct symbols_options options = {
        .place = place, .deadline = deadline, .take = python_names_note, .to = &names->python
    };
    const enum err_code rc = symbols_load(elf, &options, &names->symbols, err);
    if (rc) {
        function_names_destroy(names);
        return rc;
    }
    python_names_close(&names->python, symbols_are_complete(names->symbols));
    *out = names;
    return ERR_OK;
}

void function_names_destroy(struct function_names *names)
{
    if (!names)
        return;
    symbols_destroy(names->symbols);
    python_names_deinit(&names->python);
    free(names);
}

bool function_names_find(const struct function_names *names, uint64_t vaddr, struct symbol *out)
{
    return symbols_find(names->symbols, vaddr, out);
}

void function_names_read(const struct function_names *names, uint32_t id,
                         struct function_name *out)
{
    static const enum function_language languages[] = { [DEMANGLED_NONE] = FUNCTION_PLAIN,
                                                        [DEMANGLED_CPP] = FUNCTION_CPP,
                                                        [DEMANGLED_RUST] = FUNCTION_RUST };
    char symbol[SYMBOL_NAME_BYTES];
    struct python_name python;
    *out = (struct function_name){ 0 };
    (void)symbols_name(names->symbols, id, symbol);
    if (python_names_decode(&names->python, symbol, &python)) {
        out->language = python.compiler == COMPILER_MYPYC ? FUNCTION_MYPYC : FUNCTION_CYTHON;
        out->is_wrapper = python.is_wrapper;
        out->module_bytes = python.module_bytes;
        memcpy(out->text, python.text, sizeof out->text);
        return;
    }
    out->language = languages[demangle(symbol, out->text)];
}

bool function_names_are_complete(const struct function_names *names)
{
    return symbols_are_complete(names->symbols);
}

size_t function_names_bytes(const struct function_names *names)
{
    return sizeof *names + symbols_bytes(names->symbols) + python_names_bytes(&names->python);
}
