/*
 * names - counters and states of a capture by name, so that versions may have different ones.
 *
 * The metadata of a capture name its quality counters and its state bits, in order.  A reader ignores
 * a counter that it does not know.  A counter that the capture lacks is 0; a state that it lacks is
 * unknown.
 *
 * Ownership: the caller's storage; plain data.
 */
#ifndef SAMPLER_CAPTURE_NAMES_H
#define SAMPLER_CAPTURE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/profile/quality.h"
#include "sampler/profile/state.h"

struct buffer;
struct capture_metadata;
struct byte_reader;

enum { NAMES_MAX_COUNTERS = 64, NAMES_MAX_STATES = 9 };

struct names {
    size_t counter_count;
    size_t
        counters[NAMES_MAX_COUNTERS]; /* ranks in the list of this program; SIZE_MAX: unknown */
    size_t state_count;
    state_bits yes[NAMES_MAX_STATES],
        unknown[NAMES_MAX_STATES]; /* of the bits of the capture */
    state_bits missing;            /* the states that the capture lacks, as unknown */
    uint64_t lacks_native;         /* the bit of a live capture; 0: none */
};

/* Sets the names that this program writes; the lists are static. */
void names_set(struct capture_metadata *metadata);
/* Sets the names of a live capture, whose states have one more: native frames were wanted, and
 * could not be copied. */
void names_set_live(struct capture_metadata *metadata);
/* Takes the names of a capture. */
void names_init(struct names *names, const struct capture_metadata *metadata);

void names_put_quality(const struct quality *quality, struct buffer *out);
void names_take_quality(const struct names *names, struct byte_reader *in, struct quality *out);
/* A runnable thread is written as on a CPU too: that is what readers before 3.1 took it for. */
uint64_t names_bits(state_bits state, bool lacks_native);
state_bits names_state(const struct names *names, uint64_t bits);

#endif /* SAMPLER_CAPTURE_NAMES_H */
