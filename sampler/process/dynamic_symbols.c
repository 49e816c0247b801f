#include "sampler/process/dynamic_symbols.h"

#include <stdbool.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

/* The C library adds the bias to the addresses in most dynamic sections, but not in those that cannot be written. */
static remote_addr place_in_memory(uint64_t value, remote_addr bias)
{
    return value < bias ? value + bias : value;
}

enum err_code dynamic_symbols_open(struct memory *memory, remote_addr dynamic, remote_addr bias,
                                   struct dynamic_symbols *out)
{
    enum { STEP = 16 };
    *out = (struct dynamic_symbols){ .bias = bias };
    for (size_t done = 0; done < DYNAMIC_SYMBOLS_MAX_ENTRIES; done += STEP) {
        Elf64_Dyn entries[STEP] = { { .d_tag = DT_NULL } };
        const struct memory_span span = { dynamic + done * sizeof *entries, entries,
                                          sizeof entries };
        size_t arrived, at = 0;
        const enum err_code rc = memory_readv(memory, &span, 1, &arrived);
        /* A section may end right before memory that is not mapped. */
        if (rc && arrived < sizeof *entries)
            return rc;
        for (; at < arrived / sizeof *entries && entries[at].d_tag != DT_NULL; at++) {
            const uint64_t value = entries[at].d_un.d_val;
            switch (entries[at].d_tag) {
            case DT_SYMTAB: out->symbols = place_in_memory(value, bias); break;
            case DT_STRTAB: out->names = place_in_memory(value, bias); break;
            case DT_STRSZ: out->names_bytes = value; break;
            case DT_GNU_HASH: out->hash = place_in_memory(value, bias); break;
            default: break;
            }
        }
        if (at < STEP)
            break;
    }
    return out->symbols && out->names && out->hash ? ERR_OK : ERR_CORRUPT;
}

enum err_code dynamic_symbols_open_file(struct memory *memory, remote_addr start,
                                        struct dynamic_symbols *out)
{
    Elf64_Ehdr header;
    Elf64_Phdr segments[DYNAMIC_SYMBOLS_MAX_SEGMENTS];
    const Elf64_Phdr *dynamic = NULL, *first = NULL;
    enum err_code rc = memory_read(memory, start, &header, sizeof header);
    if (rc)
        return rc;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof *segments ||
        header.e_phnum > DYNAMIC_SYMBOLS_MAX_SEGMENTS || header.e_phnum == 0 ||
        header.e_phoff >= PAGE_BYTES)
        return ERR_CORRUPT;
    rc = memory_read(memory, start + header.e_phoff, segments,
                     header.e_phnum * sizeof *segments);
    if (rc)
        return rc;
    for (size_t i = 0; i < header.e_phnum; i++) {
        if (segments[i].p_type == PT_DYNAMIC)
            dynamic = &segments[i];
        if (segments[i].p_type == PT_LOAD && segments[i].p_offset < PAGE_BYTES && !first)
            first = &segments[i];
    }
    if (!dynamic || !first)
        return ERR_CORRUPT;
    const remote_addr bias = start - (first->p_vaddr - first->p_offset);
    return dynamic_symbols_open(memory, dynamic->p_vaddr + bias, bias, out);
}

static enum err_code read_u32(struct memory *memory, remote_addr addr, uint32_t *out)
{
    return memory_read(memory, addr, out, sizeof *out);
}

/* Is the symbol of this name, and defined? */
static enum err_code check_symbol(struct memory *memory, const struct dynamic_symbols *symbols,
                                  uint32_t index, const char *name, Elf64_Sym *out)
{
    char text[DYNAMIC_SYMBOLS_MAX_NAME];
    const size_t bytes = strlen(name) + 1;
    Elf64_Sym symbol;
    enum err_code rc =
        memory_read(memory, symbols->symbols + index * sizeof symbol, &symbol, sizeof symbol);
    if (rc)
        return rc;
    if (symbol.st_shndx == SHN_UNDEF || bytes > sizeof text || bytes > symbols->names_bytes ||
        symbol.st_name > symbols->names_bytes - bytes)
        return ERR_NOT_FOUND;
    rc = memory_read(memory, symbols->names + symbol.st_name, text, bytes);
    if (rc)
        return rc;
    if (memcmp(text, name, bytes) != 0)
        return ERR_NOT_FOUND;
    *out = symbol;
    return ERR_OK;
}

/* The header of DT_GNU_HASH.  Behind it are a filter of 64-bit words, the first symbol of each bucket, and the hashes of
 * the symbols from first_symbol on; the lowest bit of a hash is set in the last one of a bucket. */
struct hash_table {
    uint32_t buckets, first_symbol, filter_words, shift;
};

enum err_code dynamic_symbols_find(struct memory *memory, const struct dynamic_symbols *symbols,
                                   const char *name, Elf64_Sym *out)
{
    enum { WORD_BITS = 64, FIRST = 5381, FACTOR = 33 };
    struct hash_table table;
    uint64_t filter;
    uint32_t hash = FIRST;
    for (const char *at = name; *at; at++)
        hash = hash * FACTOR + (unsigned char)*at;
    enum err_code rc = memory_read(memory, symbols->hash, &table, sizeof table);
    if (rc)
        return rc;
    if (!table.buckets || !table.filter_words || table.shift >= WORD_BITS / 2)
        return ERR_CORRUPT;
    const remote_addr filters = symbols->hash + sizeof table;
    rc = memory_read_u64(
        memory, filters + sizeof filter * (uint64_t)(hash / WORD_BITS % table.filter_words),
        &filter);
    if (rc)
        return rc;
    if (!(filter >> hash % WORD_BITS & filter >> (hash >> table.shift) % WORD_BITS & 1))
        return ERR_NOT_FOUND;
    const remote_addr buckets = filters + sizeof filter * (uint64_t)table.filter_words;
    const remote_addr hashes = buckets + sizeof(uint32_t) * (uint64_t)table.buckets;
    uint32_t index, found = 0;
    rc = read_u32(memory, buckets + sizeof index * (uint64_t)(hash % table.buckets), &index);
    if (rc)
        return rc;
    if (index < table.first_symbol)
        return ERR_NOT_FOUND;
    for (size_t i = 0; i < DYNAMIC_SYMBOLS_MAX_CHAIN && !(found & 1); i++, index++) {
        rc = read_u32(memory, hashes + sizeof found * (uint64_t)(index - table.first_symbol),
                      &found);
        if (!rc)
            rc = (found | 1) == (hash | 1) ? check_symbol(memory, symbols, index, name, out)
                                           : ERR_NOT_FOUND;
        if (rc != ERR_NOT_FOUND)
            return rc;
    }
    return ERR_NOT_FOUND;
}
