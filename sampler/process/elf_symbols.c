#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/process/elf_parts.h"
#include "sampler/process/elf_tables.h"
#include "sampler/process/unxz.h"

/* Read between two checks of the deadline. */
enum { BLOCK_BYTES = 192 << 10 };
/* A string table holds a name once, or a few times as the end of longer names. */
enum { PLACES_MAX = 64 };

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
    const struct range range = elf_range(elf, strings->sh_offset, strings->sh_size, UINT32_MAX);
    SCOPED_FREE char *block = malloc(BLOCK_BYTES);
    out->count = 0;
    uint64_t at = elf_skip_hole(elf, range.begin, range.end);
    while (block && range.end - at >= name_bytes && elf_has_time(elf)) {
        const uint64_t left = range.end - at;
        const size_t bytes = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        if (!elf_read(elf, at, block, bytes))
            return;
        note_places(out, block, bytes, at - range.begin, name);
        if (bytes == left || out->count == PLACES_MAX)
            return;
        /* A name may cross the end of a block. */
        at = elf_skip_hole(elf, at + bytes - (name_bytes - 1), range.end);
    }
}

struct search {
    struct places places;
    struct elf_place *out;
    bool found;
};

static bool find_in_block(void *to, const Elf64_Sym *symbols, size_t count)
{
    struct search *const search = to;
    for (size_t i = 0; i < count && !search->found; i++)
        if (symbols[i].st_shndx != SHN_UNDEF && is_place(&search->places, symbols[i].st_name)) {
            *search->out = (struct elf_place){ symbols[i].st_value, symbols[i].st_size };
            search->found = true;
        }
    return !search->found;
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
            const Elf64_Shdr *const table = &elf->sections[i];
            struct search search = { .out = out };
            if (table->sh_link >= elf->section_count || table->sh_entsize != sizeof(Elf64_Sym))
                continue;
            find_places(elf, &elf->sections[table->sh_link], name, &search.places);
            if (search.places.count)
                (void)elf_each_symbol(elf, table, find_in_block, &search);
            if (search.found)
                return true;
        }
    }
    return false;
}

/* Distributions strip their programs and store the most useful symbols in this section, as an
 * xz-compressed ELF file. */
static void decompress(struct elf *elf)
{
    const Elf64_Shdr *const section = elf_section(elf, ".gnu_debugdata");
    size_t bytes = 0;
    elf->has_decompressed = true;
    if (!section || section->sh_type == SHT_NOBITS)
        return;
    const size_t compressed_bytes = (size_t)section->sh_size;
    SCOPED_FREE unsigned char *compressed =
        elf_read_table(elf, section->sh_offset, section->sh_size, ELF_MAX_COMPRESSED_BYTES, 1);
    if (!compressed || unxz(compressed, compressed_bytes, ELF_MAX_DECOMPRESSED_BYTES,
                            &elf->deadline, &elf->decompressed, &bytes))
        return;
    const struct elf inner = { .fd = -1,
                               .bytes = elf->decompressed,
                               .size = bytes,
                               .deadline = elf->deadline,
                               .has_decompressed = true };
    if (elf_open_any(&inner, &elf->inner, NULL))
        elf->inner = NULL;
}

struct elf *elf_compressed(struct elf *elf)
{
    if (!elf->has_decompressed && elf_has_time(elf))
        decompress(elf);
    (void)elf_has_time(elf);
    return elf->inner;
}

bool elf_find_symbol(struct elf *elf, const char *name, struct elf_place *out)
{
    if (find_in_tables(elf, name, out))
        return true;
    struct elf *const inner = elf_compressed(elf);
    const bool is_found = inner && find_in_tables(inner, name, out);
    elf->is_unfinished = elf->is_unfinished || (elf->inner && elf->inner->is_unfinished);
    return is_found;
}
