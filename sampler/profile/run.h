/*
 * run - samples of a thread in the order of time.
 *
 * Units: nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_RUN_H
#define SAMPLER_PROFILE_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/profile/measure.h"
#include "sampler/profile/profile_rows.h"
#include "sampler/profile/state.h"

/* Samples of a thread at the same place: at first_ns, first_ns + step_ns, ... */
struct run {
    thread_id thread;
    node_id node;
    node_id spot_node;
    spot_id spot; /* PROFILE_NO_SPOT: none */
    uint32_t count;
    state_bits state;
    bool lacks_native; /* native frames were wanted, and could not be copied */
    uint8_t measure;   /* enum measure */
    uint64_t first_ns;
    uint64_t step_ns;
};

#endif /* SAMPLER_PROFILE_RUN_H */
