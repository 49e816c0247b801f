/*
 * any_memory - a target's memory in which every address is mapped.
 *
 * The byte at an address is the input's byte at that address modulo the input's size.  So every address
 * in the input leads back into the input.
 *
 * Ownership: the input stays the caller's.
 */
#ifndef TESTS_FUZZ_ANY_MEMORY_H
#define TESTS_FUZZ_ANY_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/process/memory.h"

struct any_memory {
    struct memory memory;
    const uint8_t *data;
    size_t size;
};

/* size > 0.  After some thousand reads the target is gone, so no input runs for long. */
void any_memory_init(struct any_memory *any, const uint8_t *data, size_t size);

#endif /* TESTS_FUZZ_ANY_MEMORY_H */
