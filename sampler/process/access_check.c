#include "sampler/process/access_check.h"

#include <stdio.h>

struct access_check *access_checks_add(struct access_checks *checks, const char *name,
                                       enum access_check_state state, const char *format, ...)
{
    if (checks->count < ACCESS_CHECKS_MAX)
        checks->count++;
    struct access_check *const check = &checks->items[checks->count - 1];
    va_list args;
    check->name = name;
    check->state = state;
    check->remedy[0] = '\0';
    va_start(args, format);
    vsnprintf(check->found, sizeof check->found, format, args);
    va_end(args);
    return check;
}

void access_check_remedy(struct access_check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(check->remedy, sizeof check->remedy, format, args);
    va_end(args);
}

const struct access_check *access_checks_first_blocked(const struct access_checks *checks)
{
    for (size_t i = 0; i < checks->count; i++)
        if (checks->items[i].state == ACCESS_CHECK_BLOCKED)
            return &checks->items[i];
    return NULL;
}

const char *access_check_state_text(enum access_check_state state)
{
    static const char *const text[] = {
#define X(name, text) text,
        ACCESS_CHECK_STATES(X)
#undef X
    };
    return (unsigned)state < sizeof text / sizeof *text ? text[state] : "unknown";
}
