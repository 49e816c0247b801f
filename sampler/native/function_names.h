/*
 * function_names - the function at an address of one ELF file, as its author wrote it.
 *
 * Puts symbols, demangle and python_names together.  Addresses are those of the file as linked, as in
 * symbols.h.
 *
 * Ownership: function_names_load allocates, function_names_destroy frees; the elf and its descriptor may
 * be closed after function_names_load.
 * Threads: loading reads files and may take long; any number of threads may read loaded names, with
 * DEMANGLE_STACK_BYTES of stack.
 * Limits: those of symbols, demangle and python_names.
 */
#ifndef SAMPLER_NATIVE_FUNCTION_NAMES_H
#define SAMPLER_NATIVE_FUNCTION_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/native/demangle.h"
#include "sampler/native/python_names.h"
#include "sampler/native/symbols.h"

struct function_names;

enum { FUNCTION_NAME_BYTES = PYTHON_NAME_BYTES };

enum function_language {
    FUNCTION_PLAIN, /* C, assembly, or another language whose names are not mangled */
    FUNCTION_CPP,
    FUNCTION_RUST,
    FUNCTION_MYPYC,
    FUNCTION_CYTHON
};

struct function_name {
    enum function_language language;
    bool is_wrapper;       /* mypyc, Cython: another function of this name does the work */
    uint32_t module_bytes; /* mypyc, Cython: length of the module in the text; 0: unknown */
    char text[FUNCTION_NAME_BYTES];
};

MUST_CHECK enum err_code function_names_load(struct elf *elf,
                                             const struct debug_file_place *place,
                                             struct deadline deadline,
                                             struct function_names **out, struct err *err);
void function_names_destroy(struct function_names *names);

/* All addresses of a function give the same symbol: keep the name by its id. */
bool function_names_find(const struct function_names *names, uint64_t vaddr,
                         struct symbol *out);
/* Takes about 30 us. */
void function_names_read(const struct function_names *names, uint32_t id,
                         struct function_name *out);
/* false: a limit or a deadline left functions out. */
bool function_names_are_complete(const struct function_names *names);
/* Bytes of memory. */
size_t function_names_bytes(const struct function_names *names);

#endif /* SAMPLER_NATIVE_FUNCTION_NAMES_H */
