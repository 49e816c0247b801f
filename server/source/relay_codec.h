/*
 * relay_codec - a wish for a source file and its answer, as they go between the HTTP process and the reader process.
 *
 * Neither side trusts the other: lengths and counts are bounded, and nothing may follow.
 *
 * Ownership: a decoded wish points into the data that it was decoded from, and into itself.
 * Threads: any.
 * Depends on: helper, source, bytes, buffer.
 */
#ifndef SERVER_SOURCE_RELAY_CODEC_H
#define SERVER_SOURCE_RELAY_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "server/source/helper.h"
#include "server/source/source.h"

struct buffer;
struct bytes;

struct relay_wish {
    struct source_wish wish;
    bool wants_place;
    uint64_t entries[SOURCE_MAX_PLACES]; /* of the wish */
};

void relay_wish_encode(const struct source_wish *wish, bool wants_place, struct bytes *out);
/* ERR_INVALID: it is none. */
MUST_CHECK enum err_code relay_wish_decode(const void *data, size_t bytes,
                                           struct relay_wish *out, struct err *err);

void relay_answer_encode(enum err_code code, const struct err *err, uint64_t changed_ns,
                         const struct source_place *place, const struct buffer *text,
                         struct bytes *out);
/* Returns the error of the other side, with its message.  Replaces the content of `out`.  place_out: NULL: not wanted; it is
 * set with an error of the other side too.  ERR_CORRUPT: it is no answer. */
MUST_CHECK enum err_code relay_answer_decode(const void *data, size_t bytes, struct buffer *out,
                                             uint64_t *changed_ns_out,
                                             struct source_place *place_out, struct err *err);

#endif /* SERVER_SOURCE_RELAY_CODEC_H */
