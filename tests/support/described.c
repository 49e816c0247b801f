/* A library with debug information: its source names this file /src/described.c. */
#include "tests/support/described.h"

static int add(int a, int b)
{
    return a ^ b;
}

const int described_line = __LINE__ + 2;

int described_function(int value)
{
    return add(value, 5) + add(7, value);
}
