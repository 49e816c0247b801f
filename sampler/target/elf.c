#include "sampler/target/elf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gelf.h>
#include <libelf.h>

#include "sampler/base/unxz.h"

/* Tables of symbols that are packed are small: names of functions and little else. */
static const size_t PACKED_MAX_BYTES = 64 << 20;

struct elf {
    Elf *handle;
    size_t string_section;
};

enum err_code elf_open(int fd, struct elf **out, struct err *err)
{
    elf_version(EV_CURRENT);
    Elf *const handle = elf_begin(fd, ELF_C_READ, NULL);
    size_t string_section;
    if (!handle || elf_kind(handle) != ELF_K_ELF || gelf_getclass(handle) != ELFCLASS64 ||
        elf_getshdrstrndx(handle, &string_section)) {
        elf_end(handle);
        return err_set(err, ERR_INVALID, "not a 64-bit ELF file");
    }
    struct elf *const elf = malloc(sizeof *elf);
    if (!elf) {
        elf_end(handle);
        return err_set(err, ERR_NOMEM, "no memory for an ELF file");
    }
    *elf = (struct elf){ handle, string_section };
    *out = elf;
    return ERR_OK;
}

void elf_close(struct elf *elf)
{
    if (!elf)
        return;
    elf_end(elf->handle);
    free(elf);
}

bool elf_find_section(struct elf *elf, const char *name, struct elf_place *out)
{
    for (Elf_Scn *s = elf_nextscn(elf->handle, NULL); s; s = elf_nextscn(elf->handle, s)) {
        GElf_Shdr header;
        if (!gelf_getshdr(s, &header))
            continue;
        const char *const text = elf_strptr(elf->handle, elf->string_section, header.sh_name);
        if (text && strcmp(text, name) == 0) {
            *out = (struct elf_place){ header.sh_addr, header.sh_size };
            return true;
        }
    }
    return false;
}

static bool find_in_table(struct elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                          const char *name, struct elf_place *out)
{
    Elf_Data *const data = elf_getdata(section, NULL);
    if (!data || !header->sh_entsize)
        return false;
    const size_t count = header->sh_size / header->sh_entsize;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
            continue;
        const char *const text = elf_strptr(elf->handle, header->sh_link, symbol.st_name);
        if (text && strcmp(text, name) == 0) {
            *out = (struct elf_place){ symbol.st_value, symbol.st_size };
            return true;
        }
    }
    return false;
}

static bool find_in_tables(struct elf *elf, const char *name, struct elf_place *out)
{
    static const GElf_Word types[] = { SHT_DYNSYM, SHT_SYMTAB };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (Elf_Scn *s = elf_nextscn(elf->handle, NULL); s; s = elf_nextscn(elf->handle, s)) {
            GElf_Shdr header;
            if (gelf_getshdr(s, &header) && header.sh_type == types[t] &&
                find_in_table(elf, s, &header, name, out))
                return true;
        }
    }
    return false;
}

bool elf_has_symbols(struct elf *elf)
{
    for (Elf_Scn *s = elf_nextscn(elf->handle, NULL); s; s = elf_nextscn(elf->handle, s)) {
        GElf_Shdr header;
        if (gelf_getshdr(s, &header) && header.sh_type == SHT_SYMTAB)
            return true;
    }
    return false;
}

static Elf_Data *data_of_section(struct elf *elf, const char *name)
{
    for (Elf_Scn *s = elf_nextscn(elf->handle, NULL); s; s = elf_nextscn(elf->handle, s)) {
        GElf_Shdr header;
        const char *const text =
            gelf_getshdr(s, &header)
                ? elf_strptr(elf->handle, elf->string_section, header.sh_name)
                : NULL;
        if (text && strcmp(text, name) == 0)
            return elf_rawdata(s, NULL);
    }
    return NULL;
}

/* Distributions strip their programs and pack the symbols that are worth keeping into a section:
 * an ELF file as .xz. */
static bool find_in_packed(struct elf *elf, const char *name, struct elf_place *out)
{
    const Elf_Data *const packed = data_of_section(elf, ".gnu_debugdata");
    unsigned char *bytes = NULL;
    size_t count;
    if (!packed || !packed->d_buf ||
        unxz(packed->d_buf, packed->d_size, PACKED_MAX_BYTES, &bytes, &count))
        return false;
    struct elf inner = { elf_memory((char *)bytes, count), 0 };
    const bool found = inner.handle && elf_kind(inner.handle) == ELF_K_ELF &&
                       find_in_tables(&inner, name, out);
    elf_end(inner.handle);
    free(bytes);
    return found;
}

bool elf_find_symbol(struct elf *elf, const char *name, struct elf_place *out)
{
    return find_in_tables(elf, name, out) || find_in_packed(elf, name, out);
}

/* A PT_LOAD as far as pages go. */
struct segment {
    uint64_t vaddr;       /* of the first page */
    uint64_t first, past; /* offsets into the file: the first page, the end of the last */
};

static bool get_segment(struct elf *elf, size_t index, uint64_t page, struct segment *out)
{
    GElf_Phdr header;
    if (!gelf_getphdr(elf->handle, (int)index, &header) || header.p_type != PT_LOAD)
        return false;
    const uint64_t within = header.p_offset & (page - 1);
    *out = (struct segment){ .vaddr = header.p_vaddr - within,
                             .first = header.p_offset - within,
                             .past = header.p_offset + header.p_filesz };
    return header.p_filesz && out->past > out->first;
}

static bool get_lowest_segment(struct elf *elf, size_t count, uint64_t page,
                               struct segment *out)
{
    struct segment segment;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        if (!get_segment(elf, i, page, &segment) || (found && segment.vaddr >= out->vaddr))
            continue;
        *out = segment;
        found = true;
    }
    return found;
}

/* From the segments that hold the page: they must agree. */
static bool bias_of_any(struct elf *elf, size_t count, uint64_t page, uint64_t start,
                        uint64_t file_offset, uint64_t *bias_out)
{
    struct segment segment;
    uint64_t bias = 0;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
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

bool elf_load_bias(struct elf *elf, uint64_t start, uint64_t file_offset, uint64_t *bias_out)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    struct segment lowest;
    size_t count;
    if (elf_getphdrnum(elf->handle, &count) || !get_lowest_segment(elf, count, page, &lowest))
        return false;
    if (file_offset != lowest.first)
        return bias_of_any(elf, count, page, start, file_offset, bias_out);
    *bias_out = start - lowest.vaddr;
    return true;
}
