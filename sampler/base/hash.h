/*
 * hash - bytes as a number that names them: FNV-1a.  Not for secrets, and not against who looks for
 * equal ones.
 *
 * Depends on: libc.
 */
#ifndef SAMPLER_BASE_HASH_H
#define SAMPLER_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SEED UINT64_C(0xcbf29ce484222325)

/* Goes on from a hash; the first one goes on from HASH_SEED. */
uint64_t hash_bytes(const void *data, size_t bytes, uint64_t hash);

#endif /* SAMPLER_BASE_HASH_H */
