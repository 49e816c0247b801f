/* Functions with the names that mypyc and Cython make of a module `counting`: wrappers, which Python calls, and what they
 * call. */

#include <stdint.h>

#define EXPORTED __attribute__((visibility("default"), noinline))

enum { ROUNDS = 2000000 };

static volatile uint64_t spun;

/* Names by which compiled modules are recognized. */
EXPORTED void *PyInit_counting(void)
{
    return 0;
}

EXPORTED int CPyPy_Counter___spin(int depth);

/* Calls itself as Python would. */
EXPORTED int CPyDef_Counter___spin(int depth)
{
    if (depth > 1)
        return CPyPy_Counter___spin(depth - 1) + 1;
    for (int i = 0; i < ROUNDS; i++)
        spun += 1;
    return 1;
}

/* Nothing is called last, so each call has its frame. */
EXPORTED int CPyPy_Counter___spin(int depth)
{
    return CPyDef_Counter___spin(depth) + (spun == 0);
}

/* A wrapper that is named as Cython names them. */
EXPORTED int __pyx_pw_8counting_1whirl(int depth);

EXPORTED int __pyx_pf_8counting_whirl(int depth)
{
    if (depth > 1)
        return __pyx_pw_8counting_1whirl(depth - 1) + 1;
    return CPyDef_Counter___spin(1);
}

EXPORTED int __pyx_pw_8counting_1whirl(int depth)
{
    return __pyx_pf_8counting_whirl(depth) + (spun == 0);
}
