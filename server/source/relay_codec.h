/*
 * relay_codec - a request for source text and its answer, as they go between the HTTP process and the sampling process.
 *
 * A request names functions of a session, and never a file: which file they name, and which process names it, the
 * sampling process knows itself.
 *
 * Neither side trusts the other: lengths and counts are bounded, and nothing may follow.
 *
 * Ownership: the caller's storage.
 * Threads: any.
 */
#ifndef SERVER_SOURCE_RELAY_CODEC_H
#define SERVER_SOURCE_RELAY_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "server/source/source_reader.h"

struct buffer;
struct buffer;

enum relay_want {
    RELAY_TEXT,        /* of a file that is known */
    RELAY_NATIVE_TEXT, /* also of native code whose file is unknown, if it is the only function */
    RELAY_PLACES, /* of native functions of one library, whose file is unknown (request.h) */
    RELAY_CHECKOUT, /* a struct source_checkout, which must be validated, of a file that is known */
    RELAY_DISTRIBUTION, /* a struct source_distribution, likewise */
    RELAY_WANTS
};

struct relay_request {
    enum relay_want want;
    size_t count;                             /* at least one */
    function_id functions[SOURCE_MAX_PLACES]; /* all of one file */
};

void relay_request_encode(const struct relay_request *request, struct buffer *out);
/* ERR_INVALID: it is none. */
MUST_CHECK enum err_code relay_request_decode(const void *data, size_t bytes,
                                              struct relay_request *out, struct err *err);

void relay_answer_encode(enum err_code code, const struct err *err, uint64_t changed_ns,
                         const struct source_place *place, const struct buffer *text,
                         struct buffer *out);
/* Returns the error of the other side, with its message.  Replaces the content of `out`.  place_out: NULL: not wanted; it is
 * set with an error of the other side too.  ERR_CORRUPT: it is no answer. */
MUST_CHECK enum err_code relay_answer_decode(const void *data, size_t bytes, struct buffer *out,
                                             uint64_t *changed_ns_out,
                                             struct source_place *place_out, struct err *err);

#endif /* SERVER_SOURCE_RELAY_CODEC_H */
