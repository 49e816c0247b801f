/*
 * markup - text in HTML.
 *
 * Whatever the text holds, it stays text, in one piece and on its line: what HTML would read is
 * escaped, control characters and what turns the direction of writing are shown as \xNN and
 * \uNNNN, bytes that are not UTF-8 become U+FFFD.
 *
 * Depends on: buffer, names.
 */
#ifndef SERVER_REPORT_ENCODING_HTML_ESCAPE_H
#define SERVER_REPORT_ENCODING_HTML_ESCAPE_H

#include <stddef.h>

#include "sampler/base/strtab.h"

struct buffer;

/* For text between tags and in quoted attributes; tabs stay. */
void html_put(struct buffer *out, const char *text, size_t length);
void html_put_string(struct buffer *out, struct strtab_string text);
void html_put_text(struct buffer *out, const char *text); /* NULL is "" */

#endif /* SERVER_REPORT_ENCODING_HTML_ESCAPE_H */
