/*
 * elf - where sections and symbols of a file are.  The only place that sees libelf.
 *
 * Ownership: elf_open makes, elf_close frees; the descriptor stays the caller's and must
 * outlive the handle.
 * Depends on: err.
 */
#ifndef SAMPLER_TARGET_ELF_H
#define SAMPLER_TARGET_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct elf;

struct elf_place {
    uint64_t vaddr; /* as linked */
    uint64_t bytes;
};

/* ERR_INVALID: not an ELF file of this machine's word size. */
MUST_CHECK enum err_code elf_open(int fd, struct elf **out, struct err *err);
void elf_close(struct elf *elf);

bool elf_find_section(struct elf *elf, const char *name, struct elf_place *out);
/* Has it a table of all its symbols, and not only of those that others link with? */
bool elf_has_symbols(struct elf *elf);
/* In .dynsym, then .symtab, then in those packed as .gnu_debugdata. */
bool elf_find_symbol(struct elf *elf, const char *name, struct elf_place *out);

/* What to add to a vaddr of the file, told by the lowest mapping of the file in a process, which
 * begins at `start` and holds the file from file_offset (a multiple of the page size) on.  Of
 * another mapping it may not be asked: two segments may begin in the same page of the file, each
 * with a bias of its own as far as an offset can tell, and only of the lowest mapping it is clear
 * which of them it is.  false: no segment holds that page, or the lowest mapping is not the lowest
 * segment's (that has been unmapped) and more than one segment holds the page. */
bool elf_load_bias(struct elf *elf, uint64_t start, uint64_t file_offset, uint64_t *bias_out);

#endif /* SAMPLER_TARGET_ELF_H */
