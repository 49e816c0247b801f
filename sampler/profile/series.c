#include "sampler/profile/series.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

enum { FIRST_SECONDS = 64 };

void series_init(struct series *series)
{
    *series = (struct series){ .step_seconds = 1 };
}

void series_deinit(struct series *series)
{
    free(series->fine);
    free(series->steps);
    series_init(series);
}

static void add_bin(struct series_bin *to, const struct series_bin *from)
{
    for (size_t i = 0; i < PART_COUNT; i++) {
        const uint32_t room = UINT32_MAX - to->parts[i];
        to->parts[i] += from->parts[i] < room ? from->parts[i] : room;
    }
}

static uint64_t samples_of(const struct series_bin *bin)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < PART_COUNT; i++)
        samples += bin->parts[i];
    return samples;
}

/* Makes the ring long enough for all seconds so far, up to its maximum length. */
static bool reserve_seconds(struct series *series, uint64_t second)
{
    size_t room = series->fine_room ? series->fine_room : FIRST_SECONDS;
    while (room <= second && room < SERIES_FINE_SECONDS)
        room *= 2;
    room = room < SERIES_FINE_SECONDS ? room : SERIES_FINE_SECONDS;
    if (room <= series->fine_room)
        return true;
    struct series_second *const fine = calloc(room, sizeof *fine);
    if (!fine)
        return series->fine != NULL;
    /* The seconds have other places in a ring of another length. */
    for (size_t i = 0; i < series->fine_room; i++)
        if (series->fine[i].generation)
            fine[series->fine[i].second % room] = series->fine[i];
    free(series->fine);
    series->fine = fine;
    series->fine_room = room;
    return true;
}

static bool add_fine(struct series *series, uint64_t bin, const struct series_bin *counts,
                     uint32_t generation)
{
    const uint64_t second = bin / SERIES_BINS_PER_SECOND;
    if (!reserve_seconds(series, second))
        return false;
    if (second < series->fine_from)
        return false;
    struct series_second *const row = &series->fine[second % series->fine_room];
    if (row->second != second)
        *row = (struct series_second){ .second = second };
    add_bin(&row->bins[bin % SERIES_BINS_PER_SECOND], counts);
    row->generation = generation ? generation : 1;
    if (second > series->newest_second)
        series->newest_second = second;
    if (series->newest_second >= series->fine_room)
        series->fine_from = series->newest_second + 1 - series->fine_room;
    return true;
}

static void add_steps(struct series_step *to, const struct series_step *from)
{
    for (size_t i = 0; i < PART_COUNT; i++)
        to->parts[i] += from->parts[i];
}

static bool add_coarse(struct series *series, uint64_t second, const struct series_bin *counts)
{
    while (second / series->step_seconds >= SERIES_MAX_STEPS) {
        /* Merges each two steps into one. */
        const size_t count = (series->step_count + 1) / 2;
        for (size_t i = 0; i < count; i++) {
            struct series_step step = series->steps[2 * i];
            if (2 * i + 1 < series->step_count)
                add_steps(&step, &series->steps[2 * i + 1]);
            series->steps[i] = step;
        }
        series->step_count = count;
        series->step_seconds *= 2;
    }
    const size_t step = (size_t)(second / series->step_seconds);
    if (!VEC_RESERVE(series->steps, series->step_room, step + 1))
        return false;
    while (series->step_count <= step)
        series->steps[series->step_count++] = (struct series_step){ { 0 } };
    for (size_t i = 0; i < PART_COUNT; i++)
        series->steps[step].parts[i] += counts->parts[i];
    return true;
}

void series_add(struct series *series, uint64_t bin, const struct series_bin *counts,
                uint32_t generation)
{
    const bool coarse = add_coarse(series, bin / SERIES_BINS_PER_SECOND, counts);
    const bool fine = add_fine(series, bin, counts, generation);
    if (!coarse || !fine)
        series->lost += samples_of(counts);
}

bool series_pend(struct series_pending *pending, uint64_t bin, enum part part, uint32_t count)
{
    if (pending->from == pending->to) {
        /* Samples that waited for their CPU state are added a little later than others. */
        const size_t before = SERIES_PENDING_BINS / 4;
        pending->first_bin = bin > before ? bin - before : 0;
        pending->from = pending->to = (size_t)(bin - pending->first_bin);
    }
    if (bin < pending->first_bin || bin - pending->first_bin >= SERIES_PENDING_BINS)
        return false;
    const size_t at = (size_t)(bin - pending->first_bin);
    struct series_bin one = { { 0 } };
    one.parts[part] = count;
    add_bin(&pending->bins[at], &one);
    pending->from = at < pending->from ? at : pending->from;
    pending->to = at >= pending->to ? at + 1 : pending->to;
    return true;
}

void series_flush(struct series *series, struct series_pending *pending, uint32_t generation)
{
    for (size_t i = pending->from; i < pending->to; i++) {
        if (samples_of(&pending->bins[i]) == 0)
            continue;
        series_add(series, pending->first_bin + i, &pending->bins[i], generation);
        pending->bins[i] = (struct series_bin){ { 0 } };
    }
    pending->from = pending->to = 0;
}

const struct series_second *series_second_at(const struct series *series, uint64_t second)
{
    if (!series->fine_room)
        return NULL;
    const struct series_second *const row = &series->fine[second % series->fine_room];
    return row->generation && row->second == second ? row : NULL;
}

enum err_code series_copy(const struct series *from, uint64_t first, uint64_t end,
                          struct series *out, struct err *err)
{
    const uint64_t oldest = from->fine_from;
    const uint64_t fine_first = first > oldest ? first : oldest;
    const uint64_t fine_end = end <= from->newest_second ? end : from->newest_second + 1;
    struct series made = *from;
    made.fine_room = fine_end > fine_first ? (size_t)(fine_end - fine_first) : 0;
    made.step_count = made.step_room = first < oldest ? from->step_count : 0;
    made.fine = calloc(made.fine_room + 1, sizeof *made.fine);
    made.steps = calloc(made.step_room + 1, sizeof *made.steps);
    if (!made.fine || !made.steps) {
        series_deinit(&made);
        return err_nomem(err);
    }

    for (uint64_t s = fine_first; s < fine_first + made.fine_room; s++) {
        const struct series_second *const row = series_second_at(from, s);
        if (row)
            made.fine[s % made.fine_room] = *row;
    }

    if (made.step_count)
        memcpy(made.steps, from->steps, made.step_count * sizeof *made.steps);
    *out = made;
    return ERR_OK;
}

size_t series_bytes(const struct series *series)
{
    return series->fine_room * sizeof *series->fine + series->step_room * sizeof *series->steps;
}
