#define _GNU_SOURCE
#include "sampler/process/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/read_at.h"
#include "sampler/process/elf_parts.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { OWN_BYTE_ORDER = ELFDATA2LSB };
#else
enum { OWN_BYTE_ORDER = ELFDATA2MSB };
#endif

struct range elf_range(const struct elf *elf, uint64_t offset, uint64_t bytes,
                       uint64_t max_bytes)
{
    if (offset >= elf->size)
        return (struct range){ 0, 0 };
    const uint64_t left = elf->size - offset;
    uint64_t length = bytes < left ? bytes : left;
    length = length < max_bytes ? length : max_bytes;
    return (struct range){ offset, offset + length };
}

bool elf_read(const struct elf *elf, uint64_t offset, void *buffer, size_t bytes)
{
    if (offset > elf->size || bytes > elf->size - offset)
        return false;
    if (elf->fd < 0) {
        memcpy(buffer, elf->bytes + offset, bytes);
        return true;
    }
    return read_at(elf->fd, buffer, bytes, offset);
}

void *elf_read_table(const struct elf *elf, uint64_t offset, uint64_t count, uint64_t max,
                     size_t item_bytes)
{
    if (count == 0 || count > max)
        return NULL;
    void *const table = malloc((size_t)count * item_bytes);
    if (table && elf_read(elf, offset, table, (size_t)count * item_bytes))
        return table;
    free(table);
    return NULL;
}

/* Counts that do not fit into the header are in the first section. */
static void read_sections(struct elf *elf, const Elf64_Ehdr *header)
{
    Elf64_Shdr first;
    if (!header->e_shoff || header->e_shentsize != sizeof first ||
        !elf_read(elf, header->e_shoff, &first, sizeof first))
        return;
    const uint64_t count = header->e_shnum ? header->e_shnum : first.sh_size;
    elf->sections =
        elf_read_table(elf, header->e_shoff, count, ELF_MAX_SECTIONS, sizeof *elf->sections);
    elf->section_count = elf->sections ? (size_t)count : 0;
    const size_t index = header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx;
    if (index >= elf->section_count || elf->sections[index].sh_type == SHT_NOBITS)
        return;
    const Elf64_Shdr *const section = &elf->sections[index];
    const struct range range =
        elf_range(elf, section->sh_offset, section->sh_size, ELF_MAX_SECTION_NAME_BYTES);
    const size_t bytes = (size_t)(range.end - range.begin);
    elf->section_names = malloc(bytes + 1);
    if (!elf->section_names || !elf_read(elf, range.begin, elf->section_names, bytes)) {
        free(elf->section_names);
        elf->section_names = NULL;
        return;
    }
    elf->section_names[bytes] = '\0';
    elf->name_bytes = bytes;
}

enum err_code elf_open_any(const struct elf *where, struct elf **out, struct err *err)
{
    Elf64_Ehdr header;
    struct elf *const elf = malloc(sizeof *elf);
    if (!elf)
        return err_nomem(err);
    *elf = *where;
    if (!elf_read(elf, 0, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != OWN_BYTE_ORDER ||
        header.e_ident[EI_VERSION] != EV_CURRENT) {
        elf_close(elf);
        return err_set(err, ERR_INVALID, "not a 64-bit ELF file");
    }
    read_sections(elf, &header);
    if (header.e_phentsize == sizeof *elf->segments)
        elf->segments = elf_read_table(elf, header.e_phoff, header.e_phnum, ELF_MAX_SEGMENTS,
                                       sizeof *elf->segments);
    elf->segment_count = elf->segments ? header.e_phnum : 0;
    *out = elf;
    return ERR_OK;
}

enum err_code elf_open(int fd, struct deadline deadline, struct elf **out, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) || st.st_size < 0)
        return err_sys(err, errno, "cannot read an ELF file");
    const struct elf file = { .fd = fd, .size = (uint64_t)st.st_size, .deadline = deadline };
    return elf_open_any(&file, out, err);
}

void elf_close(struct elf *elf)
{
    if (!elf)
        return;
    elf_close(elf->inner);
    free(elf->decompressed);
    free(elf->sections);
    free(elf->section_names);
    free(elf->segments);
    free(elf);
}

bool elf_is_unfinished(const struct elf *elf)
{
    return elf->is_unfinished;
}

const Elf64_Shdr *elf_section(const struct elf *elf, const char *name)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].sh_name < elf->name_bytes &&
            strcmp(elf->section_names + elf->sections[i].sh_name, name) == 0)
            return &elf->sections[i];
    return NULL;
}

bool elf_find_section(const struct elf *elf, const char *name, struct elf_place *out)
{
    const Elf64_Shdr *const section = elf_section(elf, name);
    if (section)
        *out = (struct elf_place){ section->sh_addr, section->sh_size };
    return section != NULL;
}

bool elf_has_symbols(const struct elf *elf)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].sh_type == SHT_SYMTAB)
            return true;
    return false;
}

/* A PT_LOAD segment, rounded down to whole pages. */
struct segment {
    uint64_t vaddr;       /* of the first page */
    uint64_t first, past; /* offsets into the file: the first page, the end of the last */
};

static bool get_segment(const struct elf *elf, size_t index, uint64_t page, struct segment *out)
{
    const Elf64_Phdr *const header = &elf->segments[index];
    if (header->p_type != PT_LOAD)
        return false;
    const uint64_t within = header->p_offset & (page - 1);
    *out = (struct segment){ .vaddr = header->p_vaddr - within,
                             .first = header->p_offset - within,
                             .past = header->p_offset + header->p_filesz };
    return header->p_filesz && out->past > out->first;
}

/* The bias that all segments with that page agree on. */
static bool bias_of_any(const struct elf *elf, uint64_t page, uint64_t start,
                        uint64_t file_offset, uint64_t *bias_out)
{
    struct segment segment;
    uint64_t bias = 0;
    bool found = false;
    for (size_t i = 0; i < elf->segment_count; i++) {
        if (!get_segment(elf, i, page, &segment) || file_offset < segment.first ||
            file_offset >= segment.past)
            continue;
        const uint64_t its = start - (file_offset - segment.first) - segment.vaddr;
        if (found && its != bias)
            return false;
        bias = its;
        found = true;
    }
    if (found)
        *bias_out = bias;
    return found;
}

bool elf_load_bias(const struct elf *elf, uint64_t start, uint64_t file_offset,
                   uint64_t *bias_out)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct segment segment, lowest;
    bool found = false;
    for (size_t i = 0; i < elf->segment_count; i++) {
        if (!get_segment(elf, i, page, &segment) || (found && segment.vaddr >= lowest.vaddr))
            continue;
        lowest = segment;
        found = true;
    }
    if (!found)
        return false;
    if (file_offset != lowest.first)
        return bias_of_any(elf, page, start, file_offset, bias_out);
    *bias_out = start - lowest.vaddr;
    return true;
}
