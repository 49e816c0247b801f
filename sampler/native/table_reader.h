/*
 * cursor - reads numbers of unwinding tables, one after the other.
 *
 * It never reads outside its range.  After the first number that cannot be read it reads zeros:
 * check `rc` where a zero would matter, and at the end.
 *
 * Ownership: the caller's storage; the blocks stay the caller's.
 * Limits: a LEB128 number has at most 10 bytes.
 */
#ifndef SAMPLER_NATIVE_CURSOR_H
#define SAMPLER_NATIVE_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/native/blocks.h"

struct cursor {
    struct blocks *blocks;
    remote_addr at, end;
    enum err_code rc; /* ERR_CORRUPT: the range ended, or a number makes no sense */
};

/* How a table writes an address. */
enum cursor_encoding {
    CURSOR_FORM = 0x0f,      /* a mask: size, sign */
    CURSOR_BASE = 0x70,      /* a mask: what to add */
    CURSOR_FROM_HERE = 0x10, /* the address of the number itself */
    CURSOR_FROM_DATA = 0x30, /* the start of the header table */
    CURSOR_INDIRECT = 0x80,  /* the address of the address */
    CURSOR_OMITTED = 0xff,
};

/* 1, 2, 4 or 8 bytes. */
uint64_t cursor_fixed(struct cursor *cursor, size_t bytes);
uint64_t cursor_uleb(struct cursor *cursor);
int64_t cursor_sleb(struct cursor *cursor);
void cursor_skip(struct cursor *cursor, uint64_t bytes);
/* The next bytes. */
void cursor_bytes(struct cursor *cursor, void *buffer, size_t bytes);
/* An address; `data`: what CURSOR_FROM_DATA adds.  Indirect addresses make no sense here. */
uint64_t cursor_encoded(struct cursor *cursor, unsigned encoding, remote_addr data);

#endif /* SAMPLER_NATIVE_CURSOR_H */
