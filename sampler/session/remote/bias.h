/*
 * bias - how far the readings of moving threads are from the truth: their innermost functions are
 * compared with those of the control, readings of the same threads while they were stopped.
 *
 * The distance is the total variation: half the sum of the differences of all shares.  Chance alone
 * makes a distance too, so what chance explains is left out, and the error says how far the rest may
 * be off.
 *
 * Ownership: the caller's storage; bias_deinit accepts a zeroed one.
 * Units: shares of 1.
 */
#ifndef SAMPLER_SESSION_REMOTE_BIAS_H
#define SAMPLER_SESSION_REMOTE_BIAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/quality.h"

struct bias {
    struct bias_counts {
        uint32_t moving, control;
    } * items; /* by function_id */
    size_t count;
    uint64_t moving, control;
    uint64_t still; /* samples of stopped threads, which have no bias */
};

void bias_deinit(struct bias *bias);

MUST_CHECK enum err_code bias_note(struct bias *bias, uint32_t function, bool is_control);
void bias_note_still(struct bias *bias, uint32_t samples);

/* Sets bias_ppm, bias_error_ppm and biased of the quality.  Without a control they stay 0; with one,
 * the error is above 0. */
void bias_measure(const struct bias *bias, struct quality *quality);

#endif /* SAMPLER_SESSION_REMOTE_BIAS_H */
