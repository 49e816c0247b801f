#include "sampler/profile/state.h"

static const struct flag {
    const char *text;
    state_bits yes, unknown;
} facts[STATE_FLAG_COUNT] = {
#define X(name, bit, text) { text, STATE_##name, STATE_UNKNOWN_##name },
    STATE_FLAGS(X)
#undef X
};

const char *state_flag_text(enum state_flag flag)
{
    return facts[flag].text;
}

state_bits state_flag_yes(enum state_flag flag)
{
    return facts[flag].yes;
}

state_bits state_flag_unknown(enum state_flag flag)
{
    return facts[flag].unknown;
}
