#include "sampler/native/punycode.h"

#include <stdbool.h>
#include <string.h>

struct code {
    const char *at, *end;
    uint32_t bias, damp;
};

/* How far the next character is behind the one before.  false: the text is no code. */
static bool take_delta(struct code *code, uint32_t *delta_out)
{
    enum { BASE = 36, LEAST = 1, MOST = 26 };
    uint64_t delta = 0, weight = 1;
    for (uint32_t k = BASE;; k += BASE) {
        const char c = code->at < code->end ? *code->at++ : '\0';
        const uint32_t digit = c >= 'a' && c <= 'z'   ? (uint32_t)(c - 'a')
                               : c >= '0' && c <= '9' ? (uint32_t)(c - '0') + 26
                                                      : UINT32_MAX;
        const uint32_t threshold = k <= code->bias          ? LEAST
                                   : k >= code->bias + MOST ? MOST
                                                            : k - code->bias;
        if (digit == UINT32_MAX || weight > UINT32_MAX)
            return false;
        delta += digit * weight;
        if (delta > UINT32_MAX / 2)
            return false;
        if (digit < threshold)
            break;
        weight *= BASE - threshold;
    }
    *delta_out = (uint32_t)delta;
    return true;
}

static void adapt_bias(struct code *code, uint32_t delta, uint32_t count)
{
    enum { SPAN = 35, LIMIT = 455, SKEW = 38 };
    uint32_t k = 0;
    delta /= code->damp;
    code->damp = 2;
    for (delta += delta / count; delta > LIMIT; delta /= SPAN)
        k += SPAN + 1;
    code->bias = k + (SPAN + 1) * delta / (delta + SKEW);
}

size_t punycode_decode(const char *text, size_t bytes,
                       uint32_t characters[PUNYCODE_MAX_CHARACTERS])
{
    const char *const end = text + bytes, *begin = end;
    while (begin > text && begin[-1] != '_')
        begin--;
    struct code code = { begin, end, 72, 700 };
    uint32_t place = 0, character = 0x80, delta;
    uint32_t count = 0;
    /* The characters of ASCII are before the last "_". */
    for (; text + count + 1 < begin; count++) {
        if (count == PUNYCODE_MAX_CHARACTERS)
            return 0;
        characters[count] = (unsigned char)text[count];
    }
    while (code.at < code.end) {
        if (count == PUNYCODE_MAX_CHARACTERS || !take_delta(&code, &delta))
            return 0;
        count++;
        place += delta;
        character += place / count;
        place %= count;
        memmove(characters + place + 1, characters + place,
                (count - 1 - place) * sizeof *characters);
        characters[place++] = character;
        adapt_bias(&code, delta, count);
    }
    return count;
}
