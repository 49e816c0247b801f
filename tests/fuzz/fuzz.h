/*
 * fuzz - what a fuzz target is: one function that may be given any bytes.
 *
 * It returns 0.  What must never happen is a crash, a finding of a sanitizer, or a failed
 * fuzz_check.
 *
 * Depends on: libc.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program if a promise is not kept. */
static inline void fuzz_check(int kept)
{
    if (!kept)
        abort();
}

/* What is left of the bytes that were given. */
struct fuzz_input {
    const uint8_t *at, *end;
};

/* The next bytes as a number, little-endian; beyond the end there are zeros. */
static inline uint64_t fuzz_take(struct fuzz_input *input, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && input->at < input->end; i++)
        value |= (uint64_t)*input->at++ << (8 * i);
    return value;
}

#endif /* TESTS_FUZZ_FUZZ_H */
