#include "sampler/capture/names.h"

#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/metadata.h"

/* The bits from 0 on are states; those from here on say that a state is unknown. */
/* In the bits of a capture.  The state that only live captures have is never unknown. */
enum { UNKNOWN_SHIFT = 8, LACKS_NATIVE_BIT = 2 * UNKNOWN_SHIFT };

static const char *counter_names[] = {
#define X(name, text) #name,
    QUALITY_COUNTERS(X)
#undef X
        NULL
};

static const size_t counter_offsets[] = {
#define X(name, text) offsetof(struct quality, name),
    QUALITY_COUNTERS(X)
#undef X
};

static const char lacks_native[] = "lacks_native";

/* The name that only live captures have is behind the others. */
static const char *state_names[] = {
#define X(name, bit, text) text,
    STATE_FLAGS(X)
#undef X
        lacks_native,
    NULL
};

static const unsigned state_shifts[] = {
#define X(name, bit, text) bit,
    STATE_FLAGS(X)
#undef X
};

#define COUNTERS (sizeof counter_offsets / sizeof *counter_offsets)
#define STATES   (sizeof state_shifts / sizeof *state_shifts)

_Static_assert(COUNTERS <= (size_t)NAMES_MAX_COUNTERS, "too many counters for a capture");
_Static_assert(STATES <= (size_t)UNKNOWN_SHIFT, "too many states for a capture");
_Static_assert(STATES < (size_t)NAMES_MAX_STATES, "too many states for a live capture");

void names_set(struct capture_metadata *metadata)
{
    metadata->counters = (struct capture_texts){ COUNTERS, counter_names };
    metadata->states = (struct capture_texts){ STATES, state_names };
}

void names_set_live(struct capture_metadata *metadata)
{
    names_set(metadata);
    metadata->states.count = STATES + 1;
}

/* SIZE_MAX: not found. */
static size_t find_name(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return SIZE_MAX;
}

/* Counters that captures before 0.1.0 have under another name.  A repaired stack was whole, but its
 * innermost frames were only likely: it is as little certain as a truncated one. */
static const char *const renamed[][2] = {
    { "missed", "missed_ticks" },
    { "folded", "overflowed" },
    { "stood_in", "extrapolated" },
    { "repaired", "truncated" },
};

void names_init(struct names *names, const struct capture_metadata *metadata)
{
    const struct capture_texts *const list = &metadata->counters;
    memset(names, 0, sizeof *names);
    names->counter_count = list->count < NAMES_MAX_COUNTERS ? list->count : NAMES_MAX_COUNTERS;
    for (size_t i = 0; i < names->counter_count; i++) {
        const char *name = list->items[i];
        for (size_t j = 0; j < sizeof renamed / sizeof *renamed; j++)
            if (strcmp(renamed[j][0], name) == 0)
                name = renamed[j][1];
        names->counters[i] = find_name(counter_names, COUNTERS, name);
    }

    names->state_count =
        metadata->states.count < NAMES_MAX_STATES ? metadata->states.count : NAMES_MAX_STATES;
    names->missing = STATE_ALL_UNKNOWN;
    for (size_t i = 0; i < names->state_count; i++) {
        const size_t at = find_name(state_names, STATES, metadata->states.items[i]);
        if (strcmp(metadata->states.items[i], lacks_native) == 0)
            names->lacks_native = 1ull << LACKS_NATIVE_BIT;
        if (at == SIZE_MAX)
            continue;
        names->yes[i] = (state_bits)(1u << state_shifts[at]);
        names->unknown[i] = (state_bits)(1u << (state_shifts[at] + UNKNOWN_SHIFT));
        names->missing = (state_bits)(names->missing & ~names->unknown[i]);
    }
}

void names_put_quality(const struct quality *quality, struct buffer *out)
{
    buffer_number(out, COUNTERS);
    for (size_t i = 0; i < COUNTERS; i++) {
        uint64_t value;
        memcpy(&value, (const char *)quality + counter_offsets[i], sizeof value);
        buffer_number(out, value);
    }
}

void names_take_quality(const struct names *names, struct byte_reader *in, struct quality *out)
{
    const size_t count = byte_reader_count(in, 1, NAMES_MAX_COUNTERS);
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        const uint64_t value = byte_reader_number(in);
        const size_t number = i < names->counter_count ? names->counters[i] : SIZE_MAX;
        if (number >= COUNTERS)
            continue;
        /* Two counters of an earlier version may be one of this. */
        unsigned char *const counter = (unsigned char *)out + counter_offsets[number];
        uint64_t sum;
        memcpy(&sum, counter, sizeof sum);
        sum += value;
        memcpy(counter, &sum, sizeof sum);
    }
}

uint64_t names_bits(state_bits state, bool lacks)
{
    const uint64_t bits = state & STATE_RUNNABLE ? state | STATE_ON_CPU : state;
    return lacks ? bits | 1ull << LACKS_NATIVE_BIT : bits;
}

state_bits names_state(const struct names *names, uint64_t bits)
{
    state_bits state = names->missing;
    for (size_t i = 0; i < names->state_count; i++) {
        if (bits >> i & 1)
            state |= names->yes[i];
        if (bits >> (i + UNKNOWN_SHIFT) & 1)
            state |= names->unknown[i];
    }
    return state & STATE_RUNNABLE ? (state_bits)(state & ~STATE_ON_CPU) : state;
}
