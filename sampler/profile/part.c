#include "sampler/profile/part.h"

static const struct {
    const char *text, *title;
} parts[PART_COUNT] = {
#define X(name, text, title) { text, title },
    PARTS(X)
#undef X
};

const char *part_text(enum part part)
{
    return parts[part].text;
}

const char *part_title(enum part part)
{
    return parts[part].title;
}
