/*
 * symbols - the function symbols of one ELF file, found by address.
 *
 * They come from .symtab; of a stripped file from the file with its symbols (debug_file), else from .dynsym and
 * the compressed symbols of .gnu_debugdata.  Where a limit cuts .symtab, .dynsym is there too.  Where several
 * symbols have the same address, a function with a size, exported, and with few leading underscores is the one.
 * A symbol without a size ends at the next symbol or at the end of its section, in a stripped file also where another
 * function may begin that makes system calls: that of musl in which threads wait is behind memset.  Stubs of the procedure linkage
 * table are named `NAME@plt` where their code says which symbol they jump to.
 *
 * Addresses are those of the file as linked: subtract the load bias from an address of a process.  Of a
 * return address, ask for the byte before it: the call may be the last instruction of a function.
 *
 * Ownership: symbols_load allocates, symbols_destroy frees; the elf and its descriptor may be closed
 * after symbols_load.
 * Threads: loading reads files and may take long; any number of threads may read loaded symbols.
 * Limits: SYMBOL_LIST_MAX symbols, NAME_STORE_MAX_BYTES of names, the deadlines.  Functions more than
 * 4 GiB above the first are left out.  12 bytes a symbol, and the compressed names.
 */
#ifndef SAMPLER_NATIVE_SYMBOLS_H
#define SAMPLER_NATIVE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"
#include "sampler/native/debug_file.h"
#include "sampler/native/name_store.h"
#include "sampler/native/symbol_list.h"

struct symbols;

enum { SYMBOL_NAME_BYTES = NAME_STORE_MAX_NAME + 1 };

struct symbol {
    uint64_t vaddr, bytes; /* as linked */
    uint32_t id;           /* below symbols_count */
};

struct symbols_options {
    const struct debug_file_place *place; /* NULL: no other file is searched */
    struct deadline deadline;             /* for that file */
    symbol_list_take_name *take;          /* NULL: nobody takes the names of the file */
    void *to;
};

/* ERR_NOMEM.  A file without symbols has zero. */
MUST_CHECK enum err_code symbols_load(struct elf *elf, const struct symbols_options *options,
                                      struct symbols **out, struct err *err);
void symbols_destroy(struct symbols *symbols);

/* The function that holds the address; of nested ones the innermost. */
bool symbols_find(const struct symbols *symbols, uint64_t vaddr, struct symbol *out);
/* The name as in the file.  Returns its length; keep the result, as it takes about 20 us. */
size_t symbols_name(const struct symbols *symbols, uint32_t id, char out[SYMBOL_NAME_BYTES]);
/* By address. */
struct symbol symbols_at(const struct symbols *symbols, uint32_t id);
size_t symbols_count(const struct symbols *symbols);
/* false: a limit or a deadline left symbols out. */
bool symbols_are_complete(const struct symbols *symbols);
/* Bytes of memory. */
size_t symbols_bytes(const struct symbols *symbols);

#endif /* SAMPLER_NATIVE_SYMBOLS_H */
