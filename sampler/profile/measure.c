#include "sampler/profile/measure.h"

#include <stddef.h>
#include <unistd.h>

#define X(name, text, title, unit, type, pprof_unit, what) text,
const char *const measure_texts[] = { PROFILE_MEASURES(X) NULL };
#undef X

const struct measure_facts *measure_facts_of(enum measure measure)
{
#define X(name, text, title, unit, type, pprof_unit, what) \
    { text, title, unit, type, pprof_unit, what },
    static const struct measure_facts facts[] = { PROFILE_MEASURES(X) };
#undef X
    return &facts[measure];
}

uint64_t measure_period(enum measure measure)
{
    return measure_is_memory(measure)            ? (uint64_t)sysconf(_SC_PAGESIZE)
           : measure == MEASURE_CONTEXT_SWITCHES ? 1
                                                 : 0;
}

enum measure measure_set_main(measure_set set)
{
    enum measure measure = MEASURE_TIME;
    while (!measure_set_has(set, measure))
        measure++;
    return measure;
}
