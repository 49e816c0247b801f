/*
 * windows - samples in a capture: the runs of a few seconds, window by window, in columns.
 *
 * Consecutive runs of a thread at one place become one run.  A place is a state, a node and a spot.  It
 * is stored once in the blocks of a stream (block.h), those with most runs first, and runs refer to it
 * by a small number.  The stack of a place is one number, because nodes are interned.
 *
 * Times are in units of about the sampling period.  A run that directly follows the last one of its
 * thread needs no time.  Where within its unit a sample was taken is not stored.
 *
 * Ownership: the caller's storage; deinit functions accept zeroed ones.
 * Limits: CAPTURE_MAX_WINDOWS windows and CAPTURE_MAX_RUNS runs in a block, and as many places in
 * a stream.  The encoder is full at WINDOWS_FULL_RUNS; the writer ends a stream at
 * WINDOWS_FULL_PLACES.  Times are below WINDOWS_MAX_NS.
 * Threads: one at a time.
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

struct buffer;
struct byte_reader;
struct names;

enum {
    WINDOWS_FULL_RUNS = 1 << 14,
    WINDOWS_FULL_WINDOWS = 1 << 10,
    WINDOWS_FULL_PLACES = 1 << 16,
};

#define WINDOWS_MAX_NS      (1ull << 61)
#define WINDOWS_MAX_UNIT_NS 1000000000ull

/* A window of one measure; runs_at and run_count choose runs of the block. */
struct block_window {
    uint64_t start_ns, end_ns;
    uint64_t period_ns; /* what a sample stands for; 0: unknown */
    bool is_open;       /* continues in the next block */
    size_t runs_at, run_count;
};

/* Collects the runs of the next block. */
struct windows_encoder {
    uint64_t unit_ns;
    bool marks_native; /* as names_set_live */
    uint64_t start_ns; /* of the open window */
    struct idmap index;
    struct place *places;
    size_t place_count, place_room;
    size_t known_places; /* of earlier blocks of the stream */
    struct encoded_run *runs;
    size_t run_count, run_room;
    size_t open_at;    /* the first run of the open window */
    uint32_t *last_of; /* by thread: its last run of the open window, plus 1 */
    size_t last_room;
    struct block_window *windows; /* closed ones */
    size_t window_count, window_room;
};

void windows_encoder_init(struct windows_encoder *encoder, uint64_t unit_ns);
void windows_encoder_deinit(struct windows_encoder *encoder);
/* Adds a run to the open window. */
MUST_CHECK enum err_code windows_encoder_add(struct windows_encoder *encoder,
                                             const struct run *run, struct err *err);
/* Closes the open window; does not store one without runs. */
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
/* The start of its first window. */
uint64_t windows_encoder_start_ns(const struct windows_encoder *encoder);
uint64_t windows_encoder_samples(const struct windows_encoder *encoder);
/* Appends the block's bytes and starts the next block.  An open window continues in it.  Places stay
 * known until windows_encoder_forget, which is called right after a block that ends a stream. */
MUST_CHECK enum err_code windows_encode(struct windows_encoder *encoder,
                                        const struct quality *quality, uint64_t lost,
                                        struct buffer *out, struct err *err);
/* Appends the name of a measure, with which a block of it begins. */
void windows_encode_measure(const struct profile_snapshot *snapshot, enum measure measure,
                            struct buffer *out);
void windows_encoder_forget(struct windows_encoder *encoder);

/* Places of the blocks of a stream so far. */
struct windows_places {
    struct run *items;
    size_t count, room;
};

void windows_places_deinit(struct windows_places *places);

/* A decoded block: the windows of one measure. */
struct windows_block {
    enum measure measure;
    struct quality quality; /* as of its end */
    uint64_t lost;          /* samples not written so far */
    struct block_window *windows;
    size_t window_count;
    struct run *runs; /* of a window: by thread, then time */
    size_t run_count;
};

/* is_piece: the block is a piece of a stream: it refers to the places before it and adds to them;
 * another block has its own places.  ERR_CORRUPT: it is invalid, or refers to rows not below
 * `sizes`.  Its measure is time. */
MUST_CHECK enum err_code windows_decode(struct byte_reader *in, const struct names *names,
                                        uint64_t unit_ns, const struct profile_sizes *sizes,
                                        bool is_piece, struct windows_places *places,
                                        struct windows_block *out, struct err *err);
/* Decodes a block of another measure, which begins with its name and has its own places; the profile learns that of another tool.
 * ERR_UNSUPPORTED: there is no such measure. */
MUST_CHECK enum err_code windows_decode_measured(struct byte_reader *in,
                                                 const struct names *names, uint64_t unit_ns,
                                                 const struct profile_sizes *sizes,
                                                 struct profile *profile,
                                                 struct windows_block *out, struct err *err);
void windows_block_deinit(struct windows_block *block);

#endif /* SAMPLER_CAPTURE_WINDOWS_H */
