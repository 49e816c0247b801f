#include "sampler/base/random.h"

#include <sys/random.h>

#include "sampler/base/clock.h"

void random_init(struct random *random, uint64_t seed)
{
    random->state = seed;
}

void random_init_any(struct random *random)
{
    uint64_t seed;
    /* Early at boot the kernel may have none to give, and the clock will do. */
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = clock_now_ns();
    random_init(random, seed);
}

uint64_t random_u64(struct random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double random_fraction(struct random *random)
{
    enum { DOUBLE_BITS = 53 };
    return (double)(random_u64(random) >> (64 - DOUBLE_BITS)) * 0x1p-53;
}

/* Lemire, "Fast random integer generation in an interval", 2019: the high half of a product,
 * without the few values that would favour some results. */
uint64_t random_below(struct random *random, uint64_t count)
{
    if (count == 0)
        return 0;
    const uint64_t uneven = (0 - count) % count;
    for (;;) {
        const uint64_t x = random_u64(random);
        const uint64_t low = x * count;
        if (low >= uneven) {
            /* The high half of a product of 128 bits. */
            const uint64_t a1 = x >> 32, a0 = x & UINT32_MAX, b1 = count >> 32,
                           b0 = count & UINT32_MAX;
            const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
            return a1 * b1 + (middle >> 32) + (((middle & UINT32_MAX) + a0 * b1) >> 32);
        }
    }
}
