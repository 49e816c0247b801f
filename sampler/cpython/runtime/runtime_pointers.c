#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"
#include "sampler/cpython/runtime/runtime_search.h"
#include "sampler/cpython/runtime/version_text.h"

enum { BLOCK_WORDS = 1 << 17, WORD = sizeof(uint64_t), PIECES_MAX = 3 };
enum { INTERPRETERS_MAX = 256 };
/* Words tried between two checks of the deadline: each may take several reads. */
enum { WORDS_PER_CHECK = 64 };

/* Searches for `interpreters.head`, which is followed by `interpreters.main`.  The two are equal
 * unless there are sub-interpreters. */
struct hunt {
    struct search *search;
    struct layout layout;
    remote_addr begin;
    bool is_alone; /* try only where the two are equal, which costs little */
};

static bool is_writable(const struct search *search, remote_addr addr)
{
    const struct mapping *const m = addr % WORD ? NULL : maps_find(&search->maps, addr);
    return m && m->readable && m->writable;
}

static remote_addr read_at(const struct hunt *hunt, remote_addr structure, uint32_t offset)
{
    uint64_t value;
    return memory_read_u64(&hunt->search->process->memory.memory, structure + offset, &value)
               ? 0
               : value;
}

/* The list begins with the newest interpreter and ends with the main one, whose id is 0. */
static bool is_list(const struct hunt *hunt, remote_addr head, remote_addr main)
{
    remote_addr interp = head;
    uint64_t id = 0;

    const remote_addr tstate = read_at(hunt, main, hunt->layout.interp_threads_head);
    if (!is_writable(hunt->search, tstate) ||
        read_at(hunt, tstate, hunt->layout.tstate_interp) != main)
        return false;
    if (memory_read_u64(&hunt->search->process->memory.memory, main + hunt->layout.interp_id,
                        &id) ||
        id != 0)
        return false;

    for (int i = 0; i < INTERPRETERS_MAX && interp != main && is_writable(hunt->search, interp);
         i++)
        interp = read_at(hunt, interp, hunt->layout.interp_next);
    return interp == main && read_at(hunt, main, hunt->layout.interp_next) == 0;
}

static bool try_block(const struct hunt *hunt, remote_addr addr, const uint64_t *words,
                      size_t count)
{
    const uint32_t head = hunt->layout.runtime_interpreters_head;
    for (size_t i = 0; i + 1 < count; i++) {
        const remote_addr at = addr + i * WORD;
        if (i % WORDS_PER_CHECK == 0 && runtime_is_out_of_time(hunt->search))
            return false;
        if (!words[i] || (words[i] == words[i + 1]) != hunt->is_alone ||
            at - hunt->begin < head || !is_writable(hunt->search, words[i]) ||
            !is_writable(hunt->search, words[i + 1]) || !is_list(hunt, words[i], words[i + 1]))
            continue;
        if (runtime_try_place(hunt->search, at - head, hunt->layout.version,
                              RUNTIME_BY_POINTERS))
            return true;
    }
    return false;
}

/* Blocks overlap by one word. */
static bool try_range(const struct hunt *hunt, remote_addr end, uint64_t *block)
{
    struct memory *const memory = &hunt->search->process->memory.memory;
    for (remote_addr at = hunt->begin; at < end; at += (BLOCK_WORDS - 1) * WORD) {
        const size_t left = (size_t)(end - at), room = BLOCK_WORDS * WORD;
        const struct memory_span span = { at, block, left < room ? left : room };
        size_t arrived;
        if (runtime_is_out_of_time(hunt->search))
            return false;
        (void)!memory_readv(memory, &span, 1, &arrived);
        if (try_block(hunt, at, block, arrived / WORD))
            return true;
    }
    return false;
}

/* An object may be half in the initialised data and half in the zeroed data after it. */
static remote_addr end_of_data(const struct maps *maps, const struct mapping *m)
{
    const struct mapping *const end = maps->items + maps->count;
    const struct mapping *last = m;
    while (last - m + 1 < PIECES_MAX && last + 1 < end && last[1].start == last->end &&
           last[1].writable && !last[1].inode)
        last++;
    return last->end;
}

/* A file holds one _PyRuntime: another match in its data would be a part of the first. */
static bool is_found(const struct search *search, remote_addr begin, remote_addr end)
{
    for (size_t i = 0; i < search->out->count; i++)
        if (search->out->items[i].addr >= begin && search->out->items[i].addr < end)
            return true;
    return false;
}

bool runtime_scan_pointers(struct search *search, const struct mapping *m)
{
    struct hunt hunt = { .search = search, .begin = m->start, .is_alone = true };
    struct memory *const memory = &search->process->memory.memory;
    const remote_addr end = end_of_data(&search->maps, m);
    if (is_found(search, m->start, end))
        return false;
    const uint32_t version = version_text_find(memory, &search->maps, m->start);
    struct err why = { .code = ERR_OK };
    if (!version)
        return false;
    if (layout_of_version(version, &hunt.layout, &why)) {
        /* Newer versions are found by their cookie. */
        if (LAYOUT_MINOR(version) < LAYOUT_OLDEST_MINOR)
            runtime_refuse(search, ERR_UNSUPPORTED, &why);
        return false;
    }
    SCOPED_FREE uint64_t *block = malloc(BLOCK_WORDS * WORD);
    if (!block)
        return false;
    if (try_range(&hunt, end, block))
        return true;
    hunt.is_alone = false;
    return try_range(&hunt, end, block);
}
