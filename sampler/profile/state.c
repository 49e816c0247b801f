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

const char *state_doing_text(enum state_doing doing)
{
    static const char *const texts[STATE_DOING_COUNT] = {
#define X(name, text, meaning) text,
        STATE_DOINGS(X)
#undef X
    };
    return texts[doing];
}

enum state_doing state_doing_of(state_bits state)
{
    if (state & STATE_HAS_GIL)
        return STATE_DOING_HOLDS_GIL;
    if (state & STATE_WAITS_GIL)
        return STATE_DOING_WAITS_GIL;
    if (state & STATE_ON_CPU)
        return STATE_DOING_ON_CPU;
    if (state & STATE_RUNNABLE)
        return STATE_DOING_RUNNABLE;
    return state & STATE_UNKNOWN_ON_CPU ? STATE_DOING_UNKNOWN : STATE_DOING_WAITS;
}
