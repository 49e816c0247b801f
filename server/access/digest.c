#include "server/access/digest.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum err_code digest_make(const void *data, size_t bytes, struct digest *out, struct err *err)
{
    struct digest made;
    if (gnutls_hash_fast(GNUTLS_DIG_SHA256, data, bytes, made.bytes) != 0)
        return err_set(err, ERR_UNSUPPORTED, "SHA-256 is unavailable");
    *out = made;
    return ERR_OK;
}

bool digest_equals(const struct digest *a, const struct digest *b)
{
    return gnutls_memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void digest_format(const struct digest *digest, char out[2 * DIGEST_BYTES + 1])
{
    for (size_t i = 0; i < sizeof digest->bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", digest->bytes[i]);
}

bool digest_parse(const char *text, struct digest *out)
{
    if (strlen(text) != 2 * DIGEST_BYTES ||
        strspn(text, "0123456789abcdef") != 2 * DIGEST_BYTES)
        return false;
    for (size_t i = 0; i < sizeof out->bytes; i++)
        if (sscanf(text + 2 * i, "%2hhx", &out->bytes[i]) != 1)
            return false;
    return true;
}

enum err_code digest_secret(char out[DIGEST_SECRET_LENGTH + 1], struct err *err)
{
    struct digest random;
    /* Up to 256 bytes come whole or not at all. */
    if (getrandom(random.bytes, sizeof random.bytes, 0) != (ssize_t)sizeof random.bytes)
        return err_sys(err, errno, "random bytes for a token are unavailable");
    digest_format(&random, out);
    return ERR_OK;
}

bool digest_decode64(const char *text, char *out, size_t bytes)
{
    const gnutls_datum_t in = { (unsigned char *)(uintptr_t)text, (unsigned)strlen(text) };
    gnutls_datum_t made = { NULL, 0 };
    if (gnutls_base64_decode2(&in, &made) != 0)
        return false;
    const bool fits = made.size < bytes;
    if (fits) {
        memcpy(out, made.data, made.size);
        out[made.size] = '\0';
    }
    gnutls_free(made.data);
    return fits;
}
