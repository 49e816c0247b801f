/*
 * digest - SHA-256, random secrets, and comparison in constant time.  The only place that sees GnuTLS,
 * which libmicrohttpd brings for TLS.
 */
#ifndef SERVER_ACCESS_DIGEST_H
#define SERVER_ACCESS_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum { DIGEST_BYTES = 32, DIGEST_SECRET_LENGTH = 64 };

struct digest {
    unsigned char bytes[DIGEST_BYTES];
};

/* ERR_UNSUPPORTED: SHA-256 is unavailable. */
MUST_CHECK enum err_code digest_make(const void *data, size_t bytes, struct digest *out,
                                     struct err *err);
/* Takes equally long for equal and for different digests. */
bool digest_equals(const struct digest *a, const struct digest *b);

/* 2 * DIGEST_BYTES hex digits and a NUL. */
void digest_format(const struct digest *digest, char out[2 * DIGEST_BYTES + 1]);
bool digest_parse(const char *text, struct digest *out);

/* 256 random bits in hex. */
MUST_CHECK enum err_code digest_secret(char out[DIGEST_SECRET_LENGTH + 1], struct err *err);

/* Decodes base64 and appends a NUL.  false: the text is not base64, or too long. */
bool digest_decode64(const char *text, char *out, size_t bytes);

#endif /* SERVER_ACCESS_DIGEST_H */
