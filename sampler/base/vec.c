#include "sampler/base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 64 };

bool vec_reserve(void *items, size_t *room, size_t count, size_t item_bytes)
{
    void *moved;
    if (count <= *room)
        return true;
    size_t more = *room ? *room * 2 : (FIRST_BYTES + item_bytes - 1) / item_bytes;
    if (more < count)
        more = count;
    if (more > SIZE_MAX / 2 / item_bytes)
        return false;
    memcpy(&moved, items, sizeof moved);
    moved = realloc(moved, more * item_bytes);
    if (!moved)
        return false;
    memcpy(items, &moved, sizeof moved);
    *room = more;
    return true;
}
