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

#endif /* TESTS_FUZZ_FUZZ_H */
