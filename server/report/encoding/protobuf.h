/*
 * protobuf - as much of the wire format of protocol buffers as profiles need: numbers, strings and
 * messages in messages.
 *
 * Fields whose value is 0 are left out: readers take a missing field for 0.
 *
 * Source: the encoding page of the protocol buffers documentation.
 */
#ifndef SERVER_REPORT_ENCODING_PROTOBUF_H
#define SERVER_REPORT_ENCODING_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

void protobuf_varint(struct buffer *out, uint64_t value);
void protobuf_uint(struct buffer *out, unsigned field, uint64_t value);
/* Writes an empty string, too, because it is an element of a list. */
void protobuf_bytes(struct buffer *out, unsigned field, const void *data, size_t bytes);
/* Writes 0, too. */
void protobuf_fixed64(struct buffer *out, unsigned field, uint64_t value);

/* Takes the first field of a message of strings and messages off.  false: there is none, or it is another kind of field. */
bool protobuf_next(const char **message, size_t *left, unsigned *field_out,
                   const char **data_out, size_t *bytes_out);

#endif /* SERVER_REPORT_ENCODING_PROTOBUF_H */
