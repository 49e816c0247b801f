#include "sampler/base/deadline.h"

#include <stddef.h>

#include "sampler/base/clock.h"

struct deadline deadline_after(uint64_t ns)
{
    return (struct deadline){ .at_ns = clock_now_ns() + ns, .is_cancelled = NULL };
}

struct deadline deadline_within(const struct deadline *whole, uint64_t ns)
{
    struct deadline part = deadline_after(ns);
    if (part.at_ns > whole->at_ns)
        part.at_ns = whole->at_ns;
    part.is_cancelled = whole->is_cancelled;
    return part;
}

bool deadline_is_over(const struct deadline *deadline)
{
    return (deadline->is_cancelled && atomic_load(deadline->is_cancelled)) ||
           clock_now_ns() >= deadline->at_ns;
}
