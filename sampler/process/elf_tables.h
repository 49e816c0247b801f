/*
 * elf_tables - goes through the symbol tables and sections of an ELF file; its build id, and the file
 * that holds its symbols.
 *
 * What elf.h says of hostile files holds here too.  Tables are read in blocks of bounded size.
 *
 * Ownership: sections are the elf's.
 * Limits: ELF_MAX_SYMBOLS entries of a table; the elf's deadline.
 */
#ifndef SAMPLER_PROCESS_ELF_TABLES_H
#define SAMPLER_PROCESS_ELF_TABLES_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf;

enum { ELF_MAX_BUILD_ID_BYTES = 64, ELF_MAX_LINK_NAME_BYTES = 256 };

/* false: the deadline is over, and the elf is unfinished. */
bool elf_has_time(struct elf *elf);
uint64_t elf_file_bytes(const struct elf *elf);
/* Reads up to `bytes` at an offset into the file; returns how many there are, 0: none, or they cannot
 * be read. */
size_t elf_read_some(const struct elf *elf, uint64_t offset, void *buffer, size_t bytes);

/* NULL: there is none at that index, or none of that name or type. */
const Elf64_Shdr *elf_section_at(const struct elf *elf, size_t index);
const Elf64_Shdr *elf_section_named(const struct elf *elf, const char *name);
const Elf64_Shdr *elf_section_of_type(const struct elf *elf, uint32_t type);

/* Takes a block of symbols; false: no more are wanted. */
typedef bool elf_take_symbols(void *to, const Elf64_Sym *symbols, size_t count);

/* false: the table is no symbol table, could not be read to its end, or `take` returned false. */
bool elf_each_symbol(struct elf *elf, const Elf64_Shdr *table, elf_take_symbols *take,
                     void *to);

/* The file inside .gnu_debugdata; lives as long as elf.  NULL: there is none. */
struct elf *elf_compressed(struct elf *elf);

/* Returns the number of bytes; 0: it has none. */
size_t elf_build_id(const struct elf *elf, unsigned char out[ELF_MAX_BUILD_ID_BYTES]);
/* .gnu_debuglink: the name, without folders, and the CRC-32 of the file with the symbols. */
bool elf_debug_link(const struct elf *elf, char name_out[ELF_MAX_LINK_NAME_BYTES],
                    uint32_t *crc_out);

#endif /* SAMPLER_PROCESS_ELF_TABLES_H */
