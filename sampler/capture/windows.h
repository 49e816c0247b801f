/*
 * windows - samples in a capture: the runs of a few seconds, window by window, in columns.
 *
 * Runs of a thread at one place that follow each other become one run.  A place is a state, a
 * node and a spot: each stands once in the blocks of a stream (block.h), those with most runs first,
 * and a run names it by a small number.  A stack is one number anyway, as nodes are interned.
 *
 * Times are told in units of about the sampling period, of which a run that follows the last one
 * of its thread at once needs none.  When in its unit a sample was taken is not kept.
 *
 * Ownership: the caller's storage; deinit functions accept zeroed ones.
 * Limits: CAPTURE_MAX_WINDOWS windows and CAPTURE_MAX_RUNS runs in a block, and as many places in
 * a stream; the encoder says that it is full at WINDOWS_FULL_RUNS, and the writer ends a stream at
 * WINDOWS_FULL_PLACES.  Times are below WINDOWS_MAX_NS.
 * Threads: one at a time.
 * Depends on: profile (sink, quality), names, bytes.
 */
#ifndef SAMPLER_CAPTURE_WINDOWS_H
#define SAMPLER_CAPTURE_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"

struct bytes;
struct cursor;
struct names;

enum {
    WINDOWS_FULL_RUNS = 1 << 14,
    WINDOWS_FULL_WINDOWS = 1 << 10,
    WINDOWS_FULL_PLACES = 1 << 16,
};

#define WINDOWS_MAX_NS      (1ull << 61)
#define WINDOWS_MAX_UNIT_NS 1000000000ull

/* A window; runs_at and run_count are runs of the block. */
struct capture_input_window {
    uint64_t start_ns, end_ns;
    uint64_t period_ns; /* what a sample stands for; 0: unknown */
    bool is_open;       /* goes on in the next block */
    size_t runs_at, run_count;
};

/* What is waiting to become a block. */
struct windows_encoder {
    uint64_t unit_ns;
    uint64_t start_ns; /* of the open window */
    struct idmap index;
    struct place *places;
    size_t place_count, place_room;
    size_t target_list_places; /* that earlier blocks of the stream have */
    struct target_list_run *runs;
    size_t run_count, run_room;
    size_t open_at;    /* the first run of the open window */
    uint32_t *last_of; /* by thread: its last run of the open window, plus 1 */
    size_t last_room;
    struct capture_input_window *windows; /* closed ones */
    size_t window_count, window_room;
};

void windows_encoder_init(struct windows_encoder *encoder, uint64_t unit_ns);
void windows_encoder_deinit(struct windows_encoder *encoder);
/* Adds a run to the open window. */
MUST_CHECK enum err_code windows_encoder_add(struct windows_encoder *encoder,
                                             const struct run *run, struct err *err);
/* Closes the open window; one without runs leaves no trace. */
MUST_CHECK enum err_code windows_encoder_seal(struct windows_encoder *encoder, uint64_t end_ns,
                                              uint64_t period_ns, struct err *err);
static inline bool windows_encoder_is_full(const struct windows_encoder *encoder)
{
    return encoder->run_count >= WINDOWS_FULL_RUNS ||
           encoder->window_count >= WINDOWS_FULL_WINDOWS;
}
static inline bool windows_encoder_is_empty(const struct windows_encoder *encoder)
{
    return encoder->run_count == 0;
}
/* Where its first window starts. */
uint64_t windows_encoder_start_ns(const struct windows_encoder *encoder);
uint64_t windows_encoder_samples(const struct windows_encoder *encoder);
/* Appends the block's bytes and starts anew; a window that is still open goes on in the next, and
 * so do the places, until they are to be forgotten: right after a block that ends a stream. */
MUST_CHECK enum err_code windows_encode(struct windows_encoder *encoder,
                                        const struct quality *quality, uint64_t lost,
                                        struct bytes *out, struct err *err);
void windows_encoder_forget(struct windows_encoder *encoder);

/* Places that the blocks of a stream have told so far. */
struct windows_places {
    struct run *items;
    size_t count, room;
};

void windows_places_deinit(struct windows_places *places);

/* A block that was read. */
struct windows_block {
    struct quality quality; /* as of its end */
    uint64_t lost;          /* samples not written so far */
    struct capture_input_window *windows;
    size_t window_count;
    struct run *runs; /* of a window: by thread, then time */
    size_t run_count;
};

/* is_piece: it is one of a stream, and refers to the places before it and adds to them; a block
 * that is none has its own.  ERR_CORRUPT: it makes no sense, or names rows that are not below
 * `sizes`. */
MUST_CHECK enum err_code windows_decode(struct cursor *cursor, const struct names *names,
                                        uint64_t unit_ns, const struct profile_sizes *sizes,
                                        bool is_piece, struct windows_places *places,
                                        struct windows_block *out, struct err *err);
void windows_block_deinit(struct windows_block *block);

#endif /* SAMPLER_CAPTURE_WINDOWS_H */
