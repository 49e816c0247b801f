#include "sampler/capture/bytes.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

enum { NUMBER_BYTES = 10 };

void bytes_deinit(struct bytes *bytes)
{
    free(bytes->data);
    memset(bytes, 0, sizeof *bytes);
}

void bytes_clear(struct bytes *bytes)
{
    bytes->count = 0;
    bytes->is_short = false;
}

static bool reserve(struct bytes *bytes, size_t count)
{
    bytes->is_short =
        bytes->is_short || !VEC_RESERVE(bytes->data, bytes->room, bytes->count + count);
    return !bytes->is_short;
}

void bytes_put(struct bytes *bytes, const void *data, size_t count)
{
    if (count == 0 || !reserve(bytes, count))
        return;
    memcpy(bytes->data + bytes->count, data, count);
    bytes->count += count;
}

void bytes_u8(struct bytes *bytes, unsigned value)
{
    const unsigned char byte = (unsigned char)value;
    bytes_put(bytes, &byte, 1);
}

static void put_fixed(struct bytes *bytes, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        bytes_u8(bytes, (unsigned)(value >> 8 * i) & 0xff);
}

void bytes_u32(struct bytes *bytes, uint32_t value)
{
    put_fixed(bytes, value, 4);
}

void bytes_u64(struct bytes *bytes, uint64_t value)
{
    put_fixed(bytes, value, 8);
}

void bytes_number(struct bytes *bytes, uint64_t value)
{
    if (!reserve(bytes, NUMBER_BYTES))
        return;
    for (; value > 0x7f; value >>= 7)
        bytes->data[bytes->count++] = (unsigned char)(value | 0x80);
    bytes->data[bytes->count++] = (unsigned char)value;
}

void bytes_signed(struct bytes *bytes, int64_t value)
{
    bytes_number(bytes, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void bytes_text(struct bytes *bytes, const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    bytes_number(bytes, length);
    bytes_put(bytes, text, length);
    bytes_u8(bytes, 0);
}

enum err_code bytes_check(const struct bytes *bytes, struct err *err)
{
    if (!bytes->is_short)
        return ERR_OK;
    return err_nomem(err);
}

const unsigned char *cursor_take(struct cursor *cursor, size_t count)
{
    const unsigned char *const at = cursor->at;
    cursor->is_bad |= cursor_left(cursor) < count;
    if (cursor->is_bad)
        return NULL;
    cursor->at += count;
    return at;
}

static uint64_t take_fixed(struct cursor *cursor, unsigned count)
{
    const unsigned char *const at = cursor_take(cursor, count);
    uint64_t value = 0;
    for (unsigned i = 0; at && i < count; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

unsigned cursor_u8(struct cursor *cursor)
{
    return (unsigned)take_fixed(cursor, 1);
}

uint32_t cursor_u32(struct cursor *cursor)
{
    return (uint32_t)take_fixed(cursor, 4);
}

uint64_t cursor_u64(struct cursor *cursor)
{
    return take_fixed(cursor, 8);
}

uint64_t cursor_number(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !cursor->is_bad; shift += 7) {
        if (cursor->at == cursor->end)
            break;
        const unsigned char byte = *cursor->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    cursor->is_bad = true;
    return 0;
}

int64_t cursor_signed(struct cursor *cursor)
{
    const uint64_t value = cursor_number(cursor);
    return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

uint64_t cursor_below(struct cursor *cursor, uint64_t max)
{
    const uint64_t value = cursor_number(cursor);
    if (value <= max)
        return value;
    cursor->is_bad = true;
    return 0;
}

size_t cursor_count(struct cursor *cursor, size_t each, size_t max)
{
    const uint64_t count = cursor_below(cursor, max);
    if (count <= cursor_left(cursor) / each)
        return (size_t)count;
    cursor->is_bad = true;
    return 0;
}

const char *cursor_text(struct cursor *cursor)
{
    const size_t length = cursor_count(cursor, 1, SIZE_MAX);
    const unsigned char *const text = cursor_take(cursor, length + 1);
    if (text && strnlen((const char *)text, length + 1) == length)
        return (const char *)text;
    cursor->is_bad = true;
    return "";
}
