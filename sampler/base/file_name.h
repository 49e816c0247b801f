/*
 * file_name - names of files that are not UTF-8, in text that is.
 *
 * Python decodes a name by its file system encoding, which is UTF-8 but for some old locales, and keeps each
 * byte that it cannot decode as a lone surrogate, U+DC80 to U+DCFF (PEP 383).  Our text has no
 * surrogates: it represents such a byte by U+EF80 to U+EFFF, which are for private use and in no name.
 */
#ifndef SAMPLER_BASE_FILE_NAME_H
#define SAMPLER_BASE_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character of our text that stands for a character of Python's. */
uint32_t file_name_of_python(uint32_t code);
/* The byte that a character of our text stands for; -1: the character stands for itself. */
int file_name_byte(uint32_t code);

/* Ways in which a name may have been decoded, the likeliest first. */
enum file_name_encoding {
    FILE_NAME_TEXT,
    FILE_NAME_UTF8,
    FILE_NAME_LATIN1,
    FILE_NAME_ENCODINGS
};

/* Writes the name as the kernel knows it: unchanged, or with the bytes that characters stand for, or with one byte
 * a character.  false: an earlier way gives the same name, or the name has no such form or no room. */
bool file_name_encode(const char *text, enum file_name_encoding encoding, char *out,
                      size_t room);

#endif /* SAMPLER_BASE_FILE_NAME_H */
