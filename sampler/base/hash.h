/*
 * hash - bytes, and pairs of words, as one number.  Not cryptographic: an attacker can find keys that
 * have the same hash.
 */
#ifndef SAMPLER_BASE_HASH_H
#define SAMPLER_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SEED UINT64_C(0xcbf29ce484222325)

/* FNV-1a.  `hash` is the hash of the bytes before these; HASH_SEED: there are none. */
uint64_t hash_bytes(const void *data, size_t bytes, uint64_t hash);

/* Mixes two words (the finaliser of MurmurHash3 over their sum). */
static inline uint32_t hash_mix(uint64_t a, uint64_t b)
{
    uint64_t h = a * 0x9e3779b97f4a7c15u + b;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53u;
    h ^= h >> 33;
    return (uint32_t)h;
}

/* Hashes the words of a long key, one after the other. */
static inline uint64_t hash_word(uint64_t word, uint64_t hash)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

#endif /* SAMPLER_BASE_HASH_H */
