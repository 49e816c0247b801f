/*
 * packed - a buffer whose bytes are compressed, and perhaps made text, on their way to another.
 *
 *     struct packed packed;
 *     embedded_profile_init(&packed, level, EMBEDDED_PROFILE_BASE64, out, err);
 *     ... write to &packed.in ...
 *     embedded_profile_finish(&packed, err);
 *     embedded_profile_deinit(&packed);
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

enum embedded_profile_form { EMBEDDED_PROFILE_BYTES, EMBEDDED_PROFILE_BASE64 };

struct embedded_profile {
    struct buffer in;
    struct gzip_stream *stream;
    enum embedded_profile_form form;
    struct buffer *out;
    char carry[3]; /* bytes that do not yet make four digits */
    size_t carried;
};

MUST_CHECK enum err_code embedded_profile_init(struct embedded_profile *profile_text, int level,
                                               enum embedded_profile_form form,
                                               struct buffer *out, struct err *err);
/* Writes what is left and the end. */
MUST_CHECK enum err_code embedded_profile_finish(struct embedded_profile *profile_text,
                                                 struct err *err);
void embedded_profile_deinit(struct embedded_profile *profile_text);

#endif /* SERVER_REPORT_ENCODING_EMBEDDED_PROFILE_H */
