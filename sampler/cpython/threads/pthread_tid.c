#include "sampler/cpython/threads/pthread_tid.h"

#include <stddef.h>

#include "sampler/cpython/objects/object.h"
#include "sampler/process/namespace.h"

/* glibc has it at 720 on x86-64, musl at 48; no structure is larger than what is looked at. */
enum { EXAMINED_BYTES = 1024, OF_GLIBC = 720, STEP = sizeof(uint32_t) };

static uint32_t find_offset(struct memory *memory, uint64_t main_pthread, uint32_t number)
{
    unsigned char bytes[EXAMINED_BYTES];
    uint32_t found = 0;
    if (!main_pthread || memory_read(memory, main_pthread, bytes, sizeof bytes))
        return 0;
    if (field_u32(bytes, OF_GLIBC) == number)
        return OF_GLIBC;
    for (uint32_t at = STEP; at < EXAMINED_BYTES && !found; at += STEP)
        if (field_u32(bytes, at) == number)
            found = at;
    return found;
}

int32_t pthread_tids_find(struct pthread_tids *tids, struct memory *memory, int pid,
                          uint64_t main_pthread, uint64_t pthread)
{
    uint32_t tid;
    if (!tids->offset)
        tids->offset = find_offset(memory, main_pthread, (uint32_t)namespace_inside(pid));
    if (!tids->offset || memory_read(memory, pthread + tids->offset, &tid, sizeof tid) ||
        tid > INT32_MAX)
        return 0;
    return (int32_t)tid;
}
