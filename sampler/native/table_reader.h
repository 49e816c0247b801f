/*
 * table_reader - reads numbers of unwinding tables, one after the other.
 *
 * It never reads outside its range.  After the first number that cannot be read it reads zeros:
 * check `rc` where a zero would matter, and at the end.
 *
 * Ownership: the caller's storage; the blocks stay the caller's.
 * Limits: a LEB128 number has at most 10 bytes.
 */
#ifndef SAMPLER_NATIVE_TABLE_READER_H
#define SAMPLER_NATIVE_TABLE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/native/blocks.h"

struct table_reader {
    struct blocks *blocks;
    remote_addr at, end;
    enum err_code rc; /* ERR_CORRUPT: the range ended, or a number makes no sense */
};

/* How a table writes an address. */
enum table_reader_encoding {
    TABLE_READER_FORM = 0x0f,      /* a mask: size, sign */
    TABLE_READER_BASE = 0x70,      /* a mask: what to add */
    TABLE_READER_FROM_HERE = 0x10, /* the address of the number itself */
    TABLE_READER_FROM_DATA = 0x30, /* the start of the header table */
    TABLE_READER_INDIRECT = 0x80,  /* the address of the address */
    TABLE_READER_OMITTED = 0xff,
};

/* 1, 2, 4 or 8 bytes. */
uint64_t table_reader_fixed(struct table_reader *in, size_t bytes);
uint64_t table_reader_uleb(struct table_reader *in);
int64_t table_reader_sleb(struct table_reader *in);
void table_reader_skip(struct table_reader *in, uint64_t bytes);
/* The next bytes. */
void table_reader_bytes(struct table_reader *in, void *buffer, size_t bytes);
/* An address; `data`: what TABLE_READER_FROM_DATA adds.  Indirect addresses make no sense here. */
uint64_t table_reader_encoded(struct table_reader *in, unsigned encoding, remote_addr data);

#endif /* SAMPLER_NATIVE_TABLE_READER_H */
