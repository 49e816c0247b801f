/*
 * file_name - names of files that are not UTF-8, in text that is.
 *
 * Python decodes a name by its file system encoding, which is UTF-8 but for some old locales, and keeps each
 * byte that it cannot decode as a lone surrogate, U+DC80 to U+DCFF (PEP 383).  Text of ours has no
 * surrogates: there such a byte is U+EF80 to U+EFFF, which is for private use and in no name.
 *
 * Depends on: utf8.
 */
#ifndef SAMPLER_BASE_FILE_NAME_H
#define SAMPLER_BASE_FILE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a character of Python: what stands for it in text of ours. */
uint32_t file_name_of_python(uint32_t code);
/* Of a character of ours: the byte; -1: it is a character. */
int file_name_byte(uint32_t code);

/* Ways in which a name may have been decoded, the likeliest first. */
enum file_name_encoding {
    FILE_NAME_TEXT,
    FILE_NAME_UTF8,
    FILE_NAME_LATIN1,
    FILE_NAME_ENCODINGS
};

/* The name as the kernel knows it: as the text is, or with its bytes for what stands for them, or one byte a
 * character.  false: it is the same as before, has no such form, or no room. */
bool file_name_encode(const char *text, enum file_name_encoding encoding, char *out,
                      size_t room);

#endif /* SAMPLER_BASE_FILE_NAME_H */
