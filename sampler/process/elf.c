#define _GNU_SOURCE
#include "sampler/process/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/process/unxz.h"

/* Read between two checks of the deadline. */
enum { BLOCK_SYMBOLS = 8192, BLOCK_BYTES = BLOCK_SYMBOLS * sizeof(Elf64_Sym) };
/* A string table holds a name once, or a few times as the end of longer names. */
enum { PLACES_MAX = 64 };
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { OWN_BYTE_ORDER = ELFDATA2LSB };
#else
enum { OWN_BYTE_ORDER = ELFDATA2MSB };
#endif

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

static struct range range_of(const struct elf *elf, uint64_t offset, uint64_t bytes,
                             uint64_t max_bytes)
{
    if (offset >= elf->size)
        return (struct range){ 0, 0 };
    const uint64_t left = elf->size - offset;
    uint64_t length = bytes < left ? bytes : left;
    length = length < max_bytes ? length : max_bytes;
    return (struct range){ offset, offset + length };
}

/* false: the file does not have that many bytes there. */
static bool read_at(const struct elf *elf, uint64_t offset, void *buffer, size_t bytes)
{
    if (offset > elf->size || bytes > elf->size - offset)
        return false;
    if (elf->fd < 0) {
        memcpy(buffer, elf->bytes + offset, bytes);
        return true;
    }
    for (size_t done = 0; done < bytes;) {
        const ssize_t n =
            pread(elf->fd, (char *)buffer + done, bytes - done, (off_t)(offset + done));
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* The offset of the next byte that is on the disk.  A hostile file may have huge holes, and holes
 * hold no names. */
static uint64_t skip_hole(const struct elf *elf, uint64_t offset, uint64_t end)
{
    if (elf->fd < 0 || offset >= end)
        return offset;
    const off_t data = lseek(elf->fd, (off_t)offset, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? end : offset;
    return (uint64_t)data < end ? (uint64_t)data : end;
}

static bool has_time(struct elf *elf)
{
    elf->is_unfinished = elf->is_unfinished || deadline_is_over(&elf->deadline);
    return !elf->is_unfinished;
}

/* A table of the file.  NULL: the file does not hold all of it, or it is larger than max. */
static void *read_table(const struct elf *elf, uint64_t offset, uint64_t count, uint64_t max,
                        size_t item_bytes)
{
    if (count == 0 || count > max)
        return NULL;
    void *const table = malloc((size_t)count * item_bytes);
    if (table && read_at(elf, offset, table, (size_t)count * item_bytes))
        return table;
    free(table);
    return NULL;
}

static void read_section_names(struct elf *elf, size_t index)
{
    if (index >= elf->section_count || elf->sections[index].sh_type == SHT_NOBITS)
        return;
    const Elf64_Shdr *const section = &elf->sections[index];
    const struct range range =
        range_of(elf, section->sh_offset, section->sh_size, ELF_MAX_SECTION_NAME_BYTES);
    const size_t bytes = (size_t)(range.end - range.begin);
    elf->section_names = malloc(bytes + 1);
    if (!elf->section_names || !read_at(elf, range.begin, elf->section_names, bytes)) {
        free(elf->section_names);
        elf->section_names = NULL;
        return;
    }
    elf->section_names[bytes] = '\0';
    elf->name_bytes = bytes;
}

/* Counts that do not fit into the header are in the first section. */
static void read_sections(struct elf *elf, const Elf64_Ehdr *header)
{
    Elf64_Shdr first;
    if (!header->e_shoff || header->e_shentsize != sizeof first ||
        !read_at(elf, header->e_shoff, &first, sizeof first))
        return;
    const uint64_t count = header->e_shnum ? header->e_shnum : first.sh_size;
    elf->sections =
        read_table(elf, header->e_shoff, count, ELF_MAX_SECTIONS, sizeof *elf->sections);
    elf->section_count = elf->sections ? (size_t)count : 0;
    read_section_names(elf,
                       header->e_shstrndx == SHN_XINDEX ? first.sh_link : header->e_shstrndx);
}

static bool is_header(const Elf64_Ehdr *header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_ident[EI_DATA] == OWN_BYTE_ORDER &&
           header->e_ident[EI_VERSION] == EV_CURRENT;
}

/* false: not a supported ELF file. */
static bool read_headers(struct elf *elf)
{
    Elf64_Ehdr header;
    if (!read_at(elf, 0, &header, sizeof header) || !is_header(&header))
        return false;
    read_sections(elf, &header);
    if (header.e_phentsize == sizeof *elf->segments)
        elf->segments = read_table(elf, header.e_phoff, header.e_phnum, ELF_MAX_SEGMENTS,
                                   sizeof *elf->segments);
    elf->segment_count = elf->segments ? header.e_phnum : 0;
    return true;
}

static enum err_code open_any(const struct elf *where, struct elf **out, struct err *err)
{
    struct elf *const elf = malloc(sizeof *elf);
    if (!elf)
        return err_nomem(err);
    *elf = *where;
    if (!read_headers(elf)) {
        elf_close(elf);
        return err_set(err, ERR_INVALID, "not a 64-bit ELF file");
    }
    *out = elf;
    return ERR_OK;
}

enum err_code elf_open(int fd, struct deadline deadline, struct elf **out, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) || st.st_size < 0)
        return err_sys(err, errno, "cannot read an ELF file");
    const struct elf file = { .fd = fd, .size = (uint64_t)st.st_size, .deadline = deadline };
    return open_any(&file, out, err);
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

/* NULL: no section has that name. */
static const Elf64_Shdr *section_named(const struct elf *elf, const char *name)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].sh_name < elf->name_bytes &&
            strcmp(elf->section_names + elf->sections[i].sh_name, name) == 0)
            return &elf->sections[i];
    return NULL;
}

bool elf_find_section(const struct elf *elf, const char *name, struct elf_place *out)
{
    const Elf64_Shdr *const section = section_named(elf, name);
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

/* The offsets at which a name begins in a string table. */
struct places {
    uint32_t items[PLACES_MAX];
    size_t count;
};

static bool is_place(const struct places *places, uint32_t at)
{
    for (size_t i = 0; i < places->count; i++)
        if (places->items[i] == at)
            return true;
    return false;
}

static void note_places(struct places *places, const char *block, size_t bytes, uint64_t offset,
                        const char *name)
{
    const size_t name_bytes = strlen(name) + 1;
    const char *const end = block + bytes;
    for (const char *at = block; places->count < PLACES_MAX; at++) {
        at = memmem(at, (size_t)(end - at), name, name_bytes);
        if (!at)
            return;
        const uint32_t place = (uint32_t)(offset + (uint64_t)(at - block));
        if (!is_place(places, place))
            places->items[places->count++] = place;
    }
}

/* Searches the string table first: most files do not hold the name, and strings take fewer bytes
 * than symbols. */
static void find_places(struct elf *elf, const Elf64_Shdr *strings, const char *name,
                        struct places *out)
{
    const size_t name_bytes = strlen(name) + 1;
    const struct range range = range_of(elf, strings->sh_offset, strings->sh_size, UINT32_MAX);
    SCOPED_FREE char *block = malloc(BLOCK_BYTES);
    out->count = 0;
    uint64_t at = skip_hole(elf, range.begin, range.end);
    while (block && range.end - at >= name_bytes && has_time(elf)) {
        const uint64_t left = range.end - at;
        const size_t bytes = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        if (!read_at(elf, at, block, bytes))
            return;
        note_places(out, block, bytes, at - range.begin, name);
        if (bytes == left || out->count == PLACES_MAX)
            return;
        /* A name may cross the end of a block. */
        at = skip_hole(elf, at + bytes - (name_bytes - 1), range.end);
    }
}

static bool find_in_block(const Elf64_Sym *symbols, size_t count, const struct places *places,
                          struct elf_place *out)
{
    for (size_t i = 0; i < count; i++)
        if (symbols[i].st_shndx != SHN_UNDEF && is_place(places, symbols[i].st_name)) {
            *out = (struct elf_place){ symbols[i].st_value, symbols[i].st_size };
            return true;
        }
    return false;
}

static bool find_in_table(struct elf *elf, const Elf64_Shdr *table, const char *name,
                          struct elf_place *out)
{
    struct places places;
    const size_t size = sizeof(Elf64_Sym);
    if (table->sh_link >= elf->section_count || table->sh_entsize != size)
        return false;
    find_places(elf, &elf->sections[table->sh_link], name, &places);
    const struct range range =
        range_of(elf, table->sh_offset, table->sh_size, ELF_MAX_SYMBOLS * (uint64_t)size);
    SCOPED_FREE Elf64_Sym *block = places.count ? malloc(BLOCK_BYTES) : NULL;
    uint64_t at = range.begin;
    while (block && range.end - at >= size && has_time(elf)) {
        const uint64_t data = skip_hole(elf, at, range.end);
        at += (data - at) / size * size;
        const uint64_t left = (range.end - at) / size;
        const size_t count = left < BLOCK_SYMBOLS ? (size_t)left : BLOCK_SYMBOLS;
        if (!count || !read_at(elf, at, block, count * size))
            return false;
        if (find_in_block(block, count, &places, out))
            return true;
        at += count * size;
    }
    return false;
}

static bool find_in_tables(struct elf *elf, const char *name, struct elf_place *out)
{
    static const Elf64_Word types[] = { SHT_DYNSYM, SHT_SYMTAB };
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        int tables = 0;
        for (size_t i = 0; i < elf->section_count && tables < ELF_MAX_TABLES; i++) {
            if (elf->sections[i].sh_type != types[t])
                continue;
            tables++;
            if (find_in_table(elf, &elf->sections[i], name, out))
                return true;
        }
    }
    return false;
}

/* Distributions strip their programs and store the most useful symbols in this section, as an
 * xz-compressed ELF file. */
static void decompress(struct elf *elf)
{
    const Elf64_Shdr *const section = section_named(elf, ".gnu_debugdata");
    size_t bytes = 0;
    elf->has_decompressed = true;
    if (!section || section->sh_type == SHT_NOBITS)
        return;
    const size_t compressed_bytes = (size_t)section->sh_size;
    SCOPED_FREE unsigned char *compressed =
        read_table(elf, section->sh_offset, section->sh_size, ELF_MAX_COMPRESSED_BYTES, 1);
    if (!compressed || unxz(compressed, compressed_bytes, ELF_MAX_DECOMPRESSED_BYTES,
                            &elf->deadline, &elf->decompressed, &bytes))
        return;
    const struct elf inner = { .fd = -1,
                               .bytes = elf->decompressed,
                               .size = bytes,
                               .deadline = elf->deadline,
                               .has_decompressed = true };
    if (open_any(&inner, &elf->inner, NULL))
        elf->inner = NULL;
}

static bool find_in_compressed(struct elf *elf, const char *name, struct elf_place *out)
{
    if (!elf->has_decompressed && has_time(elf))
        decompress(elf);
    (void)has_time(elf);
    const bool found = elf->inner && find_in_tables(elf->inner, name, out);
    elf->is_unfinished = elf->is_unfinished || (elf->inner && elf->inner->is_unfinished);
    return found;
}

bool elf_find_symbol(struct elf *elf, const char *name, struct elf_place *out)
{
    return find_in_tables(elf, name, out) || find_in_compressed(elf, name, out);
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

static bool get_lowest_segment(const struct elf *elf, uint64_t page, struct segment *out)
{
    struct segment segment;
    bool found = false;
    for (size_t i = 0; i < elf->segment_count; i++) {
        if (!get_segment(elf, i, page, &segment) || (found && segment.vaddr >= out->vaddr))
            continue;
        *out = segment;
        found = true;
    }
    return found;
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
    struct segment lowest;
    if (!get_lowest_segment(elf, page, &lowest))
        return false;
    if (file_offset != lowest.first)
        return bias_of_any(elf, page, start, file_offset, bias_out);
    *bias_out = start - lowest.vaddr;
    return true;
}
