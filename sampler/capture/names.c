#include "sampler/capture/names.h"

#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/metadata.h"

/* The bits from 0 on are states; those from here on say that a state is unknown. */
/* In the bits of a capture.  The state that only live captures have is never unknown. */
enum { UNKNOWN_SHIFT = 8, LACKS_NATIVE_BIT = 2 * UNKNOWN_SHIFT };

/* The functions that differ most from the control are stored like counters behind those of the quality: for
 * each its id, and its millionths plus a million. */
#define BIASED(X) X(1) X(2) X(3)

static const char *counter_names[] = {
#define X(name, text) #name,
    QUALITY_COUNTERS(X)
#undef X
#define X(rank) "biased_function_" #rank, "biased_ppm_" #rank,
        BIASED(X)
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
#define NUMBERS  (sizeof counter_names / sizeof *counter_names - 1)
#define STATES   (sizeof state_shifts / sizeof *state_shifts)

_Static_assert(NUMBERS <= (size_t)NAMES_MAX_COUNTERS, "too many counters for a capture");
_Static_assert(NUMBERS == COUNTERS + 2 * QUALITY_BIASED, "not a name for each biased function");
_Static_assert(STATES <= (size_t)UNKNOWN_SHIFT, "too many states for a capture");
_Static_assert(STATES < (size_t)NAMES_MAX_STATES, "too many states for a live capture");

void names_set(struct capture_metadata *metadata)
{
    metadata->counters = (struct capture_texts){ NUMBERS, counter_names };
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
        names->counters[i] = find_name(counter_names, NUMBERS, name);
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

static const int32_t MILLION = 1000000;

void names_put_quality(const struct quality *quality, struct buffer *out)
{
    buffer_number(out, NUMBERS);
    for (size_t i = 0; i < COUNTERS; i++) {
        uint64_t value;
        memcpy(&value, (const char *)quality + counter_offsets[i], sizeof value);
        buffer_number(out, value);
    }
    for (size_t i = 0; i < QUALITY_BIASED; i++) {
        buffer_number(out, quality->biased[i].function);
        buffer_number(out, (uint64_t)((int64_t)quality->biased[i].ppm + MILLION));
    }
}

/* Two counters of an earlier version may be one of this. */
static void take_counter(struct quality *quality, size_t number, uint64_t value)
{
    unsigned char *const counter = (unsigned char *)quality + counter_offsets[number];
    uint64_t before;
    memcpy(&before, counter, sizeof before);
    value += before;
    memcpy(counter, &value, sizeof value);
}

void names_take_quality(const struct names *names, struct byte_reader *in, struct quality *out)
{
    const size_t count = byte_reader_count(in, 1, NAMES_MAX_COUNTERS);
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < count; i++) {
        const uint64_t value = byte_reader_number(in);
        const size_t number = i < names->counter_count ? names->counters[i] : SIZE_MAX;
        if (number < COUNTERS)
            take_counter(out, number, value);
        else if (number < NUMBERS) {
            /* A function of this id may not be there: what shows it has to check. */
            struct quality_biased *const biased = &out->biased[(number - COUNTERS) / 2];
            if ((number - COUNTERS) % 2 == 0)
                biased->function = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
            else if (value <= 2 * (uint64_t)MILLION)
                biased->ppm = (int32_t)value - MILLION;
        }
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
