#include "sampler/cpython/objects/set.h"

#include <stdint.h>

#include "sampler/base/hash.h"
#include "sampler/cpython/objects/object.h"

enum { WORD = sizeof(uint64_t) };

enum err_code set_read(struct predicted_reads *reads, const struct layout *layout,
                       remote_addr set, struct set_part *part, remote_addr *members,
                       size_t room, size_t *count_out)
{
    enum { MASK_WORDS = 2, TABLE_WORDS = 3, SET_WORDS = 4, ENTRY_WORDS = 2, BATCH = 512 };
    const uint32_t head = object_first_field(layout);
    const unsigned char *copy;
    uint64_t entries[BATCH * ENTRY_WORDS];
    size_t count = 0;
    *count_out = 0;
    enum err_code rc = predicted_reads_get(reads, set, head + SET_WORDS * WORD, &copy);
    if (rc)
        return rc;
    uint64_t slots = field_u64(copy, head + MASK_WORDS * WORD) + 1;
    const remote_addr table = field_u64(copy, head + TABLE_WORDS * WORD);
    if (!slots || slots & (slots - 1))
        return ERR_CORRUPT;
    const bool is_large = slots > SET_MAX_SLOTS;
    bool is_full = false;
    slots = is_large ? SET_MAX_SLOTS : slots;
    for (uint64_t at = 0; at < slots && !rc && !is_full; at += BATCH) {
        const uint64_t some = slots - at < BATCH ? slots - at : BATCH;
        rc = memory_read(reads->memory, table + at * ENTRY_WORDS * WORD, entries,
                         (size_t)some * ENTRY_WORDS * WORD);
        for (size_t i = 0; i < some && !rc && !is_full; i++) {
            /* A removed entry has a hash that no object has. */
            if (!entries[i * ENTRY_WORDS] || entries[i * ENTRY_WORDS + 1] == UINT64_MAX)
                continue;
            const remote_addr member = entries[i * ENTRY_WORDS];
            if (part)
                part->found++;
            if (part && hash_mix(member, part->secret) >= part->below)
                continue;
            is_full = count == room;
            if (!is_full)
                members[count++] = member;
        }
    }
    if (!rc)
        *count_out = count;
    return rc ? rc : is_large || is_full ? ERR_LIMIT : ERR_OK;
}
