/*
 * utf8 - decides whether bytes are UTF-8, cuts text, decodes and encodes characters.
 */
#ifndef SAMPLER_BASE_UTF8_H
#define SAMPLER_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the well-formed character at text (1 to 4), 0: not well-formed (overlong forms,
 * surrogates and anything above U+10FFFF are not). */
size_t utf8_char_length(const char *text, size_t length);

/* The code point of the well-formed character of `bytes` bytes at text. */
uint32_t utf8_decode(const char *text, size_t bytes);

bool utf8_is_valid(const char *text, size_t length);

/* The length of the text, or less, so that it is at most `most` and no character is cut. */
size_t utf8_cut(const char *text, size_t length, size_t most);

/* Writes `code` as 1 to 4 bytes; surrogates and values above U+10FFFF become U+FFFD.
 * Returns the bytes written. */
size_t utf8_encode(uint32_t code, char out[4]);

#endif /* SAMPLER_BASE_UTF8_H */
