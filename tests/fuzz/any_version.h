/*
 * any_version - the layout of an interpreter from 3.11 to 3.15, chosen by a byte of the input.
 */
#ifndef TESTS_FUZZ_ANY_VERSION_H
#define TESTS_FUZZ_ANY_VERSION_H

#include <stdint.h>

#include "sampler/cpython/layout/layout.h"

struct layout any_version_layout(uint8_t choice);

#endif /* TESTS_FUZZ_ANY_VERSION_H */
