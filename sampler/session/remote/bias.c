#include "sampler/session/remote/bias.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

/* Fewer readings of the control show nothing. */
static const uint64_t LEAST_CONTROL = 40;
/* Two standard errors: chance exceeds them in one of twenty cases. */
static const double ERRORS = 2;
/* The bound for what none of N readings shows: in nineteen of twenty cases, its share is below
 * this / N. */
static const double UNSEEN = 3;

void bias_deinit(struct bias *bias)
{
    free(bias->items);
    memset(bias, 0, sizeof *bias);
}

enum err_code bias_note(struct bias *bias, uint32_t function, bool is_control)
{
    const size_t before = bias->count;
    if (function >= before) {
        if (!VEC_RESERVE(bias->items, bias->count, (size_t)function + 1))
            return ERR_NOMEM;
        memset(bias->items + before, 0, (bias->count - before) * sizeof *bias->items);
    }
    struct bias_counts *const counts = &bias->items[function];
    counts->moving += !is_control;
    counts->control += is_control;
    bias->moving += !is_control;
    bias->control += is_control;
    return ERR_OK;
}

void bias_note_still(struct bias *bias, uint32_t samples)
{
    bias->still += samples;
}

/* Keeps the functions with the largest differences, the largest first. */
static void keep_largest(struct quality *quality, uint32_t function, int32_t ppm)
{
    struct quality_biased new = { function, ppm };
    for (size_t i = 0; i < QUALITY_BIASED; i++)
        if (abs(new.ppm) > abs(quality->biased[i].ppm)) {
            const struct quality_biased old = quality->biased[i];
            quality->biased[i] = new;
            new = old;
        }
}

void bias_measure(const struct bias *bias, struct quality *quality)
{
    double distance = 0, variance = 0;
    quality->control = bias->control;
    memset(quality->biased, 0, sizeof quality->biased);
    if (bias->control < LEAST_CONTROL || !bias->moving)
        return;
    const double moving = (double)bias->moving, control = (double)bias->control;
    const double part = moving / (moving + (double)bias->still);
    for (size_t i = 0; i < bias->count; i++) {
        const struct bias_counts *const counts = &bias->items[i];
        const double both = (double)counts->moving + counts->control;
        const double share = both / (moving + control);
        const double by_chance = share * (1 - share) * (1 / moving + 1 / control);
        const double difference = counts->moving / moving - counts->control / control;
        const double beyond = difference * difference - by_chance;
        variance += by_chance;
        distance += beyond > 0 ? sqrt(beyond) / 2 : 0;
        if (difference * difference > ERRORS * ERRORS * by_chance)
            keep_largest(quality, (uint32_t)i, (int32_t)(difference * part * 1e6));
    }
    const double error = ERRORS * sqrt(variance) / 2, least = UNSEEN / control;
    quality->bias_ppm = (uint64_t)(distance * part * 1e6);
    quality->bias_error_ppm = (uint64_t)ceil((error > least ? error : least) * part * 1e6);
}
