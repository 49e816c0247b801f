/*
 * plain_text - shows texts of others so that a terminal prints them and obeys nothing in them.
 *
 * A text of a target, of a file or of another host can hold characters that a terminal executes
 * (C0, DEL, C1), that end a line, that change the direction of writing, or that nobody sees.  They
 * become \xNN, \uNNNN or \UNNNNNNNN, as Python writes them, and so does a byte that file_name keeps.
 * Other bytes that are not UTF-8, those of a lone surrogate among them, become U+FFFD.  So a text stays in
 * its line, and shows what it is.
 *
 * Source: Unicode 16.0, general categories Cc, Zl and Zp, Bidi_Control, Default_Ignorable_Code_Point.
 */
#ifndef SAMPLER_BASE_PLAIN_TEXT_H
#define SAMPLER_BASE_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

enum { PLAIN_TEXT_CHARACTER = 10 }; /* bytes, at most */

/* False for a character that becomes an escape. */
bool plain_text_shows(uint32_t code);

/* Writes the first character of a text that is not empty.  Returns its bytes, at least 1. */
size_t plain_text_character(const char *text, size_t length, char out[PLAIN_TEXT_CHARACTER],
                            size_t *length_out);
void plain_text_put(struct buffer *out, const char *text, size_t length);
/* Ends with a NUL, and between two characters if there is no room for all of the text. */
void plain_text_copy(char *out, size_t room, const char *text);

#endif /* SAMPLER_BASE_PLAIN_TEXT_H */
