/* A library with a function that only its debug information names: sources are named as Debian builds them, below ".". */

#include <stdint.h>

static volatile uint64_t spun;

/* A compiler's copy of the C++ function spin::inner(int). */
static __attribute__((noinline)) int inner(int rounds) __asm__("_ZN4spin5innerEi.constprop.0");

static __attribute__((noinline)) int inner(int rounds)
{
    for (int i = 0; i < rounds; i++)
        spun += 1;
    return 1;
}

static __attribute__((noinline)) int hidden_spin(int rounds)
{
    return inner(rounds) + 1;
}

__attribute__((visibility("default"), noinline)) int run_spin(int rounds)
{
    return hidden_spin(rounds) + 1;
}
