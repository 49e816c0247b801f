#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/copy.h"
#include "sampler/cpython/stack/copy_parts.h"

enum { OWNER_GENERATOR = 1 };

struct copy_off_chunk *copy_find_off_chunk(const struct copy *copy, remote_addr addr)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &copy->off_chunk_index, hash_mix(addr, 0),
               copy->off_chunk[at->id].addr == addr);
    return at ? &copy->off_chunk[at->id] : NULL;
}

void copy_index_off_chunk(struct copy *copy)
{
    idmap_clear(&copy->off_chunk_index);
    for (uint32_t i = 0; i < copy->off_chunk_count; i++)
        (void)!idmap_add(&copy->off_chunk_index, hash_mix(copy->off_chunk[i].addr, 0), i, NULL);
}

bool copy_is_entry(const struct layout *layout, const unsigned char *frame)
{
    return layout->has_entry_frames && frame[layout->frame_owner] >= COPY_OWNER_INTERPRETER;
}

/* All other frames are in a chunk, perhaps in one that is not known yet. */
static bool is_off_chunk(const struct layout *layout, const unsigned char *frame)
{
    return frame[layout->frame_owner] == OWNER_GENERATOR || copy_is_entry(layout, frame);
}

bool copy_off_chunk_is_same(const struct copy *copy)
{
    for (size_t i = 0; i < copy->off_chunk_count; i++)
        if (!copy->off_chunk[i].has_last ||
            memcmp(copy->off_chunk[i].reading[COPY_A], copy->off_chunk[i].reading[COPY_LAST],
                   copy->layout->frame_bytes) != 0)
            return false;
    return true;
}

const unsigned char *copy_off_chunk(const struct copy *copy, enum copy_reading reading,
                                    remote_addr addr)
{
    const struct copy_off_chunk *const off_chunk = copy_find_off_chunk(copy, addr);
    return off_chunk && (reading == COPY_A || off_chunk->has_last) ? off_chunk->reading[reading]
                                                                   : NULL;
}

enum err_code copy_add_off_chunk(struct copy *copy, remote_addr addr)
{
    if (copy_find_off_chunk(copy, addr))
        return ERR_OK;
    if (copy->off_chunk_count == COPY_MAX_OFF_CHUNK)
        return ERR_LIMIT;
    if (!VEC_RESERVE(copy->off_chunk, copy->off_chunk_room, copy->off_chunk_count + 1))
        return ERR_NOMEM;
    const uint32_t at = (uint32_t)copy->off_chunk_count++;
    memset(&copy->off_chunk[at], 0, sizeof copy->off_chunk[at]);
    copy->off_chunk[at].addr = addr;
    copy->off_chunk[at].last_used = copy->readings;
    return idmap_add(&copy->off_chunk_index, hash_mix(addr, 0), at, NULL);
}

enum err_code copy_fetch_off_chunk(struct copy *copy, remote_addr addr)
{
    const size_t bytes = copy->layout->frame_bytes;
    unsigned char frame[LAYOUT_MAX_FRAME_BYTES];
    enum err_code rc = memory_read(copy->memory, addr, frame, bytes);
    if (!rc)
        rc = is_off_chunk(copy->layout, frame) ? copy_add_off_chunk(copy, addr) : ERR_FAULT;
    struct copy_off_chunk *const off_chunk = rc ? NULL : copy_find_off_chunk(copy, addr);
    if (off_chunk)
        memcpy(off_chunk->reading[COPY_A], frame, bytes);
    return rc;
}

void copy_mark_used(struct copy *copy, remote_addr addr, remote_addr caller)
{
    struct copy_off_chunk *const off_chunk = copy_find_off_chunk(copy, addr);
    if (!off_chunk)
        return;
    off_chunk->last_used = copy->readings;
    off_chunk->is_entry = copy_is_entry(copy->layout, off_chunk->reading[COPY_A]);
    if (caller)
        off_chunk->caller = caller;
}

remote_addr copy_off_chunk_caller(const struct copy *copy, remote_addr addr)
{
    const struct copy_off_chunk *const off_chunk = copy_find_off_chunk(copy, addr);
    return off_chunk ? off_chunk->caller : 0;
}

void copy_drop_idle(struct copy *copy)
{
    const size_t before = copy->off_chunk_count;
    for (size_t i = copy->off_chunk_count; i-- > 0;)
        if (copy->readings - copy->off_chunk[i].last_used > COPY_IDLE_READINGS)
            copy->off_chunk[i] = copy->off_chunk[--copy->off_chunk_count];
    if (copy->off_chunk_count != before)
        copy_index_off_chunk(copy);
}
