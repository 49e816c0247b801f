/*
 * elf - finds the sections and symbols of an ELF file.
 *
 * The file may be hostile, and may change while it is read.  So this module reads it with pread and
 * never maps it.  The limits bound how much of a table is in memory, and holes of a sparse file are
 * skipped.
 *
 * Ownership: elf_open allocates, elf_close frees; the descriptor stays the caller's and must
 * outlive the handle.
 * Limits: ELF_MAX_*; entries of a table beyond them are ignored.  The search ends at the deadline:
 * elf_is_unfinished.  A file takes at most about 3 MiB of memory; one with compressed symbols takes
 * ELF_MAX_COMPRESSED_BYTES, ELF_MAX_DECOMPRESSED_BYTES and the decoder's memory on top.
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
    ELF_MAX_SECTIONS = 1 << 14, /* a linked file has dozens */
    ELF_MAX_SEGMENTS = 1 << 10,
    ELF_MAX_SECTION_NAME_BYTES = 1 << 20, /* of all names together */
    ELF_MAX_TABLES = 2,                   /* symbol tables of each kind */
    ELF_MAX_SYMBOLS = 1 << 26, /* in a table; a debug build of Chromium has 1 << 23 */
    ELF_MAX_COMPRESSED_BYTES =
        16 << 20, /* .gnu_debugdata, which holds little but function names */
    ELF_MAX_DECOMPRESSED_BYTES = 64 << 20,
};

struct elf_place {
    uint64_t vaddr; /* as linked */
    uint64_t bytes;
};

/* ERR_INVALID: not an ELF file with this machine's word size and byte order. */
MUST_CHECK enum err_code elf_open(int fd, struct deadline deadline, struct elf **out,
                                  struct err *err);
void elf_close(struct elf *elf);

bool elf_find_section(const struct elf *elf, const char *name, struct elf_place *out);
/* Does the file have .symtab, the table of all symbols?  .dynsym holds the exported ones only. */
bool elf_has_symbols(const struct elf *elf);
/* Searches .dynsym, then .symtab, then the compressed symbols of .gnu_debugdata. */
bool elf_find_symbol(struct elf *elf, const char *name, struct elf_place *out);
/* true: the deadline ended a search, so the file may hold what was not found. */
bool elf_is_unfinished(const struct elf *elf);

/* The load bias: what to add to a vaddr of the file.  `start` and file_offset (a multiple of the
 * page size) are those of the file's LOWEST mapping in a process.  Other mappings do not serve: two
 * segments may begin in the same page of the file, and the offset alone does not say which of them a
 * mapping shows.  false: no segment holds that page; or the lowest segment has been unmapped, and
 * several segments with different biases hold the page. */
bool elf_load_bias(const struct elf *elf, uint64_t start, uint64_t file_offset,
                   uint64_t *bias_out);

#endif /* SAMPLER_PROCESS_ELF_H */
