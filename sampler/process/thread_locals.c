#include "sampler/process/thread_locals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/vec.h"
#include "sampler/process/dynamic_symbols.h"
#include "sampler/process/maps.h"

/* A block that has no fixed distance, or none yet, has a small or a negative number in its place. */
static const uint64_t MIN_DISTANCE = 8, MAX_DISTANCE = UINT64_C(1) << 32;
/* The largest offset of a field; the largest structure takes a few thousand bytes. */
static const uint32_t MAX_OFFSET = 1 << 16;

#ifdef __aarch64__
static const bool IS_BLOCK_ABOVE = true;
#else
static const bool IS_BLOCK_ABOVE = false;
#endif

static bool read_field(struct memory *memory, const struct dynamic_symbols *library,
                       const char *name, uint32_t bits, uint32_t *offset_out)
{
    struct {
        uint32_t bits, count, offset;
    } description;
    char symbol_name[DYNAMIC_SYMBOLS_MAX_NAME];
    Elf64_Sym symbol;
    snprintf(symbol_name, sizeof symbol_name, "_thread_db_%s", name);
    if (dynamic_symbols_find(memory, library, symbol_name, &symbol) ||
        memory_read(memory, library->bias + symbol.st_value, &description,
                    sizeof description) ||
        description.bits != bits || description.offset > MAX_OFFSET)
        return false;
    *offset_out = description.offset;
    return true;
}

static bool read_layout(struct memory *memory, const struct dynamic_symbols *library,
                        struct thread_locals_layout *out)
{
#define X(field, symbol, bits)                                   \
    if (!read_field(memory, library, symbol, bits, &out->field)) \
        return false;
    THREAD_LOCALS_FIELDS(X)
#undef X
    return out->slot_generation + sizeof(uint64_t) <= THREAD_LOCALS_SLOT_BYTES &&
           out->slot_map + sizeof(uint64_t) <= THREAD_LOCALS_SLOT_BYTES;
}

/* Programs map their libraries below each other, the dynamic linker and the C library among the first. */
void thread_locals_init(struct thread_locals *locals, const struct maps *maps,
                        struct memory *memory, const char *name, size_t bytes)
{
    bool has_layout = false;
    remote_addr linker = 0;
    const uint64_t began_ns = clock_thread_ns();
    *locals = (struct thread_locals){ .memory = memory, .name = name, .bytes = bytes };
    for (size_t i = maps->count, files = 0;
         i-- > 0 && files < THREAD_LOCALS_MAX_MODULES && (!has_layout || !linker) &&
         clock_thread_ns() - began_ns < THREAD_LOCALS_SEARCH_NS;) {
        const struct mapping *const mapping = &maps->items[i];
        struct dynamic_symbols file;
        Elf64_Sym symbol;
        if (!mapping->inode || mapping->offset || !mapping->readable)
            continue;
        files++;
        if (dynamic_symbols_open_file(memory, mapping->start, &file))
            continue;
        if (!linker && !dynamic_symbols_find(memory, &file, "_rtld_global", &symbol))
            linker = file.bias + symbol.st_value;
        if (!has_layout)
            has_layout = read_layout(memory, &file, &locals->layout);
    }
    locals->linker = has_layout ? linker : 0;
}

void thread_locals_deinit(struct thread_locals *locals)
{
    free(locals->modules);
    *locals = (struct thread_locals){ .memory = NULL };
}

/* 0: the block has no fixed distance from the thread pointer. */
static uint64_t read_distance(const struct thread_locals *locals, remote_addr map)
{
    uint64_t distance;
    if (memory_read_u64(locals->memory, map + locals->layout.map_distance, &distance) ||
        distance < MIN_DISTANCE || distance > MAX_DISTANCE)
        return 0;
    return distance;
}

static bool is_same_module(const struct thread_locals_module *a,
                           const struct thread_locals_module *b)
{
    return a->generation == b->generation && a->map == b->map;
}

/* One refresh. */
struct refresh {
    struct thread_locals *locals;
    size_t examined;
    bool has_changed;
};

/* Notes the module that a number stands for now. */
static void see_module(struct refresh *refresh, uint64_t number, remote_addr slot,
                       const struct thread_locals_module *module)
{
    struct thread_locals *const locals = refresh->locals;

    struct thread_local_variable *item = NULL;
    for (size_t i = 0; i < locals->count; i++)
        if (locals->items[i].number == number) {
            item = &locals->items[i];
            break;
        }

    struct thread_local_variable found = { *module, number, slot, 0, 0 };
    if (is_same_module(&locals->modules[number], module)) {
        const uint64_t distance = item ? read_distance(locals, module->map) : 0;
        refresh->has_changed |= item && item->distance != distance;
        if (item)
            item->distance = distance;
        return;
    }
    if (item) {
        *item = locals->items[--locals->count];
        refresh->has_changed = true;
    }
    if (module->map && refresh->examined++ >= THREAD_LOCALS_MAX_EXAMINED)
        return;
    locals->modules[number] = *module;

    if (!module->map || locals->count == THREAD_LOCALS_MAX)
        return;
    /* As in <link.h>. */
    struct {
        uint64_t bias, name, dynamic;
    } map;
    struct dynamic_symbols symbols;
    Elf64_Sym symbol;
    struct memory *const memory = locals->memory;
    if (memory_read(memory, found.module.map, &map, sizeof map) ||
        dynamic_symbols_open(memory, map.dynamic, map.bias, &symbols) ||
        dynamic_symbols_find(memory, &symbols, locals->name, &symbol) ||
        ELF64_ST_TYPE(symbol.st_info) != STT_TLS || symbol.st_size != locals->bytes)
        return;
    found.offset = symbol.st_value;
    found.distance = read_distance(locals, found.module.map);

    locals->items[locals->count++] = found;
    refresh->has_changed = true;
}

static uint64_t word_at(const unsigned char *bytes, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

/* `count` modules from number `first` on. */
static enum err_code read_slots(struct refresh *refresh, remote_addr slots, size_t first,
                                size_t count)
{
    enum { BLOCK = 64 };
    unsigned char bytes[BLOCK * THREAD_LOCALS_SLOT_BYTES];
    struct thread_locals *const locals = refresh->locals;
    const struct thread_locals_layout *const layout = &locals->layout;
    if (!VEC_RESERVE(locals->modules, locals->module_room, first + count))
        return ERR_NOMEM;
    for (; locals->module_count < first + count; locals->module_count++)
        locals->modules[locals->module_count] = (struct thread_locals_module){ 0 };
    for (size_t done = 0; done < count; done += BLOCK) {
        const size_t some = count - done < BLOCK ? count - done : BLOCK;
        const remote_addr at = slots + done * THREAD_LOCALS_SLOT_BYTES;
        const enum err_code rc =
            memory_read(locals->memory, at, bytes, some * THREAD_LOCALS_SLOT_BYTES);
        if (rc)
            return rc;
        for (size_t i = 0; i < some; i++) {
            const unsigned char *const slot = bytes + i * THREAD_LOCALS_SLOT_BYTES;
            const struct thread_locals_module module = { word_at(slot, layout->slot_generation),
                                                         word_at(slot, layout->slot_map) };
            see_module(refresh, first + done + i, at + i * THREAD_LOCALS_SLOT_BYTES, &module);
        }
    }
    return ERR_OK;
}

static void read_modules(struct refresh *refresh)
{
    struct memory *const memory = refresh->locals->memory;
    const struct thread_locals_layout *const layout = &refresh->locals->layout;
    remote_addr list;
    size_t first = 0;
    if (memory_read_u64(memory, refresh->locals->linker + layout->of_list, &list))
        return;
    for (size_t lists = 0; list && lists < THREAD_LOCALS_MAX_LISTS; lists++) {
        uint64_t length, next;
        size_t arrived;
        const struct memory_span spans[] = {
            { list + layout->list_length, &length, sizeof length },
            { list + layout->list_next, &next, sizeof next },
        };
        if (memory_readv(memory, spans, sizeof spans / sizeof *spans, &arrived))
            return;
        const size_t room = THREAD_LOCALS_MAX_MODULES - first;
        const size_t count = length < room ? (size_t)length : room;
        if (read_slots(refresh, list + layout->list_slots, first, count))
            return;
        first += count;
        list = next;
    }
}

bool thread_locals_refresh(struct thread_locals *locals, uint64_t now_ns)
{
    struct refresh refresh = { .locals = locals };
    if (!locals->linker || now_ns < locals->next_ns)
        return false;
    const uint64_t began_ns = clock_thread_ns();
    read_modules(&refresh);
    locals->next_ns = now_ns + (clock_thread_ns() - began_ns) * THREAD_LOCALS_COST_SHARE;
    return refresh.has_changed;
}

void thread_locals_trail(const struct thread_locals *locals, size_t item,
                         struct thread_local_trail *out)
{
    enum { ENTRY_BYTES = 16 };
    const struct thread_locals_layout *const layout = &locals->layout;
    const struct thread_local_variable *const variable = &locals->items[item];
    const int64_t distance = (int64_t)variable->distance;
    *out = (struct thread_local_trail){
        .slot = variable->slot,
        .of_tid = layout->of_tid,
        .is_fixed = distance != 0,
        .place = layout->of_vector,
        .of_generation = layout->entries + layout->entry_generation,
        .of_block = layout->entries + variable->number * ENTRY_BYTES + layout->entry_block,
        .offset = variable->offset,
    };
    /* Above, the thread pointer is behind the structure, and points to the address of the vector. */
    if (out->is_fixed)
        out->place = (IS_BLOCK_ABOVE ? layout->of_vector + distance : -distance) +
                     (int64_t)variable->offset;
}

enum err_code thread_locals_read_u64(const struct thread_locals *locals, size_t item,
                                     struct memory *memory, uint64_t pthread, uint64_t *out)
{
    const struct thread_locals_layout *const layout = &locals->layout;
    const struct thread_local_variable *const variable = &locals->items[item];
    struct thread_local_trail trail;
    unsigned char slot[THREAD_LOCALS_SLOT_BYTES];
    uint32_t tid;
    uint64_t word;
    size_t arrived;
    thread_locals_trail(locals, item, &trail);
    const struct memory_span spans[] = {
        { trail.slot, slot, sizeof slot },
        { pthread + trail.of_tid, &tid, sizeof tid },
        { pthread + (uint64_t)trail.place, &word, sizeof word },
    };
    const enum err_code rc =
        memory_readv(memory, spans, sizeof spans / sizeof *spans, &arrived);
    if (rc)
        return rc;
    const struct thread_locals_module module = { word_at(slot, layout->slot_generation),
                                                 word_at(slot, layout->slot_map) };
    if (!tid || !is_same_module(&module, &variable->module))
        return ERR_NOT_FOUND;
    *out = word;
    if (trail.is_fixed)
        return ERR_OK;
    /* The thread has a vector, with an entry for each file that its generation knows. */
    uint64_t generation, block;
    const struct memory_span entry[] = {
        { word + trail.of_generation, &generation, sizeof generation },
        { word + trail.of_block, &block, sizeof block },
    };
    const enum err_code failure =
        memory_readv(memory, entry, sizeof entry / sizeof *entry, &arrived);
    if (failure)
        return failure;
    if (generation < variable->module.generation || !block || block == UINT64_MAX)
        return ERR_NOT_FOUND;
    return memory_read_u64(memory, block + trail.offset, out);
}
