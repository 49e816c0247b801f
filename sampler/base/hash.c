#include "sampler/base/hash.h"

uint64_t hash_bytes(const void *data, size_t bytes, uint64_t hash)
{
    const unsigned char *const text = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ text[i]) * UINT64_C(0x100000001b3);
    return hash;
}
