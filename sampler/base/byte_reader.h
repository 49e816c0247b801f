/*
 * byte_reader - reads numbers and texts from bytes, as buffer.h writes them, never past their end.
 *
 * Failures are sticky: calls after a failure do nothing and return 0, so a caller checks once after a
 * sequence of calls.
 *
 * Ownership: borrows the bytes.
 */
#ifndef SAMPLER_BASE_BYTE_READER_H
#define SAMPLER_BASE_BYTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/buffer.h"

struct byte_reader {
    const unsigned char *at, *end;
    bool is_bad;
};

static inline struct byte_reader byte_reader_of(const void *data, size_t count)
{
    const unsigned char *const at = data;
    /* Adding 0 to NULL is undefined. */
    return (struct byte_reader){ .at = at, .end = count ? at + count : at };
}

static inline struct byte_reader byte_reader_over(const struct buffer *buffer)
{
    return byte_reader_of(buffer->data, buffer->length);
}

static inline size_t byte_reader_left(const struct byte_reader *in)
{
    return (size_t)(in->end - in->at);
}

/* NULL: fewer are left. */
const unsigned char *byte_reader_take(struct byte_reader *in, size_t count);
unsigned byte_reader_u8(struct byte_reader *in);
uint32_t byte_reader_u32(struct byte_reader *in);
uint64_t byte_reader_u64(struct byte_reader *in);
uint64_t byte_reader_number(struct byte_reader *in);
int64_t byte_reader_signed(struct byte_reader *in);
/* A number of at most max. */
uint64_t byte_reader_below(struct byte_reader *in, uint64_t max);
/* The number of items that follow: at most `max`, and at most as many as the bytes left can hold,
 * `each` bytes per item. */
size_t byte_reader_count(struct byte_reader *in, size_t each, size_t max);
/* Never NULL; has no NUL inside. */
const char *byte_reader_text(struct byte_reader *in);

#endif /* SAMPLER_BASE_BYTE_READER_H */
