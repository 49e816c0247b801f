#include "sampler/native/symbol_list.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"
#include "sampler/process/elf.h"
#include "sampler/process/elf_tables.h"

/* Strings are read in blocks of this size; so many names are taken between two readings of the clock. */
enum { WINDOW_BYTES = 256 << 10, NAMES_OF_STEP = 64 };
/* Parts of a rank; the number of leading underscores is between them. */
enum {
    RANK_FUNCTION = 1 << 7,
    RANK_SIZED = 1 << 6,
    RANK_EXPORTED = 1 << 5,
    RANK_UNDERSCORES = 1 << 1,
    RANK_STRONG = 1 << 0,
    MAX_UNDERSCORES = 15,
};

void symbol_list_deinit(struct symbol_list *list)
{
    free(list->items);
    name_store_deinit(&list->names);
    *list = (struct symbol_list){ 0 };
}

struct gathering {
    struct symbol_list *list;
    struct elf *elf;
    enum err_code rc;
};

/* false: it is no code. */
static bool describe_symbol(const struct elf *elf, const Elf64_Sym *symbol,
                            struct listed_symbol *out)
{
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
        symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= SHN_LORESERVE || !symbol->st_name)
        return false;
    const Elf64_Shdr *const section = elf_section_at(elf, symbol->st_shndx);
    if (!section || !(section->sh_flags & SHF_EXECINSTR) ||
        symbol->st_value < section->sh_addr ||
        symbol->st_value - section->sh_addr >= section->sh_size ||
        section->sh_size > UINT64_MAX - section->sh_addr)
        return false;
    const uint64_t left = section->sh_size - (symbol->st_value - section->sh_addr);
    const bool has_size = symbol->st_size != 0;

    const unsigned binding = ELF64_ST_BIND(symbol->st_info);
    unsigned rank = ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE ? 0 : RANK_FUNCTION;
    rank |= symbol->st_size ? RANK_SIZED : 0;
    rank |= binding == STB_LOCAL ? 0 : RANK_EXPORTED;
    rank |= binding == STB_WEAK ? 0 : RANK_STRONG;
    *out = (struct listed_symbol){
        .start = symbol->st_value,
        .end = symbol->st_value + (has_size && symbol->st_size < left ? symbol->st_size : left),
        .name = symbol->st_name,
        .rank = (uint8_t)rank,
        .has_size = has_size,
    };
    return true;
}

static bool take_block(void *to, const Elf64_Sym *symbols, size_t count)
{
    struct gathering *const gathering = to;
    struct symbol_list *const list = gathering->list;
    for (size_t i = 0; i < count; i++) {
        struct listed_symbol symbol;
        if (!describe_symbol(gathering->elf, &symbols[i], &symbol))
            continue;
        if (list->count == SYMBOL_LIST_MAX)
            return false;
        if (!VEC_RESERVE(list->items, list->room, list->count + 1)) {
            gathering->rc = ERR_NOMEM;
            return false;
        }
        list->items[list->count++] = symbol;
    }
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const struct listed_symbol *const left = a, *const right = b;
    return (left->name > right->name) - (left->name < right->name);
}

/* A part of a table of strings. */
struct window {
    struct elf *elf;
    uint64_t strings_at, string_bytes; /* in the file */
    char *bytes;                       /* WINDOW_BYTES, and room for a NUL */
    uint64_t at;                       /* offset of the first byte in the table */
    size_t count;
};

/* The name at an offset, at most NAME_STORE_MAX_NAME bytes of it; NULL: it cannot be read.  Offsets
 * ascend from call to call. */
static char *name_at(struct window *window, uint32_t offset, size_t *length_out)
{
    if (offset >= window->string_bytes)
        return NULL;
    const uint64_t left = window->string_bytes - offset;
    const size_t wanted = left < NAME_STORE_MAX_NAME ? (size_t)left : NAME_STORE_MAX_NAME;
    if (offset + wanted > window->at + window->count) {
        if (!elf_has_time(window->elf))
            return NULL;
        window->at = offset;
        window->count = elf_read_some(window->elf, window->strings_at + offset, window->bytes,
                                      left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES);
    }
    const size_t skip = (size_t)(offset - window->at);
    if (skip >= window->count)
        return NULL;
    const size_t room = window->count - skip;
    *length_out = strnlen(window->bytes + skip, room < wanted ? room : wanted);
    return window->bytes + skip;
}

/* name: with a NUL at its end.  ERR_NOT_FOUND: it names no function. */
static enum err_code store_name(struct symbol_list *list, struct listed_symbol *symbol,
                                const char *name, size_t length)
{
    /* Labels that assemblers and compilers write for themselves. */
    if (!(symbol->rank & RANK_FUNCTION) && (*name == '$' || strncmp(name, ".L", 2) == 0))
        return ERR_NOT_FOUND;
    const size_t underscores = strspn(name, "_");
    if (underscores < MAX_UNDERSCORES)
        symbol->rank = (uint8_t)(symbol->rank +
                                 RANK_UNDERSCORES * (MAX_UNDERSCORES - (unsigned)underscores));
    const enum err_code rc = name_store_add(&list->names, name, length, &symbol->name);
    if (!rc && list->take)
        list->take(list->to, name, length);
    return rc;
}

/* A name that is cut, or ends with the table, has no NUL in the file. */
static enum err_code end_and_store_name(struct symbol_list *list, struct listed_symbol *symbol,
                                        char *name, size_t length)
{
    const char next = name[length];
    name[length] = '\0';
    const enum err_code rc = store_name(list, symbol, name, length);
    name[length] = next;
    return rc;
}

/* Names the symbols from `first` on, in the order of the strings.  Those without a name go, and those for which there is
 * no time. */
static enum err_code name_all(struct symbol_list *list, size_t first, struct window *window)
{
    size_t kept = first;
    enum err_code rc = ERR_OK;
    if (elf_has_time(window->elf))
        qsort(list->items + first, list->count - first, sizeof *list->items, compare_names);
    for (size_t i = first; i < list->count && rc != ERR_LIMIT; i++) {
        struct listed_symbol symbol = list->items[i];
        size_t length = 0;
        if ((i - first) % NAMES_OF_STEP == 0 && !elf_has_time(window->elf))
            break;
        char *const name = name_at(window, symbol.name, &length);
        rc = name && length ? end_and_store_name(list, &symbol, name, length) : ERR_NOT_FOUND;
        if (rc == ERR_NOMEM)
            return rc;
        if (!rc)
            list->items[kept++] = symbol;
    }
    list->is_cut = list->is_cut || rc == ERR_LIMIT;
    list->count = kept;
    return ERR_OK;
}

enum err_code symbol_list_add_table(struct symbol_list *list, struct elf *elf,
                                    const Elf64_Shdr *table)
{
    struct gathering gathering = { .list = list, .elf = elf };
    const size_t first = list->count;
    const uint64_t file_bytes = elf_file_bytes(elf);
    const Elf64_Shdr *const strings = elf_section_at(elf, table->sh_link);
    if (!strings || strings->sh_type == SHT_NOBITS || strings->sh_offset >= file_bytes)
        return ERR_OK;
    if (!elf_each_symbol(elf, table, take_block, &gathering))
        list->is_cut = true;
    if (gathering.rc || list->count == first)
        return gathering.rc;
    const uint64_t left = file_bytes - strings->sh_offset;
    SCOPED_FREE char *bytes = malloc(WINDOW_BYTES + 1);
    struct window window = { .elf = elf,
                             .strings_at = strings->sh_offset,
                             .string_bytes = strings->sh_size < left ? strings->sh_size : left,
                             .bytes = bytes };
    if (!bytes)
        return ERR_NOMEM;
    const enum err_code rc = name_all(list, first, &window);
    list->is_cut = list->is_cut || elf_is_unfinished(elf);
    return rc;
}

enum err_code symbol_list_add(struct symbol_list *list, uint64_t start, uint64_t end,
                              const char *name)
{
    struct listed_symbol symbol = { .start = start, .end = end, .has_size = true };
    if (list->count == SYMBOL_LIST_MAX || start >= end)
        return ERR_OK;
    if (!VEC_RESERVE(list->items, list->room, list->count + 1))
        return ERR_NOMEM;
    const enum err_code rc = name_store_add(&list->names, name, strlen(name), &symbol.name);
    if (!rc)
        list->items[list->count++] = symbol;
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

enum err_code symbol_list_add_before(struct symbol_list *list, struct symbol_list *other)
{
    uint32_t shift;
    const size_t room = SYMBOL_LIST_MAX - other->count;
    const size_t added = list->count < room ? list->count : room;
    if (!VEC_RESERVE(other->items, other->room, other->count + added) ||
        name_store_append(&other->names, &list->names, &shift))
        return ERR_NOMEM;
    for (size_t i = 0; i < added; i++) {
        other->items[other->count] = list->items[i];
        other->items[other->count++].name += shift;
    }
    free(list->items);
    list->is_cut = list->is_cut || other->is_cut || added < list->count;
    list->items = other->items;
    list->count = other->count;
    list->room = other->room;
    list->names = other->names;
    *other = (struct symbol_list){ 0 };
    return ERR_OK;
}

static int compare_places(const void *a, const void *b)
{
    const struct listed_symbol *const left = a, *const right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    if (left->rank != right->rank)
        return left->rank > right->rank ? -1 : 1;
    return (left->name > right->name) - (left->name < right->name);
}

void symbol_list_finish(struct symbol_list *list)
{
    size_t kept = 0;
    uint64_t covered = 0; /* functions with a size reach up to here */
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_places);
    for (size_t i = 0; i < list->count; i++) {
        const struct listed_symbol symbol = list->items[i];
        struct listed_symbol *const last = kept ? &list->items[kept - 1] : NULL;
        const bool is_function = symbol.rank & RANK_FUNCTION;
        /* A label inside a function is no function. */
        if ((last && last->start == symbol.start) || (!is_function && symbol.start < covered))
            continue;
        if (last && !last->has_size && last->end > symbol.start)
            last->end = symbol.start;
        if (is_function && symbol.has_size && symbol.end > covered)
            covered = symbol.end;
        list->items[kept++] = symbol;
    }
    list->count = kept;
}
