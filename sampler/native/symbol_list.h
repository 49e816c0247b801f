/*
 * symbol_list - the function symbols of an ELF file while they are gathered; `symbols` keeps what
 * remains of them.
 *
 * Ownership: the caller's storage; a zeroed struct is an empty list.
 * Threads: one.
 * Limits: SYMBOL_LIST_MAX symbols, those of name_store, the deadline of the elf.
 */
#ifndef SAMPLER_NATIVE_SYMBOL_LIST_H
#define SAMPLER_NATIVE_SYMBOL_LIST_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/native/name_store.h"

struct elf;

enum { SYMBOL_LIST_MAX = 1 << 21 };

/* A function, or code without a type. */
struct listed_symbol {
    uint64_t start, end; /* as linked */
    uint32_t name;       /* an id of the store */
    uint8_t rank;        /* of several at one address, the highest is shown */
    bool has_size;       /* false: end is that of its section */
};

/* Takes each name once or more often.  Names are not demangled; they end with a NUL. */
typedef void symbol_list_take_name(void *to, const char *name, size_t length);

struct symbol_list {
    struct listed_symbol *items;
    size_t count, room;
    struct name_store names;
    symbol_list_take_name *take; /* NULL: nobody takes names */
    void *to;
    bool is_cut;      /* a limit or the end of the file left something out */
    bool is_stripped; /* only exported symbols: other functions may be behind them */
};

void symbol_list_deinit(struct symbol_list *list);
/* Adds what a table of symbols has.  ERR_NOMEM: the list is unusable. */
MUST_CHECK enum err_code symbol_list_add_table(struct symbol_list *list, struct elf *elf,
                                               const Elf64_Shdr *table);
/* Puts the symbols of another list before those of this one; the other is empty then.  If there are too
 * many, those of this list are left out. */
MUST_CHECK enum err_code symbol_list_add_before(struct symbol_list *list,
                                                struct symbol_list *other);
MUST_CHECK enum err_code symbol_list_add(struct symbol_list *list, uint64_t start, uint64_t end,
                                         const char *name);
/* Sorts by address; one symbol remains at each address, and all have an end. */
void symbol_list_finish(struct symbol_list *list);

#endif /* SAMPLER_NATIVE_SYMBOL_LIST_H */
