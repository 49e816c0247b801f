#include "sampler/native/symbols.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "sampler/base/vec.h"
#include "sampler/native/machine/machine.h"
#include "sampler/native/plt.h"
#include "sampler/process/elf.h"
#include "sampler/process/elf_tables.h"

/* A function inside another one is rare, and several of them rarer. */
enum { MAX_NESTED = 16 };
/* So many bytes of the code of a symbol without a size are read. */
enum { UNSIZED_CODE_BYTES = 1 << 12 };

struct entry {
    uint32_t start; /* above the base */
    uint32_t bytes;
    uint32_t name;
};

struct symbols {
    uint64_t base;
    struct entry *entries;
    size_t count;
    struct name_store names;
    bool is_complete;
};

static enum err_code add_table_of_type(struct symbol_list *list, struct elf *elf, uint32_t type)
{
    const Elf64_Shdr *const table = elf_section_of_type(elf, type);
    return table ? symbol_list_add_table(list, elf, table) : ERR_OK;
}

static enum err_code gather_symbols(struct symbol_list *list, struct elf *elf,
                                    const struct symbols_options *options)
{
    struct symbol_list exported = { .take = options->take, .to = options->to };

    /* .dynsym is small and names what matters most, so it is read before a limit can end reading.  A whole .symtab
     * has its names too. */
    enum err_code rc = add_table_of_type(&exported, elf, SHT_DYNSYM);
    if (!rc)
        rc = add_table_of_type(list, elf, SHT_SYMTAB);
    struct elf *debug;
    int fd;
    if (!rc && list->count == 0 && options->place &&
        debug_file_find(elf, options->place, options->deadline, &fd, &debug)) {
        rc = add_table_of_type(list, debug, SHT_SYMTAB);
        elf_close(debug);
        close(fd);
    }
    const bool has_none = list->count == 0;
    if (!rc && (has_none || list->is_cut))
        rc = symbol_list_add_before(list, &exported);
    const size_t exports = list->count;
    if (!rc && has_none) {
        /* Other symbols than those of .dynsym, which the list already has. */
        struct elf *const inner = elf_compressed(elf);
        rc = inner ? add_table_of_type(list, inner, SHT_SYMTAB) : ERR_OK;
    }
    list->is_stripped = has_none && list->count == exports;

    symbol_list_deinit(&exported);
    if (!rc)
        rc = plt_add_stubs(list, elf);
    if (!rc)
        rc = name_store_close(&list->names);
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

/* The code at an address, as far as it is in the file. */
static size_t read_code(const struct elf *elf, uint64_t vaddr,
                        unsigned char code[UNSIZED_CODE_BYTES])
{
    const Elf64_Shdr *section;
    for (size_t i = 0; (section = elf_section_at(elf, i)); i++) {
        const uint64_t skip = vaddr - section->sh_addr;
        if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_EXECINSTR) ||
            vaddr < section->sh_addr || skip >= section->sh_size ||
            section->sh_offset > UINT64_MAX - skip)
            continue;
        const uint64_t left = section->sh_size - skip;
        return elf_read_some(elf, section->sh_offset + skip, code,
                             left < UNSIZED_CODE_BYTES ? (size_t)left : UNSIZED_CODE_BYTES);
    }
    return 0;
}

static enum err_code keep_symbols(struct symbols *symbols, const struct symbol_list *list)
{
    if (!list->count)
        return ERR_OK;
    symbols->entries = malloc(list->count * sizeof *symbols->entries);
    if (!symbols->entries)
        return ERR_NOMEM;
    symbols->base = list->items[0].start;
    for (size_t i = 0; i < list->count; i++) {
        const struct listed_symbol *const item = &list->items[i];
        const uint64_t bytes = item->end - item->start;
        if (item->start - symbols->base > UINT32_MAX)
            break;
        symbols->entries[symbols->count++] = (struct entry){
            .start = (uint32_t)(item->start - symbols->base),
            .bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
            .name = item->name,
        };
    }
    symbols->is_complete = symbols->is_complete && symbols->count == list->count;
    return ERR_OK;
}

enum err_code symbols_load(struct elf *elf, const struct symbols_options *options,
                           struct symbols **out, struct err *err)
{
    struct symbol_list list = { .take = options->take, .to = options->to };
    struct symbols *const symbols = calloc(1, sizeof *symbols);
    enum err_code rc = symbols ? gather_symbols(&list, elf, options) : ERR_NOMEM;
    if (!rc) {
        symbol_list_finish(&list);
        if (list.is_stripped) {
            /* Symbols without a size end where another function may begin. */
            unsigned char code[UNSIZED_CODE_BYTES];
            for (size_t i = 0; i < list.count && elf_has_time(elf); i++) {
                struct listed_symbol *const symbol = &list.items[i];
                const uint64_t reach = symbol->end - symbol->start;
                if (symbol->has_size)
                    continue;
                const size_t bytes = read_code(elf, symbol->start, code);
                const size_t own =
                    machine_own_bytes(code, bytes < reach ? bytes : (size_t)reach);
                if (own < bytes && own < reach)
                    symbol->end = symbol->start + own;
            }
        }
        symbols->is_complete = !list.is_cut && !elf_is_unfinished(elf);
        rc = keep_symbols(symbols, &list);
    }
    if (rc) {
        symbol_list_deinit(&list);
        symbols_destroy(symbols);
        return err_nomem(err);
    }
    symbols->names = list.names;
    list.names = (struct name_store){ 0 };
    symbol_list_deinit(&list);
    *out = symbols;
    return ERR_OK;
}

void symbols_destroy(struct symbols *symbols)
{
    if (!symbols)
        return;
    name_store_deinit(&symbols->names);
    free(symbols->entries);
    free(symbols);
}

struct symbol symbols_at(const struct symbols *symbols, uint32_t id)
{
    const struct entry *const entry = &symbols->entries[id];
    return (struct symbol){ symbols->base + entry->start, entry->bytes, id };
}

bool symbols_find(const struct symbols *symbols, uint64_t vaddr, struct symbol *out)
{
    size_t past;
    if (vaddr < symbols->base || vaddr - symbols->base > UINT32_MAX)
        return false;
    const uint32_t place = (uint32_t)(vaddr - symbols->base);
    LOWER_BOUND(past, symbols->count, symbols->entries[past].start <= place);
    for (size_t i = 0; i < MAX_NESTED && i < past; i++) {
        const struct entry *const entry = &symbols->entries[past - 1 - i];
        if (place - entry->start < entry->bytes) {
            *out = symbols_at(symbols, (uint32_t)(past - 1 - i));
            return true;
        }
    }
    return false;
}

size_t symbols_name(const struct symbols *symbols, uint32_t id, char out[SYMBOL_NAME_BYTES])
{
    return name_store_read(&symbols->names, symbols->entries[id].name, out);
}

size_t symbols_count(const struct symbols *symbols)
{
    return symbols->count;
}

bool symbols_are_complete(const struct symbols *symbols)
{
    return symbols->is_complete;
}

size_t symbols_bytes(const struct symbols *symbols)
{
    return sizeof *symbols + symbols->count * sizeof *symbols->entries +
           name_store_bytes(&symbols->names);
}
