#include "tests/support/failing_alloc.h"

#include <stddef.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool armed, happened;
static unsigned left;

void failing_alloc_at(unsigned nth)
{
    armed = true;
    happened = false;
    left = nth;
}

void failing_alloc_never(void)
{
    armed = false;
}

bool failing_alloc_happened(void)
{
    return happened;
}

static bool must_fail(void)
{
    if (!armed || left--)
        return false;
    armed = false;
    happened = true;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    return must_fail() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return must_fail() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return must_fail() ? NULL : __real_realloc(old, bytes);
}
