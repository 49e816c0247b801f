#include "sampler/native/table_reader.h"

#include <string.h>

enum { LEB_MAX_BYTES = 10 };

static void fail_reading(struct table_reader *in, enum err_code rc)
{
    if (!in->rc)
        in->rc = rc;
    in->at = in->end;
}

void table_reader_bytes(struct table_reader *in, void *buffer, size_t bytes)
{
    enum err_code rc = ERR_CORRUPT;
    if (!in->rc && in->at <= in->end && bytes <= in->end - in->at)
        rc = blocks_read(in->blocks, in->at, buffer, bytes);
    if (rc) {
        memset(buffer, 0, bytes);
        fail_reading(in, rc);
    } else {
        in->at += bytes;
    }
}

void table_reader_skip(struct table_reader *in, uint64_t bytes)
{
    if (in->rc || in->at > in->end || bytes > in->end - in->at)
        fail_reading(in, ERR_CORRUPT);
    else
        in->at += bytes;
}

uint64_t table_reader_fixed(struct table_reader *in, size_t bytes)
{
    unsigned char raw[8] = { 0 };
    uint64_t value = 0;
    table_reader_bytes(in, raw, bytes);
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)raw[i] << (8 * i);
    return value;
}

/* *bits_out: how many bits were written; 64 or more: no sign is missing. */
static uint64_t read_leb(struct table_reader *in, unsigned *bits_out, unsigned *last_out)
{
    uint64_t value = 0;
    unsigned bits = 0, byte = 0x80;
    for (unsigned i = 0; byte & 0x80; i++) {
        if (i == LEB_MAX_BYTES) {
            fail_reading(in, ERR_CORRUPT);
            value = 0;
            break;
        }
        byte = (unsigned)table_reader_fixed(in, 1);
        value |= (uint64_t)(byte & 0x7f) << bits;
        bits += 7;
    }
    *bits_out = bits;
    *last_out = byte;
    return value;
}

uint64_t table_reader_uleb(struct table_reader *in)
{
    unsigned bits, last;
    return read_leb(in, &bits, &last);
}

int64_t table_reader_sleb(struct table_reader *in)
{
    unsigned bits, last;
    uint64_t value = read_leb(in, &bits, &last);
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

uint64_t table_reader_encoded(struct table_reader *in, unsigned encoding, remote_addr data)
{
    const remote_addr here = in->at;
    uint64_t value = 0;
    switch (encoding & TABLE_READER_FORM) {
    case 0x00:
    case 0x04:
    case 0x0c: value = table_reader_fixed(in, 8); break;
    case 0x01: value = table_reader_uleb(in); break;
    case 0x02: value = table_reader_fixed(in, 2); break;
    case 0x03: value = table_reader_fixed(in, 4); break;
    case 0x09: value = (uint64_t)table_reader_sleb(in); break;
    case 0x0a: value = widen_sign(table_reader_fixed(in, 2), 2); break;
    case 0x0b: value = widen_sign(table_reader_fixed(in, 4), 4); break;
    default: fail_reading(in, ERR_CORRUPT);
    }
    switch (encoding & (TABLE_READER_BASE | TABLE_READER_INDIRECT)) {
    case 0: break;
    case TABLE_READER_FROM_HERE: value += here; break;
    case TABLE_READER_FROM_DATA: value += data; break;
    default: fail_reading(in, ERR_CORRUPT);
    }
    return in->rc ? 0 : value;
}
