#include "sampler/profile/wait_cause.h"

#include <stdio.h>
#include <string.h>

#define MARK_BEGIN "<waits: "

static const struct cause {
    const char *text, *title;
    bool is_idle;
} causes[WAIT_CAUSE_COUNT] = {
#define X(name, text, title, idle) { text, title, idle },
    WAIT_CAUSES(X)
#undef X
};

const char *wait_cause_text(enum wait_cause cause)
{
    return causes[cause].text;
}

const char *wait_cause_title(enum wait_cause cause)
{
    return causes[cause].title;
}

bool wait_cause_is_idle(enum wait_cause cause)
{
    return causes[cause].is_idle;
}

void wait_name(enum wait_cause cause, const char *detail, char out[WAIT_MAX_NAME])
{
    snprintf(out, WAIT_MAX_NAME, MARK_BEGIN "%s%s%.80s>", causes[cause].title,
             *detail ? " " : "", detail);
}

bool wait_read_name(const char *name, struct wait_text *out)
{
    if (strncmp(name, MARK_BEGIN, strlen(MARK_BEGIN)) != 0)
        return false;
    const char *const text = name + strlen(MARK_BEGIN);
    const size_t length = strlen(text);
    if (length == 0 || text[length - 1] != '>')
        return false;
    for (enum wait_cause cause = WAIT_UNKNOWN; cause < WAIT_CAUSE_COUNT; cause++) {
        const size_t title = strlen(causes[cause].title);
        if (strncmp(text, causes[cause].title, title) != 0)
            continue;
        if (text[title] == '>' && title + 1 == length) {
            *out = (struct wait_text){ cause, text + title, 0 };
            return true;
        }
        if (text[title] == ' ') {
            *out = (struct wait_text){ cause, text + title + 1, length - title - 2 };
            return true;
        }
    }
    return false;
}
