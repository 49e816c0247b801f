/*
 * names - counters and states of a capture by name, so that other versions may have others.
 *
 * A capture says at its start which counter of quality stands where and which bit of a state says
 * what.  A counter that we do not know is left out, one that the capture does not have is 0; of
 * a fact it does not have nothing is known.
 *
 * Ownership: the caller's storage; plain data.
 * Depends on: profile (quality, state), facts, bytes.
 */
#ifndef SAMPLER_CAPTURE_NAMES_H
#define SAMPLER_CAPTURE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/profile/quality.h"
#include "sampler/profile/state.h"

struct bytes;
struct capture_metadata;
struct cursor;

enum { NAMES_MAX_COUNTERS = 64, NAMES_MAX_STATES = 8 };

struct names {
    size_t counter_count;
    size_t counters[NAMES_MAX_COUNTERS]; /* offsets in struct quality; SIZE_MAX: unknown */
    size_t state_count;
    state_bits yes[NAMES_MAX_STATES],
        unknown[NAMES_MAX_STATES]; /* of the bits of the capture */
    state_bits missing;            /* facts that the capture does not have, as unknown */
};

/* Names what this program writes; the lists are static. */
void names_tell(struct capture_metadata *metadata);
/* Those of a capture. */
void names_learn(struct names *names, const struct capture_metadata *metadata);

void names_put_quality(const struct quality *quality, struct bytes *out);
void names_take_quality(const struct names *names, struct cursor *cursor, struct quality *out);
state_bits names_state(const struct names *names, uint64_t bits);

#endif /* SAMPLER_CAPTURE_NAMES_H */
