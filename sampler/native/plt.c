#include "sampler/native/plt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"
#include "sampler/native/machine/machine.h"
#include "sampler/process/elf_tables.h"

enum { MAX_NAME_BYTES = 1024 };

/* The relocations of the table, sorted by the slot that they fill. */
struct slots {
    Elf64_Rela *items;
    size_t count;
    const Elf64_Shdr *symbols, *strings;
};

static int compare_slots(const void *a, const void *b)
{
    const Elf64_Rela *const left = a, *const right = b;
    return (left->r_offset > right->r_offset) - (left->r_offset < right->r_offset);
}

/* A section's bytes, at most max_bytes; NULL: there are none. */
static void *read_section(const struct elf *elf, const Elf64_Shdr *section, size_t max_bytes,
                          size_t *bytes_out)
{
    if (!section || section->sh_type == SHT_NOBITS || section->sh_size == 0)
        return NULL;
    const size_t wanted = section->sh_size < max_bytes ? (size_t)section->sh_size : max_bytes;
    void *const bytes = malloc(wanted);
    if (bytes)
        *bytes_out = elf_read_some(elf, section->sh_offset, bytes, wanted);
    return bytes;
}

static bool read_slots(const struct elf *elf, struct slots *out)
{
    const Elf64_Shdr *const table = elf_section_named(elf, ".rela.plt");
    size_t bytes = 0;
    if (!table || table->sh_type != SHT_RELA || table->sh_entsize != sizeof *out->items)
        return false;
    out->symbols = elf_section_at(elf, table->sh_link);
    out->strings = out->symbols ? elf_section_at(elf, out->symbols->sh_link) : NULL;
    if (!out->strings || out->symbols->sh_entsize != sizeof(Elf64_Sym))
        return false;
    out->items = read_section(elf, table, PLT_MAX_STUBS * sizeof *out->items, &bytes);
    out->count = out->items ? bytes / sizeof *out->items : 0;
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_slots);
    return out->count > 0;
}

/* "NAME@plt" of the symbol whose slot that is. */
static bool name_of(const struct elf *elf, const struct slots *slots, uint64_t slot,
                    char out[MAX_NAME_BYTES])
{
    static const char mark[] = "@plt";
    const size_t room = MAX_NAME_BYTES - sizeof mark;
    Elf64_Sym symbol;
    size_t at;
    LOWER_BOUND(at, slots->count, slots->items[at].r_offset < slot);
    if (at == slots->count || slots->items[at].r_offset != slot)
        return false;
    const uint64_t index = ELF64_R_SYM(slots->items[at].r_info);
    if (index == 0 || index >= slots->symbols->sh_size / sizeof symbol ||
        slots->symbols->sh_offset > UINT64_MAX - index * sizeof symbol ||
        elf_read_some(elf, slots->symbols->sh_offset + index * sizeof symbol, &symbol,
                      sizeof symbol) != sizeof symbol ||
        symbol.st_name == 0 || symbol.st_name >= slots->strings->sh_size ||
        slots->strings->sh_offset > UINT64_MAX - symbol.st_name)
        return false;
    const size_t bytes =
        elf_read_some(elf, slots->strings->sh_offset + symbol.st_name, out, room);
    const size_t length = strnlen(out, bytes);
    if (length == 0 || length == room)
        return false;
    memcpy(out + length, mark, sizeof mark);
    return true;
}

enum err_code plt_add_stubs(struct symbol_list *list, struct elf *elf)
{
    struct slots slots = { 0 };
    const Elf64_Shdr *section = elf_section_named(elf, ".plt.sec");
    size_t bytes = 0;
    enum err_code rc = ERR_OK;
    if (!section)
        section = elf_section_named(elf, ".plt");
    SCOPED_FREE unsigned char *code =
        read_section(elf, section, PLT_MAX_STUBS * (size_t)MACHINE_STUB_BYTES, &bytes);
    if (code && section->sh_addr <= UINT64_MAX - bytes && read_slots(elf, &slots)) {
        for (size_t at = 0; !rc && bytes - at >= MACHINE_STUB_BYTES && elf_has_time(elf);
             at += MACHINE_STUB_ALIGNMENT) {
            const uint64_t vaddr = section->sh_addr + at;
            const uint64_t slot = machine_stub_slot(code + at, vaddr);
            char name[MAX_NAME_BYTES];
            if (slot && name_of(elf, &slots, slot, name))
                rc = symbol_list_add(list, vaddr, vaddr + MACHINE_STUB_BYTES, name);
        }
    }
    free(slots.items);
    return rc;
}
