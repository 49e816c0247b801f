/*
 * embedded_profile - a buffer that passes its bytes on to another, compressed and optionally as base64.
 *
 *     struct embedded_profile profile_text;
 *     embedded_profile_init(&profile_text, level, EMBEDDED_PROFILE_BASE64, out, err);
 *     ... write to &profile_text.in ...
 *     embedded_profile_finish(&profile_text, err);
 *     embedded_profile_deinit(&profile_text);
 *
 * Ownership: the caller's storage, which must not move; `out` is borrowed.
 * Limits: none; the data is streamed.
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
