#include "sampler/base/access_check.h"

#include <stdio.h>

struct gate *gates_add(struct gates *gates, const char *name, enum gate_state state,
                       const char *format, ...)
{
    if (gates->count < GATES_MAX)
        gates->count++;
    struct gate *const gate = &gates->items[gates->count - 1];
    va_list args;
    gate->name = name;
    gate->state = state;
    gate->remedy[0] = '\0';
    va_start(args, format);
    vsnprintf(gate->found, sizeof gate->found, format, args);
    va_end(args);
    return gate;
}

void gate_remedy(struct gate *gate, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(gate->remedy, sizeof gate->remedy, format, args);
    va_end(args);
}

const struct gate *gates_first_shut(const struct gates *gates)
{
    for (size_t i = 0; i < gates->count; i++)
        if (gates->items[i].state == GATE_SHUT)
            return &gates->items[i];
    return NULL;
}

const char *gate_state_text(enum gate_state state)
{
    static const char *const text[] = {
#define X(name, text) text,
        GATE_STATES(X)
#undef X
    };
    return (unsigned)state < sizeof text / sizeof *text ? text[state] : "unknown";
}
