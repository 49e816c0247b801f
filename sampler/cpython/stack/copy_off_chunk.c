#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/copy.h"
#include "sampler/cpython/stack/copy_parts.h"

enum {
    OWNER_GENERATOR = 1,
    OWNER_INTERPRETER = 3, /* "C stack" in 3.12 and 3.13; 4 in 3.14 is on the C stack too */
};

static uint32_t hash_of(remote_addr addr)
{
    return idmap_mix(addr, 0);
}

struct copy_loose *copy_find_loose(const struct copy *copy, remote_addr addr)
{
    const uint32_t hash = hash_of(addr);
    uint32_t at;
    for (uint32_t slot = idmap_first(&copy->loose_index, hash);
         (at = idmap_id(&copy->loose_index, slot)) != IDMAP_NONE;
         slot = idmap_next(&copy->loose_index, slot))
        if (copy->loose[at].addr == addr)
            return &copy->loose[at];
    return NULL;
}

/* The index has room for what it held before, so that this cannot fail. */
void copy_index_loose(struct copy *copy)
{
    idmap_clear(&copy->loose_index);
    for (uint32_t i = 0; i < copy->loose_count; i++)
        (void)!idmap_add(&copy->loose_index, hash_of(copy->loose[i].addr), i, NULL);
}

bool copy_is_entry(const struct layout *layout, const unsigned char *frame)
{
    return LAYOUT_MINOR(layout->version) >= 12 &&
           frame[layout->frame_owner] >= OWNER_INTERPRETER;
}

/* Others lie in a chunk, if in one that is not known yet. */
static bool is_loose(const struct layout *layout, const unsigned char *frame)
{
    return frame[layout->frame_owner] == OWNER_GENERATOR || copy_is_entry(layout, frame);
}

bool copy_loose_is_same(const struct copy *copy)
{
    for (size_t i = 0; i < copy->loose_count; i++)
        if (!copy->loose[i].has_last ||
            memcmp(copy->loose[i].reading[COPY_A], copy->loose[i].reading[COPY_LAST],
                   copy->layout->frame_bytes) != 0)
            return false;
    return true;
}

static bool has_reading(const struct copy *copy, const struct copy_loose *loose,
                        enum copy_reading reading)
{
    return reading == COPY_A || (reading == COPY_LAST && loose->has_last) ||
           (reading == COPY_B && loose->has_again && copy->has_again);
}

const unsigned char *copy_loose(const struct copy *copy, enum copy_reading reading,
                                remote_addr addr)
{
    const struct copy_loose *const loose = copy_find_loose(copy, addr);
    return loose && has_reading(copy, loose, reading) ? loose->reading[reading] : NULL;
}

static enum err_code reserve_loose(struct copy *copy)
{
    if (copy->loose_count == COPY_MAX_LOOSE)
        return ERR_LIMIT;
    if (copy->loose_count < copy->loose_room)
        return ERR_OK;
    const size_t room = copy->loose_room ? copy->loose_room * 2 : 4;
    struct copy_loose *const more = realloc(copy->loose, room * sizeof *more);
    if (!more)
        return ERR_NOMEM;
    copy->loose = more;
    copy->loose_room = room;
    return ERR_OK;
}

enum err_code copy_add_loose(struct copy *copy, remote_addr addr)
{
    if (copy_find_loose(copy, addr))
        return ERR_OK;
    const enum err_code rc = reserve_loose(copy);
    if (rc)
        return rc;
    const uint32_t at = (uint32_t)copy->loose_count++;
    memset(&copy->loose[at], 0, sizeof copy->loose[at]);
    copy->loose[at].addr = addr;
    copy->loose[at].last_used = copy->readings;
    return idmap_add(&copy->loose_index, hash_of(addr), at, NULL);
}

/* Where the thread keeps the frame that runs. */
static remote_addr running_addr(const struct copy *copy)
{
    const struct layout *const layout = copy->layout;
    return layout->tstate_current_frame
               ? copy->tstate_addr + layout->tstate_current_frame
               : field_u64(copy->tstate, layout->tstate_cframe) + layout->cframe_current_frame;
}

enum err_code copy_fetch_loose(struct copy *copy, remote_addr addr, remote_addr running)
{
    const size_t bytes = copy->layout->frame_bytes;
    unsigned char frame[LAYOUT_MAX_FRAME_BYTES];
    uint64_t runs_now = 0;
    size_t arrived;
    const struct memory_span spans[] = {
        { addr, frame, bytes },
        { running_addr(copy), &runs_now, sizeof runs_now },
    };
    enum err_code rc =
        memory_readv(copy->memory, spans, sizeof spans / sizeof *spans, &arrived);
    if (arrived >= bytes)
        rc = is_loose(copy->layout, frame) ? copy_add_loose(copy, addr) : ERR_FAULT;
    struct copy_loose *const loose = copy_find_loose(copy, addr);
    if (rc || !loose)
        return rc;
    memcpy(loose->reading[COPY_A], frame, bytes);
    memcpy(loose->reading[COPY_B], frame, bytes);
    loose->has_again = runs_now == running;
    return ERR_OK;
}

void copy_mark_used(struct copy *copy, remote_addr addr, remote_addr caller)
{
    struct copy_loose *const loose = copy_find_loose(copy, addr);
    if (!loose)
        return;
    loose->last_used = copy->readings;
    loose->is_entry = copy_is_entry(copy->layout, loose->reading[COPY_A]);
    if (caller)
        loose->caller = caller;
}

remote_addr copy_loose_caller(const struct copy *copy, remote_addr addr)
{
    const struct copy_loose *const loose = copy_find_loose(copy, addr);
    return loose ? loose->caller : 0;
}

void copy_drop_idle(struct copy *copy)
{
    const size_t before = copy->loose_count;
    for (size_t i = copy->loose_count; i-- > 0;)
        if (copy->readings - copy->loose[i].last_used > COPY_IDLE_READINGS)
            copy->loose[i] = copy->loose[--copy->loose_count];
    if (copy->loose_count != before)
        copy_index_loose(copy);
}
