/*
 * marshal - as much of Python's marshal format as its pstats module reads.
 *
 * Only forms that every Python from 3.8 on reads: no references, no short strings.
 *
 *     marshal_dict(out);                  { key: value, ... }
 *     marshal_text(out, ...); marshal_int(out, 1);
 *     marshal_end(out);
 *     marshal_tuple(out, 2);              the two items follow
 *
 * Source: Python/marshal.c of CPython.
 */
#ifndef SERVER_REPORT_ENCODING_MARSHAL_H
#define SERVER_REPORT_ENCODING_MARSHAL_H

#include <stddef.h>
#include <stdint.h>

struct buffer;

/* Keys and values follow, then marshal_end. */
void marshal_dict(struct buffer *out);
void marshal_end(struct buffer *out);
void marshal_tuple(struct buffer *out, uint32_t items);
/* UTF-8. */
void marshal_text(struct buffer *out, const char *text, uint32_t length);
void marshal_int(struct buffer *out, int64_t value);
void marshal_float(struct buffer *out, double value);

#endif /* SERVER_REPORT_ENCODING_MARSHAL_H */
