/*
 * packed - a buffer whose bytes are compressed, and perhaps made text, on their way to another.
 *
 *     struct packed packed;
 *     packed_init(&packed, level, PACKED_BASE64, out, err);
 *     ... write to &packed.in ...
 *     packed_finish(&packed, err);
 *     packed_deinit(&packed);
 *
 * Ownership: the caller's storage, which must not move; `out` is borrowed.
 * Limits: none; what passes is never held whole.
 * Depends on: buffer, compress, base64.
 */
#ifndef SERVER_REPORT_ENCODING_EMBEDDED_PROFILE_H
#define SERVER_REPORT_ENCODING_EMBEDDED_PROFILE_H

#include <stddef.h>

#include "sampler/base/buffer.h"
#include "sampler/base/err.h"

struct gzip_stream;

enum packed_form { PACKED_BYTES, PACKED_BASE64 };

struct packed {
    struct buffer in;
    struct gzip_stream *stream;
    enum packed_form form;
    struct buffer *out;
    char carry[3]; /* bytes that do not yet make four digits */
    size_t carried;
};

MUST_CHECK enum err_code packed_init(struct packed *packed, int level, enum packed_form form,
                                     struct buffer *out, struct err *err);
/* Writes what is left and the end. */
MUST_CHECK enum err_code packed_finish(struct packed *packed, struct err *err);
void packed_deinit(struct packed *packed);

#endif /* SERVER_REPORT_ENCODING_EMBEDDED_PROFILE_H */
