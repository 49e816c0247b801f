/* In the place of musl's memcmp, which compares single bytes: a profiler compares stacks with those it has seen all the time. */
#include <stdint.h>
#include <string.h>

typedef uint64_t __attribute__((may_alias, aligned(1))) word;

/* Both processors are little endian: the first byte is the lowest. */
static int order(word left, word right)
{
    return __builtin_bswap64(left) < __builtin_bswap64(right) ? -1 : 1;
}

static word difference(const unsigned char *left, const unsigned char *right, size_t at)
{
    return *(const word *)(left + at) ^ *(const word *)(right + at);
}

int memcmp(const void *left, const void *right, size_t bytes)
{
    enum { WORD = sizeof(word), WORDS = 4 * WORD };
    const unsigned char *a = left;
    const unsigned char *b = right;
    for (; bytes >= WORDS; bytes -= WORDS, a += WORDS, b += WORDS)
        if (difference(a, b, 0) | difference(a, b, WORD) | difference(a, b, 2 * WORD) |
            difference(a, b, 3 * WORD))
            break;
    for (; bytes >= WORD; bytes -= WORD, a += WORD, b += WORD)
        if (difference(a, b, 0))
            return order(*(const word *)a, *(const word *)b);
    for (; bytes > 0; bytes--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}
