#include "tests/unit/native/made_elf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/test.h"

void made_elf_begin(struct made_elf *made)
{
    *made = (struct made_elf){ .count = 1, .bytes = malloc(MADE_MAX_BYTES) };
    assert_non_null(made->bytes);
}

void made_elf_end(struct made_elf *made)
{
    free(made->bytes);
}

uint16_t made_elf_add(struct made_elf *made, struct made_section section)
{
    assert_true(made->count < MADE_MAX_SECTIONS);
    made->sections[made->count] = section;
    return (uint16_t)made->count++;
}

/* Room for a table, which stays where it is. */
static unsigned char *take_bytes(struct made_elf *made, size_t bytes)
{
    unsigned char *const at = made->bytes + made->used;
    assert_true(bytes <= MADE_MAX_BYTES - made->used);
    memset(at, 0, bytes);
    made->used += (bytes + 7) / 8 * 8;
    return at;
}

uint16_t made_elf_add_code(struct made_elf *made, const char *name, uint64_t vaddr,
                           uint64_t bytes)
{
    return made_elf_add(
        made, (struct made_section){ .name = name,
                                     .header = { .sh_type = SHT_PROGBITS,
                                                 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                                 .sh_addr = vaddr,
                                                 .sh_size = bytes } });
}

uint16_t made_elf_add_symbols(struct made_elf *made, uint32_t type,
                              const struct made_symbol *symbols, size_t count)
{
    size_t names = 1;
    for (size_t i = 0; i < count; i++)
        names += strlen(symbols[i].name) + 1;
    Elf64_Sym *const table = (Elf64_Sym *)(void *)take_bytes(made, (count + 1) * sizeof *table);
    char *const strings = (char *)take_bytes(made, names);
    size_t at = 1;
    for (size_t i = 0; i < count; i++) {
        table[i + 1] = (Elf64_Sym){ .st_name = *symbols[i].name ? (Elf64_Word)at : 0,
                                    .st_info = (unsigned char)ELF64_ST_INFO(symbols[i].binding,
                                                                            symbols[i].type),
                                    .st_shndx = symbols[i].section,
                                    .st_value = symbols[i].vaddr,
                                    .st_size = symbols[i].bytes };
        memcpy(strings + at, symbols[i].name, strlen(symbols[i].name) + 1);
        at += strlen(symbols[i].name) + 1;
    }
    const uint16_t index = made_elf_add(
        made, (struct made_section){ .name = type == SHT_SYMTAB ? ".symtab" : ".dynsym",
                                     .header = { .sh_type = type,
                                                 .sh_link = (Elf64_Word)made->count + 1,
                                                 .sh_entsize = sizeof *table },
                                     .data = table,
                                     .bytes = (count + 1) * sizeof *table });
    made_elf_add(made,
                 (struct made_section){ .name = type == SHT_SYMTAB ? ".strtab" : ".dynstr",
                                        .header = { .sh_type = SHT_STRTAB },
                                        .data = strings,
                                        .bytes = names });
    return index;
}

void made_elf_add_build_id(struct made_elf *made, const unsigned char *id, size_t bytes)
{
    const Elf64_Nhdr note = { 4, (Elf64_Word)bytes, NT_GNU_BUILD_ID };
    unsigned char *const data = take_bytes(made, sizeof note + 4 + (bytes + 3) / 4 * 4);
    memcpy(data, &note, sizeof note);
    memcpy(data + sizeof note, "GNU", 4);
    memcpy(data + sizeof note + 4, id, bytes);
    made_elf_add(made, (struct made_section){ .name = ".note.gnu.build-id",
                                              .header = { .sh_type = SHT_NOTE },
                                              .data = data,
                                              .bytes = sizeof note + 4 + (bytes + 3) / 4 * 4 });
}

void made_elf_add_link(struct made_elf *made, const char *name, uint32_t crc)
{
    const size_t bytes = (strlen(name) + 1 + 3) / 4 * 4;
    unsigned char *const data = take_bytes(made, bytes + sizeof crc);
    memcpy(data, name, strlen(name));
    memcpy(data + bytes, &crc, sizeof crc);
    made_elf_add(made, (struct made_section){ .name = ".gnu_debuglink",
                                              .header = { .sh_type = SHT_PROGBITS },
                                              .data = data,
                                              .bytes = bytes + sizeof crc });
}

unsigned char *made_elf_write(const struct made_elf *made, size_t *bytes_out)
{
    size_t data_bytes = 0;
    for (size_t i = 1; i < made->count; i++)
        data_bytes += made->sections[i].bytes + strlen(made->sections[i].name) + 24;
    const size_t headers_at = (sizeof(Elf64_Ehdr) + data_bytes + 32 + 7) / 8 * 8;
    const size_t bytes = headers_at + (made->count + 1) * sizeof(Elf64_Shdr);
    unsigned char *const file = calloc(1, bytes);
    assert_non_null(file);
    Elf64_Shdr headers[MADE_MAX_SECTIONS + 1] = { { 0 } };
    char names[1024] = "";
    size_t at = sizeof(Elf64_Ehdr), name_at = 1;
    for (size_t i = 1; i < made->count; i++) {
        const struct made_section *const section = &made->sections[i];
        headers[i] = section->header;
        headers[i].sh_offset = at;
        headers[i].sh_size = section->header.sh_size ? section->header.sh_size : section->bytes;
        headers[i].sh_name = (Elf64_Word)name_at;
        strcpy(names + name_at, section->name);
        name_at += strlen(section->name) + 1;
        if (section->bytes)
            memcpy(file + at, section->data, section->bytes);
        at += (section->bytes + 7) / 8 * 8;
    }
    headers[made->count] =
        (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = name_at };
    memcpy(file + at, names, name_at);
    const Elf64_Ehdr header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                             ELFDATA2LSB, EV_CURRENT },
                                .e_type = ET_DYN,
                                .e_version = EV_CURRENT,
                                .e_shoff = headers_at,
                                .e_ehsize = sizeof(Elf64_Ehdr),
                                .e_shentsize = sizeof(Elf64_Shdr),
                                .e_shnum = (Elf64_Half)(made->count + 1),
                                .e_shstrndx = (Elf64_Half)made->count };
    memcpy(file, &header, sizeof header);
    memcpy(file + headers_at, headers, (made->count + 1) * sizeof *headers);
    *bytes_out = bytes;
    return file;
}

int made_elf_open(const struct made_elf *made)
{
    size_t bytes;
    unsigned char *const file = made_elf_write(made, &bytes);
    const int fd = memfd_create("made", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file, bytes), (ssize_t)bytes);
    free(file);
    return fd;
}
