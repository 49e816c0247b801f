#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/capture/names.h"
#include "sampler/capture/windows.h"

struct place {
    state_bits state;
    bool lacks_native; /* only if the encoder marks it */
    node_id node, spot_node;
    spot_id spot;
    uint32_t uses; /* runs */
    uint32_t rank;
};

/* A run in units of time. */
struct encoded_run {
    thread_id thread;
    uint32_t place;
    uint32_t count;
    uint64_t first, last;
};

void windows_encoder_init(struct windows_encoder *encoder, uint64_t unit_ns)
{
    memset(encoder, 0, sizeof *encoder);
    encoder->unit_ns = unit_ns;
    idmap_init(&encoder->index);
}

void windows_encoder_deinit(struct windows_encoder *encoder)
{
    idmap_deinit(&encoder->index);
    free(encoder->places);
    free(encoder->runs);
    free(encoder->last_of);
    free(encoder->windows);
    memset(encoder, 0, sizeof *encoder);
}

static bool is_at(const struct place *place, const struct run *run, bool lacks_native)
{
    return place->state == run->state && place->lacks_native == lacks_native &&
           place->node == run->node && place->spot == run->spot &&
           (place->spot == PROFILE_NO_SPOT || place->spot_node == run->spot_node);
}

static enum err_code find_place(struct windows_encoder *encoder, const struct run *run,
                                uint32_t *out, struct err *err)
{
    const uint32_t hash =
        hash_mix((uint64_t)run->node << 16 | run->state,
                 run->spot == PROFILE_NO_SPOT ? 0 : (uint64_t)run->spot_node << 32 | run->spot);
    const bool lacks_native = encoder->marks_native && run->lacks_native;
    struct idmap_slot *at;
    IDMAP_FIND(at, &encoder->index, hash, is_at(&encoder->places[at->id], run, lacks_native));
    *out = at ? at->id : (uint32_t)encoder->place_count;

    if (at)
        return ERR_OK;

    if (!VEC_RESERVE(encoder->places, encoder->place_room, encoder->place_count + 1))
        return err_nomem(err);
    const enum err_code rc =
        idmap_add(&encoder->index, hash, (uint32_t)encoder->place_count, err);
    if (!rc)
        encoder->places[encoder->place_count++] =
            (struct place){ .state = run->state,
                            .lacks_native = encoder->marks_native && run->lacks_native,
                            .node = run->node,
                            .spot_node = run->spot == PROFILE_NO_SPOT ? 0 : run->spot_node,
                            .spot = run->spot };
    return rc;
}

/* Does the run continue the last one of its thread?  A gap of a sample or two does not end a run; its
 * samples then count as evenly spaced. */
static bool follows_run(const struct encoded_run *last, const struct encoded_run *next)
{
    const uint64_t step = last->count > 1 ? (last->last - last->first) / (last->count - 1) : 1;
    return last->place == next->place && next->first >= last->last &&
           next->first - last->last <= 2 * step + 1 && next->count <= UINT32_MAX - last->count;
}

enum err_code windows_encoder_add(struct windows_encoder *encoder, const struct run *run,
                                  struct err *err)
{
    const uint64_t last_ns = run->first_ns + (run->count - 1) * run->step_ns;
    struct encoded_run encoded = { .thread = run->thread,
                                   .count = run->count,
                                   .first = run->first_ns / encoder->unit_ns,
                                   .last = last_ns / encoder->unit_ns };
    const size_t before = encoder->last_room;
    const enum err_code rc = find_place(encoder, run, &encoded.place, err);
    if (rc)
        return rc;
    if (!VEC_RESERVE(encoder->last_of, encoder->last_room, (size_t)run->thread + 1))
        return err_nomem(err);
    memset(encoder->last_of + before, 0,
           (encoder->last_room - before) * sizeof *encoder->last_of);
    const uint32_t at = encoder->last_of[run->thread];
    if (!at || !follows_run(&encoder->runs[at - 1], &encoded)) {
        if (!VEC_RESERVE(encoder->runs, encoder->run_room, encoder->run_count + 1))
            return err_nomem(err);
        encoder->runs[encoder->run_count++] = encoded;
        encoder->last_of[encoded.thread] = (uint32_t)encoder->run_count;
        return ERR_OK;
    }
    encoder->runs[at - 1].last = encoded.last;
    encoder->runs[at - 1].count += encoded.count;
    return ERR_OK;
}

static enum err_code close_open(struct windows_encoder *encoder, uint64_t end_ns,
                                uint64_t period_ns, bool is_open, struct err *err)
{
    if (!VEC_RESERVE(encoder->windows, encoder->window_room, encoder->window_count + 1))
        return err_nomem(err);
    encoder->windows[encoder->window_count++] =
        (struct block_window){ .start_ns = encoder->start_ns,
                               .end_ns = end_ns,
                               .period_ns = period_ns,
                               .is_open = is_open,
                               .runs_at = encoder->open_at,
                               .run_count = encoder->run_count - encoder->open_at };
    for (size_t i = encoder->open_at; i < encoder->run_count; i++)
        encoder->last_of[encoder->runs[i].thread] = 0;
    encoder->open_at = encoder->run_count;
    return ERR_OK;
}

enum err_code windows_encoder_seal(struct windows_encoder *encoder, uint64_t end_ns,
                                   uint64_t period_ns, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (end_ns < encoder->start_ns)
        end_ns = encoder->start_ns;
    if (encoder->run_count > encoder->open_at)
        rc = close_open(encoder, end_ns, period_ns, false, err);
    if (!rc)
        encoder->start_ns = end_ns;
    return rc;
}

uint64_t windows_encoder_start_ns(const struct windows_encoder *encoder)
{
    return encoder->window_count ? encoder->windows[0].start_ns : encoder->start_ns;
}

uint64_t windows_encoder_samples(const struct windows_encoder *encoder)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < encoder->run_count; i++)
        samples += encoder->runs[i].count;
    return samples;
}

static int compare_runs(const void *left, const void *right)
{
    const struct encoded_run *const a = left;
    const struct encoded_run *const b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

static int compare_uses(const void *left, const void *right)
{
    const struct place *const *const a = left;
    const struct place *const *const b = right;
    if ((*a)->uses != (*b)->uses)
        return (*a)->uses > (*b)->uses ? -1 : 1;
    return (*a > *b) - (*a < *b);
}

static void put_windows(const struct windows_encoder *encoder, struct buffer *out)
{
    uint64_t end_ns = 0, period_ns = 0;
    buffer_number(out, encoder->window_count);
    for (size_t i = 0; i < encoder->window_count; i++) {
        const struct block_window *const window = &encoder->windows[i];
        buffer_number(out, window->start_ns - end_ns);
        buffer_number(out, window->end_ns - window->start_ns);
        buffer_signed(out, (int64_t)(window->period_ns - period_ns));
        buffer_u8(out, window->is_open);

        const struct encoded_run *const runs = encoder->runs + window->runs_at;
        size_t threads = 0;
        for (size_t j = 0; j < window->run_count; j++)
            threads += j == 0 || runs[j].thread != runs[j - 1].thread;
        buffer_number(out, threads);

        end_ns = window->end_ns;
        period_ns = window->period_ns;
    }
}

/* Every window is closed, so last_of is free.  It holds the expected start of the next run of each
 * thread, relative to the block.  If a time does not fit, its run only takes more bytes. */
static void put_runs(struct windows_encoder *encoder, uint64_t start, struct buffer *out)
{
    const struct encoded_run *const runs = encoder->runs;
    for (size_t i = 0; i < encoder->run_count; i++)
        buffer_number(out, encoder->places[runs[i].place].rank);
    for (size_t i = 0; i < encoder->run_count; i++)
        buffer_number(out, runs[i].count - 1);
    for (size_t i = 0; i < encoder->run_count; i++) {
        uint32_t *const next = &encoder->last_of[runs[i].thread];
        buffer_signed(out, (int64_t)(runs[i].first - start - *next));
        *next = (uint32_t)(runs[i].last + 1 - start);
    }
    for (size_t i = 0; i < encoder->run_count; i++)
        buffer_signed(out, (int64_t)(runs[i].last - runs[i].first) - (runs[i].count - 1));
    for (size_t i = 0; i < encoder->run_count; i++)
        encoder->last_of[runs[i].thread] = 0;
}

void windows_encoder_forget(struct windows_encoder *encoder)
{
    idmap_clear(&encoder->index);
    encoder->known_places = encoder->place_count = 0;
}

enum err_code windows_encode(struct windows_encoder *encoder, const struct quality *quality,
                             uint64_t lost, struct buffer *out, struct err *err)
{
    const uint64_t start = windows_encoder_start_ns(encoder) / encoder->unit_ns;
    enum err_code rc = ERR_OK;
    if (encoder->run_count > encoder->open_at)
        rc = close_open(encoder, encoder->start_ns, 0, true, err);
    struct place **const ranked = malloc((encoder->place_count + 1) * sizeof(struct place *));
    if (!rc && !ranked)
        rc = err_nomem(err);
    if (!rc) {
        /* Ranks new places behind those of earlier blocks, which keep their rank. */
        const size_t known = encoder->known_places, places = encoder->place_count - known;
        for (size_t i = 0; i < encoder->run_count; i++)
            encoder->places[encoder->runs[i].place].uses++;
        for (size_t i = 0; i < places; i++)
            ranked[i] = &encoder->places[known + i];
        qsort(ranked, places, sizeof(struct place *), compare_uses);
        for (size_t i = 0; i < places; i++)
            ranked[i]->rank = (uint32_t)(known + i);

        for (size_t i = 0; i < encoder->window_count; i++)
            qsort(encoder->runs + encoder->windows[i].runs_at, encoder->windows[i].run_count,
                  sizeof *encoder->runs, compare_runs);
        names_put_quality(quality, out);
        buffer_number(out, lost);
        buffer_number(out, encoder->known_places);

        node_id node = 0;
        bool has_spots = false;
        buffer_number(out, places);
        for (size_t i = 0; i < places; i++) {
            buffer_number(out, names_bits(ranked[i]->state, ranked[i]->lacks_native));
            has_spots |= ranked[i]->spot != PROFILE_NO_SPOT;
        }
        for (size_t i = 0; i < places; node = ranked[i++]->node)
            buffer_signed(out, (int64_t)ranked[i]->node - node);
        buffer_u8(out, has_spots);
        for (size_t i = 0; i < places && has_spots; i++) {
            buffer_number(out, ranked[i]->spot + 1u);
            buffer_signed(out, (int64_t)ranked[i]->node - ranked[i]->spot_node);
        }

        put_windows(encoder, out);
        /* The threads of each window, and the number of runs of each. */
        for (size_t i = 0; i < encoder->window_count; i++) {
            const struct block_window *const window = &encoder->windows[i];
            const size_t end = window->runs_at + window->run_count;
            thread_id thread = 0;
            for (size_t j = window->runs_at, next; j < end; j = next) {
                for (next = j;
                     next < end && encoder->runs[next].thread == encoder->runs[j].thread;)
                    next++;
                buffer_signed(out, (int64_t)encoder->runs[j].thread - thread);
                buffer_number(out, next - j);
                thread = encoder->runs[j].thread;
            }
        }

        buffer_number(out, encoder->run_count);
        put_runs(encoder, start, out);
        encoder->known_places = encoder->place_count;
        encoder->run_count = encoder->window_count = encoder->open_at = 0;
    }
    free(ranked);
    return rc;
}

/* One of another tool has an empty name, then its words in pprof. */
void windows_encode_measure(const struct profile_snapshot *snapshot, enum measure measure,
                            struct buffer *out)
{
    const struct measure_facts *const facts = profile_measure(snapshot, measure);
    buffer_sized_text(out, measure < MEASURE_KNOWN ? facts->name : "");
    if (measure < MEASURE_KNOWN)
        return;
    buffer_sized_text(out, facts->pprof_type);
    buffer_sized_text(out, facts->pprof_unit);
}
