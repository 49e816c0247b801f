/*
 * base64 - bytes as text (RFC 4648, with padding).
 */
#ifndef SERVER_REPORT_ENCODING_BASE64_H
#define SERVER_REPORT_ENCODING_BASE64_H

#include <stddef.h>

struct buffer;

void base64_append(struct buffer *out, const void *data, size_t bytes);

#endif /* SERVER_REPORT_ENCODING_BASE64_H */
