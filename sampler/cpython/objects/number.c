#include "sampler/cpython/objects/number.h"

#include <string.h>

#include "sampler/cpython/objects/object.h"

enum err_code number_read(struct memory *memory, const struct layout *layout,
                          remote_addr object, struct number *out)
{
    enum { TAG_SIGN = 3, TAG_NEGATIVE = 2, TAG_BITS = 3 };
    uint64_t size;
    const remote_addr fields = object + object_first_field(layout);
    const remote_addr digits = fields + sizeof size;
    *out = (struct number){ 0 };
    enum err_code rc = memory_read_u64(memory, fields, &size);
    if (rc)
        return rc;
    const int64_t is_signed = (int64_t)size;
    out->is_negative = layout->has_int_tag ? (size & TAG_SIGN) == TAG_NEGATIVE : is_signed < 0;
    out->count = layout->has_int_tag ? size >> TAG_BITS
                 : is_signed < 0     ? UINT64_C(0) - size
                                     : size;
    const bool is_long = out->count > NUMBER_MAX_DIGITS;
    const uint64_t wanted = is_long ? 1 : out->count;
    const uint64_t first = is_long ? out->count - 1 : 0;
    if (wanted)
        rc = memory_read(memory, digits + first * sizeof *out->digits, out->digits,
                         (size_t)wanted * sizeof *out->digits);
    for (size_t i = 0; i < wanted && !rc; i++)
        if (out->digits[i] >> NUMBER_DIGIT_BITS)
            rc = ERR_CORRUPT;
    return !rc && is_long ? ERR_LIMIT : rc;
}

bool number_is_zero(const struct number *number)
{
    for (uint64_t i = 0; i < number->count; i++)
        if (number->digits[i])
            return false;
    return true;
}

uint32_t number_divide(struct number *number, uint32_t by)
{
    uint64_t rest = 0;
    for (uint64_t i = number->count; i-- > 0;) {
        const uint64_t part = rest << NUMBER_DIGIT_BITS | number->digits[i];
        number->digits[i] = (uint32_t)(part / by);
        rest = part % by;
    }
    return (uint32_t)rest;
}

void number_put(struct number *number, char out[NUMBER_TEXT_BYTES])
{
    char text[NUMBER_TEXT_BYTES];
    size_t at = sizeof text - 1;
    text[at] = '\0';
    do {
        text[--at] = (char)('0' + number_divide(number, 10));
    } while (!number_is_zero(number));
    if (number->is_negative)
        text[--at] = '-';
    memcpy(out, text + at, sizeof text - at);
}
