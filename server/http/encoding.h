/*
 * encoding - which compression an answer gets, and the compression itself.
 *
 * zstd where the client names it, else gzip, else none; short bodies stay as they are.
 */
#ifndef SERVER_HTTP_ENCODING_H
#define SERVER_HTTP_ENCODING_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

/* Below this the headers cost more than compression saves. */
enum { ENCODING_MIN_BYTES = 256 };

enum encoding { ENCODING_IDENTITY, ENCODING_GZIP, ENCODING_ZSTD, ENCODING_COUNT };

/* accept: the value of Accept-Encoding, NULL: absent. */
enum encoding encoding_choose(const char *accept);

/* True if it takes gzip, be it its first choice or not. */
bool encoding_takes_gzip(const char *accept);

/* As in Content-Encoding. */
const char *encoding_text(enum encoding encoding);

/* The result is the caller's (free).  Not for ENCODING_IDENTITY. */
MUST_CHECK enum err_code encoding_apply(enum encoding encoding, const void *data, size_t bytes,
                                        void **out, size_t *bytes_out, struct err *err);

#endif /* SERVER_HTTP_ENCODING_H */
