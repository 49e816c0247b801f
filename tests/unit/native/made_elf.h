/* made_elf - ELF files in memory, made of sections and symbols. */
#ifndef TESTS_UNIT_NATIVE_MADE_ELF_H
#define TESTS_UNIT_NATIVE_MADE_ELF_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

struct made_section {
    const char *name;
    Elf64_Shdr header; /* its offset and, if 0, its size are filled in */
    const void *data;
    size_t bytes;
};

struct made_symbol {
    const char *name;
    uint64_t vaddr, bytes;
    uint8_t type, binding;
    uint16_t section;
};

enum { MADE_MAX_SECTIONS = 128, MADE_MAX_BYTES = 1 << 20 };

struct made_elf {
    size_t count;
    struct made_section sections[MADE_MAX_SECTIONS]; /* the one at 0 is empty */
    unsigned char *bytes;                            /* of tables; made_elf_end frees them */
    size_t used;
};

void made_elf_begin(struct made_elf *made);
void made_elf_end(struct made_elf *made);
/* Returns the index. */
uint16_t made_elf_add(struct made_elf *made, struct made_section section);
/* Code at an address, of a size that the file does not hold. */
uint16_t made_elf_add_code(struct made_elf *made, const char *name, uint64_t vaddr,
                           uint64_t bytes);
/* A table of symbols and the table of their names behind it. */
uint16_t made_elf_add_symbols(struct made_elf *made, uint32_t type,
                              const struct made_symbol *symbols, size_t count);
void made_elf_add_build_id(struct made_elf *made, const unsigned char *id, size_t bytes);
void made_elf_add_link(struct made_elf *made, const char *name, uint32_t crc);
/* The file; the caller frees it. */
unsigned char *made_elf_write(const struct made_elf *made, size_t *bytes_out);
/* The file as a descriptor. */
int made_elf_open(const struct made_elf *made);

#endif /* TESTS_UNIT_NATIVE_MADE_ELF_H */
