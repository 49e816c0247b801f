#include "sampler/native/source_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>

struct source_lines {
    Elf *elf;
    Dwarf *dwarf;
};

bool source_lines_are_supported(void)
{
    return true;
}

/* Compilers need not write an index of addresses, nor list every unit there. */
static bool find_unit(Dwarf *dwarf, uint64_t vaddr, Dwarf_Die *out)
{
    Dwarf_Off at = 0, next;
    size_t header_bytes;
    if (dwarf_addrdie(dwarf, vaddr, out))
        return true;
    for (int i = 0; i < SOURCE_LINES_MAX_UNITS; i++, at = next) {
        if (dwarf_nextcu(dwarf, at, &next, &header_bytes, NULL, NULL, NULL) != 0 || next <= at)
            return false;
        if (dwarf_offdie(dwarf, at + header_bytes, out) && dwarf_haspc(out, vaddr) > 0)
            return true;
    }
    return false;
}

/* The buffers of the name and the number. */
struct place {
    char *file;
    size_t room;
    int32_t line;
};

static bool set_place(struct place *out, Dwarf_Die *unit, const char *file, int line)
{
    Dwarf_Attribute attribute;
    const char *folder = NULL;
    if (!file || line <= 0)
        return false;
    if (*file != '/')
        folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    const int length =
        snprintf(out->file, out->room, "%s%s%s", folder ? folder : "", folder ? "/" : "", file);
    out->line = line;
    return length > 0 && (size_t)length < out->room;
}

/* A search for the function that has an address, perhaps in one of its parts. */
struct search {
    Dwarf_Die *unit;
    uint64_t vaddr;
    struct place *out;
    bool is_found;
};

static int take_function(Dwarf_Die *function, void *context)
{
    struct search *const search = context;
    int line = 0;
    if (dwarf_haspc(function, search->vaddr) <= 0)
        return DWARF_CB_OK;
    /* Version 5 numbers files from 0 on, and libdw takes that for none: it is the file of the unit. */
    const char *const file = dwarf_decl_file(function);
    search->is_found =
        dwarf_decl_line(function, &line) == 0 &&
        set_place(search->out, search->unit, file ? file : dwarf_diename(search->unit), line);
    return DWARF_CB_ABORT;
}

struct source_lines *source_lines_open(void *image, size_t bytes)
{
    struct source_lines *const lines = calloc(1, sizeof *lines);
    if (!lines)
        return NULL;
    (void)elf_version(EV_CURRENT);
    lines->elf = elf_memory(image, bytes);
    lines->dwarf = lines->elf ? dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL) : NULL;
    if (lines->dwarf)
        return lines;
    source_lines_close(lines);
    return NULL;
}

void source_lines_close(struct source_lines *lines)
{
    (void)dwarf_end(lines->dwarf);
    (void)elf_end(lines->elf);
    free(lines);
}

enum err_code source_lines_find(struct source_lines *lines, uint64_t vaddr, char *file,
                                size_t room, int32_t *line_out)
{
    struct place place = { file, room, 0 };
    Dwarf_Die unit;
    struct search search = { .unit = &unit, .vaddr = vaddr, .out = &place };
    if (find_unit(lines->dwarf, vaddr, &unit)) {
        (void)dwarf_getfuncs(&unit, take_function, &search, 0);
        /* Assembly has lines, but no functions. */
        Dwarf_Line *const row = search.is_found ? NULL : dwarf_getsrc_die(&unit, vaddr);
        int line = 0;
        if (row && dwarf_lineno(row, &line) == 0)
            search.is_found = set_place(&place, &unit, dwarf_linesrc(row, NULL, NULL), line);
    }
    *line_out = place.line;
    return search.is_found ? ERR_OK : ERR_NOT_FOUND;
}
