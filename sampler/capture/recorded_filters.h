/*
 * recorded_filters - the filters that a capture was recorded with, in its metadata.
 *
 * A capture has every sample.  Its filters are what a view of it begins with.
 *
 * Ownership: borrows the patterns, in both directions; the metadata borrow from the room.
 * Threads: any.
 * Limits: those of frame_filters.  Metadata may hold anything: what breaks a limit is left out.
 */
#ifndef SAMPLER_CAPTURE_RECORDED_FILTERS_H
#define SAMPLER_CAPTURE_RECORDED_FILTERS_H

#include "sampler/profile/views/frame_filters.h"

struct capture_metadata;

enum { RECORDED_FILTERS_TEXT_BYTES = 256 };

struct recorded_filters_room {
    const char *patterns[FRAME_FILTER_KIND_COUNT][FRAME_FILTERS_MAX + 1];
};

/* Sets the lists of the metadata. */
void recorded_filters_put(const struct frame_filters *filters,
                          struct recorded_filters_room *room, struct capture_metadata *out);

/* Takes the valid filters.  ignored_out: a sentence about the others; "": there are none. */
void recorded_filters_take(const struct capture_metadata *metadata, struct frame_filters *out,
                           char ignored_out[RECORDED_FILTERS_TEXT_BYTES]);

#endif /* SAMPLER_CAPTURE_RECORDED_FILTERS_H */
