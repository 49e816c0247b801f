/*
 * fuzz - the interface of a fuzz target: one function that takes any bytes.
 *
 * It returns 0.  It must never crash, cause a finding of a sanitizer, or fail a fuzz_check.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts the program if a promise is broken. */
static inline void fuzz_check(int kept)
{
    if (!kept)
        abort();
}

/* The rest of the input. */
struct fuzz_input {
    const uint8_t *at, *end;
};

/* The next bytes as a little-endian number; zeros follow the end of the input. */
static inline uint64_t fuzz_take(struct fuzz_input *input, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && input->at < input->end; i++)
        value |= (uint64_t)*input->at++ << (8 * i);
    return value;
}

#endif /* TESTS_FUZZ_FUZZ_H */
