/*
 * plt - names the stubs of a procedure linkage table: `NAME@plt`.
 *
 * A stub is named only if its code loads a slot that the table of relocations assigns to a symbol.
 *
 * Threads: any.
 * Limits: PLT_MAX_STUBS stubs and relocations; the deadline of the elf.
 */
#ifndef SAMPLER_NATIVE_PLT_H
#define SAMPLER_NATIVE_PLT_H

#include "sampler/base/err.h"
#include "sampler/native/symbol_list.h"

struct elf;

enum { PLT_MAX_STUBS = 1 << 14 };

/* ERR_NOMEM. */
MUST_CHECK enum err_code plt_add_stubs(struct symbol_list *list, struct elf *elf);

#endif /* SAMPLER_NATIVE_PLT_H */
