/*
 * elf - where sections and symbols of a file are.
 *
 * The file may be made to harm its reader, and may change while it is read.  It is read with pread,
 * never mapped; of its tables as much is in memory as the limits say, and parts of them that are
 * holes of a sparse file are passed over.
 *
 * Ownership: elf_open makes, elf_close frees; the descriptor stays the caller's and must
 * outlive the handle.
 * Limits: ELF_MAX_*; what a table has beyond them is not looked at, nor is what has not been read by
 * the deadline: elf_is_unfinished.  A file takes about 3 MiB of memory at most, and one with packed
 * symbols those that ELF_MAX_PACKED_BYTES, ELF_MAX_UNPACKED_BYTES and their decoder need on top.
 * Depends on: err, deadline, unxz.
 */
#ifndef SAMPLER_PROCESS_ELF_H
#define SAMPLER_PROCESS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"

struct elf;

enum {
    ELF_MAX_SECTIONS = 1 << 14, /* linked files have some dozens */
    ELF_MAX_SEGMENTS = 1 << 10,
    ELF_MAX_SECTION_NAME_BYTES = 1 << 20, /* of all of them */
    ELF_MAX_TABLES = 2,                   /* of symbols, of each kind */
    ELF_MAX_SYMBOLS = 1 << 26,       /* in a table; a debug build of Chromium has 1 << 23 */
    ELF_MAX_PACKED_BYTES = 16 << 20, /* .gnu_debugdata: names of functions and little else */
    ELF_MAX_UNPACKED_BYTES = 64 << 20,
};

struct elf_place {
    uint64_t vaddr; /* as linked */
    uint64_t bytes;
};

/* ERR_INVALID: not an ELF file of this machine's word size and byte order. */
MUST_CHECK enum err_code elf_open(int fd, struct deadline deadline, struct elf **out,
                                  struct err *err);
void elf_close(struct elf *elf);

bool elf_find_section(const struct elf *elf, const char *name, struct elf_place *out);
/* Has it a table of all its symbols, and not only of those that others link with? */
bool elf_has_symbols(const struct elf *elf);
/* In .dynsym, then .symtab, then in those packed as .gnu_debugdata. */
bool elf_find_symbol(struct elf *elf, const char *name, struct elf_place *out);
/* The deadline came before all had been read: what was not found may be there. */
bool elf_is_unfinished(const struct elf *elf);

/* What to add to a vaddr of the file, told by the lowest mapping of the file in a process, which
 * begins at `start` and holds the file from file_offset (a multiple of the page size) on.  Of
 * another mapping it may not be asked: two segments may begin in the same page of the file, each
 * with a bias of its own as far as an offset can tell, and only of the lowest mapping it is clear
 * which of them it is.  false: no segment holds that page, or the lowest mapping is not the lowest
 * segment's (that has been unmapped) and more than one segment holds the page. */
bool elf_load_bias(const struct elf *elf, uint64_t start, uint64_t file_offset,
                   uint64_t *bias_out);

#endif /* SAMPLER_PROCESS_ELF_H */
