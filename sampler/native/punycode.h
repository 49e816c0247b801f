/*
 * punycode - decodes identifiers of ASCII that stand for other characters (RFC 3492), as Rust writes them: "_" is before
 * the code instead of "-".
 *
 * Threads: any.
 * Limits: PUNYCODE_MAX_CHARACTERS of an identifier; longer ones are not decoded.
 */
#ifndef SAMPLER_NATIVE_PUNYCODE_H
#define SAMPLER_NATIVE_PUNYCODE_H

#include <stddef.h>
#include <stdint.h>

enum { PUNYCODE_MAX_CHARACTERS = 256 };

/* Returns the number of characters; 0: the text is none, or too long. */
size_t punycode_decode(const char *text, size_t bytes,
                       uint32_t characters[PUNYCODE_MAX_CHARACTERS]);

#endif /* SAMPLER_NATIVE_PUNYCODE_H */
