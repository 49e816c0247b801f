/*
 * number - an int of the target, with its digits.
 *
 * Until 3.11 an int has a signed number of digits; from 3.12 on a word has the number and the sign.
 *
 * Ownership: plain data.
 * Limits: NUMBER_MAX_DIGITS of NUMBER_DIGIT_BITS bits.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_NUMBER_H
#define SAMPLER_CPYTHON_OBJECTS_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"

enum { NUMBER_DIGIT_BITS = 30, NUMBER_MAX_DIGITS = 12, NUMBER_TEXT_BYTES = 112 };

struct number {
    bool is_negative;
    uint64_t count;                     /* of the digits that it has */
    uint32_t digits[NUMBER_MAX_DIGITS]; /* the lowest first */
};

/* ERR_LIMIT: it has more digits; only the highest one is here, as digits[0].  ERR_CORRUPT: a digit is too large. */
MUST_CHECK enum err_code number_read(struct memory *memory, const struct layout *layout,
                                     remote_addr object, struct number *out);

bool number_is_zero(const struct number *number);
/* Divides by `by`, and returns the rest. */
uint32_t number_divide(struct number *number, uint32_t by);
/* Writes it in decimal digits, and leaves zero behind. */
void number_put(struct number *number, char out[NUMBER_TEXT_BYTES]);

#endif /* SAMPLER_CPYTHON_OBJECTS_NUMBER_H */
