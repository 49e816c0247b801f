#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/byte_reader.h"
#include "sampler/base/enum_text.h"
#include "sampler/base/vec.h"
#include "sampler/capture/format.h"
#include "sampler/capture/names.h"
#include "sampler/capture/windows.h"

enum { PLACE_BYTES = 2, WINDOW_BYTES = 5, THREAD_BYTES = 2, RUN_BYTES = 4 };

/* The state of decoding one block. */
struct decoder {
    struct byte_reader *in;
    const struct names *names;
    const struct profile_sizes *sizes;
    uint64_t unit_ns;
    bool is_piece;
    struct windows_places *places; /* state, node and spot of each, as a run */
    size_t *threads;               /* of each window */
    uint64_t *next;                /* by thread: when its next run is expected, in units */
};

/* Takes the id of a row; a number not below `rows` is bad. */
static uint32_t take_id(struct byte_reader *in, int64_t id, uint32_t rows)
{
    if (id >= 0 && id < rows)
        return (uint32_t)id;
    in->is_bad = true;
    return 0;
}

/* Makes room for `more` places behind the known ones. */
static enum err_code grow_places(struct windows_places *places, size_t more, struct err *err)
{
    const size_t wanted = places->count + more;
    if (!VEC_RESERVE(places->items, places->room, wanted + 1))
        return err_nomem(err);
    if (more)
        memset(places->items + places->count, 0, more * sizeof *places->items);
    places->count = wanted;
    return ERR_OK;
}

static enum err_code take_places(struct decoder *decoder, struct err *err)
{
    struct byte_reader *const in = decoder->in;
    uint64_t node = 0;

    /* A piece of a stream knows the places of the pieces before it; the first one knows none. */
    const uint64_t known = decoder->is_piece ? byte_reader_number(decoder->in) : 0;
    if (known == 0)
        decoder->places->count = 0;
    if (known != decoder->places->count)
        decoder->in->is_bad = true;

    const size_t first = decoder->places->count;
    const size_t count = byte_reader_count(in, PLACE_BYTES, CAPTURE_MAX_RUNS - first);
    const enum err_code rc = grow_places(decoder->places, count, err);
    if (rc)
        return rc;
    struct run *const places = decoder->places->items + first;
    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = byte_reader_number(in);
        places[i].state = names_state(decoder->names, bits);
        places[i].lacks_native = (bits & decoder->names->lacks_native) != 0;
        places[i].spot = PROFILE_NO_SPOT;
    }
    for (size_t i = 0; i < count; i++) {
        node += (uint64_t)byte_reader_signed(in);
        places[i].node = take_id(in, (int64_t)node, decoder->sizes->nodes);
    }
    if (byte_reader_u8(in)) {
        for (size_t i = first; i < decoder->places->count; i++) {
            struct run *const place = &decoder->places->items[i];
            const uint64_t spot = byte_reader_number(decoder->in);
            const uint64_t away = (uint64_t)byte_reader_signed(decoder->in);
            if (spot == 0)
                continue;
            place->spot =
                take_id(decoder->in, (int64_t)((spot - 1) & INT64_MAX), decoder->sizes->spots);
            place->spot_node =
                take_id(decoder->in, (int64_t)(place->node - away), decoder->sizes->nodes);
        }
    }
    return ERR_OK;
}

static enum err_code take_windows(struct decoder *decoder, struct windows_block *out,
                                  struct err *err)
{
    struct byte_reader *const in = decoder->in;
    struct block_window last = { 0 };
    out->window_count = byte_reader_count(in, WINDOW_BYTES, CAPTURE_MAX_WINDOWS);
    out->windows = calloc(out->window_count + 1, sizeof *out->windows);
    decoder->threads = calloc(out->window_count + 1, sizeof *decoder->threads);
    if (!out->windows || !decoder->threads)
        return err_nomem(err);
    for (size_t i = 0; i < out->window_count; i++) {
        struct block_window *const window = &out->windows[i];
        window->start_ns = last.end_ns + byte_reader_below(in, WINDOWS_MAX_NS);
        window->end_ns = window->start_ns + byte_reader_below(in, WINDOWS_MAX_NS);
        window->period_ns = last.period_ns + (uint64_t)byte_reader_signed(in);
        window->is_open = byte_reader_u8(in) != 0;
        if (window->end_ns > WINDOWS_MAX_NS || window->period_ns > WINDOWS_MAX_NS) {
            in->is_bad = true;
            *window = (struct block_window){ 0 };
        }
        decoder->threads[i] = byte_reader_count(in, THREAD_BYTES, CAPTURE_MAX_RUNS);
        last = out->windows[i];
    }
    return ERR_OK;
}

/* Adds the runs of one thread of a window.  There are at most as many as the bytes left can hold. */
static enum err_code take_thread(struct decoder *decoder, struct windows_block *out,
                                 thread_id thread, size_t *room, struct err *err)
{
    const size_t count = byte_reader_count(decoder->in, 1, CAPTURE_MAX_RUNS - out->run_count);
    if (!VEC_RESERVE(out->runs, *room, out->run_count + count))
        return err_nomem(err);
    for (size_t i = 0; i < count; i++)
        out->runs[out->run_count++].thread = thread;
    return ERR_OK;
}

static void take_place_of_runs(struct decoder *decoder, struct windows_block *out)
{
    for (size_t i = 0; i < out->run_count && !decoder->in->is_bad; i++) {
        const uint64_t place = byte_reader_number(decoder->in);
        const thread_id thread = out->runs[i].thread;
        if (place >= decoder->places->count) {
            decoder->in->is_bad = true;
            return;
        }
        out->runs[i] = decoder->places->items[place];
        out->runs[i].thread = thread;
    }
    for (size_t i = 0; i < out->run_count && !decoder->in->is_bad; i++)
        out->runs[i].count = (uint32_t)byte_reader_below(decoder->in, UINT32_MAX - 1) + 1;
}

static enum err_code take_times(struct decoder *decoder, struct windows_block *out,
                                struct err *err)
{
    /* The column of spans follows the column of starts.  A span is needed to know when the next run of
     * the thread is expected, so two readers move in step. */
    struct byte_reader spans = *decoder->in;
    for (size_t i = 0; i < out->run_count && !spans.is_bad; i++)
        (void)byte_reader_number(&spans);
    const uint64_t start = out->window_count ? out->windows[0].start_ns / decoder->unit_ns : 0;
    decoder->next = calloc((size_t)decoder->sizes->threads + 1, sizeof *decoder->next);
    if (!decoder->next)
        return err_nomem(err);
    const uint64_t most = WINDOWS_MAX_NS / decoder->unit_ns;
    for (size_t i = 0; i < out->run_count && !decoder->in->is_bad; i++) {
        struct run *const run = &out->runs[i];
        uint64_t *const next = &decoder->next[run->thread];
        const uint64_t first = start + *next + (uint64_t)byte_reader_signed(decoder->in);
        const uint64_t span = (uint64_t)byte_reader_signed(&spans) + (run->count - 1);
        if (first > most || span > most || first + span > most) {
            decoder->in->is_bad = true;
            continue;
        }
        run->first_ns = first * decoder->unit_ns;
        run->step_ns = run->count > 1 ? span * decoder->unit_ns / (run->count - 1) : 0;
        /* As in the encoder. */
        *next = (uint32_t)(first + span + 1 - start);
    }
    decoder->in->is_bad |= spans.is_bad;
    return ERR_OK;
}

static enum err_code decode_columns(struct decoder *decoder, struct windows_block *out,
                                    struct err *err)
{
    struct byte_reader *const in = decoder->in;
    names_take_quality(decoder->names, in, &out->quality);
    out->lost = byte_reader_number(in);
    enum err_code rc = take_places(decoder, err);
    if (!rc)
        rc = take_windows(decoder, out, err);
    if (!rc) {
        size_t room = 0;
        for (size_t i = 0; i < out->window_count; i++) {
            struct block_window *const window = &out->windows[i];
            uint64_t thread = 0;
            window->runs_at = out->run_count;
            for (size_t j = 0; j < decoder->threads[i] && !rc && !decoder->in->is_bad; j++) {
                thread += (uint64_t)byte_reader_signed(decoder->in);
                rc = take_thread(decoder, out,
                                 take_id(decoder->in, (int64_t)thread, decoder->sizes->threads),
                                 &room, err);
            }
            window->run_count = out->run_count - window->runs_at;
        }
        if (byte_reader_count(decoder->in, RUN_BYTES, CAPTURE_MAX_RUNS) != out->run_count)
            decoder->in->is_bad = true;
    }
    if (!rc)
        take_place_of_runs(decoder, out);
    if (!rc && !in->is_bad)
        rc = take_times(decoder, out, err);
    if (!rc && in->is_bad)
        rc = err_set(err, ERR_CORRUPT, "a block of samples is invalid");
    return rc;
}

enum err_code windows_decode(struct byte_reader *in, const struct names *names,
                             uint64_t unit_ns, const struct profile_sizes *sizes, bool is_piece,
                             struct windows_places *places, struct windows_block *out,
                             struct err *err)
{
    struct decoder decoder = { .in = in,
                               .names = names,
                               .sizes = sizes,
                               .unit_ns = unit_ns,
                               .is_piece = is_piece,
                               .places = places };
    memset(out, 0, sizeof *out);
    const enum err_code rc = decode_columns(&decoder, out, err);
    free(decoder.threads);
    free(decoder.next);
    if (rc)
        windows_block_deinit(out);
    return rc;
}

enum err_code windows_decode_measured(struct byte_reader *in, const struct names *names,
                                      uint64_t unit_ns, const struct profile_sizes *sizes,
                                      struct profile *profile, struct windows_block *out,
                                      struct err *err)
{
    struct windows_places places = { 0 };
    char type[MEASURE_NAME_BYTES];
    const char *const name = byte_reader_text(in);
    const int known = enum_find(measure_texts, name);
    enum measure measure = known > 0 ? (enum measure)known : MEASURE_COUNT;
    memset(out, 0, sizeof *out);
    if (in->is_bad || known == MEASURE_TIME)
        return err_set(err, ERR_CORRUPT, "a block of samples is invalid");
    if (known < 0 && *name)
        return err_set(err, ERR_UNSUPPORTED,
                       "it counts '%.32s', which this pyrometer does not know: use a newer one",
                       name);
    enum err_code rc = ERR_OK;
    if (known < 0) {
        snprintf(type, sizeof type, "%s", byte_reader_text(in));
        const char *const unit = byte_reader_text(in);
        rc = in->is_bad ? err_set(err, ERR_CORRUPT, "a block of samples is invalid")
                        : profile_foreign_measure(profile, type, unit, &measure, err);
    }
    if (!rc)
        rc = windows_decode(in, names, unit_ns, sizes, true, &places, out, err);
    windows_places_deinit(&places);
    if (rc)
        return rc;
    out->measure = measure;
    for (size_t i = 0; i < out->run_count; i++)
        out->runs[i].measure = (uint8_t)measure;
    return ERR_OK;
}

void windows_places_deinit(struct windows_places *places)
{
    free(places->items);
    *places = (struct windows_places){ 0 };
}

void windows_block_deinit(struct windows_block *block)
{
    free(block->windows);
    free(block->runs);
    memset(block, 0, sizeof *block);
}
