#include "tests/support/fake_threads.h"

#include <elf.h>
#include <string.h>

#include "tests/support/test.h"

enum {
    FILE_BYTES = 0x4000,
    NAMES = 0x1000,
    DESCRIPTIONS = 0x3000,
    FILTER = FAKE_HASH + 16,
    BUCKET = FILTER + 8,
    FILTER_SHIFT = 6,
    DESCRIPTION_BYTES = 12,
    /* Offsets in glibc's structures. */
    LINKER_LIST = 0x128,
    LIST_LENGTH = 8,
    LIST_NEXT = 0,
    LIST_SLOTS = 24,
    SLOT_BYTES = 16,
    SLOT_GENERATION = 8,
    SLOT_MAP = 0,
    MAP_DISTANCE = 0x90,
    MAP_BYTES = 0x100,
    THREAD_VECTOR = 0x18,
    THREAD_TID = 0x44,
    THREAD_ROOM = 0x1000, /* on either side */
    ENTRIES = 0,
    ENTRY_BYTES = 16,
    ENTRY_GENERATION = 0,
    ENTRY_BLOCK = 8,
};

static const remote_addr LINKER = 0x7f0000200000, LIBRARY = 0x7f0000100000,
                         LIST = 0x7f0000300000;

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

void fake_file_map(struct fake_threads *threads, struct fake_file *file, remote_addr base)
{
    const Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
                                .e_phoff = sizeof header,
                                .e_phentsize = sizeof(Elf64_Phdr),
                                .e_phnum = 2 };
    const Elf64_Phdr segments[] = { { .p_type = PT_LOAD },
                                    { .p_type = PT_DYNAMIC, .p_vaddr = FAKE_DYNAMIC } };
    const Elf64_Dyn dynamic[] = {
        { DT_STRTAB, { base + NAMES } },       { DT_STRSZ, { FAKE_HASH - NAMES } },
        { DT_SYMTAB, { FAKE_SYMBOLS } }, /* as where it cannot be written */
        { DT_GNU_HASH, { base + FAKE_HASH } }, { DT_NULL, { 0 } },
    };
    const uint32_t hash[] = { 1, 1, 1, FILTER_SHIFT };
    struct fake_memory *const memory = &threads->memory;
    *file = (struct fake_file){ base, 1, 1 };
    fake_memory_map(memory, base, FILE_BYTES);
    fake_memory_put(memory, base, &header, sizeof header);
    fake_memory_put(memory, base + sizeof header, segments, sizeof segments);
    fake_memory_put(memory, base + FAKE_DYNAMIC, dynamic, sizeof dynamic);
    fake_memory_put(memory, base + FAKE_HASH, hash, sizeof hash);
}

void fake_file_add(struct fake_threads *threads, struct fake_file *file, const char *name,
                   unsigned type, uint64_t value, uint64_t bytes)
{
    struct fake_memory *const memory = &threads->memory;
    const uint32_t hash = hash_of(name);
    const Elf64_Sym symbol = { .st_name = (uint32_t)file->name_bytes,
                               .st_info = (unsigned char)type,
                               .st_shndx = 1,
                               .st_value = value,
                               .st_size = bytes };
    const remote_addr chain = file->base + FAKE_CHAIN, filter = file->base + FILTER;
    assert_true(file->count < FAKE_FILE_SYMBOLS);
    fake_memory_put(memory, file->base + FAKE_SYMBOLS + file->count * sizeof symbol, &symbol,
                    sizeof symbol);
    fake_memory_put(memory, file->base + NAMES + file->name_bytes, name, strlen(name) + 1);
    fake_memory_put_u64(memory, filter,
                        fake_memory_u64(memory, filter) | UINT64_C(1) << hash % 64 |
                            UINT64_C(1) << (hash >> FILTER_SHIFT) % 64);
    fake_memory_put_u32(memory, file->base + BUCKET, 1);
    /* The last one of the bucket. */
    fake_memory_put_u32(memory, chain + (file->count - 1) * sizeof hash, hash | 1);
    if (file->count > 1) {
        const remote_addr before = chain + (file->count - 2) * sizeof hash;
        fake_memory_put_u8(memory, before, *fake_memory_at(memory, before, 1) & 0xfe);
    }
    file->name_bytes += strlen(name) + 1;
    file->count++;
}

static void describe(struct fake_threads *threads, const char *name, uint32_t bits,
                     uint32_t offset)
{
    struct fake_file *const library = &threads->library;
    const uint64_t at = DESCRIPTIONS + library->count * DESCRIPTION_BYTES;
    const uint32_t description[] = { bits, 1, offset };
    fake_memory_put(&threads->memory, library->base + at, description, sizeof description);
    fake_file_add(threads, library, name, STT_OBJECT, at, sizeof description);
}

static const char MAPS[] = "7f0000100000-7f0000104000 r--p 00000000 fd:00 7 /libc.so.6\n"
                           "7f0000200000-7f0000204000 r--p 00000000 fd:00 8 /ld.so\n"
                           "7f0000300000-7f0000301000 rw-p 00000000 00:00 0 \n";

void fake_threads_init(struct fake_threads *threads)
{
    struct err err = { 0 };
    *threads = (struct fake_threads){ .list = LIST };
    struct fake_memory *const memory = &threads->memory;
    fake_memory_init(memory);
    assert_ok(maps_parse(&threads->maps, MAPS, &err), &err);
    fake_file_map(threads, &threads->linker, LINKER);
    fake_file_map(threads, &threads->library, LIBRARY);
    fake_file_add(threads, &threads->linker, "_rtld_global", STT_OBJECT, DESCRIPTIONS, 0x800);
    describe(threads, "_thread_db_rtld_global__dl_tls_dtv_slotinfo_list", 64, LINKER_LIST);
    describe(threads, "_thread_db_dtv_slotinfo_list_len", 64, LIST_LENGTH);
    describe(threads, "_thread_db_dtv_slotinfo_list_next", 64, LIST_NEXT);
    describe(threads, "_thread_db_dtv_slotinfo_list_slotinfo", 128, LIST_SLOTS);
    describe(threads, "_thread_db_dtv_slotinfo_gen", 64, SLOT_GENERATION);
    describe(threads, "_thread_db_dtv_slotinfo_map", 64, SLOT_MAP);
    describe(threads, "_thread_db_link_map_l_tls_offset", 64, MAP_DISTANCE);
    describe(threads, "_thread_db_pthread_dtvp", 64, THREAD_VECTOR);
    describe(threads, "_thread_db_pthread_tid", 32, THREAD_TID);
    describe(threads, "_thread_db_dtv_dtv", 128, ENTRIES);
    describe(threads, "_thread_db_dtv_t_counter", 64, ENTRY_GENERATION);
    describe(threads, "_thread_db_dtv_t_pointer_val", 64, ENTRY_BLOCK);
    fake_memory_map(memory, LIST, LIST_SLOTS + FAKE_NUMBERS * SLOT_BYTES);
    fake_memory_put_u64(memory, LIST + LIST_LENGTH, FAKE_NUMBERS);
    fake_memory_put_u64(memory, LINKER + DESCRIPTIONS + LINKER_LIST, LIST);
}

void fake_threads_deinit(struct fake_threads *threads)
{
    maps_deinit(&threads->maps);
    fake_memory_deinit(&threads->memory);
}

static void put_slot(struct fake_threads *threads, unsigned number, remote_addr map,
                     uint64_t generation)
{
    const remote_addr slot = threads->list + LIST_SLOTS + (uint64_t)number * SLOT_BYTES;
    fake_memory_put_u64(&threads->memory, slot + SLOT_MAP, map);
    fake_memory_put_u64(&threads->memory, slot + SLOT_GENERATION, generation);
}

remote_addr fake_threads_load(struct fake_threads *threads, const struct fake_file *file,
                              unsigned number, uint64_t generation, uint64_t distance)
{
    struct fake_memory *const memory = &threads->memory;
    const remote_addr map = file->base + FILE_BYTES + 0x1000;
    const uint64_t head[] = { file->base, 0, file->base + FAKE_DYNAMIC };
    if (!fake_memory_is_mapped(memory, map))
        fake_memory_map(memory, map, MAP_BYTES);
    fake_memory_put(memory, map, head, sizeof head);
    fake_memory_put_u64(memory, map + MAP_DISTANCE, distance);
    put_slot(threads, number, map, generation);
    return map;
}

void fake_threads_unload(struct fake_threads *threads, unsigned number)
{
    put_slot(threads, number, 0, 0);
}

remote_addr fake_thread_start(struct fake_threads *threads, remote_addr addr)
{
    struct fake_memory *const memory = &threads->memory;
    const remote_addr vector = addr + 2 * THREAD_ROOM;
    fake_memory_map(memory, addr - THREAD_ROOM, 2 * THREAD_ROOM);
    fake_memory_map(memory, vector, FAKE_NUMBERS * ENTRY_BYTES);
    fake_memory_put_u64(memory, addr + THREAD_VECTOR, vector);
    fake_memory_put_u32(memory, fake_thread_tid(addr), 100);
    for (uint64_t i = 1; i < FAKE_NUMBERS; i++)
        fake_memory_put_u64(memory, vector + i * ENTRY_BYTES + ENTRY_BLOCK, UINT64_MAX);
    return addr;
}

remote_addr fake_thread_block(struct fake_threads *threads, remote_addr thread, unsigned number,
                              uint64_t generation)
{
    struct fake_memory *const memory = &threads->memory;
    const remote_addr vector = fake_memory_u64(memory, thread + THREAD_VECTOR);
    const remote_addr block = thread + (uint64_t)(3 + number) * THREAD_ROOM;
    if (!fake_memory_is_mapped(memory, block))
        fake_memory_map(memory, block, FAKE_BLOCK_BYTES);
    fake_memory_put_u64(memory, vector + ENTRIES + ENTRY_GENERATION, generation);
    fake_memory_put_u64(memory, vector + ENTRIES + number * ENTRY_BYTES + ENTRY_BLOCK, block);
    return block;
}

remote_addr fake_thread_near(remote_addr thread)
{
#ifdef __aarch64__
    return thread + THREAD_VECTOR + FAKE_BLOCK_DISTANCE;
#else
    return thread - FAKE_BLOCK_DISTANCE;
#endif
}

remote_addr fake_thread_tid(remote_addr thread)
{
    return thread + THREAD_TID;
}
