#define _GNU_SOURCE
#include "sampler/process/elf_tables.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/process/elf_parts.h"

/* Read between two checks of the deadline. */
enum { BLOCK_SYMBOLS = 8192, BLOCK_BYTES = BLOCK_SYMBOLS * sizeof(Elf64_Sym) };
/* All notes of a section, and the sections of notes in which the build id is searched. */
enum { MAX_NOTE_BYTES = 4096, MAX_NOTE_SECTIONS = 64 };

bool elf_has_time(struct elf *elf)
{
    elf->is_unfinished = elf->is_unfinished || deadline_is_over(&elf->deadline);
    return !elf->is_unfinished;
}

uint64_t elf_file_bytes(const struct elf *elf)
{
    return elf->size;
}

size_t elf_read_some(const struct elf *elf, uint64_t offset, void *buffer, size_t bytes)
{
    const struct range range = elf_range(elf, offset, bytes, bytes);
    const size_t count = (size_t)(range.end - range.begin);
    return elf_read(elf, range.begin, buffer, count) ? count : 0;
}

const Elf64_Shdr *elf_section_at(const struct elf *elf, size_t index)
{
    return index < elf->section_count ? &elf->sections[index] : NULL;
}

const Elf64_Shdr *elf_section_named(const struct elf *elf, const char *name)
{
    return elf_section(elf, name);
}

const Elf64_Shdr *elf_section_of_type(const struct elf *elf, uint32_t type)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].sh_type == type)
            return &elf->sections[i];
    return NULL;
}

uint64_t elf_skip_hole(const struct elf *elf, uint64_t offset, uint64_t end)
{
    if (elf->fd < 0 || offset >= end)
        return offset;
    const off_t data = lseek(elf->fd, (off_t)offset, SEEK_DATA);
    if (data < 0)
        return errno == ENXIO ? end : offset;
    return (uint64_t)data < end ? (uint64_t)data : end;
}

bool elf_each_symbol(struct elf *elf, const Elf64_Shdr *table, elf_take_symbols *take, void *to)
{
    const size_t size = sizeof(Elf64_Sym);
    if (table->sh_entsize != size || table->sh_type == SHT_NOBITS)
        return false;
    const struct range range =
        elf_range(elf, table->sh_offset, table->sh_size, ELF_MAX_SYMBOLS * (uint64_t)size);
    SCOPED_FREE Elf64_Sym *block = malloc(BLOCK_BYTES);
    uint64_t at = range.begin;
    while (block && range.end - at >= size && elf_has_time(elf)) {
        const uint64_t data = elf_skip_hole(elf, at, range.end);
        at += (data - at) / size * size;
        const uint64_t left = (range.end - at) / size;
        const size_t count = left < BLOCK_SYMBOLS ? (size_t)left : BLOCK_SYMBOLS;
        if (!count)
            return true;
        if (!elf_read(elf, at, block, count * size) || !take(to, block, count))
            return false;
        at += count * size;
    }
    return block && range.end - at < size;
}

/* Notes are aligned to four bytes, wherever they are. */
static size_t aligned(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

static size_t find_build_id(const unsigned char *notes, size_t bytes,
                            unsigned char out[ELF_MAX_BUILD_ID_BYTES])
{
    static const char owner[] = "GNU";
    size_t at = 0;
    for (Elf64_Nhdr note; bytes - at >= sizeof note;) {
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        if (note.n_namesz > bytes - at || aligned(note.n_namesz) > bytes - at)
            return 0;
        const size_t data = at + aligned(note.n_namesz);
        if (note.n_descsz > bytes - data)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof owner &&
            memcmp(notes + at, owner, sizeof owner) == 0 &&
            note.n_descsz <= ELF_MAX_BUILD_ID_BYTES) {
            memcpy(out, notes + data, note.n_descsz);
            return note.n_descsz;
        }
        if (aligned(note.n_descsz) > bytes - data)
            return 0;
        at = data + aligned(note.n_descsz);
    }
    return 0;
}

size_t elf_build_id(const struct elf *elf, unsigned char out[ELF_MAX_BUILD_ID_BYTES])
{
    unsigned char notes[MAX_NOTE_BYTES];
    size_t bytes = 0, tried = 0;
    for (size_t i = 0; i < elf->section_count && bytes == 0; i++) {
        const Elf64_Shdr *const section = &elf->sections[i];
        if (section->sh_type != SHT_NOTE || section->sh_size > sizeof notes)
            continue;
        if (tried++ == MAX_NOTE_SECTIONS)
            break;
        const size_t count =
            elf_read_some(elf, section->sh_offset, notes, (size_t)section->sh_size);
        bytes = find_build_id(notes, count, out);
    }
    return bytes;
}

bool elf_debug_link(const struct elf *elf, char name_out[ELF_MAX_LINK_NAME_BYTES],
                    uint32_t *crc_out)
{
    unsigned char link[ELF_MAX_LINK_NAME_BYTES + sizeof *crc_out];
    const Elf64_Shdr *const section = elf_section(elf, ".gnu_debuglink");
    if (!section || section->sh_type == SHT_NOBITS || section->sh_size > sizeof link)
        return false;
    const size_t bytes = elf_read_some(elf, section->sh_offset, link, (size_t)section->sh_size);
    const size_t name_bytes = strnlen((char *)link, bytes);
    const size_t crc_at = aligned(name_bytes + 1);
    if (name_bytes == 0 || crc_at >= bytes || bytes - crc_at < sizeof *crc_out ||
        name_bytes >= ELF_MAX_LINK_NAME_BYTES || memchr(link, '/', name_bytes))
        return false;
    memcpy(name_out, link, name_bytes + 1);
    memcpy(crc_out, link + crc_at, sizeof *crc_out);
    return true;
}
