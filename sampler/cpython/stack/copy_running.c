#include <string.h>

#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/copy_parts.h"

void copy_drop_cframe(struct copy *copy, size_t at)
{
    copy->cframe_count--;
    memmove(copy->cframes + at, copy->cframes + at + 1,
            (copy->cframe_count - at) * sizeof *copy->cframes);
}

static struct copy_cframe *find_cframe(struct copy *copy, remote_addr addr)
{
    for (size_t i = 0; i < copy->cframe_count; i++)
        if (copy->cframes[i].addr == addr)
            return &copy->cframes[i];
    return NULL;
}

/* Moves the structure at addr to the front; it replaces the least recently used if the array is full. */
static void put_first(struct copy *copy, remote_addr addr)
{
    const struct copy_cframe *const known = find_cframe(copy, addr);
    struct copy_cframe first = { .addr = addr };
    if (known)
        first = *known;
    else if (copy->cframe_count < COPY_MAX_CFRAMES)
        copy->cframe_count++;
    const size_t before = known ? (size_t)(known - copy->cframes) : copy->cframe_count - 1;
    memmove(copy->cframes + 1, copy->cframes, before * sizeof *copy->cframes);
    copy->cframes[0] = first;
}

bool copy_running(struct copy *copy, remote_addr *out)
{
    const struct layout *const layout = copy->layout;
    if (layout->tstate_current_frame) {
        *out = field_u64(copy->tstate, layout->tstate_current_frame);
        return true;
    }
    const remote_addr addr = field_u64(copy->tstate, layout->tstate_cframe);
    const bool is_known = find_cframe(copy, addr) != NULL;
    put_first(copy, addr);
    *out = is_known ? field_u64(copy->cframes[0].bytes, layout->cframe_current_frame) : 0;
    return is_known;
}

bool copy_running_before(const struct copy *copy, remote_addr *out)
{
    const struct layout *const layout = copy->layout;
    if (layout->tstate_current_frame || !copy->cframe_count)
        return false;
    const remote_addr before = field_u64(copy->cframes[0].bytes, layout->cframe_previous);
    return before && !memory_read_u64(copy->memory, before + layout->cframe_current_frame, out);
}
