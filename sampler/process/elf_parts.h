/*
 * elf_parts - shared by the files of elf: elf.c reads headers, sections and segments, elf_symbols.c finds
 * symbols, elf_tables.c goes through tables.
 */
#ifndef SAMPLER_PROCESS_ELF_PARTS_H
#define SAMPLER_PROCESS_ELF_PARTS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"
#include "sampler/process/elf.h"

struct elf {
    int fd;                     /* -1: the file is in memory */
    const unsigned char *bytes; /* the file in memory */
    uint64_t size;
    struct deadline deadline;
    bool is_unfinished;
    Elf64_Shdr *sections;
    size_t section_count;
    char *section_names; /* ends with a NUL; NULL: none */
    size_t name_bytes;   /* without the NUL */
    Elf64_Phdr *segments;
    size_t segment_count;
    bool has_decompressed; /* decompression of .gnu_debugdata was tried */
    unsigned char *decompressed;
    struct elf *inner; /* the decompressed file; NULL: none */
};

/* A part of the file, cut off at the end of the file. */
struct range {
    uint64_t begin, end;
};

struct range elf_range(const struct elf *elf, uint64_t offset, uint64_t bytes,
                       uint64_t max_bytes);
/* false: the file does not have that many bytes there. */
bool elf_read(const struct elf *elf, uint64_t offset, void *buffer, size_t bytes);
/* A table of the file.  NULL: the file does not hold all of it, or it is larger than max. */
void *elf_read_table(const struct elf *elf, uint64_t offset, uint64_t count, uint64_t max,
                     size_t item_bytes);
/* The offset of the next byte that is on the disk.  A hostile file may have huge holes, and holes
 * hold no names. */
uint64_t elf_skip_hole(const struct elf *elf, uint64_t offset, uint64_t end);
/* NULL: no section has that name. */
const Elf64_Shdr *elf_section(const struct elf *elf, const char *name);
/* `where`: the file, without what is read from it. */
MUST_CHECK enum err_code elf_open_any(const struct elf *where, struct elf **out,
                                      struct err *err);

#endif /* SAMPLER_PROCESS_ELF_PARTS_H */
