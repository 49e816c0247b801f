/*
 * bytes - numbers and texts as bytes: a buffer that grows, and a cursor that never reads past its end.
 *
 * Numbers are LEB128 (seven bits a byte, low bits first), signed numbers zigzag-coded before that;
 * fixed-size numbers are little-endian.  A text is a length, the bytes and a NUL.
 *
 * Failures are sticky: calls after a failure do nothing and return 0, so a caller checks once after a
 * sequence of calls.
 *
 * Ownership: the caller's storage; bytes_deinit accepts a zeroed one.  A cursor borrows.
 */
#ifndef SAMPLER_CAPTURE_BYTES_H
#define SAMPLER_CAPTURE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct bytes {
    unsigned char *data;
    size_t count, room;
    bool is_short; /* memory ran out */
};

void bytes_deinit(struct bytes *bytes);
/* Removes the contents and keeps the room. */
void bytes_clear(struct bytes *bytes);
void bytes_put(struct bytes *bytes, const void *data, size_t count);
void bytes_u8(struct bytes *bytes, unsigned value);
void bytes_u32(struct bytes *bytes, uint32_t value);
void bytes_u64(struct bytes *bytes, uint64_t value);
void bytes_number(struct bytes *bytes, uint64_t value);
void bytes_signed(struct bytes *bytes, int64_t value);
/* NULL is the empty text. */
void bytes_text(struct bytes *bytes, const char *text);
MUST_CHECK enum err_code bytes_check(const struct bytes *bytes, struct err *err);

struct cursor {
    const unsigned char *at, *end;
    bool is_bad;
};

static inline struct cursor cursor_of(const void *data, size_t count)
{
    const unsigned char *const at = data;
    /* Adding 0 to NULL is undefined. */
    return (struct cursor){ .at = at, .end = count ? at + count : at };
}

static inline size_t cursor_left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

/* NULL: fewer are left. */
const unsigned char *cursor_take(struct cursor *cursor, size_t count);
unsigned cursor_u8(struct cursor *cursor);
uint32_t cursor_u32(struct cursor *cursor);
uint64_t cursor_u64(struct cursor *cursor);
uint64_t cursor_number(struct cursor *cursor);
int64_t cursor_signed(struct cursor *cursor);
/* A number of at most max. */
uint64_t cursor_below(struct cursor *cursor, uint64_t max);
/* The number of items that follow: at most `max`, and at most as many as the bytes left can hold,
 * `each` bytes per item. */
size_t cursor_count(struct cursor *cursor, size_t each, size_t max);
/* Never NULL; has no NUL inside. */
const char *cursor_text(struct cursor *cursor);

#endif /* SAMPLER_CAPTURE_BYTES_H */
