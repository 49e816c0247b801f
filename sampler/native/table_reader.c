#include "sampler/native/cursor.h"

#include <string.h>

enum { LEB_MAX_BYTES = 10 };

static void fail_reading(struct cursor *cursor, enum err_code rc)
{
    if (!cursor->rc)
        cursor->rc = rc;
    cursor->at = cursor->end;
}

void cursor_bytes(struct cursor *cursor, void *buffer, size_t bytes)
{
    enum err_code rc = ERR_CORRUPT;
    if (!cursor->rc && cursor->at <= cursor->end && bytes <= cursor->end - cursor->at)
        rc = blocks_read(cursor->blocks, cursor->at, buffer, bytes);
    if (rc) {
        memset(buffer, 0, bytes);
        fail_reading(cursor, rc);
    } else {
        cursor->at += bytes;
    }
}

void cursor_skip(struct cursor *cursor, uint64_t bytes)
{
    if (cursor->rc || cursor->at > cursor->end || bytes > cursor->end - cursor->at)
        fail_reading(cursor, ERR_CORRUPT);
    else
        cursor->at += bytes;
}

uint64_t cursor_fixed(struct cursor *cursor, size_t bytes)
{
    unsigned char raw[8] = { 0 };
    uint64_t value = 0;
    cursor_bytes(cursor, raw, bytes);
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)raw[i] << (8 * i);
    return value;
}

/* *bits_out: how many bits were written; 64 or more: no sign is missing. */
static uint64_t read_leb(struct cursor *cursor, unsigned *bits_out, unsigned *last_out)
{
    uint64_t value = 0;
    unsigned bits = 0, byte = 0x80;
    for (unsigned i = 0; byte & 0x80; i++) {
        if (i == LEB_MAX_BYTES) {
            fail_reading(cursor, ERR_CORRUPT);
            value = 0;
            break;
        }
        byte = (unsigned)cursor_fixed(cursor, 1);
        value |= (uint64_t)(byte & 0x7f) << bits;
        bits += 7;
    }
    *bits_out = bits;
    *last_out = byte;
    return value;
}

uint64_t cursor_uleb(struct cursor *cursor)
{
    unsigned bits, last;
    return read_leb(cursor, &bits, &last);
}

int64_t cursor_sleb(struct cursor *cursor)
{
    unsigned bits, last;
    uint64_t value = read_leb(cursor, &bits, &last);
    if (bits < 64 && last & 0x40)
        value |= UINT64_MAX << bits;
    return (int64_t)value;
}

/* Widens a number of so many bytes with its sign. */
static uint64_t widen_sign(uint64_t value, unsigned bytes)
{
    const uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
    return (value ^ sign) - sign;
}

uint64_t cursor_encoded(struct cursor *cursor, unsigned encoding, remote_addr data)
{
    const remote_addr here = cursor->at;
    uint64_t value = 0;
    switch (encoding & CURSOR_FORM) {
    case 0x00:
    case 0x04:
    case 0x0c: value = cursor_fixed(cursor, 8); break;
    case 0x01: value = cursor_uleb(cursor); break;
    case 0x02: value = cursor_fixed(cursor, 2); break;
    case 0x03: value = cursor_fixed(cursor, 4); break;
    case 0x09: value = (uint64_t)cursor_sleb(cursor); break;
    case 0x0a: value = widen_sign(cursor_fixed(cursor, 2), 2); break;
    case 0x0b: value = widen_sign(cursor_fixed(cursor, 4), 4); break;
    default: fail_reading(cursor, ERR_CORRUPT);
    }
    switch (encoding & (CURSOR_BASE | CURSOR_INDIRECT)) {
    case 0: break;
    case CURSOR_FROM_HERE: value += here; break;
    case CURSOR_FROM_DATA: value += data; break;
    default: fail_reading(cursor, ERR_CORRUPT);
    }
    return cursor->rc ? 0 : value;
}
