#include "sampler/base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

enum { UINT_DIGITS = 20, NUMBER_BYTES = 10 };

void buffer_deinit(struct buffer *buffer)
{
    free(buffer->data);
    memset(buffer, 0, sizeof *buffer);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->length = 0;
    buffer->failed = false;
}

void buffer_init_draining(struct buffer *buffer, buffer_drain *drain, void *to)
{
    memset(buffer, 0, sizeof *buffer);
    buffer->drain = drain;
    buffer->drain_to = to;
}

void buffer_flush(struct buffer *buffer)
{
    if (!buffer->drain || buffer->failed || buffer->length == 0)
        return;
    buffer->failed = !buffer->drain(buffer->drain_to, buffer->data, buffer->length);
    buffer->length = 0;
}

char *buffer_reserve(struct buffer *buffer, size_t bytes)
{
    if (buffer->drain && buffer->length >= BUFFER_DRAIN_BYTES)
        buffer_flush(buffer);
    buffer->failed =
        buffer->failed || bytes > BUFFER_MAX_BYTES - buffer->length ||
        !VEC_RESERVE(buffer->data, buffer->capacity, buffer->length + (bytes ? bytes : 1));
    return buffer->failed ? NULL : buffer->data + buffer->length;
}

char *buffer_replace(struct buffer *buffer, size_t bytes)
{
    buffer_clear(buffer);
    if (buffer->capacity < bytes) {
        free(buffer->data);
        buffer->data = NULL;
        buffer->capacity = 0;
    }
    char *const room = buffer_reserve(buffer, bytes);
    buffer->length = room ? bytes : 0;
    return room;
}

void buffer_grow(struct buffer *buffer, size_t bytes)
{
    buffer->length += bytes;
}

void buffer_append(struct buffer *buffer, const void *data, size_t bytes)
{
    char *const room = buffer_reserve(buffer, bytes);
    if (!room || bytes == 0)
        return;
    memcpy(room, data, bytes);
    buffer->length += bytes;
}

void buffer_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void buffer_char(struct buffer *buffer, char c)
{
    buffer_append(buffer, &c, 1);
}

void buffer_uint(struct buffer *buffer, uint64_t value)
{
    char digits[UINT_DIGITS];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    buffer_append(buffer, digits + at, sizeof digits - at);
}

void buffer_u8(struct buffer *buffer, unsigned value)
{
    buffer_char(buffer, (char)value);
}

void buffer_u32(struct buffer *buffer, uint32_t value)
{
    for (unsigned shift = 0; shift < 32; shift += 8)
        buffer_u8(buffer, value >> shift & 0xff);
}

void buffer_u64(struct buffer *buffer, uint64_t value)
{
    buffer_u32(buffer, (uint32_t)value);
    buffer_u32(buffer, (uint32_t)(value >> 32));
}

void buffer_number(struct buffer *buffer, uint64_t value)
{
    char *at = buffer_reserve(buffer, NUMBER_BYTES);
    if (!at)
        return;
    for (; value > 0x7f; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    buffer->length = (size_t)(at - buffer->data);
}

void buffer_signed(struct buffer *buffer, int64_t value)
{
    buffer_number(buffer, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void buffer_sized_text(struct buffer *buffer, const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    buffer_number(buffer, length);
    buffer_append(buffer, text, length);
    buffer_u8(buffer, 0);
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    char *const room = length < 0 ? NULL : buffer_reserve(buffer, (size_t)length + 1);
    if (room) {
        vsnprintf(room, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

const char *buffer_string(struct buffer *buffer)
{
    char *const end = buffer_reserve(buffer, 1);
    if (!end)
        return NULL;
    *end = '\0';
    return buffer->data;
}

enum err_code buffer_check(const struct buffer *buffer, struct err *err)
{
    return buffer->failed ? err_nomem(err) : ERR_OK;
}

char *buffer_take(struct buffer *buffer, size_t *bytes_out)
{
    char *const data = buffer->data;
    *bytes_out = buffer->length;
    memset(buffer, 0, sizeof *buffer);
    return data;
}
