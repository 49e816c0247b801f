/*
 * dynamic_symbols - the symbols that a loaded file exports, read from the memory of its process.
 *
 * The dynamic linker finds symbols in tables that are mapped with the file, so no file has to be opened.  The hash table
 * says in a few reads whether there is a symbol of some name.  All of it is the target's: what is damaged has no symbols.
 *
 * Ownership: the caller's storage; holds nothing.
 * Threads: none.
 * Limits: DYNAMIC_SYMBOLS_MAX_* below; names are at most DYNAMIC_SYMBOLS_MAX_NAME - 1 bytes.  Files with the older hash
 * table alone (DT_HASH) have no symbols here.
 * Source: the ELF specification (gABI), and glibc's elf/dl-lookup.c for DT_GNU_HASH.
 */
#ifndef SAMPLER_PROCESS_DYNAMIC_SYMBOLS_H
#define SAMPLER_PROCESS_DYNAMIC_SYMBOLS_H

#include <elf.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/memory.h"

enum {
    DYNAMIC_SYMBOLS_MAX_SEGMENTS = 64,
    DYNAMIC_SYMBOLS_MAX_ENTRIES = 128, /* of the dynamic section; linkers make about 30 */
    DYNAMIC_SYMBOLS_MAX_CHAIN = 64, /* symbols that share a bucket; linkers make one to ten */
    DYNAMIC_SYMBOLS_MAX_NAME = 64,
};

struct dynamic_symbols {
    remote_addr bias; /* what to add to an address as linked */
    remote_addr symbols, names, hash;
    uint64_t names_bytes;
};

/* dynamic: the address of the dynamic section.  ERR_CORRUPT: it has no such tables. */
MUST_CHECK enum err_code dynamic_symbols_open(struct memory *memory, remote_addr dynamic,
                                              remote_addr bias, struct dynamic_symbols *out);
/* Opens the symbols of the file whose first page is at `start`. */
MUST_CHECK enum err_code dynamic_symbols_open_file(struct memory *memory, remote_addr start,
                                                   struct dynamic_symbols *out);

/* ERR_NOT_FOUND: the file does not define it. */
MUST_CHECK enum err_code dynamic_symbols_find(struct memory *memory,
                                              const struct dynamic_symbols *symbols,
                                              const char *name, Elf64_Sym *out);

#endif /* SAMPLER_PROCESS_DYNAMIC_SYMBOLS_H */
